#!/bin/sh
# What the planner computes beside the published and independently computed figures: VLAN counts and
# worked examples of the VLAN paper, the channel loads of its six fabrics, and the random networks of the
# paper on in-transit buffers; then both papers' evaluations, simulated. About half an hour on two cores.
set -eu
cd "$(dirname "$0")/.."
cargo test --locked --package tresse-base --package tresse-design --package tresse-topology --package tresse-cluster \
    --package tresse-routing --package tresse-plan --package tresse-slice --package tresse-sim --package tresse-verify -- \
    paper channel_loads deadlock_freedom vlan_counts every_tree_spans transit theorem_2 dor_paths rows_that_rest select_ab \
    two_switch_failures
cargo run --release --locked --package tresse-verify --example irregular
cargo run --release --locked --package tresse-verify --example irregular -- spain
cargo build --release --locked --package tresse
built=${CARGO_TARGET_DIR:-$PWD/target}/release
for buffers in drop:134 drop:268 unlimited; do
    "$built/tresse" simulate --paper vlan --buffers "$buffers"
done
# Buffers that stop the sender deadlock on tori, of which exit code 1 speaks.
"$built/tresse" simulate --paper vlan --buffers lossless:160 || [ $? = 1 ]
"$built/tresse" simulate --paper itb
