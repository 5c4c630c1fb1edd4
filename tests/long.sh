#!/bin/sh
# `make soak`: the long forms of what `make test` proves, an hour and a half in all: the soak for SOAK_SECONDS
# (default 1800; SOAK_SEED and SOAK_ROUND, which it prints, go on where one stopped), twenty changes of plan
# on each kind of fabric (CHANGES_ROUNDS, CHANGES_SEED, CHANGES_ROUND), a fault of every sort at every step of a
# rollout (HALFWAY_SEED), a fabric of which half is of an older release (PEER_TRESSE), labs of many nodes,
# thirty rounds of copies under faults (COPY_SEED, COPY_ROUNDS), power cuts at more moments, a daemon that
# is killed at every step of a change, and the Debian package as cargo-deb makes it.
set -u
cd "$(dirname "$0")/.."
. tests/stages.sh
built=${CARGO_TARGET_DIR:-target}/debug

tests() {
    cargo test --workspace --locked "$@"
}

stage build tests --tests --no-run || {
    stages_end
    exit 1
}
stage soak env SOAK_SECONDS="${SOAK_SECONDS:-1800}" tests/soak.sh
stage 'changes of plan' env CHANGES_ROUNDS="${CHANGES_ROUNDS:-20}" tests/changes.sh
stage 'rollouts that break' tests/halfway.sh here ring-4 pmesh-3x3
stage 'an older release' tests/old-release.sh
stage 'labs without VLANs' tests --test fabric -- long_routed_
stage 'power cuts' tests --test node -- long_power_
host=$(rustc -vV | sed -n "s/^host: //p" | tr "a-z-" "A-Z_")
stage 'killed at every step' env TRESSE_EVERY_STEP=1 \
    cargo test --workspace --locked --test node -- flat_killed_at_any_step
export "CARGO_TARGET_${host}_RUNNER=${CARGO_TARGET_DIR:-$PWD/target}/debug/in-vm"
stage 'a node with VLANs' env TRESSE_EVERY_STEP=1 \
    cargo test --workspace --locked --test node -- long_ --skip long_power_
stage 'labs with VLANs' tests --test fabric -- long_ --skip long_routed_
unset "CARGO_TARGET_${host}_RUNNER"
stage 'package by cargo-deb' systemd/package.sh --cargo-deb "$built"
stages_end
