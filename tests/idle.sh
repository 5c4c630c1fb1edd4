#!/bin/sh
# What an idle tressed takes on one node of a 1,000-node torus: here where the kernel has 802.1Q and
# we are root, else in the virtual machine (emulated, so that only its processor time differs).
#
#   tests/idle.sh [--built] [SECONDS] [SIZES...]
set -eu
cd "$(dirname "$0")/.."
if [ "${1:-}" = --built ]; then
    shift
else
    cargo build --release --locked --workspace --bins --examples
fi
built=${CARGO_TARGET_DIR:-$PWD/target}/release

vlans_here() {
    [ "$(id -u)" = 0 ] || return 1
    ip netns add tresse-idle-probe 2>/dev/null || return 1
    if ip -n tresse-idle-probe link add probe0 type veth peer name probe1 2>/dev/null &&
        ip -n tresse-idle-probe link add probe0.2 link probe0 type vlan id 2 2>/dev/null; then
        answer=0
    else
        answer=1
    fi
    ip netns delete tresse-idle-probe
    return $answer
}

if vlans_here; then
    "$built/examples/idle" "$@"
else
    # A machine that does not answer must not hold up the other benchmarks for ever.
    timeout "${LIMIT_IDLE:-900}" "$built/in-vm" "$built/examples/idle" "$@"
fi
