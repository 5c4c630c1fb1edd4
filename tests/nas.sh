#!/bin/sh
# NAS Parallel Benchmarks LU, BT and SP on 16 nodes: one switch, a direct torus and a P-Mesh, as in tables 4
# and 5 of the P-Mesh paper, each in a lab on this machine with cables of NAS_RATE (default 20M: so slow that
# the network decides, and not the processors that all nodes share). PEER_NPB=DIR is NPB3.4-MPI with
# `make -C DIR lu bt sp CLASS=$NAS_CLASS` done (default S; gfortran from 10 on needs
# -fallow-argument-mismatch).
# Each benchmark judges its own result. Bounded: ten minutes a run at most.
set -eu
cd "$(dirname "$0")/.."
class=${NAS_CLASS:-S}
rate=${NAS_RATE:-20M}
for benchmark in lu bt sp; do
    if [ ! -x "${PEER_NPB:-}/bin/$benchmark.$class.x" ]; then
        echo "not run: PEER_NPB=DIR with bin/$benchmark.$class.x"
        exit 0
    fi
done
. tests/mpi/lab.sh
needs mpirun

seq -s ' ' 0 15 | sed 's/^/0: /' >"$work/switch.fnn"
echo "== NAS Parallel Benchmarks, class $class, 16 nodes, cables of $rate: Mop/s in all"
printf '%-8s %10s %10s %10s\n' "" LU BT SP
while read -r name file; do
    up "$file" --rate "$rate" >/dev/null
    printf '%-8s' "$name"
    for benchmark in lu bt sp; do
        mpi "$file" 16 "$PEER_NPB/bin/$benchmark.$class.x" >"$work/said" 2>&1 </dev/null || {
            echo " $benchmark ended with $?:"
            tail -n 20 "$work/said"
            exit 1
        }
        grep -q 'Verification *= *SUCCESSFUL' "$work/said" || {
            echo " $benchmark does not verify"
            exit 1
        }
        awk '/Mop\/s total/ { printf " %10.2f", $NF }' "$work/said"
    done
    echo
done <<NETWORKS
Switch $work/switch.fnn
Torus $PWD/configs/direct-torus-4x4.toml
P-Mesh $PWD/configs/pmesh-4x4.toml
NETWORKS
cat <<'PAPER'
The paper, class A on 16 nodes with cables of 100 Mbit/s:
Switch       338.55     228.14     121.89
Torus        355.37     255.79     133.11
P-Mesh       398.56     247.11     117.16
PAPER
