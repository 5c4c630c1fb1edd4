#!/bin/sh
# Several failures at once (tests/src/several.rs): SEVERAL_ROUNDS sets of failures of each kind of fabric, or of the kinds
# that are the arguments. SEVERAL_SEED and SEVERAL_ROUND, printed by every run, repeat one or go on where it stopped.
# `here KIND...` takes place on this kernel, `vm KIND...`, for fabrics with VLANs, in the virtual machine; without
# arguments all kinds where they belong.
set -eu
cd "$(dirname "$0")/.."
cargo test --workspace --locked --tests --no-run
built=${CARGO_TARGET_DIR:-target}/debug
where=${1:-both}
[ $# = 0 ] || shift
set -- "${SEVERAL_ROUNDS:-5}" "${SEVERAL_SEED:-$(date +%s)}" "${SEVERAL_ROUND:-0}" "$@"
code=0
[ "$where" = vm ] || "$built/several" "$@" || code=$?
[ "$where" = here ] || "$built/in-vm" "$built/several" "$@" || code=$?
exit $code
