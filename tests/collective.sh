#!/bin/sh
# `tresse copy` and `allgather` beside their bounds, over one ring of a lab of configs/pmesh-4x4.toml whose cables have a
# rate: a copy beside X / L, copies of four sources at once beside the same one behind the other, and an allgather
# beside what all parts but the own one take on a link. Medians of COLLECTIVE_RUNS, default 3, from the first octet to
# the last node.
#
#   COLLECTIVE_RATE   of every cable, in Mbit/s, default 100
#   TRESSE_BIN        the directory of tresse and tressed, instead of building them
#
# Bounded: half a minute a round. Needs root.
set -eu
cd "$(dirname "$0")/.."
. tests/built.sh
file=configs/pmesh-4x4.toml
rate=${COLLECTIVE_RATE:-100}
lab=collective
work=$(mktemp -d -p "$([ -d /dev/shm ] && echo /dev/shm || echo /tmp)")
end() {
    timeout 60 tresse lab down --name "$lab" >/dev/null 2>&1 || :
    rm -rf "$work"
}
trap end EXIT
trap 'exit 1' INT TERM
timeout 120 tresse lab up "$file" --name "$lab" --rate "${rate}M" --tressed "$built/tressed" >/dev/null
nodes=$(tresse export "$file" hosts | awk '!/^#/ { print $2 }')
for node in $nodes; do
    mkdir "$work/$node"
    head -c 4000000 /dev/urandom >"$work/$node/own"
done
head -c 67108864 /dev/urandom >"$work/x"
for i in 0 4 8 12; do head -c 16777216 /dev/urandom >"$work/x$i"; done

# seconds VERB ARGS: of what is sent, judged by the exit code; what came is removed
seconds() {
    verb=$1
    shift
    timeout 120 tresse "$verb" "$file" "$@" --stripes 1 --json --launcher netns --lab "$lab" >"$work/lines"
    rm -f "$work"/*/x* "$work"/*/all.*
    tail -n 1 "$work/lines" | jq .transfer_seconds
}
one() { seconds copy "n00:$work/x" "$work/{node}/"; }
each() {
    for i in 0 4 8 12; do
        seconds copy "$(printf n%02d $i):$work/x$i" "$work/{node}/"
    done | awk '{ sum += $1 } END { print sum }'
}
four() { seconds copy "n00:$work/x0" "n04:$work/x4" "n08:$work/x8" "n12:$work/x12" "$work/{node}/"; }
all() { seconds allgather "$work/{node}/own" "$work/{node}/all.{from}"; }

i=0
while [ $i -lt "${COLLECTIVE_RUNS:-3}" ]; do
    i=$((i + 1))
    for what in one each four all; do
        $what >>"$work/$what.times"
    done
done
median() { sort -g "$work/$1.times" | awk '{ t[NR] = $1 } END { print t[int((NR + 1) / 2)] }'; }
# row WHAT SECONDS BOUND WHICH
row() { echo "$2 $3" | awk -v what="$1" -v of="$4" '{ printf "| %s | %.2f | %.2f | %s | %.2f |\n", what, $1, $2, of, $1 / $2 }'; }
limit() { awk -v octets="$1" -v rate="$rate" 'BEGIN { print octets * 8 / rate / 1e6 }'; }
echo "cables of $rate Mbit/s, 16 nodes, one ring"
echo
echo "| | seconds | bound | which | times |"
echo "|---|---|---|---|---|"
row "copy of 64 MiB" "$(median one)" "$(limit 67108864)" "X / L"
row "copies of 16 MiB from four nodes at once" "$(median four)" "$(median each)" "one behind the other"
row "allgather of 4 MB of each" "$(median all)" "$(limit 60000000)" "15 parts on a link"
