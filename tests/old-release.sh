#!/bin/sh
# From an older release to this one (tests/src/halfway/release.rs): PEER_TRESSE is the directory of its `tresse`
# and `tressed`, such as those of revision 6937124, which plans otherwise. The arguments are kinds of fabrics.
set -eu
cd "$(dirname "$0")/.."
if [ -z "${PEER_TRESSE:-}" ]; then
    echo "not run: PEER_TRESSE must be the directory of an older tresse and tressed"
    exit 77
fi
cargo test --workspace --locked --tests --no-run
built=${CARGO_TARGET_DIR:-target}/debug
[ $# != 0 ] || set -- ring-4 pmesh-3x3
exec "$built/halfway" --old-release "$(realpath "$PEER_TRESSE")" "${HALFWAY_SEED:-$(date +%s)}" "$@"
