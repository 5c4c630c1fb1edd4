#!/bin/sh
# An all-to-all on a flat neighbourhood by the phases of `tresse schedule`, beside basic routing (one switch for each pair,
# flat-neighborhood-network-compiler, section 3.2), advanced routing (all switches that a pair shares, section 3.3) and
# Open MPI's MPI_Alltoall over both: the same messages, in one run on this machine. Seconds of the median round, and how many
# times those of the bound: the fewest phases that any schedule has, each of one message at the rate of a NIC.
#
#   SCHEDULE_FILE    a wiring table, default configs/flat24.fnn
#   SCHEDULE_RATE    Mbit/s of a cable, default 50
#   SCHEDULE_BYTES   of a message, default 500000
#   SCHEDULE_ROUNDS  default 5
#
# Bounded: two labs of 24 nodes, five times six all-to-alls. Needs root, Open MPI and a C compiler.
set -eu
cd "$(dirname "$0")/.."
. tests/mpi/lab.sh
needs mpirun mpicc jq
table=$(realpath "${SCHEDULE_FILE:-configs/flat24.fnn}")
rate=${SCHEDULE_RATE:-50} bytes=${SCHEDULE_BYTES:-500000} rounds=${SCHEDULE_ROUNDS:-5}

# cluster PATHS: the file
cluster() {
    printf '[fabric]\ntopology = { kind = "fnn", wiring = "%s" }\n[routing]\npaths = %s\n' "$table" "$1" >"$work/paths$1.toml"
    echo "$work/paths$1.toml"
}

bound=$("$built/tresse" schedule "$table" --header "$work/schedule.h" --json | jq -r '"\(.bound) \(.phases | length) \(.nodes)"')
nodes=${bound##* }
mpicc -O2 -DTRESSE_HEADER="\"$work/schedule.h\"" tests/mpi/alltoall.c -o "$work/alltoall"

# row WHAT FILE MODE
row() {
    # Ranks are in the order of the hosts, which is that of the nodes.
    addresses=
    [ "$3" = mpi ] || addresses=$(awk '{ print $1 }' "$work/hosts" | tr '\n' ' ')
    printf '#!/bin/sh\nexec "%s/alltoall" %s %s %s %s\n' "$work" "$3" "$bytes" "$rounds" "$addresses" >"$work/program"
    chmod +x "$work/program"
    if ! seconds=$(mpi "$2" "$nodes" "$work/program" 2>"$work/errors" | tail -1) || [ -z "$seconds" ]; then
        cat "$work/errors" >&2
        exit 1
    fi
    echo "$seconds $bound" | awk -v what="$1" -v bytes="$bytes" -v rate="$rate" '
        { best = $2 * bytes * 8 / (rate * 1e6); printf "%-58s %8.3f s %6.2f\n", what, $1, $1 / best }'
}

echo "$bound" | awk -v bytes="$bytes" -v rate="$rate" '{
    printf "%d nodes, messages of %d bytes, NICs of %d Mbit/s: %d phases, at least %d; bound %.3f s\n",
        $3, bytes, rate, $2, $1, $1 * bytes * 8 / (rate * 1e6) }'
basic=$(cluster 1)
up "$basic" --rate "${rate}M" >/dev/null
row "basic routing, all at once" "$basic" once
row "basic routing, MPI_Alltoall" "$basic" mpi
advanced=$(cluster 4)
up "$advanced" --rate "${rate}M" >/dev/null
row "advanced routing, all at once" "$advanced" once
row "advanced routing, MPI_Alltoall" "$advanced" mpi
row "advanced routing, by the schedule" "$advanced" schedule
