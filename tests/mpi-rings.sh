#!/bin/sh
# Collectives of MPI programs over the rings of the plan (crates/mpi): tests/mpi/collectives.c judges its results, in
# labs of fabrics whose nodes route, with cables of 100 Mbit/s and the ranks in no order. Prints what a collective takes
# over the bound of one link, beside the MPI alone, and how many went over rings; wrong results fail, times do not.
#
#   mpi-rings.sh short   a ring of four: everything at any size, a library that some ranks lack, a rank that dies,
#                        one figure. For `make test`, with the programs of BUILT and the library MPI_LIBRARY
#   mpi-rings.sh hard    what is rare: one element of 2 GiB, more communicators than files, ranks on other plans and on nodes
#                        that the plan lacks, a firewall, a rank that dies in each kind of collective
#   mpi-rings.sh long    rings of 4, 16 and 64: what a node on the way adds; one of 64 with 64 KiB to 1 MiB, both ways,
#                        round, and by the MPI alone
#   mpi-rings.sh sizes   from how many bytes on rings pay: each kind with 4 KiB to 256 KiB on rings, P-Meshes and switches
#                        of 16 and 64, over rings at all sizes beside the MPI alone
#   mpi-rings.sh messages
#                        what the library adds to short messages
#   mpi-rings.sh         long and messages, and large data on a P-Mesh 4x4, a ring of 8, one switch of 8, a ring of 4 with
#                        two ranks a node in both placements; programs in Fortran, and one linked with the library
#
# Needs root, Open MPI and a C compiler. Bounded: MPI_SECONDS a job.
set -eu
cd "$(dirname "$0")/.."
MPI_SECONDS=${MPI_SECONDS:-150}
export MPI_SECONDS
# `make test` has to be told.
[ "${1:-}" != short ] || NOT_RUN=77
. tests/mpi/lab.sh
needs mpirun mpicc
library=${MPI_LIBRARY:-$built/libtresse_mpi.so}
[ -e "$library" ] || cargo build --release --locked --package tresse-mpi
mpicc -O2 tests/mpi/collectives.c -o "$work/collectives"
mpicc -O2 tests/mpi/rules.c -o "$work/rules"

# ranks NODES EACH: the nodes that ranks run on, so many on each, in no order
ranks() {
    nodes=$1
    awk -v seed="${SEED:-7}" 'BEGIN { srand(seed) } { print rand(), $1 }' "$work/hosts" | sort | head -n "$nodes" \
        | awk -v each="$2" '{ print $2 " slots=" each }' >"$work/hostfile"
    processes=$(($1 * $2))
}

# job LIBRARY WORDS..: runs collectives, or what `runs` names; without the library where LIBRARY is 0
job() {
    MPI_OPTIONS="${placement:-} --bind-to none"
    [ "$1" = 0 ] || MPI_OPTIONS="$MPI_OPTIONS -x LD_PRELOAD=$library -x TRESSE_MPI_CLUSTER=$file \
-x TRESSE_MPI_REPORT=1 ${settings:-}"
    shift
    # shellcheck disable=SC2086
    start "$file" "$processes" ${runs:-$work/collectives} "$@"
}

# fine WORDS..: a job with the library that is right, by its own words
fine() {
    job 1 "$@" >"$work/said" 2>&1 || { cat "$work/said"; return 1; }
    cat "$work/said"
    grep -q '^ok$' "$work/said"
}

# over: it has gone over rings
over() {
    grep -Eq 'over rings: Bcast [1-9]' "$work/said"
}

# dies KIND..: rank 1 dies in the middle of each
dies() {
    for kind; do
        began=$(date +%s)
        if job 1 die "$kind" 40000000 >"$work/said" 2>&1; then
            echo "$kind: the job ends well"
            return 1
        fi
        took=$(($(date +%s) - began))
        echo "$kind: ended after $took s"
        [ "$took" -lt $((MPI_SECONDS - 10)) ]
    done
}

# rules WORDS..: the same without the library, with hosts in the order of a ring and rules for Open MPI
rules() {
    "$built/tresse" export "$file" openmpi-rules >"$work/openmpi-rules"
    mv "$work/hostfile" "$work/shuffled"
    "$built/tresse" export "$file" hostfile | while read -r node; do
        awk -v node="$node" '$2 == node { print $1 " slots=1" }' "$work/hosts"
    done >"$work/hostfile"
    MPI_OPTIONS="--bind-to none --mca coll_tuned_use_dynamic_rules 1 \
--mca coll_tuned_dynamic_rules_filename $work/openmpi-rules"
    failed=0
    start "$file" "$processes" "$work/collectives" "$@" || failed=1
    mv "$work/shuffled" "$work/hostfile"
    return $failed
}

# row KIND BYTES LINKS [ASKED]: the median of three over the time that one link takes for LINKS times the bytes, beside what is
# to be reached
row() {
    for with in 1 0 ${ordered:-}; do
        case $with in
        rules) rules time "$1" "$2" 3 ;;
        *) job "$with" time "$1" "$2" 3 ;;
        esac >"$work/said" 2>&1 || { cat "$work/said"; return 1; }
        eval "took_$with=$(grep -E '^[0-9.]+( wrong)?$' "$work/said")"
    done
    # shellcheck disable=SC2154
    echo "$1 $2 $3 $took_1 $took_0 ${took_rules:-}" | awk -v name="$name" -v asked="${4:-}" '{
        bound = $3 * $2 * 8 / 100e6
        printf "%-24s %-15s %9d bytes: %.2f of one link", name, $1, $2, $4 / bound
        printf "%s, without the library %.2f", asked ? " (asked: " asked ")" : "", $5 / bound
        print $6 ? sprintf(", by rules %.2f (asked: 1.35)", $6 / bound) : "" }'
}

short() {
    up "$PWD/configs/ring-4.toml" --rate 100M
    name='ring of 4'
    ranks 4 1
    settings='-x TRESSE_MPI_THRESHOLD=0'
    echo "== everything, at any size"
    fine check
    over
    echo "== what MPI allows and few programs do"
    runs=$work/rules
    fine
    over
    runs='' settings=''
    ranks 4 2
    fine check
    over
    ranks 4 1
    echo "== ranks without the library, another setting, no daemon: one line, and the MPI's own"
    MPI_OPTIONS='--bind-to none'
    start "$file" 2 "$work/collectives" check : -np 2 -x "LD_PRELOAD=$library" "$work/collectives" check \
        >"$work/said" 2>&1
    one 'rank 0 does not have this library'
    start "$file" 2 -x "LD_PRELOAD=$library" "$work/collectives" check : \
        -np 2 -x "LD_PRELOAD=$library" -x TRESSE_MPI_BCAST=1M "$work/collectives" check >"$work/said" 2>&1
    one 'rank 2: its TRESSE_MPI_ variables differ'
    settings='-x TRESSE_SOCKET=/nonexistent'
    job 1 check >"$work/said" 2>&1
    one 'rank 0: tressed does not answer there'
    # The launcher's own, on all nodes.
    settings='-x TRESSE_SOCKET'
    job 1 check >"$work/said" 2>&1
    one 'it asks the daemon of node'
    settings="-x TRESSE_MPI_CLUSTER=$PWD/configs/ring-3.toml"
    job 1 check >"$work/said" 2>&1
    one 'ring-3.toml gives plan'
    settings=
    echo "== a rank that dies in the middle ends the job"
    dies bcast allreduce
    row bcast 8388608 1
}

# one WORDS: the job was right, and said so in one line
one() {
    cat "$work/said"
    grep -q '^ok$' "$work/said"
    [ "$(grep -c "^tresse-mpi: rings are not used: .*$1" "$work/said")" = 1 ]
    [ "$(grep -c '^tresse-mpi: rings are not used' "$work/said")" = 1 ]
}

hard() {
    up "$PWD/configs/ring-4.toml"
    runs=$work/rules
    echo "== one element of 2 GiB"
    ranks 2 1
    fine big
    over
    echo "== more communicators than files: one line, and the MPI's own for the later ones"
    ranks 4 1
    printf '#!/bin/sh\nulimit -n 1024\nexec %s many\n' "$work/rules" >"$work/few"
    chmod +x "$work/few"
    runs=$work/few
    job 1 >"$work/said" 2>&1
    one 'there are too many communicators'
    over
    runs=$work/rules
    echo "== a plan that differs"
    sed 's/nodes = 4.*/nodes = 4 }\n\n[routing]\npaths = 1/' "$file" >"$work/other.toml"
    on n2 "$built/tresse" apply "$work/other.toml" >/dev/null
    job 1 loop >"$work/said" 2>&1
    one 'node n2 has plan'
    on n2 "$built/tresse" withdraw >/dev/null
    on n2 "$built/tresse" apply "$file" >/dev/null
    echo "== every rank is said to have the library, and one has it switched off"
    MPI_OPTIONS='--bind-to none'
    on_all="-x LD_PRELOAD=$library -x TRESSE_MPI_EVERYWHERE=1"
    # Words, on purpose.
    # shellcheck disable=SC2086
    start "$file" 1 $on_all -x TRESSE_MPI=0 "$runs" loop : -np 1 $on_all "$runs" loop >"$work/said" 2>&1
    one 'rank 0: it has switched them off'
    echo "== a firewall that drops connections to one node"
    # Those of the MPI itself are let through.
    settings='--mca btl_tcp_port_min_v4 10000 --mca btl_tcp_port_range_v4 1000'
    walled=$(tail -n 1 "$work/hosts" | awk '{ print $2 }')
    on "$walled" nft add table inet wall
    on "$walled" nft 'add chain inet wall in { type filter hook input priority 0 ; }'
    on "$walled" nft 'add rule inet wall in iifname != "lo" tcp dport 32768-60999 tcp flags & (syn|ack) == syn drop'
    began=$(date +%s)
    job 1 loop >"$work/said" 2>&1
    echo "after $(($(date +%s) - began)) s, 20 communicators"
    [ $(($(date +%s) - began)) -lt 60 ]
    one 'rank [0-9]* .*connect'
    settings='' runs=''
    echo "== a rank that dies in the middle ends the job"
    up "$PWD/configs/ring-4.toml" --rate 100M
    dies allgather gather scatter reduce_scatter ibcast
}

# every NAME NODES ASKED..: the rows of one fabric, and what is to be reached in each
every() {
    name=$1 nodes=$2 ordered=rules
    shift 2
    row bcast 8388608 1 "$1"
    row bcast 25165824 1 "$2"
    row allgather 1000000 $((nodes - 1)) "$3"
    row allreduce 8388608 "$(awk -v n="$nodes" 'BEGIN { print 2 * (n - 1) / n }')" "$4"
    row reduce_scatter 8388608 "$(awk -v n="$nodes" 'BEGIN { print (n - 1) / n }')" "$5"
    row gather 1000000 $((nodes - 1)) "$6"
    row scatter 1000000 $((nodes - 1)) "$7"
}

# bcast BYTES [NAME=VALUE]: the median of nine broadcasts in seconds
bcast() {
    settings="-x TRESSE_MPI_THRESHOLD=0 ${2:+-x $2}"
    job 1 time bcast "$1" 9 2>/dev/null | grep -E '^[0-9.]+$'
    settings=
}

long() {
    echo "== long rings: 8 bytes to all, round and both ways"
    # Each packet that waits for its time is work for this machine: with 64 nodes, more than it has.
    before=0 burst=16kb
    for nodes in 4 16 64; do
        generated "kind = \"ring\", nodes = $nodes"
        ranks "$nodes" 1
        echo "$nodes $(bcast 8 TRESSE_MPI_BOTH_WAYS=0) $(bcast 8 TRESSE_MPI_BOTH_WAYS=1M) $before ${round:-0}" >"$work/said"
        awk '{ printf "ring of %2d: %.2f ms round, %.2f both ways", $1, $2 * 1e3, $3 * 1e3
            print $4 ? sprintf("; %.0f us for each node more", ($2 - $5) * 1e6 / ($1 - $4)) : "" }' "$work/said"
        before=$nodes round=$(awk '{ print $2 }' "$work/said")
    done
    for bytes in 16384 65536 131072 262144 524288 1048576; do
        alone=$(job 0 time bcast $bytes 9 2>/dev/null | grep -E '^[0-9.]+$')
        echo "$bytes $(bcast $bytes TRESSE_MPI_BOTH_WAYS=0) $(bcast $bytes TRESSE_MPI_BOTH_WAYS=2M) $alone" | awk '{
            printf "ring of 64, %7d bytes: %.2f ms round, %.2f both ways, %.2f by the MPI alone\n",
                $1, $2 * 1e3, $3 * 1e3, $4 * 1e3 }'
    done
}

# sweep: a row for each kind of collective on the fabric that is up
sweep() {
    for with in 0 1; do
        # The file has no rate, which stands for 1 Gbit/s.
        settings="-x TRESSE_MPI_THRESHOLD=0 -x TRESSE_MPI_BOTH_WAYS=$((processes * 625))"
        job $with sweep 9 2>/dev/null | grep -E '^[a-z_]+ [0-9]+ [0-9.]+( wrong)?$' >"$work/sweep-$with"
        settings=
    done
    awk -v name="$name" 'NR == FNR { alone[$1, $2] = $3; next }
        $1 != kind { printf "%s%-14s %-15s", kind ? "\n" : "", name, $1; kind = $1 }
        { printf "  %3d KiB %7.2f/%7.2f ms %5.2f", $2 / 1024, $3 * 1e3, alone[$1, $2] * 1e3, $3 / alone[$1, $2] }
        END { print "" }' "$work/sweep-0" "$work/sweep-1"
}

# generated TOPOLOGY: a lab of a fabric that a file of one line generates
generated() {
    printf '[fabric]\ntopology = { %s }\n' "$1" >"$work/generated.toml"
    up "$work/generated.toml" --rate 100M
    tight "${burst:-6kb}"
}

sizes() {
    echo "== by size in all: over rings / by the MPI alone, and the ratio"
    for side in ${SIDES:-16 64}; do
        name="ring of $side"
        generated "kind = \"ring\", nodes = $side"
        ranks "$side" 1
        sweep
        name="P-Mesh of $side"
        generated "kind = \"pmesh\", dims = [$((side / 8)), 8]"
        ranks "$side" 1
        sweep
        name="switch of $side"
        echo "0: $(seq -s ' ' 0 $((side - 1)))" >"$work/switch.fnn"
        up "$work/switch.fnn" --rate 100M
        tight 6kb
        ranks "$side" 1
        sweep
    done
}

# messages: what the library adds to short ones
messages() {
    up "$PWD/configs/ring-4.toml" --rate 100M
    ranks 4 1
    echo "== short messages: the best of 2,000, in microseconds, alone and with the library, best of ${ROUNDS:-3} rounds"
    round=0
    while [ $round -lt "${ROUNDS:-3}" ]; do
        round=$((round + 1))
        for with in 0 1; do
            job $with best 2000 2>/dev/null | sed -n "s/^[a-z_]* [0-9]* [0-9.]*\$/$with &/p"
        done
    done | awk '{ at = $2 " " $3 } !((at, $1) in least) || $4 < least[at, $1] { least[at, $1] = $4; if (!$1) row[at] = 1 }
        END { for (at in row) printf "%-20s %7.1f %7.1f  %.2f\n", at, least[at, 0], least[at, 1], least[at, 1] / least[at, 0] }' | sort
    echo "== 8 bytes among one rank, in nanoseconds, alone and with the library"
    for with in 0 1; do
        job $with decide 100000 2>/dev/null | sed -n "s/^[a-z]* [0-9.]*$/$with &/p"
    done | awk '!$1 { alone[$2] = $3 } $1 { printf "%-12s %6.1f %6.1f\n", $2, alone[$2], $3 }'
}

case ${1:-} in
short | hard | long | sizes | messages)
    "$1"
    exit
    ;;
esac
long
up "$PWD/configs/pmesh-4x4.toml" --rate 100M
ranks 16 1
every 'P-Mesh 4x4' 16 0.75 0.65 0.80 0.70 '' 0.60 0.60
up "$PWD/configs/ring-8.toml" --rate 100M
ranks 8 1
every 'ring of 8' 8 0.85 0.85 0.75 0.75 '' 0.55 0.55
echo "0: 0 1 2 3 4 5 6 7" >"$work/switch.fnn"
up "$work/switch.fnn" --rate 100M
ranks 8 1
every 'one switch of 8' 8 1.25 1.25 1.25 1.25 1.25 1.25 1.25
up "$PWD/configs/ring-4.toml" --rate 100M
ranks 4 2
ordered='' took_rules=''
name='ring of 4, two a node' placement='--map-by slot'
row bcast 8388608 1 0.65
name='ring of 4, alternating' placement='--map-by node'
row bcast 8388608 1 0.65
placement=
ranks 4 1
if command -v mpif90 >/dev/null; then
    for module in mpi mpi_f08; do
        mpif90 -cpp "-DMODULE=$module" -O2 tests/mpi/fortran.f90 -o "$work/fortran"
        start "$file" 4 -x "LD_PRELOAD=$library" -x "TRESSE_MPI_CLUSTER=$file" -x TRESSE_MPI_REPORT=1 "$work/fortran" \
            >"$work/said" 2>&1 || { cat "$work/said"; exit 1; }
        grep -q '^ok$' "$work/said"
        grep 'over rings' "$work/said"
        echo "   by Fortran's use $module"
    done
else
    echo "Fortran: not run: mpif90 is missing (gfortran)"
fi
echo "== a program that is linked with the library, not started with it"
mpicc -O2 tests/mpi/collectives.c -o "$work/linked" -L"$(dirname "$library")" -ltresse_mpi -Wl,-rpath,"$(dirname "$(realpath "$library")")"
start "$file" 4 -x "TRESSE_MPI_CLUSTER=$file" -x TRESSE_MPI_THRESHOLD=0 -x TRESSE_MPI_REPORT=1 "$work/linked" check \
    >"$work/said" 2>&1 || { cat "$work/said"; exit 1; }
cat "$work/said"
grep -q '^ok$' "$work/said"
grep -Eq 'over rings: Bcast [1-9]' "$work/said"
messages
