#!/bin/sh
# Changes of plan under traffic (tests/src/changes): CHANGES_ROUNDS of each kind of fabric, default 20; those
# that need VLANs in the virtual machine, where this kernel has none. CHANGES_SEED and CHANGES_ROUND, printed
# by every run, repeat one or go on where it stopped; names as arguments choose kinds.
set -eu
cd "$(dirname "$0")/.."
cargo test --workspace --locked --tests --no-run
built=${CARGO_TARGET_DIR:-target}/debug
set -- "${CHANGES_ROUNDS:-20}" "${CHANGES_SEED:-$(date +%s)}" "${CHANGES_ROUND:-0}" "$@"
code=0
"$built/changes" "$@" || code=$?
[ $# -gt 3 ] || "$built/in-vm" "$built/changes" "$@" || code=$?
exit $code
