#!/bin/sh
# What each node on the way adds to `tresse copy`: an empty file over the rings of 4, 16 and 64 nodes of P-Meshes on
# this machine, from the first octet (members launched, connections made) to the last node's final name. Prints
# medians as a table, and the growth from each size to the next. big-fat-switches, section 6, has 400 us. Then copies of
# 64 KiB to 1 MiB by each shape on a ring of 64 nodes with cables of 100 Mbit/s.
#
#   LATENCY_RUNS   copies of each size, default 21
#   TRESSE_BIN     the directory of tresse and tressed, instead of building them
#
# Bounded: some seconds a lab. Needs root.
set -eu
cd "$(dirname "$0")/.."
. tests/built.sh
lab=latency
work=$(mktemp -d -p "$([ -d /dev/shm ] && echo /dev/shm || echo /tmp)")
end() {
    timeout 60 tresse lab down --name "$lab" >/dev/null 2>&1 || :
    rm -rf "$work"
}
trap end EXIT
trap 'exit 1' INT TERM
: >"$work/empty"

echo "| nodes | shape | median us | us a node more |"
echo "|---|---|---|---|"
for shape in ring tree; do
    before="" fewer=0
    for side in 2 4 8; do
        nodes=$((side * side))
        printf '[fabric]\ntopology = { kind = "pmesh", dims = [%s, %s] }\n' $side $side >"$work/cluster.toml"
        rm -f "$work/tresse.lock"
        timeout 120 tresse lab up "$work/cluster.toml" --name "$lab" --tressed "$built/tressed" >/dev/null
        source=$(tresse export "$work/cluster.toml" hosts | awk '!/^#/ { print $2; exit }')
        i=0
        while [ $i -lt "${LATENCY_RUNS:-21}" ]; do
            i=$((i + 1))
            timeout 60 tresse copy "$work/cluster.toml" "$source:$work/empty" "$work/{node}.copy" --json \
                --shape $shape --stripes 1 --launcher netns --lab "$lab" | tail -n 1 | jq .transfer_seconds
            rm -f "$work"/*.copy
        done | sort -g >"$work/times"
        timeout 60 tresse lab down --name "$lab" >/dev/null
        median=$(awk '{ t[NR] = $1 } END { printf "%.0f", t[int((NR + 1) / 2)] * 1e6 }' "$work/times")
        more=$(awk -v a="$before" -v b="$median" -v n=$fewer -v m=$nodes \
            'BEGIN { if (n) printf "%.0f", (b - a) / (m - n); else printf "-" }')
        echo "| $nodes | $shape | $median | $more |"
        before=$median fewer=$nodes
    done
done

# Section 6: hierarchical rings for less data on long rings.
echo "| ring of 64, KiB | ring ms | rings of rings | tree |"
echo "|---|---|---|---|"
printf '[fabric]\ntopology = { kind = "ring", nodes = 64 }\n' >"$work/cluster.toml"
rm -f "$work/tresse.lock"
timeout 120 tresse lab up "$work/cluster.toml" --name "$lab" --tressed "$built/tressed" --rate 100M >/dev/null
for kib in 64 256 1024; do
    head -c $((kib * 1024)) /dev/urandom >"$work/data"
    row="| $kib"
    for shape in ring rings tree; do
        i=0
        while [ $i -lt "${LATENCY_RUNS:-21}" ]; do
            i=$((i + 1))
            timeout 60 tresse copy "$work/cluster.toml" "n00:$work/data" "$work/{node}.copy" --json \
                --shape $shape --launcher netns --lab "$lab" | tail -n 1 | jq .transfer_seconds
            rm -f "$work"/*.copy
        done | sort -g >"$work/times"
        row="$row | $(awk '{ t[NR] = $1 } END { printf "%.1f", t[int((NR + 1) / 2)] * 1e3 }' "$work/times")"
    done
    echo "$row |"
done
