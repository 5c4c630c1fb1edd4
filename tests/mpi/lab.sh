# Sourced by scripts that run MPI programs: a lab of a fabric without VLANs, and Open MPI over its nodes.
# Sets `built`, where the programs are (BUILT, else the release), and `work`, a directory that goes with the lab at the end.
if [ "$(id -u)" != 0 ]; then
    echo "not run: needs root (network namespaces of its own)"
    exit "${NOT_RUN:-0}"
fi
built=${BUILT:-${CARGO_TARGET_DIR:-$PWD/target}/release}
[ -x "$built/tresse" ] || cargo build --release --locked --package tresse --package tressed
lab=mpi-$$
work=$(mktemp -d)
down() {
    "$built/tresse" lab down --name "$lab" 2>/dev/null || :
    rm -rf "$work"
}
trap down EXIT
trap 'exit 130' INT TERM

# needs PROGRAM..: ends here without them, with the exit code NOT_RUN
needs() {
    for program; do
        if ! command -v "$program" >/dev/null; then
            echo "not run: $program is missing (tests/deps.sh bench)"
            exit "${NOT_RUN:-0}"
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

# tight BURST: cables without the long bursts of `lab up --rate`, so that little data takes its time too
tight() {
    ip netns list | awk -v lab="tresse-$lab-" 'index($1, lab) == 1 { print $1 }' | while read -r netns; do
        tc -n "$netns" qdisc show | awk -v burst="$1" '$2 == "tbf" {
            print "qdisc change dev " $5 " root tbf rate 100mbit burst " burst " limit 4mb" }' | tc -n "$netns" -batch -
    done
}

# on NODE COMMAND..
on() {
    node=$1
    shift
    "$built/tresse" lab exec --name "$lab" "$node" -- "$@"
}

# MPIs take nodes for processes of one machine where their host names are equal. Hydra has options before the host.
cat >"$work/agent" <<AGENT
#!/bin/sh
while [ "\${1#-}" != "\$1" ]; do shift; done
node=\$(awk -v ip="\$1" '\$1 == ip { print \$2 }' "$work/hosts")
shift
exec "$built/tresse" lab exec --name "$lab" "\$node" -- unshare -u sh -c "hostname \$node; \$*"
AGENT
cat >"$work/run" <<RUN
hostname "\$1"
cd "$work"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
eval "\$("$built/tresse" env "\$2" --for openmpi)"
processes=\$3
shift 3
exec timeout "\${MPI_SECONDS:-600}" mpirun --hostfile hostfile -np "\$processes" --mca plm_rsh_agent "$work/agent" \\
    --mca oob_tcp_if_include tresse0 --mca mpi_yield_when_idle 1 \$MPI_OPTIONS "\$@"
RUN
chmod +x "$work/agent"
export MPI_OPTIONS=

# mpi FILE COUNT PROGRAM: the program once on each of so many nodes, evenly chosen, in $work
mpi() {
    nodes=$(wc -l <"$work/hosts")
    awk -v every=$((nodes / $2)) -v count="$2" '
        (NR - 1) % every == 0 && n++ < count { print $1 " slots=1" }' "$work/hosts" >"$work/hostfile"
    start "$@"
}

# start FILE COUNT PROGRAM..: so many processes on the nodes of $work/hostfile. MPI_OPTIONS are for mpirun.
start() {
    first=$(awk 'NR == 1 { print $2 }' "$work/hosts")
    on "$first" unshare -u sh "$work/run" "$first" "$@"
}
