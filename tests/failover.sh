#!/bin/sh
# How long failures last: every kind of fault in labs of all kinds of fabrics, under one numbered datagram
# a millisecond and pair; the table of docs/benchmarks.md. Needs root. FRR's OSPF with BFD and OpenFabric
# run beside ours where there is FRR. Fabrics with VLANs are measured in the virtual machine where this
# kernel lacks them, at three times the interval: an emulated machine is slow.
#
#   tests/failover.sh [INTERVAL_MS]     BFD's interval, default 100
#
# Leave the machine alone meanwhile. About an hour: what broke before is waited for, FRR for minutes.
set -eu
cd "$(dirname "$0")/.."
cargo build --release --locked --workspace --bins
built=${CARGO_TARGET_DIR:-target}/release
interval=${1:-100}
set -- ours
if [ -x /usr/lib/frr/zebra ]; then
    set -- "$@" ospf openfabric several
else
    echo "FRR (Debian: frr) is not here: not measured"
fi
if "$built/soak" --can; then
    exec "$built/failover" "$interval" "$@" vlans
fi
"$built/failover" "$interval" "$@"
exec "$built/in-vm" "$built/failover" "$((interval * 3))" vlans
