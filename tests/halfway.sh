#!/bin/sh
# Rollouts that break half-way (tests/src/halfway): one fault at one step, row by row. `here KIND...` takes place on
# this kernel, `vm KIND...` in the virtual machine; without arguments ring-4 and pmesh-3x3 here. HALFWAY_SEED, printed
# by every run, repeats one. HALFWAY_ONLY chooses rows by parts of their names: "settled/ /rebooted/".
set -eu
cd "$(dirname "$0")/.."
cargo test --workspace --locked --tests --no-run
built=${CARGO_TARGET_DIR:-target}/debug
where=${1:-here}
[ $# = 0 ] || shift
[ $# != 0 ] || set -- ring-4 pmesh-3x3
set -- "${HALFWAY_SEED:-$(date +%s)}" "$@"
# Words, on purpose.
# shellcheck disable=SC2086
[ -z "${HALFWAY_ONLY:-}" ] || set -- "$@" --only $HALFWAY_ONLY
[ "$where" = vm ] || exec "$built/halfway" "$@"
exec "$built/in-vm" "$built/halfway" "$@"
