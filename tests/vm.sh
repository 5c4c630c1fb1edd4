#!/bin/sh
# What needs a kernel with 802.1Q, VLAN-filtering bridges or MPLS, in the virtual machine. A suite
# per line; every one runs, the exit code tells whether all went well.
set -u
cd "$(dirname "$0")/.."
failed=0
cargo=${CARGO:-cargo}

suite() {
    echo "== $*"
    "$@" || failed=1
}

# A machine of our own, so that nobody's lab is in the way, gone at the end.
XDG_RUNTIME_DIR=$(mktemp -d)
export XDG_RUNTIME_DIR
vm=target/debug/examples/vm
trap '"$vm" stop; rm -rf "$XDG_RUNTIME_DIR"' EXIT

# guest PACKAGE TEST [ARGUMENT...]: a test program of ours, run there; nothing may be missing there.
guest() {
    package=$1 test=$2
    shift 2
    program=$("$cargo" test --locked --package "$package" --test "$test" --no-run 2>&1 \
        | sed -n 's/^ *Executable .*(\(.*\))$/\1/p')
    [ -n "$program" ] && there=$("$vm" install "$program") || return 1
    "$vm" exec env CI=true TRESSED_BIN="$tressed" "$there" "$@"
}

suite "$cargo" test --locked --package tresse-lab --test vm -- --ignored

suite "$cargo" build --locked --package tresse-lab --example vm
suite "$cargo" build --locked --package tressed
"$vm" start || exit 1
tressed=$("$vm" install target/debug/tressed)
suite guest tressed kernel vm_
suite guest tresse-tests node

# Test programs that run inside: cargo hands them to `in-vm`.
suite cargo build --locked --package tresse --package tressed --bin tresse --bin tressed
suite cargo build --locked --package tresse-tests --bin in-vm
host=$(rustc -vV | sed -n "s/^host: //p" | tr "a-z-" "A-Z_")
export "CARGO_TARGET_${host}_RUNNER=${CARGO_TARGET_DIR:-$PWD/target}/debug/in-vm"
suite cargo test --locked --package tresse-tests --test fabric

exit "$failed"
