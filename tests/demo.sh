#!/bin/sh
# The demonstration: see tests/src/bin/demo.rs.
set -eu
cd "$(dirname "$0")/.."
cargo build --release --locked --package tresse-tests --bin demo
exec target/release/demo
