#!/bin/sh
# One rollout over all nodes of a lab of P-Meshes on this machine: `paths = 2` to `paths = 1` and back, from the command
# to the last node's confirmation. Prints for each the seconds by wall clock and by step, and the processor seconds of
# `tresse` with all that it starts, and of all daemons; then the median.
#
#   tests/rollout.sh [SIDE...]   8 and 16 nodes a side by default: 64 and 256 nodes
#   ROLLOUT_ROUNDS   rollouts of each size, default 6
#   TRESSE_BIN       the directory of tresse and tressed, instead of building them
#
# On a machine with other work the wall clock says little: processor seconds divided by the number of processors are
# what the rollout takes at least on an idle one, the waiting beside it stands in the steps.
#
# Bounded: some minutes. Needs root.
set -eu
cd "$(dirname "$0")/.."
. tests/built.sh
lab=rollout
work=$(mktemp -d -p "$([ -d /dev/shm ] && echo /dev/shm || echo /tmp)")
end() {
    timeout 120 tresse lab down --name "$lab" >/dev/null 2>&1 || :
    rm -rf "$work"
}
trap end EXIT
trap 'exit 1' INT TERM

# Processor ticks of the daemons with these ids so far: fields 14 and 15 of proc(5) `stat`, whose field 2 has no space.
ticks() {
    for pid in $daemons; do
        read -r line <"/proc/$pid/stat" && echo "$line"
    done | awk '{ ticks += $14 + $15 } END { print ticks + 0 }'
}

hertz=$(getconf CLK_TCK)
echo "| nodes | paths | wall s | look, validate, apply, settle, confirm, verify | CPU s tresse | CPU s daemons |"
echo "|---|---|---|---|---|---|"
[ $# -gt 0 ] || set -- 8 16
for side; do
    nodes=$((side * side))
    for paths in 1 2; do
        printf '[fabric]\ntopology = { kind = "pmesh", dims = [%s, %s] }\n[routing]\npaths = %s\n' \
            "$side" "$side" $paths >"$work/paths-$paths.toml"
    done
    timeout 600 tresse lab up "$work/paths-2.toml" --name "$lab" --tressed "$built/tressed" >/dev/null
    daemons=$(pgrep -f "^$built/tressed --config /run/tresse-lab/$lab/")
    i=0
    : >"$work/walls"
    while [ $i -lt "${ROLLOUT_ROUNDS:-6}" ]; do
        paths=$((1 + i % 2))
        i=$((i + 1))
        before=$(ticks)
        code=0
        command time -f '%e %U %S' -o "$work/time" timeout 300 tresse rollout "$work/paths-$paths.toml" \
            --launcher netns --lab "$lab" --json >"$work/answer" 2>"$work/words" || code=$?
        spent=$(($(ticks) - before))
        if [ $code != 0 ]; then
            echo "the rollout ended with exit code $code" >&2
            tail -n 5 "$work/words" >&2
        fi
        steps=$(jq -r '.seconds // {} | [.look, .validate, .apply, .settle, .confirm, .verify]
            | map(if . then (. * 100 | round / 100 | tostring) else "-" end) | join(", ")' "$work/answer")
        tail -n 1 "$work/time" | awk -v n=$nodes -v p=$paths -v s="$steps" -v d=$spent -v h="$hertz" \
            '{ printf "| %d | %d | %.2f | %s | %.2f | %.2f |\n", n, p, $1, s, $2 + $3, d / h }'
        tail -n 1 "$work/time" | cut -d' ' -f1 >>"$work/walls"
    done
    sort -g "$work/walls" | awk -v n=$nodes '{ w[NR] = $1 }
        END { printf "| %d | median | %s | | | |\n", n, w[int((NR + 1) / 2)] }'
    timeout 120 tresse lab down --name "$lab" >/dev/null
done
