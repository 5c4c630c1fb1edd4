#!/bin/sh
# What detours bring to traffic that the plan expects and to other traffic: the flat neighbourhood of
# configs/flat-adaptive.toml without detours, with those of a plan for n0 and n1, and with those that nodes find
# themselves, in one run on this machine; beside it the optimum of the linear program for that very traffic. TCP by
# iperf3, 16 flows a pair, all pairs of a pattern at once; a line each of what all of them get, in rates of a NIC.
#
#   REFLECT_RATE     the rate of a cable, default 200M
#   REFLECT_SECONDS  that are measured, default 10, after 8 that are not
#   TRESSE_BIN       the directory of tresse and tressed, instead of building them
#
# Bounded: three labs, each for four patterns. Needs root, iperf3 and jq.
set -eu
cd "$(dirname "$0")/.."
. tests/built.sh
for program in iperf3 jq; do
    if ! command -v $program >/dev/null; then
        echo "not run: $program is missing (tests/deps.sh bench)"
        exit 0
    fi
done
lab=reflectors
work=$(mktemp -d)
end() {
    timeout 60 tresse lab down --name "$lab" >/dev/null 2>&1 || :
    rm -rf "$work"
}
trap end EXIT
trap 'exit 1' INT TERM
rate=${REFLECT_RATE:-200M} seconds=${REFLECT_SECONDS:-10}

# cluster REFLECT [FROM:TO..]: the file, with this demand
cluster() {
    reflect=$1
    shift
    sed "s/^reflect = .*/reflect = $reflect/" configs/flat-adaptive.toml
    nic() {
        printf '{ name = "eth%s", rate = "%s" }' "$1" "$rate"
    }
    printf '[[node]]\nname = "n[0-1]"\nnics = [%s, %s, %s]\n' "$(nic 0)" "$(nic 1)" "$(nic 2)"
    printf '[[node]]\nname = "n[2-3]"\nnics = [%s, %s]\n' "$(nic 0)" "$(nic 1)"
    for pair; do
        printf '[[demand]]\nfrom = "%s"\nto = "%s"\n' "${pair%:*}" "${pair#*:}"
    done
}

# optimum PATTERN: of the linear program, the sum over all pairs, for as much by each
optimum() {
    IFS=, && set -- $1 && unset IFS
    cluster true "$@" >"$work/optimum.toml"
    busiest=$(printf '%s\n' "$@" | awk -F: '{ n[$1]++; m[$2]++ } END {
        for (i in n) if (n[i] > most) most = n[i]; for (i in m) if (m[i] > most) most = m[i]; print most }')
    tresse check "$work/optimum.toml" --json | jq ".reflect.optimum * $# / $busiest"
    rm -f "$work/tresse.lock"
}

# together PATTERN: what all pairs get at once, in bits a second
together() {
    IFS=, && set -- $1 && unset IFS
    port=5201
    for pair; do
        timeout 60 tresse lab exec --name "$lab" "${pair#*:}" -- iperf3 -s -1 -p $port >/dev/null &
        port=$((port + 1))
    done
    sleep 1
    port=5201
    for pair; do
        to=$(awk -v name="${pair#*:}" '$2 == name { print $1 }' "$work/hosts")
        timeout 60 tresse lab exec --name "$lab" "${pair%:*}" -- \
            iperf3 -c "$to" -p $port -P 16 -O 8 -t "$seconds" -J >"$work/got.$port" &
        port=$((port + 1))
    done
    wait
    cat "$work"/got.* | jq -s 'map(.end.sum_received.bits_per_second) | add'
    rm -f "$work"/got.*
}

patterns="n0:n1 n0:n1,n1:n0 n2:n3 n0:n1,n0:n2"
for way in false true '"adaptive"'; do
    case $way in
        true) cluster "$way" n0:n1 n1:n0 ;;
        *) cluster "$way" ;;
    esac >"$work/cluster.toml"
    rm -f "$work/tresse.lock"
    timeout 120 tresse lab up "$work/cluster.toml" --name "$lab" --shape --bfd-ms 100 --tressed "$built/tressed" >/dev/null
    tresse export "$work/cluster.toml" hosts | grep -v '^#' >"$work/hosts"
    for pattern in $patterns; do
        together "$pattern"
    done >"$work/$way"
    timeout 60 tresse lab down --name "$lab" >/dev/null
done

bits=$(echo "$rate" | sed 's/G$/e9/; s/M$/e6/; s/k$/e3/')
echo "| traffic | no detours | plan for n0 and n1 | as needed | optimum |"
echo "|---|---|---|---|---|"
line=0
for pattern in $patterns; do
    line=$((line + 1))
    printf '| %s ' "$pattern"
    for way in false true '"adaptive"'; do
        awk -v line=$line -v rate="$bits" 'NR == line { printf "| %.2f ", $1 / rate }' "$work/$way"
    done
    printf '| %.2f |\n' "$(optimum "$pattern")"
done
