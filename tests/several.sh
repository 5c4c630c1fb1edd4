#!/bin/sh
# Several failures at once on fabrics whose nodes route (tests/src/several.rs): SEVERAL_ROUNDS sets of failures of
# each kind, or of the kinds that are the arguments. SEVERAL_SEED and SEVERAL_ROUND, printed by every run, repeat one or
# go on where it stopped.
set -eu
cd "$(dirname "$0")/.."
cargo test --workspace --locked --tests --no-run
set -- "${SEVERAL_ROUNDS:-5}" "${SEVERAL_SEED:-$(date +%s)}" "${SEVERAL_ROUND:-0}" "$@"
exec "${CARGO_TARGET_DIR:-target}/debug/several" "$@"
