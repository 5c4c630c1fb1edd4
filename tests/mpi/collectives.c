/* Collectives of MPI, verified and timed, for judging crates/mpi beside the MPI alone.
 *
 * collectives check              every collective in several sizes, types and placements; says what is wrong, and
 *                                "ok" at the end
 * collectives time KIND BYTES N  the median of N rounds in seconds, the slowest rank of each, data verified; KIND is
 *                                bcast allgather gather scatter reduce_scatter allreduce, BYTES those of a rank's buffer
 * collectives all BYTES N        the same for each KIND, with its name before
 * collectives sweep N            the same as all for 4 KiB to 256 KiB in all, with the bytes
 * collectives best N             for each KIND and 8, 64, 512 and 4096 bytes: the best of N rounds in microseconds, the
 *                                slowest rank of each
 * collectives decide N           N collectives of 8 bytes in a communicator of one rank, in nanoseconds each: the cost of a
 *                                call
 * collectives die KIND BYTES     rank 1 kills itself in the middle; KIND may be ibcast too
 */
#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if MPI_VERSION >= 4
#define BCAST_INIT MPI_Bcast_init
#elif defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)
#define BCAST_INIT MPIX_Bcast_init
#endif

static int rank, size, wrong;

static uint8_t byte_of(int from, size_t k, int salt) { return (uint8_t)(k * 31 + k / 251 + from * 17 + salt); }

static void fill(uint8_t *at, size_t n, int from, int salt)
{
    for (size_t k = 0; k < n; k++) at[k] = byte_of(from, k, salt);
}

static void same(const char *what, const uint8_t *at, size_t n, int from, int salt)
{
    for (size_t k = 0; k < n; k++)
        if (at[k] != byte_of(from, k, salt)) {
            printf("%s: rank %d: byte %zu of %zu of rank %d is %d, not %d\n", what, rank, k, n, from, at[k],
                   byte_of(from, k, salt));
            wrong = 1;
            return;
        }
}

static void *room(size_t n) { return calloc(n + 1, 1); }

static void all_of(size_t n, MPI_Comm comm, int salt)
{
    int own, count;
    MPI_Comm_rank(comm, &own);
    MPI_Comm_size(comm, &count);
    uint8_t *one = room(n), *all = room(n * count);
    for (int root = 0; root < count; root += count > 2 ? count - 1 : 1) {
        fill(one, n, own == root ? root : -1, salt);
        MPI_Bcast(one, (int)n, MPI_BYTE, root, comm);
        same("bcast", one, n, root, salt);
        fill(one, n, own, salt);
        memset(all, 0, n * count);
        MPI_Gather(one, (int)n, MPI_BYTE, all, (int)n, MPI_BYTE, root, comm);
        for (int k = 0; k < count && own == root; k++) same("gather", all + k * n, n, k, salt);
        if (own == root)
            for (int k = 0; k < count; k++) fill(all + k * n, n, k, salt);
        memset(one, 0, n);
        MPI_Scatter(all, (int)n, MPI_BYTE, own == root ? MPI_IN_PLACE : one, (int)n, MPI_BYTE, root, comm);
        if (own != root) same("scatter", one, n, own, salt);
        if (own == root) fill(all + root * n, n, own, salt);
        fill(one, n, own, salt);
        MPI_Gather(own == root ? MPI_IN_PLACE : one, (int)n, MPI_BYTE, all, (int)n, MPI_BYTE, root, comm);
        for (int k = 0; k < count && own == root; k++) same("gather in place", all + k * n, n, k, salt);
    }
    fill(one, n, own, salt);
    memset(all, 0, n * count);
    MPI_Allgather(one, (int)n, MPI_BYTE, all, (int)n, MPI_BYTE, comm);
    for (int k = 0; k < count; k++) same("allgather", all + k * n, n, k, salt);
    memset(all, 0, n * count);
    fill(all + own * n, n, own, salt);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_BYTE, all, (int)n, MPI_BYTE, comm);
    for (int k = 0; k < count; k++) same("allgather in place", all + k * n, n, k, salt);
    free(one);
    free(all);
}

/* Blocks of unequal length with gaps between them, the last rank's first. */
static void unequal(size_t n, int salt)
{
    int counts[size], starts[size], end = 0;
    for (int k = size - 1; k >= 0; k--) {
        counts[k] = (int)(n / size) * (k % 3);
        starts[k] = end;
        end += counts[k] + 5;
    }
    uint8_t *all = room(end), *one = room(n);
    memset(all, 1, end);
    fill(one, counts[rank], rank, salt);
    MPI_Allgatherv(one, counts[rank], MPI_BYTE, all, counts, starts, MPI_BYTE, MPI_COMM_WORLD);
    for (int k = 0; k < size; k++) {
        same("allgatherv", all + starts[k], counts[k], k, salt);
        for (int gap = 0; gap < 5; gap++)
            if (all[starts[k] + counts[k] + gap] != 1) wrong = 1, printf("allgatherv writes into a gap\n");
    }
    free(all);
    free(one);
}

static int64_t number(int from, size_t k) { return (int64_t)(k % 1000) * (from + 1) - from; }

static void sums(size_t n)
{
    int64_t *in = room(n * 8), *out = room(n * 8), *part = room(n * 8);
    int counts[size], start = 0;
    size_t rest = n;
    for (int k = 0; k < size; k++) {
        counts[k] = k == size - 1 ? (int)rest : (int)(n / size) * (k % 2);
        rest -= counts[k];
    }
    for (int k = 0; k < rank; k++) start += counts[k];
    for (int place = 0; place < 2; place++) {
        for (size_t k = 0; k < n; k++) in[k] = out[k] = number(rank, k);
        MPI_Allreduce(place ? MPI_IN_PLACE : in, out, (int)n, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
        for (size_t k = 0; k < n; k++) {
            int64_t sum = 0;
            for (int from = 0; from < size; from++) sum += number(from, k);
            if (out[k] != sum) {
                printf("allreduce: rank %d: %zu of %zu is %ld, not %ld\n", rank, k, n, (long)out[k], (long)sum);
                wrong = 1;
                break;
            }
        }
        memcpy(part, in, n * 8);
        /* In place with unequal counts MPICH 5.0.2 copies what overlaps by memcpy. */
        int count = place ? (int)(n / size) : counts[rank], first = place ? rank * count : start;
        if (place)
            MPI_Reduce_scatter_block(MPI_IN_PLACE, part, count, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
        else
            MPI_Reduce_scatter(in, part, counts, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
        for (int k = 0; k < count; k++) {
            int64_t sum = 0;
            for (int from = 0; from < size; from++) sum += number(from, first + k);
            if (part[k] != sum) {
                printf("reduce_scatter: rank %d: %d of %d is %ld, not %ld\n", rank, k, count, (long)part[k], (long)sum);
                wrong = 1;
                break;
            }
        }
    }
    free(in);
    free(out);
    free(part);
}

static void later(void *in, void *inout, int *n, MPI_Datatype *type)
{
    /* Takes the second where it is not zero: associative, not commutative. */
    (void)type;
    for (int k = 0; k < *n; k++)
        if (!((int *)inout)[k]) ((int *)inout)[k] = ((int *)in)[k];
}

static void largest(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)type;
    for (int k = 0; k < *n; k++)
        if (((int *)in)[k] > ((int *)inout)[k]) ((int *)inout)[k] = ((int *)in)[k];
}

static void operations(size_t n)
{
    int *in = room(n * 4), *out = room(n * 4);
    MPI_Op op[2];
    MPI_Op_create(later, 0, &op[0]);
    MPI_Op_create(largest, 1, &op[1]);
    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; i < n; i++) in[i] = rank + 1 + (int)(i % 7);
        MPI_Allreduce(in, out, (int)n, MPI_INT, op[k], MPI_COMM_WORLD);
        for (size_t i = 0; i < n; i++)
            if (out[i] != size + (int)(i % 7)) {
                printf("operation %d: %zu is %d\n", k, i, out[i]);
                wrong = 1;
                break;
            }
        MPI_Op_free(&op[k]);
    }
    struct { double value; int index; } *a = room(n * 16), *b = room(n * 16);
    for (size_t i = 0; i < n; i++) a[i].value = (double)((rank + i) % size), a[i].index = rank;
    MPI_Allreduce(a, b, (int)n, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
    for (size_t i = 0; i < n; i++)
        if (b[i].value != size - 1) {
            printf("maxloc: %zu is %f\n", i, b[i].value);
            wrong = 1;
            break;
        }
    free(in);
    free(out);
    free(a);
    free(b);
}

/* The same values, in memory with gaps and out of order on odd ranks alone. */
static void types(size_t n)
{
    MPI_Datatype swapped;
    int lengths[2] = { 1, 1 }, starts[2] = { 3, 0 };
    MPI_Type_indexed(2, lengths, starts, MPI_INT, &swapped);
    MPI_Type_commit(&swapped);
    MPI_Datatype spread;
    MPI_Type_create_resized(swapped, 0, 20, &spread);
    MPI_Type_commit(&spread);
    int *at = room(n * 20);
    for (size_t k = 0; k < n; k++)
        for (int j = 0; j < 2; j++) {
            size_t place = rank % 2 ? 5 * k + starts[j] : 2 * k + j;
            at[place] = rank ? -1 : (int)(2 * k + j);
        }
    if (rank % 2)
        MPI_Bcast(at, (int)n, spread, 0, MPI_COMM_WORLD);
    else
        MPI_Bcast(at, (int)(2 * n), MPI_INT, 0, MPI_COMM_WORLD);
    for (size_t k = 0; k < n && !wrong; k++)
        for (int j = 0; j < 2; j++) {
            size_t place = rank % 2 ? 5 * k + starts[j] : 2 * k + j;
            if (at[place] != (int)(2 * k + j)) {
                printf("types: rank %d: %zu is %d\n", rank, place, at[place]);
                wrong = 1;
            }
        }
    MPI_Type_free(&swapped);
    MPI_Type_free(&spread);
    free(at);
}

static void communicators(size_t n)
{
    MPI_Comm half, copy, turned, inter;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    all_of(n, half, 3);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    all_of(n, copy, 4);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &turned);
    all_of(n, turned, 5);
    all_of(n, MPI_COMM_SELF, 6);
    if (size > 1) {
        MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank % 2 ? size - 1 - (size + 1) % 2 : size - 1 - size % 2, 7, &inter);
        uint8_t *one = room(n);
        int own;
        MPI_Comm_rank(half, &own);
        fill(one, n, rank % 2, 8);
        MPI_Bcast(one, (int)n, MPI_BYTE, rank % 2 ? 0 : own ? MPI_PROC_NULL : MPI_ROOT, inter);
        if (rank % 2) same("bcast between groups", one, n, 0, 8);
        free(one);
        MPI_Comm_free(&inter);
    }
    MPI_Comm_free(&half);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&turned);
}

/* Several at once, completed in every way, with other messages between. The first of a communicator goes to the MPI. */
static void nonblocking(size_t n)
{
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    uint8_t *one[2] = { room(n), room(n) }, *own = room(n), *all = room(n * size);
    size_t m = n / 8;
    int64_t *in = room(m * 8), *out = room(m * 8);
    for (int round = 0; round < 8; round++) {
        MPI_Comm comm = round % 2 ? copy : MPI_COMM_WORLD;
        MPI_Request all4[5] = { MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL };
        int root = round % size, other = (root + 1) % size, token = 0, left = 4;
        for (int k = 0; k < 2; k++) fill(one[k], n, rank == (k ? other : root) ? rank : -1, round);
        fill(own, n, rank, round + 50);
        memset(all, 0, n * size);
        for (size_t k = 0; k < m; k++) in[k] = number(rank, k), out[k] = 0;
        MPI_Ibcast(one[0], (int)n, MPI_BYTE, root, comm, &all4[0]);
        MPI_Iallgather(own, (int)n, MPI_BYTE, all, (int)n, MPI_BYTE, comm, &all4[1]);
        MPI_Iallreduce(in, out, (int)m, MPI_INT64_T, MPI_SUM, comm, &all4[2]);
        MPI_Ibcast(one[1], (int)n, MPI_BYTE, other, comm, &all4[3]);
        if (round == 1) {
            /* The root waits for a message of one that has the data only if the root goes on with the collective. */
            if (rank == root) MPI_Recv(&token, 1, MPI_INT, other, 1, comm, MPI_STATUS_IGNORE);
            if (rank == other) {
                MPI_Wait(&all4[0], MPI_STATUS_IGNORE);
                MPI_Send(&token, 1, MPI_INT, root, 1, comm);
            }
        }
        if (round == 2) MPI_Allreduce(MPI_IN_PLACE, &token, 1, MPI_INT, MPI_SUM, comm);
        switch (round % 4) {
        case 0:
            MPI_Waitall(4, all4, MPI_STATUSES_IGNORE);
            break;
        case 1:
            for (int k, flag; left; left -= flag && k != MPI_UNDEFINED) {
                MPI_Testany(5, all4, &k, &flag, MPI_STATUS_IGNORE);
                if (flag && k == MPI_UNDEFINED) break;
            }
            break;
        case 2:
            for (int k = 0; k != MPI_UNDEFINED;) MPI_Waitany(5, all4, &k, MPI_STATUS_IGNORE);
            break;
        default:
            for (int some = 0, which[5]; some != MPI_UNDEFINED;) MPI_Waitsome(5, all4, &some, which, MPI_STATUSES_IGNORE);
        }
        for (int k = 0; k < 4; k++)
            if (all4[k] != MPI_REQUEST_NULL) printf("nonblocking: a request is left\n"), wrong = 1;
        same("ibcast", one[0], n, root, round);
        same("second ibcast", one[1], n, other, round);
        for (int k = 0; k < size; k++) same("iallgather", all + k * n, n, k, round + 50);
        for (size_t k = 0; k < m; k++) {
            int64_t sum = 0;
            for (int from = 0; from < size; from++) sum += number(from, k);
            if (out[k] != sum) {
                printf("iallreduce: rank %d: %zu of %zu is %ld, not %ld\n", rank, k, m, (long)out[k], (long)sum);
                wrong = 1;
                break;
            }
        }
    }
#ifdef BCAST_INIT
    MPI_Request again;
    BCAST_INIT(one[0], (int)n, MPI_BYTE, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &again);
    for (int round = 0; round < 3; round++) {
        fill(one[0], n, rank ? -1 : 0, round);
        MPI_Start(&again);
        MPI_Wait(&again, MPI_STATUS_IGNORE);
        same("persistent bcast", one[0], n, 0, round);
    }
    MPI_Request_free(&again);
#endif
    MPI_Comm_free(&copy);
    for (int k = 0; k < 2; k++) free(one[k]);
    free(own);
    free(all);
    free(in);
    free(out);
}

/* The names with counts of type MPI_Count; Open MPI has them from 6 on. */
static void long_counts(size_t n, int salt)
{
#if MPI_VERSION >= 4 && !(defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION < 6)
    MPI_Count counts[size], m = n / 8;
    MPI_Aint starts[size];
    uint8_t *one = room(n), *all = room((n + 3) * size), *twice = room(n);
    int64_t *in = room(n), *out = room(n);
    MPI_Request pending[3];
    for (int k = 0; k < size; k++) starts[k] = (n + 3) * (size - 1 - k), counts[k] = n;
    fill(one, n, rank, salt);
    MPI_Allgatherv_c(one, n, MPI_BYTE, all, counts, starts, MPI_BYTE, MPI_COMM_WORLD);
    for (int k = 0; k < size; k++) same("allgatherv_c", all + starts[k], n, k, salt);
    MPI_Allgather_c(one, n, MPI_BYTE, all, n, MPI_BYTE, MPI_COMM_WORLD);
    for (int k = 0; k < size; k++) same("allgather_c", all + k * n, n, k, salt);
    memset(one, 0, n);
    MPI_Scatter_c(all, n, MPI_BYTE, one, n, MPI_BYTE, size - 1, MPI_COMM_WORLD);
    same("scatter_c", one, n, rank, salt);
    memset(all, 0, n * size);
    MPI_Gather_c(one, n, MPI_BYTE, all, n, MPI_BYTE, 0, MPI_COMM_WORLD);
    for (int k = 0; k < size && !rank; k++) same("gather_c", all + k * n, n, k, salt);
    MPI_Bcast_c(one, n, MPI_BYTE, size - 1, MPI_COMM_WORLD);
    same("bcast_c", one, n, size - 1, salt);
    for (MPI_Count k = 0; k < m; k++) in[k] = number(rank, k);
    fill(one, n, rank, salt);
    fill(twice, n, rank, salt + 1);
    MPI_Ibcast_c(twice, n, MPI_BYTE, 0, MPI_COMM_WORLD, pending);
    MPI_Iallgather_c(one, n, MPI_BYTE, all, n, MPI_BYTE, MPI_COMM_WORLD, pending + 1);
    MPI_Iallreduce_c(in, out, m, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD, pending + 2);
    MPI_Waitall(3, pending, MPI_STATUSES_IGNORE);
    same("ibcast_c", twice, n, 0, salt + 1);
    for (int k = 0; k < size; k++) same("iallgather_c", all + k * n, n, k, salt);
    MPI_Count part = m / size;
    for (int way = 0; way < 4; way++) {
        const char *names[] = { "iallreduce_c", "allreduce_c", "reduce_scatter_c", "reduce_scatter_block_c" };
        MPI_Count start = way > 1 ? rank * part : 0, count = way > 1 ? part : m;
        if (way) memset(out, 0, n);
        for (int k = 0; k < size; k++) counts[k] = part;
        if (way == 1) MPI_Allreduce_c(in, out, m, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
        if (way == 2) MPI_Reduce_scatter_c(in, out, counts, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
        if (way == 3) MPI_Reduce_scatter_block_c(in, out, part, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
        for (MPI_Count k = 0; k < count; k++) {
            int64_t sum = 0;
            for (int from = 0; from < size; from++) sum += number(from, start + k);
            if (out[k] == sum) continue;
            printf("%s: rank %d: %ld is %ld, not %ld\n", names[way], rank, (long)k, (long)out[k], (long)sum);
            wrong = 1;
            break;
        }
    }
    MPI_Bcast_init_c(one, n, MPI_BYTE, 0, MPI_COMM_WORLD, MPI_INFO_NULL, pending);
    MPI_Allgather_init_c(one, n, MPI_BYTE, all, n, MPI_BYTE, MPI_COMM_WORLD, MPI_INFO_NULL, pending + 1);
    MPI_Allreduce_init_c(in, out, m, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD, MPI_INFO_NULL, pending + 2);
    fill(one, n, rank ? -1 : 0, salt);
    for (int k = 0; k < 3; k++) {
        MPI_Start(pending + k);
        MPI_Wait(pending + k, MPI_STATUS_IGNORE);
        MPI_Request_free(pending + k);
    }
    for (int k = 0; k < size; k++) same("persistent bcast_c and allgather_c", all + k * n, n, 0, salt);
    for (MPI_Count k = 0; k < m; k++) {
        int64_t most = number(0, k);
        for (int from = 1; from < size; from++) most = number(from, k) > most ? number(from, k) : most;
        if (out[k] != most) wrong = 1, printf("persistent allreduce_c: rank %d: %ld\n", rank, (long)k), k = m;
    }
    free(one), free(all), free(twice), free(in), free(out);
#else
    (void)n, (void)salt;
#endif
}

static void check(void)
{
    size_t sizes[] = { 0, 1, 1000, 65536, 300001, 2000000 };
    for (int k = 0; k < 6; k++) {
        all_of(sizes[k], MPI_COMM_WORLD, k);
        unequal(sizes[k], k);
        sums(sizes[k] / 8);
        operations(sizes[k] / 16);
        types(sizes[k] / 8);
        communicators(sizes[k] / 4);
        nonblocking(sizes[k] / 2);
        long_counts(sizes[k] / 2, k);
    }
    int any;
    MPI_Allreduce(&wrong, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (!rank) puts(any ? "wrong" : "ok");
    wrong = any;
}

static void once(const char *kind, size_t n, uint8_t *one, uint8_t *all, int counts[])
{
    if (!strcmp(kind, "bcast")) MPI_Bcast(one, (int)n, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (!strcmp(kind, "ibcast")) {
        MPI_Request request;
        MPI_Ibcast(one, (int)n, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (!strcmp(kind, "allgather")) MPI_Allgather(one, (int)n, MPI_BYTE, all, (int)n, MPI_BYTE, MPI_COMM_WORLD);
    if (!strcmp(kind, "gather")) MPI_Gather(one, (int)n, MPI_BYTE, all, (int)n, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (!strcmp(kind, "scatter")) MPI_Scatter(all, (int)n, MPI_BYTE, one, (int)n, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (!strcmp(kind, "allreduce")) MPI_Allreduce(one, all, (int)(n / 4), MPI_UINT32_T, MPI_SUM, MPI_COMM_WORLD);
    if (!strcmp(kind, "reduce_scatter")) MPI_Reduce_scatter(one, all, counts, MPI_UINT32_T, MPI_SUM, MPI_COMM_WORLD);
}

static void verify(const char *kind, size_t n, uint8_t *one, uint8_t *all, int counts[])
{
    size_t start = 0;
    if (!strcmp(kind, "bcast")) same(kind, one, n, 0, 9);
    if (!strcmp(kind, "scatter")) same(kind, one, n, rank, 9);
    if (!strcmp(kind, "allgather") || (!strcmp(kind, "gather") && !rank))
        for (int k = 0; k < size; k++) same(kind, all + k * n, n, k, 9);
    if (!strcmp(kind, "reduce_scatter")) {
        for (int k = 0; k < rank; k++) start += counts[k];
        n = 4 * (size_t)counts[rank];
    }
    if (!strcmp(kind, "allreduce") || !strcmp(kind, "reduce_scatter"))
        for (size_t k = 0; k < n / 4; k++) {
            uint32_t sum = 0, found;
            for (int from = 0; from < size; from++)
                for (int j = 0; j < 4; j++) sum += (uint32_t)byte_of(from, 4 * (start + k) + j, 9) << 8 * j;
            memcpy(&found, all + 4 * k, 4);
            if (found != sum) {
                printf("%s: rank %d: %zu of %zu is %u, not %u\n", kind, rank, k, n / 4, found, sum);
                wrong = 1;
                break;
            }
        }
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void timed(const char *kind, size_t n, int rounds)
{
    uint8_t *one = room(n), *all = room(n * size);
    int counts[size];
    double seconds[rounds];
    for (int k = 0; k < size; k++) counts[k] = (int)(n / 4 * (k + 1) / size - n / 4 * k / size);
    for (int round = -1; round < rounds; round++) {
        fill(one, n, rank, 9);
        for (int k = 0; k < size; k++) fill(all + k * n, n, strcmp(kind, "scatter") || rank ? -1 : k, 9);
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime(), own, slowest;
        once(kind, n, one, all, counts);
        own = MPI_Wtime() - start;
        MPI_Allreduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        verify(kind, n, one, all, counts);
        if (round >= 0) seconds[round] = slowest;
    }
    qsort(seconds, rounds, sizeof *seconds, ascending);
    int any;
    MPI_Allreduce(&wrong, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (!rank) printf("%.6f%s\n", seconds[rounds / 2], any ? " wrong" : "");
    wrong = any;
    free(one);
    free(all);
}

static const char *kinds[] = { "bcast", "allgather", "gather", "scatter", "allreduce", "reduce_scatter" };

static void best(int rounds)
{
    uint8_t one[4096] = { 0 }, *all = room(sizeof one * size);
    int counts[size];
    for (int kind = 0; kind < 6; kind++)
        for (size_t n = 8; n <= sizeof one; n *= 8) {
            double least = 1;
            for (int k = 0; k < size; k++) counts[k] = (int)(n / 4 * (k + 1) / size - n / 4 * k / size);
            /* The first half is not counted: the ranks have just started, or come from another collective. */
            for (int round = -rounds; round < rounds; round++) {
                MPI_Barrier(MPI_COMM_WORLD);
                double start = MPI_Wtime(), own, slowest;
                once(kinds[kind], n, one, all, counts);
                own = MPI_Wtime() - start;
                MPI_Allreduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
                if (round >= 0 && slowest < least) least = slowest;
            }
            if (!rank) printf("%s %zu %.1f\n", kinds[kind], n, least * 1e6);
        }
    free(all);
}

static void sweep(int rounds)
{
    for (int kind = 0; kind < 6; kind++)
        for (size_t whole = 4096; whole <= 262144; whole *= 4) {
            size_t n = whole / (kind > 0 && kind < 4 ? size : 1) & ~(size_t)3;
            if (!rank) printf("%s %zu ", kinds[kind], whole);
            timed(kinds[kind], n, rounds);
        }
}

static void decide(int rounds)
{
    uint8_t from[8] = { 0 }, into[8] = { 0 };
    MPI_Comm alone = MPI_COMM_SELF;
    for (int kind = 0; kind < 5; kind++) {
        double best = 1;
        for (int k = 0; k < 20; k++) {
            double start = MPI_Wtime();
            for (int i = 0; i < rounds; i++)
                switch (kind) {
                case 0: MPI_Bcast(into, 8, MPI_BYTE, 0, alone); break;
                case 1: MPI_Allgather(from, 8, MPI_BYTE, into, 8, MPI_BYTE, alone); break;
                case 2: MPI_Gather(from, 8, MPI_BYTE, into, 8, MPI_BYTE, 0, alone); break;
                case 3: MPI_Scatter(from, 8, MPI_BYTE, into, 8, MPI_BYTE, 0, alone); break;
                case 4: MPI_Allreduce(from, into, 2, MPI_INT, MPI_SUM, alone); break;
                }
            double own = (MPI_Wtime() - start) / rounds;
            if (own < best) best = own;
        }
        if (!rank) printf("%s %.1f\n", kinds[kind], best * 1e9);
    }
}

int main(int argc, char **argv)
{
    // What is written at the very end, after MPI_Finalize, mpirun may lose.
    setvbuf(stdout, 0, _IOLBF, BUFSIZ);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *what = argc > 1 ? argv[1] : "check";
    if (!strcmp(what, "check")) check();
    if (!strcmp(what, "time")) timed(argv[2], strtoull(argv[3], 0, 10), atoi(argv[4]));
    for (int kind = 0; kind < 6 && !strcmp(what, "all"); kind++) {
        if (!rank) printf("%-15s ", kinds[kind]);
        timed(kinds[kind], strtoull(argv[2], 0, 10), atoi(argv[3]));
    }
    if (!strcmp(what, "sweep")) sweep(atoi(argv[2]));
    if (!strcmp(what, "best")) best(atoi(argv[2]));
    if (!strcmp(what, "decide")) decide(atoi(argv[2]));
    if (!strcmp(what, "die")) {
        size_t n = strtoull(argv[3], 0, 10);
        uint8_t *one = room(n), *all = room(n * size);
        int counts[size];
        for (int k = 0; k < size; k++) counts[k] = (int)(n / 4 * (k + 1) / size - n / 4 * k / size);
        signal(SIGALRM, SIG_DFL);
        once("bcast", n / 100, one, all, counts);
        once(argv[2], n / 100, one, all, counts);
        if (rank == 1) ualarm(300000, 0);
        once(argv[2], n, one, all, counts);
        once(argv[2], n, one, all, counts);
    }
    MPI_Finalize();
    return wrong;
}
