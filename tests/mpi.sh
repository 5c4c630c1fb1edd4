#!/bin/sh
# hpcc, the HPC Challenge, which judges itself, started by Open MPI over labs of fabrics without VLANs on this
# machine. Bounded: HPCC_N is the size of its matrices, default 800; about a minute a fabric.
set -eu
cd "$(dirname "$0")/.."
. tests/mpi/lab.sh
needs mpirun hpcc

# hpcc FILE: over every so many nodes, eight in all
hpcc() {
    zcat -f /usr/share/doc/hpcc/examples/_hpccinf.txt* | sed "
        6s/^[0-9]*/${HPCC_N:-800}/
        11s/^[0-9]*/2/
        12s/^[0-9]*/4/" >"$work/hpccinf.txt"
    rm -f "$work/hpccoutf.txt"
    up "$1"
    mpi "$1" 8 hpcc >/dev/null
    grep -E '^(Success|HPL_Tflops|MPIRandomAccess_GUPs|RandomlyOrderedRingLatency_usec|RandomlyOrderedRingBandwidth_GBytes)=' \
        "$work/hpccoutf.txt" | tr '\n' ' '
    echo
    grep -q '^Success=1$' "$work/hpccoutf.txt"
}

for file in flat24.toml pmesh-4x4.toml; do
    echo "== hpcc on 8 nodes of configs/$file"
    hpcc "$PWD/configs/$file"
done
