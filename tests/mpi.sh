#!/bin/sh
# Programs that others wrote, over labs of fabrics without VLANs on this machine: Open MPI starts hpcc, the
# HPC Challenge, which judges itself; NetPIPE measures between nodes that are one, two and three cables
# apart. Bounded: HPCC_N is the size of its matrices, default 800; about a minute a fabric.
set -eu
cd "$(dirname "$0")/.."
if [ "$(id -u)" != 0 ]; then
    echo "not run: needs root (network namespaces of its own)"
    exit 0
fi
for program in mpirun hpcc NPtcp; do
    if ! command -v "$program" >/dev/null; then
        echo "not run: $program is missing (tests/deps.sh bench)"
        exit 0
    fi
done
built=${CARGO_TARGET_DIR:-$PWD/target}/release
[ -x "$built/tresse" ] || cargo build --release --locked --package tresse --package tressed
lab=mpi-$$
work=$(mktemp -d)
down() {
    "$built/tresse" lab down --name "$lab" 2>/dev/null || :
    rm -rf "$work"
}
trap down EXIT
trap 'exit 130' INT TERM

up() { "$built/tresse" lab up "$1" --name "$lab" --tressed "$built/tressed"; }
on() {
    node=$1
    shift
    "$built/tresse" lab exec --name "$lab" "$node" -- "$@"
}

# Open MPI takes nodes for processes of one machine where their host names are equal.
cat >"$work/agent" <<AGENT
#!/bin/sh
node=\$(awk -v ip="\$1" '\$1 == ip { print \$2 }' "$work/hosts")
shift
exec "$built/tresse" lab exec --name "$lab" "\$node" -- unshare -u sh -c "hostname \$node; \$*"
AGENT
cat >"$work/run" <<RUN
hostname "\$1"
cd "$work"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
eval "\$("$built/tresse" env "\$2" --for openmpi)"
exec timeout 600 mpirun --hostfile hostfile -np 8 --mca plm_rsh_agent "$work/agent" \\
    --mca oob_tcp_if_include tresse0 --mca mpi_yield_when_idle 1 hpcc
RUN
chmod +x "$work/agent"

# hpcc FILE: over every so many nodes, eight in all
hpcc() {
    file=$PWD/configs/$1
    "$built/tresse" export "$file" hosts | grep -v '^#' >"$work/hosts"
    nodes=$(wc -l <"$work/hosts")
    awk -v every=$((nodes / 8)) '(NR - 1) % every == 0 && n++ < 8 { print $1 " slots=1" }' \
        "$work/hosts" >"$work/hostfile"
    zcat -f /usr/share/doc/hpcc/examples/_hpccinf.txt* | sed "
        6s/^[0-9]*/${HPCC_N:-800}/
        11s/^[0-9]*/2/
        12s/^[0-9]*/4/" >"$work/hpccinf.txt"
    rm -f "$work/hpccoutf.txt"
    up "$file"
    on "$(awk 'NR == 1 { print $2 }' "$work/hosts")" \
        unshare -u sh "$work/run" "$(awk 'NR == 1 { print $2 }' "$work/hosts")" "$file" >/dev/null
    grep -E '^(Success|HPL_Tflops|MPIRandomAccess_GUPs|RandomlyOrderedRingLatency_usec|RandomlyOrderedRingBandwidth_GBytes)=' \
        "$work/hpccoutf.txt" | tr '\n' ' '
    echo
    "$built/tresse" lab down --name "$lab"
    grep -q '^Success=1$' "$work/hpccoutf.txt"
}

# netpipe FILE FROM TO WHAT: the best of three
netpipe() {
    to=$("$built/tresse" export "$1" hosts | awk -v name="$3" '$2 == name { print $1 }')
    rm -f "$work"/np.*
    for round in 1 2 3; do
        on "$3" timeout 120 NPtcp -u 65536 -o "$work/there" >/dev/null 2>&1 &
        sleep 1
        on "$2" timeout 120 NPtcp -h "$to" -u 65536 -o "$work/np.$round" >/dev/null 2>&1
        wait $!
    done
    awk -v what="$4" 'FNR == 1 && (!latency || $3 < latency) { latency = $3 } $2 > best { best = $2 }
        END { printf "%-32s %8.1f us %10.0f Mbit/s\n", what, latency * 1e6, best }' "$work"/np.*
}

for file in flat24.toml pmesh-4x4.toml; do
    echo "== hpcc on 8 nodes of configs/$file"
    hpcc "$file"
done

echo "== NetPIPE: latency of the smallest message, best bandwidth up to 64 KiB"
echo '0: 0 1' >"$work/single.fnn"
up "$work/single.fnn"
netpipe "$work/single.fnn" n0 n1 "single switch"
"$built/tresse" lab down --name "$lab"
file=$PWD/configs/flat24.toml
up "$file"
netpipe "$file" n00 n23 "flat neighbourhood, 24 nodes"
"$built/tresse" lab down --name "$lab"
file=$PWD/configs/pmesh-3x3x3.toml
up "$file"
netpipe "$file" n00 n01 "P-Mesh, no node between"
netpipe "$file" n00 n04 "P-Mesh, 1 node between"
netpipe "$file" n00 n13 "P-Mesh, 2 nodes between"
