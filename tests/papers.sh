#!/bin/sh
# What the planner computes beside the published and independently computed figures: VLAN counts and
# worked examples of the VLAN paper, and the channel loads of its six fabrics.
set -eu
cd "$(dirname "$0")/.."
exec cargo test --locked --package tresse-fabric --lib -- paper channel_loads deadlock_freedom \
    vlan_counts every_tree_spans
