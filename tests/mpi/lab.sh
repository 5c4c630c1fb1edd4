# Sourced by tests/mpi.sh and tests/nas.sh: a lab of a fabric without VLANs, and Open MPI over its nodes.
# Sets `built`, where the programs are, and `work`, a directory that goes with the lab at the end.
if [ "$(id -u)" != 0 ]; then
    echo "not run: needs root (network namespaces of its own)"
    exit 0
fi
built=${CARGO_TARGET_DIR:-$PWD/target}/release
[ -x "$built/tresse" ] || cargo build --release --locked --package tresse --package tressed
lab=mpi-$$
work=$(mktemp -d)
down() {
    "$built/tresse" lab down --name "$lab" 2>/dev/null || :
    rm -rf "$work"
}
trap down EXIT
trap 'exit 130' INT TERM

# needs PROGRAM..: ends here without them
needs() {
    for program; do
        if ! command -v "$program" >/dev/null; then
            echo "not run: $program is missing (tests/deps.sh bench)"
            exit 0
        fi
    done
}

# up FILE [OPTION..]: another lab in place of the one before
up() {
    "$built/tresse" lab down --name "$lab" 2>/dev/null || :
    file=$1
    shift
    "$built/tresse" lab up "$file" --name "$lab" --tressed "$built/tressed" "$@"
    "$built/tresse" export "$file" hosts | grep -v '^#' >"$work/hosts"
}

# on NODE COMMAND..
on() {
    node=$1
    shift
    "$built/tresse" lab exec --name "$lab" "$node" -- "$@"
}

# Open MPI takes nodes for processes of one machine where their host names are equal.
cat >"$work/agent" <<AGENT
#!/bin/sh
node=\$(awk -v ip="\$1" '\$1 == ip { print \$2 }' "$work/hosts")
shift
exec "$built/tresse" lab exec --name "$lab" "\$node" -- unshare -u sh -c "hostname \$node; \$*"
AGENT
cat >"$work/run" <<RUN
hostname "\$1"
cd "$work"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
eval "\$("$built/tresse" env "\$2" --for openmpi)"
exec timeout 600 mpirun --hostfile hostfile -np "\$3" --mca plm_rsh_agent "$work/agent" \\
    --mca oob_tcp_if_include tresse0 --mca mpi_yield_when_idle 1 "\$4"
RUN
chmod +x "$work/agent"

# mpi FILE COUNT PROGRAM: the program once on each of so many nodes, evenly chosen, in $work
mpi() {
    nodes=$(wc -l <"$work/hosts")
    awk -v every=$((nodes / $2)) -v count="$2" '
        (NR - 1) % every == 0 && n++ < count { print $1 " slots=1" }' "$work/hosts" >"$work/hostfile"
    first=$(awk 'NR == 1 { print $2 }' "$work/hosts")
    on "$first" unshare -u sh "$work/run" "$first" "$1" "$2" "$3"
}
