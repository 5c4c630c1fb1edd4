#!/bin/sh
# What needs a kernel with 802.1Q, VLAN-filtering bridges or MPLS, in the virtual machine. A suite
# per line; every one runs, the exit code tells whether all went well.
set -u
cd "$(dirname "$0")/.."
failed=0

suite() {
    echo "== $*"
    "$@" || failed=1
}

suite cargo test --locked --package tresse-lab --test vm -- --ignored

exit "$failed"
