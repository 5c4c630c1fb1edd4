#!/bin/sh
# A lab under load and random failures (tests/src/soak) for SOAK_SECONDS, default half an hour; here
# where the kernel can, else in the virtual machine. SOAK_SEED and SOAK_ROUND, printed by every run,
# repeat one or go on where it stopped. The argument is the kind of fabric: torus (default), irregular, pmesh,
# direct-torus.
set -eu
cd "$(dirname "$0")/.."
cargo test --workspace --locked --tests --no-run
built=${CARGO_TARGET_DIR:-target}/debug
kind=${1:-torus}
set -- "$kind" "${SOAK_SECONDS:-1800}" "${SOAK_SEED:-$(date +%s)}" "${SOAK_ROUND:-0}"
if [ "$(id -u)" = 0 ] && "$built/soak" --can "$kind"; then
    exec "$built/soak" "$@"
fi
exec "$built/in-vm" "$built/soak" "$@"
