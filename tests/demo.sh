#!/bin/sh
# The demonstration: see tests/src/bin/demo.rs. All its programs are built by one call of cargo, so that
# nothing is compiled twice, in the profile `demo`, and its figures are of that.
set -eu
cd "$(dirname "$0")/.."
cargo build --profile demo --locked --package tresse --package tressed --package tresse-tests \
    --bin tresse --bin tressed --bin demo
exec "${CARGO_TARGET_DIR:-target}/demo/demo"
