#!/bin/sh
# `make test`: everything is compiled by one call of cargo, then two lanes run beside each other: what this
# kernel can do, and what needs the virtual machine (tests/vm.sh). Every stage runs; a table at the end
# says how long each took, and the exit code whether all went well. One lane alone: `tests/test.sh here`,
# `tests/test.sh vm`.
set -u
cd "$(dirname "$0")/.."
. tests/stages.sh
lanes=${1:-here vm}
built=${CARGO_TARGET_DIR:-target}/debug

stage build $tests --tests --no-run || {
    stages_end
    exit 1
}

beside=
case $lanes in
*here*vm*)
    # A session of its own: what ends this one by its terminal is not for that one.
    LANE=vm setsid tests/vm.sh &
    beside=$!
    trap 'stage_kill; kill -TERM "$beside" 2>/dev/null; exit 130' INT TERM HUP
    ;;
vm) tests/vm.sh ;;
esac

case $lanes in
*here*)
    stage 'units and command line' $tests --lib --bin tresse --test cli --test plans --test problem_kinds \
        --test arrows --test methods --test verifier --test workspace --test lanes --test exports --test kernel --test start --test openvswitch -- --skip vm_
    stage 'labs without VLANs' $tests --test fabric -- routed_ --skip long_
    stage 'changes without VLANs' tests/changes.sh here ring-grown pmesh-3x3 flat24
    stage 'several failures' env SEVERAL_ROUNDS=3 \
        tests/several.sh here ring-6 full-mesh-5 direct-torus-3x3 pmesh-3x4 flat24
    stage 'rollouts that break' env \
        HALFWAY_ONLY='settled/daemon-killed some-installed/daemon-hung/ begun/second-operator' \
        tests/halfway.sh here ring-4
    stage 'a node without VLANs' $tests --test node -- flat_
    stage 'MPI programs' env BUILT="$(realpath "$built")" \
        MPI_LIBRARY="$(realpath "$built")/deps/libtresse_mpi.so" tests/mpi-rings.sh short
    stage 'systemd: files' systemd/check.sh
    stage 'systemd: daemon' systemd/boot.sh "$built"
    stage 'systemd: package' systemd/package.sh "$built"
    ;;
esac

[ -z "$beside" ] || wait "$beside"
stages_end
