#!/bin/sh
# NetPIPE over labs of fabrics without VLANs on this machine: a cable, a switch, a flat neighbourhood, and a
# P-Mesh with 0, 1 and 2 nodes between; beside them the model of the P-Mesh paper, with its parameters taken
# from cable, switch and 1 node between, and what it says of 2. Cables have no rate: a token bucket fills
# while the other end answers, and NetPIPE would measure the bucket. Bounded: the best of NETPIPE_ROUNDS
# (default 3) rounds of everything in turn.
set -eu
cd "$(dirname "$0")/.."
. tests/mpi/lab.sh
needs NPtcp

# netpipe PAIR FROM TO: one round, its lines after those of the rounds before
netpipe() {
    to=$(awk -v name="$3" '$2 == name { print $1 }' "$work/hosts")
    on "$3" taskset -c 0 timeout 60 NPtcp -p 0 -u 65536 -o "$work/there" >/dev/null 2>&1 &
    sleep 1
    on "$2" taskset -c 0 timeout 60 NPtcp -h "$to" -p 0 -u 65536 -o "$work/round" >/dev/null 2>&1
    wait $!
    cat "$work/round" >>"$work/$1.np"
}

printf '[fabric]\ntopology = { kind = "full-mesh", nodes = 2 }\n' >"$work/cable.toml"
echo '0: 0 1' >"$work/switch.fnn"
for round in $(seq "${NETPIPE_ROUNDS:-3}"); do
    up "$work/cable.toml" >/dev/null
    netpipe cable n0 n1
    up "$work/switch.fnn" >/dev/null
    netpipe switch n0 n1
    up "$PWD/configs/flat24.toml" >/dev/null
    netpipe flat n00 n23
    up "$PWD/configs/pmesh-3x3x3.toml" >/dev/null
    netpipe pmesh0 n00 n01
    netpipe pmesh1 n00 n04
    netpipe pmesh2 n00 n13
done

# best PAIR: microseconds of the smallest message, MB/s of the best one up to 64 KiB
best() {
    awk 'NR == 1 { smallest = $1 } $1 == smallest && (!latency || $3 < latency) { latency = $3 }
        $2 > most { most = $2 } END { printf "%.2f %.2f\n", latency * 1e6, most / 8 }' "$work/$1.np"
}
for pair in cable switch flat pmesh0 pmesh1 pmesh2; do
    echo "$pair $(best "$pair")"
done | tee "$work/found" | awk '
    BEGIN { printf "%-10s %10s %10s\n", "", "us", "MB/s" }
    { printf "%-10s %10.1f %10.0f\n", $1, $2, $3 }'

# A path with r nodes between crosses r + 1 switches: L + (r + 1) Lsw + r Lr, and B less likewise. A
# difference below 0 is noise, and 0.
awk 'function least(x) { return x > 0 ? x : 0 }
{ l[$1] = $2; b[$1] = $3 } END {
    lsw = least(l["switch"] - l["cable"]); bsw = least(b["cable"] - b["switch"])
    lr = least(l["pmesh1"] - l["cable"] - 2 * lsw); br = least(b["cable"] - 2 * bsw - b["pmesh1"])
    print "latency = " l["cable"] "\nbandwidth = " b["cable"]
    print "switch_latency = " lsw "\nswitch_bandwidth = " bsw
    print "router_latency = " lr "\nrouter_bandwidth = " br
    print "rated = " b["cable"] "\nfabric_per_16_ports = " 16 * b["cable"]
}' "$work/found" >"$work/measured.toml"
echo "model fitted to cable, switch and 1 node between:"
cat "$work/measured.toml"
"$built/tresse" compare --nodes 27 --measured "$work/measured.toml" | grep -E 'ARCHITECTURE|^ p-mesh'
awk -F '[ =]+' 'NR == FNR { split($0, f, " "); l[f[1]] = f[2]; b[f[1]] = f[3]; next } { m[$1] = $2 } END {
    says = m["latency"] + 3 * m["switch_latency"] + 2 * m["router_latency"]
    gives = m["bandwidth"] - 3 * m["switch_bandwidth"] - 2 * m["router_bandwidth"]
    printf "2 nodes between: %.1f us predicted, %.1f measured (paper: 225, 230); ", says, l["pmesh2"]
    printf "%.0f MB/s predicted, %.0f measured\n", gives, b["pmesh2"]
}' "$work/found" "$work/measured.toml"
