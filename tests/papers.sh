#!/bin/sh
# What the planner computes beside the published and independently computed figures: VLAN counts and
# worked examples of the VLAN paper, the channel loads of its six fabrics, and the random networks of the
# paper on in-transit buffers.
set -eu
cd "$(dirname "$0")/.."
cargo test --locked --package tresse-fabric --lib -- paper channel_loads deadlock_freedom \
    vlan_counts every_tree_spans transit theorem_2
cargo run --release --locked --package tresse-fabric --example irregular
cargo run --release --locked --package tresse-fabric --example irregular -- spain
