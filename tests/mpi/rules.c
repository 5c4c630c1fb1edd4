/* What MPI allows and few programs do, for those that stand between a program and its MPI: each is right by the standard
 * and has the same result with any library. `rules CASE..` runs these cases, without a case all that need little memory:
 *
 *   order    persistent collectives that ranks start in different orders (MPI 4.0, 6.13)
 *   early    a persistent collective touches no buffer before it is started (6.13)
 *   type     a datatype is freed while a nonblocking collective uses it (5.1.9)
 *   again    the same, of a persistent one that is started three times
 *   comm     a communicator is freed while a nonblocking collective uses it (7.4.3)
 *   op       an operation of the program is freed while a nonblocking reduction uses it (6.9.5)
 *   levels   ranks have different thread levels (11.6.2): even ones MPI_THREAD_MULTIPLE, odd ones less
 *   groups   between groups, datatypes that are not significant may be null (6.2.3)
 *   loop     communicators that come and go, each used once
 *   large    a datatype made with a large count (MPI 4)
 *   status   a request that is only looked at (MPI 4.1)
 *   big      one element of 2 GiB at the root, many small ones elsewhere: 2 GiB a rank
 *   many     300 communicators at once, and a file opened then
 *
 * Rank 0 prints `ok`, or each rank what is wrong.
 */
#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if MPI_VERSION < 4 && defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION < 5
#define MPI_Bcast_init MPIX_Bcast_init
#define MPI_Allgather_init MPIX_Allgather_init
#define MPI_Allreduce_init MPIX_Allreduce_init
#endif

enum { N = 1 << 16 };
static int rank, size, wrong;

static void expect(int fine, const char *what, long at)
{
    if (!fine && !wrong) {
        wrong = 1;
        printf("rank %d: wrong: %s at %ld\n", rank, what, at);
    }
}

static int *ints(size_t count, int value)
{
    int *all = malloc(count * sizeof *all);
    for (size_t k = 0; k < count; k++)
        all[k] = value;
    return all;
}

/* A large collective, so that whoever needs a blocking one first has had it. */
static void used(MPI_Comm comm)
{
    int *all = ints(N, 0);
    MPI_Bcast(all, N, MPI_INT, 0, comm);
    free(all);
}

static void order(void)
{
    int *a = ints(N, rank ? -1 : 1), *b = ints(N, rank ? -1 : 2), *c = ints(N, rank + 1), *sum = ints(N, -1);
    MPI_Request requests[3];
    MPI_Bcast_init(a, N, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    MPI_Bcast_init(b, N, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    MPI_Allreduce_init(c, sum, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[2]);
    for (int k = 0; k < 3; k++)
        MPI_Start(&requests[(k + rank) % 3]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    for (int k = 0; k < N; k++)
        expect(a[k] == 1 && b[k] == 2 && sum[k] == size * (size + 1) / 2, "order", k);
    for (int k = 0; k < 3; k++)
        MPI_Request_free(&requests[k]);
    free(a), free(b), free(c), free(sum);
}

static void early(void)
{
    int *own = ints(N, rank), *all = ints((size_t)N * size, -7);
    MPI_Request request;
    MPI_Allgather_init(own, N, MPI_INT, all, N, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    for (long k = 0; k < (long)N * size; k++)
        expect(all[k] == -7, "early", k);
    for (int turn = 0; turn < 2; turn++) {
        for (int k = 0; k < N; k++)
            own[k] = rank + 100 * turn;
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (long k = 0; k < (long)N * size; k++)
            expect(all[k] == k / N + 100 * turn, "early, started", k);
    }
    MPI_Request_free(&request);
    free(own), free(all);
}

/* Every other int. */
static MPI_Datatype apart(void)
{
    MPI_Datatype type;
    MPI_Type_vector(N, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    return type;
}

/* Others that may come to lie where a freed one was. */
static void others(void)
{
    for (int k = 0; k < 32; k++) {
        MPI_Datatype other;
        MPI_Type_vector(3, 1, 5, MPI_CHAR, &other);
        MPI_Type_commit(&other);
    }
}

static void freed(int comm_too)
{
    int *all = ints(2 * N, -1);
    MPI_Comm comm;
    MPI_Request request;
    MPI_Datatype type = apart();
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    used(comm);
    for (int k = 0; k < N && rank == 0; k++)
        all[2 * k] = k;
    MPI_Ibcast(all, 1, type, 0, comm, &request);
    if (comm_too)
        MPI_Comm_free(&comm);
    MPI_Type_free(&type);
    others();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int k = 0; k < N; k++)
        expect(all[2 * k] == k && all[2 * k + 1] == -1, comm_too ? "comm" : "type", k);
    if (!comm_too)
        MPI_Comm_free(&comm);
    free(all);
}

static void again(void)
{
    int *all = ints(2 * N, -1);
    MPI_Request request;
    MPI_Datatype type = apart();
    MPI_Bcast_init(all, 1, type, size - 1, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Type_free(&type);
    others();
    for (int turn = 0; turn < 3; turn++) {
        for (int k = 0; k < N; k++)
            all[2 * k] = rank == size - 1 ? k + turn : -1;
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int k = 0; k < N; k++)
            expect(all[2 * k] == k + turn && all[2 * k + 1] == -1, "again", k);
    }
    MPI_Request_free(&request);
    free(all);
}

static void largest(void *from, void *into, int *count, MPI_Datatype *type)
{
    int *a = from, *b = into;
    for (int k = 0; k < *count; k++)
        b[k] = a[k] > b[k] ? a[k] : b[k];
    (void)type;
}

static void op(void)
{
    int *own = ints(N, rank), *all = ints(N, -1);
    MPI_Op operation;
    MPI_Request request;
    MPI_Op_create(largest, 1, &operation);
    MPI_Iallreduce(own, all, N, MPI_INT, operation, MPI_COMM_WORLD, &request);
    MPI_Op_free(&operation);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int k = 0; k < N; k++)
        expect(all[k] == size - 1, "op", k);
    free(own), free(all);
}

static void levels(void)
{
    int *own = ints(N, 1), *all = ints(N, -1);
    MPI_Request request;
    MPI_Iallreduce(own, all, N, MPI_INT, MPI_LAND, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int k = 0; k < N; k++)
        expect(all[k] == 1, "levels", k);
    free(own), free(all);
}

static void groups(void)
{
    MPI_Comm half, between;
    int own = rank, all[256];
    if (size < 2 || size > 256)
        return;
    memset(all, -1, sizeof all);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 7, &between);
    int root = rank ? MPI_PROC_NULL : MPI_ROOT;
    if (rank % 2)
        MPI_Gather(&own, 1, MPI_INT, NULL, 0, MPI_DATATYPE_NULL, 0, between);
    else
        MPI_Gather(NULL, 0, MPI_DATATYPE_NULL, all, 1, MPI_INT, root, between);
    expect(rank || all[0] == 1, "groups, gather", 0);
    own = -1;
    if (rank % 2)
        MPI_Scatter(NULL, 0, MPI_DATATYPE_NULL, &own, 1, MPI_INT, 0, between);
    else
        MPI_Scatter(all, 1, MPI_INT, NULL, 0, MPI_DATATYPE_NULL, root, between);
    expect(rank % 2 == 0 || own == rank, "groups, scatter", 0);
    MPI_Comm_free(&between);
    MPI_Comm_free(&half);
}

static void loop(void)
{
    for (int k = 0; k < 20; k++) {
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        used(comm);
        MPI_Comm_free(&comm);
    }
}

static void large(void)
{
#if MPI_VERSION >= 4
    MPI_Datatype type;
    MPI_Type_contiguous_c(1000, MPI_INT, &type);
    MPI_Type_commit(&type);
    int *all = ints(100000, rank ? -1 : 5);
    MPI_Bcast(all, 100, type, 0, MPI_COMM_WORLD);
    for (int k = 0; k < 100000; k++)
        expect(all[k] == 5, "large", k);
    MPI_Type_free(&type);
    free(all);
#endif
}

static void status(void)
{
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
    int *all = ints(N, rank ? -1 : 5), flag = 0, which;
    MPI_Request request;
    MPI_Ibcast(all, N, MPI_INT, 0, MPI_COMM_WORLD, &request);
    while (!flag)
        MPI_Request_get_status_all(1, &request, &flag, MPI_STATUSES_IGNORE);
    MPI_Request_get_status_any(1, &request, &which, &flag, MPI_STATUS_IGNORE);
    expect(flag && which == 0, "status", 0);
    MPI_Request_get_status_some(1, &request, &flag, &which, MPI_STATUSES_IGNORE);
    expect(flag == 1 && which == 0, "status", 1);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int k = 0; k < N; k++)
        expect(all[k] == 5, "status", k);
    free(all);
#endif
}

static void big(void)
{
    int count = 1 << 29, *all = calloc(count, sizeof *all);
    MPI_Datatype type;
    MPI_Type_contiguous(count, MPI_INT, &type);
    MPI_Type_commit(&type);
    if (!rank)
        all[0] = 1, all[count - 1] = 2;
    if (rank)
        MPI_Bcast(all, count, MPI_INT, 0, MPI_COMM_WORLD);
    else
        MPI_Bcast(all, 1, type, 0, MPI_COMM_WORLD);
    expect(all[0] == 1 && all[count - 1] == 2 && all[count / 2] == 0, "big", 0);
    MPI_Type_free(&type);
    free(all);
}

static void many(void)
{
    for (int k = 0; k < 300; k++) {
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        used(comm);
    }
    FILE *file = fopen("/dev/null", "r");
    expect(file != NULL, "many", 0);
}

static void type(void) { freed(0); }
static void comm(void) { freed(1); }

static const struct {
    const char *name;
    void (*run)(void);
    int always;
} cases[] = {
    {"order", order, 1}, {"early", early, 1}, {"type", type, 1},   {"again", again, 1}, {"comm", comm, 1},
    {"op", op, 1},       {"levels", levels, 1}, {"groups", groups, 1}, {"loop", loop, 1}, {"large", large, 1},
    {"status", status, 1}, {"big", big, 0},   {"many", many, 0},
};

int main(int argc, char **argv)
{
    const char *number = getenv("OMPI_COMM_WORLD_RANK");
    int got, any;
    if (!number)
        number = getenv("PMI_RANK");
    MPI_Init_thread(&argc, &argv, number && atoi(number) % 2 ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE, &got);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    used(MPI_COMM_WORLD);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        int named = argc == 1 && cases[k].always;
        for (int a = 1; a < argc; a++)
            named |= !strcmp(argv[a], cases[k].name);
        if (named)
            cases[k].run();
    }
    MPI_Allreduce(&wrong, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (!rank)
        puts(any ? "wrong" : "ok");
    fflush(stdout);
    MPI_Finalize();
    return any;
}
