#!/bin/sh
# `make soak`: the long forms of what `make test` proves, in two lanes beside each other, what this kernel can do and
# what needs the virtual machine, and then what needs both processors. Nothing else may run beside them. A run takes an hour: what would begin after
# SOAK_MINUTES (default 40) is put off, and the next run of the same commit begins with what has not gone well yet
# (`soak/` in the build directory; a changed work tree runs all). The soak of each kind of fabric for SOAK_SECONDS (default
# 600), twenty changes of plan on each kind of fabric
# (CHANGES_ROUNDS, CHANGES_SEED, CHANGES_ROUND), a fault of every sort at every step of a rollout (HALFWAY_SEED),
# twenty sets of failures on each kind of fabric (SEVERAL_ROUNDS, SEVERAL_SEED, SEVERAL_ROUND), five in the machine
# (SEVERAL_VM_ROUNDS), a torus of 64 switches measured there beside its bound (GRID: mesh-8x8, torus-8x8, torus-4x4x4),
# from an older release to this one (PEER_TRESSE), labs of many nodes, thirty rounds of copies under
# faults (COPY_SEED, COPY_ROUNDS), power cuts at more moments, a daemon that is killed at every step of a change, MPI programs that do what few do,
# and the Debian package as cargo-deb makes it. One lane alone: `tests/long.sh here`, `tests/long.sh vm`, `tests/long.sh alone`.
#
# With SOAK_KIND (torus, irregular, pmesh or direct-torus) nothing but the soak of that kind, for an hour;
# SOAK_SEED and SOAK_ROUND, which it prints, go on where one stopped.
set -u
cd "$(dirname "$0")/.."
if [ -n "${SOAK_KIND:-}" ]; then
    SOAK_SECONDS=${SOAK_SECONDS:-3600} exec tests/soak.sh "$SOAK_KIND"
fi
. tests/stages.sh
lanes=${1:-here vm}
built=${CARGO_TARGET_DIR:-target}/debug
CHANGES_ROUNDS=${CHANGES_ROUNDS:-20}
SEVERAL_ROUNDS=${SEVERAL_ROUNDS:-20}
SOAK_SECONDS=${SOAK_SECONDS:-600}
STAGE_LIMIT=${STAGE_LIMIT:-5400}
export CHANGES_ROUNDS SEVERAL_ROUNDS SOAK_SECONDS STAGE_LIMIT

# What runs tests in the machine.
in_vm=${CARGO_TARGET_DIR:-$PWD/target}/debug/in-vm
runner=CARGO_TARGET_$(rustc -vV | sed -n 's/^host: //p' | tr 'a-z-' 'A-Z_')_RUNNER

# The longest first.
here() {
    stage 'rollouts that break' tests/halfway.sh here ring-4 pmesh-3x3
    stage 'labs without VLANs' $tests --test fabric -- long_routed_ --skip at_a_gigabit
    stage 'changes of plan' tests/changes.sh here
    stage 'several failures' tests/several.sh here
    stage 'soak: direct torus' tests/soak.sh direct-torus
    stage 'soak: P-Mesh' tests/soak.sh pmesh
    stage 'failures by computation' $tests --lib -- --ignored long_whoever
    stage 'package by cargo-deb' systemd/package.sh --cargo-deb "$built"
    stage 'an older release' tests/old-release.sh
    stage 'MPI programs' env BUILT="$(realpath "$built")" \
        MPI_LIBRARY="$(realpath "$built")/deps/libtresse_mpi.so" tests/mpi-rings.sh hard
    stage 'killed at every step' env TRESSE_EVERY_STEP=1 \
        $tests --test node -- flat_killed_at_any_step
}

vm() {
    stage 'vm: 64 switches' "$built/grids" "${GRID:-torus-4x4x4}"
    stage 'vm: soak: torus' tests/soak.sh torus
    stage 'vm: power cuts' $tests --test node -- long_power_
    export "$runner=$in_vm"
    stage 'vm: a node' env TRESSE_EVERY_STEP=1 \
        $tests --test node -- long_ --skip long_power_
    stage 'vm: labs' $tests --test fabric -- long_ --skip routed_ --skip long_k10_
}

# What needs both processors: a lane beside takes them from 8 to 16 daemons with BFD in the emulated machine, which
# want more than one by themselves, and from a gigabit through nodes.
alone() {
    stage 'detours at a gigabit' $tests --test fabric -- at_a_gigabit
    stage 'vm: soak: irregular' tests/soak.sh irregular
    stage 'vm: changes of plan' tests/changes.sh vm
    stage 'vm: each direction alone' env "$runner=$in_vm" $tests --test fabric -- long_k10_
    stage 'vm: several failures' env SEVERAL_ROUNDS="${SEVERAL_VM_ROUNDS:-5}" tests/several.sh vm
}

# The lane beside has what this one has built.
[ -n "${LANE:-}" ] || stage build $tests --tests --no-run || {
    stages_end
    exit 1
}

if [ -z "${LANE:-}" ] && commit=$(git rev-parse HEAD) && [ -z "$(git status --porcelain)" ]; then
    STAGES_DONE=${CARGO_TARGET_DIR:-$PWD/target}/soak/$commit STAGES_MINUTES=${SOAK_MINUTES:-40}
    mkdir -p "${STAGES_DONE%/*}"
    touch "$STAGES_DONE"
    export STAGES_DONE STAGES_MINUTES
fi

beside=
case $lanes in
*here*vm*)
    # A session of its own: what ends this one by its terminal is not for that one.
    LANE=vm setsid tests/long.sh vm &
    beside=$!
    trap 'stage_kill; kill -TERM "$beside" 2>/dev/null; exit 130' INT TERM HUP
    here
    wait "$beside"
    alone
    ;;
here) here ;;
vm) vm ;;
alone) alone ;;
esac
[ -n "${LANE:-}" ] || stages_end
