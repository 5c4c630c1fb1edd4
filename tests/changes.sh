#!/bin/sh
# Changes of plan under traffic (tests/src/changes): CHANGES_ROUNDS of each kind of fabric, by default one for
# each change that the kind allows. CHANGES_SEED and CHANGES_ROUND, printed by every run, repeat one or go on
# where it stopped. `here KIND...` takes place on this kernel, `vm KIND...` in the virtual machine; without
# arguments all kinds without VLANs here, and those with VLANs in the virtual machine.
set -eu
cd "$(dirname "$0")/.."
cargo test --workspace --locked --tests --no-run
built=${CARGO_TARGET_DIR:-target}/debug
where=${1:-both}
[ $# = 0 ] || shift
set -- "${CHANGES_ROUNDS:-0}" "${CHANGES_SEED:-$(date +%s)}" "${CHANGES_ROUND:-0}" "$@"
code=0
[ "$where" = vm ] || "$built/changes" "$@" || code=$?
[ "$where" = here ] || "$built/in-vm" "$built/changes" "$@" || code=$?
exit $code
