# Read by scripts that measure in a lab, from the root of the repository. Ends them where they do not run as
# root. Builds tresse and tressed, unless TRESSE_BIN is the directory of both, and puts them first on PATH.
#
#   built     that directory, as an absolute path

if [ "$(id -u)" != 0 ]; then
    echo "not run: needs root (network namespaces of its own)"
    exit 0
fi
if [ -z "${TRESSE_BIN:-}" ]; then
    cargo build --release --locked --package tresse --package tressed --bins
    TRESSE_BIN=${CARGO_TARGET_DIR:-target}/release
fi
built=$(realpath "$TRESSE_BIN")
PATH=$built:$PATH
