#!/bin/sh
# The benchmarks of docs/benchmarks.md. Prints what was measured and on what; judges nothing.
#
#   BENCH_FROM=PART     from this part on: how a run goes on that has stopped
#   BENCH_ONLY=PART     this part alone
#   BENCH_SECONDS=2400  no part is begun after so many seconds
set -eu
cd "$(dirname "$0")/.."
built=${CARGO_TARGET_DIR:-$PWD/target}/release
echo "machine: $(nproc) CPUs, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), kernel $(uname -r)"
echo "source:  $(git rev-parse --short HEAD 2>/dev/null || echo unknown)"
echo "load:    $(cut -d' ' -f1-3 /proc/loadavg) before it began"
# All at once: packages built apart are built again with other features.
cargo build --release --locked --workspace --bins --examples

# Ends the run, and names what has failed.
said() {
    [ -z "$failed" ] || {
        echo "failed:$failed" >&2
        exit 1
    }
    exit 0
}

# part NAME TITLE COMMAND..: runs it, if it is to be run
part() {
    [ "${from:-$1}" = "$1" ] && [ "${BENCH_ONLY:-$1}" = "$1" ] || return 0
    from='' found=yes
    passed=$(($(date +%s) - began))
    if [ $passed -ge "${BENCH_SECONDS:-2400}" ]; then
        echo "== $passed s are over: BENCH_FROM=$1 goes on"
        said
    fi
    echo "== $2 ($1, after $passed s)"
    name=$1
    shift 2
    # What fails keeps no other part from its turn.
    "$@" || failed="$failed $name"
}
failed= from=${BENCH_FROM:-} found= began=$(date +%s)

# as_root COMMAND..
as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    else
        echo "not measured: needs root (network namespaces of its own)"
    fi
}

# timed COMMAND..
timed() {
    command time -f '                 %U s user, %S s system, %M KiB at most, for all of this' "$@"
}

plan() {
    for dims in "8 8 8" "16 16 16"; do
        echo "   $dims"
        # shellcheck disable=SC2086
        timed "$built/examples/large" $dims
    done
}

design() {
    for instance in klat2-rowcol-avg klat2-rowcol-min2; do
        timed env RAYON_NUM_THREADS=1 "$built/examples/design" 5 "$instance"
    done
}

part plan "plan and verify tori, dimension-order routing" plan
part slice "one node's slice of the large one, as tressed works it out" "$built/examples/slice" configs/torus4096.toml
part opensm "the ways of a random network of 2,048 switches, beside OpenSM's updn over ibsim" tests/opensm.sh
part families "plans of families of fabrics, beside linear programs and first fit" tests/families.sh
part install "install 100,000 routes and 10,000 neighbours, in turn with ip -batch and BIRD" \
    as_root "$built/examples/install" 100000 10000 "${ROUNDS:-7}"
part change "change 1,000 of 100,000 routes, in turn with ip -batch" as_root "$built/examples/change"
part dump "decode the dump of 100,000 routes, in turn with netlink-packet-route" as_root "$built/examples/dump"
part rollout "a rollout over all nodes of a lab" env TRESSE_BIN="$built" tests/rollout.sh
part forward "the packet engine pops a label from 60-byte frames and from TCP, in turn with the kernel's IPv4 forwarding" \
    as_root chrt -r 10 "$built/examples/forward" "${ROUNDS:-15}"
part design "the search of a flat neighbourhood of 64 PCs on one core: millions of moves by seconds of CPU" design
part simulate "the simulator, beside BookSim2" tests/booksim.sh
part idle "an idle tressed on a node of a 10x10x10 torus" tests/idle.sh --built "${SECONDS_IDLE:-120}"
part idle-records "the same on a node of a direct torus of 1,000 nodes that has the records of all of them" \
    as_root "$built/examples/idle_records" "${SECONDS_IDLE:-120}"
part netpipe "NetPIPE over a lab of a fabric without VLANs" tests/netpipe.sh
part hpcc "hpcc over labs of fabrics without VLANs" tests/mpi.sh
part nas "the NAS benchmarks over labs of fabrics without VLANs" tests/nas.sh
part schedule "an all-to-all by the schedule of a flat neighbourhood, beside its routing and MPI_Alltoall" tests/schedule.sh
part reflectors "detours as needed beside those of a plan, none, and the optimum" tests/reflectors.sh
part copy "copies to all nodes beside scp, clush, udpcast and MPI_Bcast" tests/copy.sh
part collective "a copy, copies of four sources at once and an allgather, beside their bounds" tests/collective.sh
part latency "what a node on the way adds to a copy; shapes of copies on a ring of 64" tests/latency.sh
part mpi-rings "collectives of MPI over rings, beside the MPI alone" tests/mpi-rings.sh
part mpi-judges "judges of these, by others" tests/mpi-judges.sh
[ -n "$found" ] || {
    echo "no part is called ${BENCH_ONLY:-$from}: their names stand at the end of tests/bench.sh" >&2
    exit 2
}
said
