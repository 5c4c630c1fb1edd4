#!/bin/sh
# The routing of a random network, 4 cables and 4 nodes a switch (SWITCHES, default 2048; SEED), ours
# beside OpenSM's updn over ibsim on the same graph. Prints processor time and memory; judges nothing.
#
# OpenSM's time is that of its routing phase alone, from building the hop matrices to the last
# forwarding table, taken by gdb at the functions that begin and follow it; discovery and upload are
# left out. Both stop at tables: OpenSM's port by switch and LID, ours the channels by pair of switches,
# and with them the VLAN trees that hold them.
#
# opensm is not installed for this: its package starts a subnet manager where there is InfiniBand.
set -eu
cd "$(dirname "$0")/.."
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
switches=${SWITCHES:-2048}
ours=${CARGO_TARGET_DIR:-$PWD/target}/release/examples/irregular
[ -x "$ours" ] || cargo build --release --locked --package tresse-verify --example irregular
for strategy in updown transit; do
    "$ours" routes "$switches" "$strategy"
done

shim=$(find /usr/lib -name libumad2sim.so 2>/dev/null | head -n 1)
for program in opensm ibsim gdb; do
    command -v "$program" >/dev/null || shim=
done
if [ -z "$shim" ]; then
    echo "opensm   not run: needs opensm, ibsim-utils and gdb"
    exit 0
fi

work=$(mktemp -d)
simulator=
trap '[ -z "$simulator" ] || kill "$simulator" 2>/dev/null || true; rm -rf "$work"' EXIT
"$ours" ibsim "$switches" "${SEED:-1}" >"$work/net"
# The first switch that ibsim makes; without a root, updn falls back to minhop.
echo 0x0000000000200000 >"$work/roots"
cat >"$work/phase.gdb" <<'GDB'
set pagination off
set confirm off
break osm_ucast_mgr_process
commands
silent
python
import gdb
process, thread, _ = gdb.selected_thread().ptid
def cpu():
    with open(f"/proc/{process}/task/{thread}/schedstat") as stat:
        return int(stat.read().split()[0]) / 1e9
began = cpu()
end
continue
end
break osm_ucast_mgr_set_fwd_tables
commands
silent
python
with open(f"/proc/{process}/status") as status:
    peak = status.read().split("VmHWM:")[1].split("kB")[0].strip()
print(f"phase {cpu() - began:.3f} s CPU, {peak} KiB at most", flush=True)
end
kill
quit
end
run
GDB
export IBSIM_SOCKNAME="tresse-$$" OSM_TMP_DIR="$work" OSM_CACHE_DIR="$work"
ibsim -n -s -N $((switches * 10)) -S $((switches * 4)) -P $((switches * 60)) "$work/net" >"$work/ibsim.log" 2>&1 &
simulator=$!
sleep 2
cd "$work" # the shim leaves a directory where it runs
timeout -k 5 "${OPENSM_SECONDS:-600}" gdb -batch -ex "set environment SIM_HOST H0_0" \
    -ex "set environment LD_PRELOAD $shim" -ex "set startup-with-shell off" -x "$work/phase.gdb" \
    --args "$(command -v opensm)" -o -R updn -D 0x3 -f "$work/osm.log" -a "$work/roots" \
    >"$work/gdb.log" 2>&1 || true
phase=$(sed -n 's/^phase //p' "$work/gdb.log")
if [ -n "$phase" ]; then
    echo "opensm   $switches switches: $phase, $(opensm --version 2>&1 | sed -n 's/^OpenSM \([0-9][^ ]*\).*/version \1/p' | head -n 1), updn"
else
    tail -n 20 "$work/gdb.log" >&2
    echo "opensm   failed: no routing within ${OPENSM_SECONDS:-600} s"
fi
