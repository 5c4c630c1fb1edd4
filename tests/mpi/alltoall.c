/* An all-to-all among the nodes of a flat neighbourhood, by TCP connections of its own or by MPI_Alltoall. Rank i is node
 * tresse_node[i] of the header that `tresse schedule --header` writes; MPI starts the processes and times them.
 *
 *     alltoall schedule|once|mpi BYTES ROUNDS [ADDRESS..]
 *
 *   schedule   phase by phase, each message by the NIC of the schedule (SO_BINDTODEVICE; the plan has a route by each NIC of
 *              a switch that two nodes share)
 *   once       all messages at once, by the NICs that the node's routes choose
 *   mpi        MPI_Alltoall
 *
 * ADDRESS is that of each rank. Prints the seconds of the median round, of the slowest rank in each, after one that does not
 * count. Data is checked in the last round. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include TRESSE_HEADER

#define PORT 7171
/* So much of a message waits in the kernel at most, or a phase would begin while the one before is still waiting to be sent. */
#define WAITING 65536

static int rank, size;
static size_t bytes;
/* By rank. */
static int out[TRESSE_NODES], in[TRESSE_NODES];
static char *sent, *received;

static void fail(const char *what) {
    fprintf(stderr, "rank %d: %s: %s\n", rank, what, strerror(errno));
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* One message: to or from another rank, as far as it has got. */
struct part {
    int socket, sends;
    char *at;
    size_t left;
};

static size_t begin(struct part *parts, size_t count, int other, int sends) {
    char *base = sends ? sent : received;
    struct part part = {sends ? out[other] : in[other], sends, base + other * bytes, bytes};
    parts[count] = part;
    return count + 1;
}

/* Moves all of these at once until all have arrived. */
static void exchange(struct part *parts, size_t count) {
    struct pollfd polls[2 * TRESSE_NODES];
    for (;;) {
        size_t open = 0;
        for (size_t i = 0; i < count; i++) {
            if (parts[i].left == 0)
                continue;
            polls[open].fd = parts[i].socket;
            polls[open].events = parts[i].sends ? POLLOUT : POLLIN;
            parts[open] = parts[i];
            open++;
        }
        count = open;
        if (count == 0)
            return;
        if (poll(polls, count, 60000) <= 0)
            fail("nothing moves for a minute");
        for (size_t i = 0; i < count; i++) {
            if (polls[i].revents == 0)
                continue;
            ssize_t moved = parts[i].sends ? send(parts[i].socket, parts[i].at, parts[i].left, MSG_NOSIGNAL)
                                           : recv(parts[i].socket, parts[i].at, parts[i].left, 0);
            if (moved < 0 && errno != EAGAIN)
                fail("a connection");
            if (moved == 0)
                fail("the other end has closed");
            if (moved > 0) {
                parts[i].at += moved;
                parts[i].left -= moved;
            }
        }
    }
}

static void by_schedule(void) {
    struct part parts[2 * TRESSE_NICS];
    for (int phase = 0; phase < TRESSE_PHASES; phase++) {
        size_t count = 0;
        for (int nic = 0; nic < TRESSE_NICS; nic++) {
            int to = tresse_send_to[rank][phase][nic], from = tresse_receive_from[rank][phase][nic];
            if (to >= 0)
                count = begin(parts, count, to, 1);
            if (from >= 0)
                count = begin(parts, count, from, 0);
        }
        exchange(parts, count);
    }
}

static void at_once(void) {
    struct part parts[2 * TRESSE_NODES];
    size_t count = 0;
    /* Each begins with another. */
    for (int turn = 1; turn < size; turn++) {
        count = begin(parts, count, (rank + turn) % size, 1);
        count = begin(parts, count, (rank + size - turn) % size, 0);
    }
    exchange(parts, count);
}

/* By which NIC the schedule sends to each. */
static int nic_to(int to) {
    for (int phase = 0; phase < TRESSE_PHASES; phase++)
        for (int nic = 0; nic < TRESSE_NICS; nic++)
            if (tresse_send_to[rank][phase][nic] == to)
                return nic;
    return -1;
}

static void bind_to(int socket, int nic) {
    char name[IF_NAMESIZE];
    snprintf(name, sizeof name, "eth%d", nic);
    if (setsockopt(socket, SOL_SOCKET, SO_BINDTODEVICE, name, strlen(name)))
        fail(name);
}

/* Joins each rank to each other one, once in each direction. A socket that is bound to a NIC receives by it alone, so there is a
 * listener for each NIC, and answers leave by the NIC that questions came by. */
static void join(char **addresses, int bound) {
    struct pollfd listeners[TRESSE_NICS];
    int nics = bound ? TRESSE_NICS : 1, one = 1, waiting = WAITING;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    for (int nic = 0; nic < nics; nic++) {
        int listener = socket(AF_INET, SOCK_STREAM, 0);
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
        if (bound)
            bind_to(listener, nic);
        if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, TRESSE_NODES))
            fail("listen");
        listeners[nic].fd = listener;
        listeners[nic].events = POLLIN;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int to = 0; to < size; to++) {
        if (to == rank)
            continue;
        out[to] = socket(AF_INET, SOCK_STREAM, 0);
        if (bound) {
            bind_to(out[to], nic_to(to));
            setsockopt(out[to], SOL_SOCKET, SO_SNDBUF, &waiting, sizeof waiting);
        }
        inet_pton(AF_INET, addresses[to], &address.sin_addr);
        if (connect(out[to], (struct sockaddr *)&address, sizeof address) || write(out[to], &rank, sizeof rank) < 0)
            fail(addresses[to]);
    }
    for (int left = size - 1; left > 0;) {
        if (poll(listeners, nics, 60000) <= 0)
            fail("not all ranks have connected");
        for (int nic = 0; nic < nics; nic++) {
            if (listeners[nic].revents == 0)
                continue;
            int from, socket = accept(listeners[nic].fd, NULL, NULL);
            if (socket < 0 || recv(socket, &from, sizeof from, MSG_WAITALL) != sizeof from)
                fail("accept");
            in[from] = socket;
            left--;
        }
    }
    for (int other = 0; other < size; other++)
        if (other != rank) {
            fcntl(out[other], F_SETFL, O_NONBLOCK);
            fcntl(in[other], F_SETFL, O_NONBLOCK);
        }
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc < 4 || size != TRESSE_NODES || (strcmp(argv[1], "mpi") && argc != 4 + size)) {
        fprintf(stderr, "alltoall schedule|once|mpi BYTES ROUNDS [ADDRESS..], %d ranks\n", TRESSE_NODES);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int by_mpi = !strcmp(argv[1], "mpi"), scheduled = !strcmp(argv[1], "schedule"), rounds = atoi(argv[3]);
    bytes = strtoul(argv[2], NULL, 10);
    sent = malloc(size * bytes);
    received = malloc(size * bytes);
    double *seconds = calloc(rounds + 1, sizeof *seconds);
    if (!sent || !received || !seconds)
        fail("memory");
    for (int to = 0; to < size; to++)
        memset(sent + to * bytes, rank * 31 + to, bytes);
    if (!by_mpi)
        join(argv + 4, scheduled);
    for (int round = 0; round <= rounds; round++) {
        memset(received, 0, size * bytes);
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime();
        if (by_mpi)
            MPI_Alltoall(sent, bytes, MPI_BYTE, received, bytes, MPI_BYTE, MPI_COMM_WORLD);
        else if (scheduled)
            by_schedule();
        else
            at_once();
        double mine = MPI_Wtime() - start;
        MPI_Allreduce(&mine, &seconds[round], 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    }
    for (int from = 0; from < size; from++)
        for (size_t i = 0; from != rank && i < bytes; i++)
            if (received[from * bytes + i] != (char)(from * 31 + rank))
                fail("another message has arrived");
    qsort(seconds + 1, rounds, sizeof *seconds, ascending);
    if (rank == 0)
        printf("%.3f\n", seconds[1 + rounds / 2]);
    MPI_Finalize();
    return 0;
}
