#!/bin/sh
# How long failures last: every kind of fault in labs without VLANs, under one numbered datagram a
# millisecond and pair; the table of docs/benchmarks.md. Needs root. The argument is the interval of BFD
# in milliseconds, default 100. Leave the machine alone meanwhile. About ten minutes: a path that broke
# before is waited for, up to a minute.
set -eu
cd "$(dirname "$0")/.."
cargo build --locked --workspace --bins
exec "${CARGO_TARGET_DIR:-target}/debug/failover" "$@"
