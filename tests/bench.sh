#!/bin/sh
# The benchmarks of docs/benchmarks.md. Prints what was measured and on what; judges nothing.
set -eu
cd "$(dirname "$0")/.."
built=${CARGO_TARGET_DIR:-$PWD/target}/release
echo "machine: $(nproc) CPUs, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), kernel $(uname -r)"
echo "source:  $(git rev-parse --short HEAD 2>/dev/null || echo unknown)"
echo "load:    $(cut -d' ' -f1-3 /proc/loadavg) before it began"
# All at once: packages built apart are built again with other features.
cargo build --release --locked --workspace --bins --examples

for dims in "8 8 8" "16 16 16"; do
    echo "== plan and verify a torus of $dims, dimension-order routing"
    # shellcheck disable=SC2086
    command time -f '                 %U s user, %S s system, %M KiB at most, for all of this' \
        "$built/examples/large" $dims
done
echo "== one node's slice of the large one, as tressed works it out"
"$built/examples/slice" configs/torus4096.toml

echo "== the ways of a random network of 2,048 switches, beside OpenSM's updn over ibsim"
tests/opensm.sh

echo "== plans of families of fabrics, beside linear programs and first fit"
tests/families.sh

echo "== install 100,000 routes and 10,000 neighbours, in turn with ip -batch and BIRD"
if [ "$(id -u)" = 0 ]; then
    "$built/examples/install" 100000 10000 "${ROUNDS:-7}"
else
    echo "not measured: needs root (network namespaces of its own)"
fi

echo "== change 1,000 of 100,000 routes, in turn with ip -batch; decode their dump, in turn with netlink-packet-route"
if [ "$(id -u)" = 0 ]; then
    "$built/examples/change"
    "$built/examples/dump"
else
    echo "not measured: needs root (network namespaces of its own)"
fi

echo "== a rollout over all nodes of a lab"
TRESSE_BIN=$built tests/rollout.sh

echo "== the packet engine pops a label from 60-byte frames and from TCP, in turn with the kernel's IPv4 forwarding"
if [ "$(id -u)" = 0 ]; then
    chrt -r 10 "$built/examples/forward" "${ROUNDS:-15}"
else
    echo "not measured: needs root (network namespaces of its own)"
fi

echo "== the search of a flat neighbourhood of 64 PCs on one core: millions of moves by seconds of CPU"
for instance in klat2-rowcol-avg klat2-rowcol-min2; do
    RAYON_NUM_THREADS=1 command time -f '                 %U s user' \
        "$built/examples/design" 5 "$instance"
done

echo "== the simulator, beside BookSim2"
tests/booksim.sh

echo "== an idle tressed on a node of a 10x10x10 torus"
tests/idle.sh --built "${SECONDS_IDLE:-120}"

echo "== the same on a node of a direct torus of 1,000 nodes that has the records of all of them"
if [ "$(id -u)" = 0 ]; then
    "$built/examples/idle_records" "${SECONDS_IDLE:-120}"
else
    echo "not measured: needs root (network namespaces of its own)"
fi

echo "== NetPIPE, hpcc and the NAS benchmarks over labs of fabrics without VLANs"
tests/netpipe.sh
tests/mpi.sh
tests/mpi-rings.sh
tests/mpi-judges.sh
tests/nas.sh

echo "== an all-to-all by the schedule of a flat neighbourhood, beside its routing and MPI_Alltoall"
tests/schedule.sh

echo "== detours as needed beside those of a plan, none, and the optimum"
tests/reflectors.sh

echo "== copies to all nodes beside scp, clush, udpcast and MPI_Bcast, and what a node on the way adds"
tests/copy.sh
tests/collective.sh
tests/latency.sh
