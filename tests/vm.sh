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

suite cargo test --locked --workspace --test vm -- --ignored
# Here, each with machines of its own, whose power it cuts.
suite cargo test --locked --workspace --test node -- power_

# Test programs that run inside: cargo hands them to `in-vm`.
suite cargo build --locked --workspace --bins --tests
host=$(rustc -vV | sed -n "s/^host: //p" | tr "a-z-" "A-Z_")
export "CARGO_TARGET_${host}_RUNNER=${CARGO_TARGET_DIR:-$PWD/target}/debug/in-vm"
suite cargo test --locked --workspace --test node -- --skip power_
suite cargo test --locked --workspace --test fabric -- --skip routed_
suite cargo test --locked --workspace --test kernel -- vm_

exit "$failed"
