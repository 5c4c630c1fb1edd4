#!/bin/sh
# What needs a kernel with 802.1Q, VLAN-filtering bridges or MPLS, in the virtual machine. Every stage
# runs, the exit code tells whether all went well. `make test` runs it as a lane.
set -u
cd "$(dirname "$0")/.."
alone=${STAGES:+no}
. tests/stages.sh

stage 'vm: the machine itself' $tests --test vm -- --ignored
# These run here, with machines of their own, whose power they cut.
stage 'vm: power cuts' $tests --test node -- power_ --skip long_

# Test programs that run inside: cargo hands them to `in-vm`.
[ "$alone" = no ] || stage build $tests --tests --no-run
host=$(rustc -vV | sed -n "s/^host: //p" | tr "a-z-" "A-Z_")
in_vm=${CARGO_TARGET_DIR:-$PWD/target}/debug/in-vm
trap '"$in_vm"' EXIT
export "CARGO_TARGET_${host}_RUNNER=$in_vm"
stage 'vm: a node' $tests --test node -- --skip power_ --skip flat_ --skip long_
stage 'vm: labs' $tests --test fabric -- --skip routed_ --skip long_
stage 'vm: kernel' $tests --test kernel -- vm_
unset "CARGO_TARGET_${host}_RUNNER"
stage 'vm: changes' tests/changes.sh vm mesh
stage 'vm: several failures' env SEVERAL_ROUNDS=2 tests/several.sh vm torus-3x3
stage 'vm: soak' env SOAK_SECONDS="${SOAK_SECONDS:-60}" tests/soak.sh

[ "$alone" = no ] || stages_end
