#!/bin/sh
# `tresse copy` beside its peers: a file of the first node to all others, in one lab on this machine whose cables
# have a rate, in turn with scp, clush and MPI_Bcast. udpcast's multicast does not cross nodes that route: it and
# ours once more are measured on as many nodes at one switch. Every copy is judged by its SHA-256. Prints medians
# as a table; a program that is missing is not run.
#
#   COPY_FILE   the cluster file, default configs/pmesh-4x4.toml; with VLANs only where this kernel has them
#   COPY_RATE   of every cable, default 100M
#   COPY_MIB    the size of the file, default 64
#   COPY_RUNS   rounds, default 3
#   TRESSE_BIN  the directory of tresse and tressed, instead of building them
#
# Each node's commands run in a mount namespace of their own with their own directory at the same path, own host
# name, own /etc/hosts and ssh configuration: to programs the nodes look like machines, and this one is left as it
# is. Bounded: a copy may take a minute and four times what one after the other would. Needs root.
set -eu
cd "$(dirname "$0")/.."
. tests/built.sh
file=$(realpath "${COPY_FILE:-configs/pmesh-4x4.toml}")
rate=${COPY_RATE:-100M}
mib=${COPY_MIB:-64}
runs=${COPY_RUNS:-3}
bcast=$PWD/tests/mpi/bcast.py
# Programs of the system administrator are not on everybody's path.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
lab=peers
if tresse lab status --name "$lab" | grep -q " $lab "; then
    echo "there is a lab $lab already: tresse lab down --name $lab" >&2
    exit 1
fi
# X / L, and how long a copy may take.
ideal=$(echo "$mib $rate" | awk '{
    unit["k"] = 1e3; unit["M"] = 1e6; unit["G"] = 1e9
    last = substr($2, length($2))
    print $1 * 8 * 1048576 / ($2 * (last in unit ? unit[last] : 1))
}')
limit=$(tresse export "$file" hosts | awk -v x="$ideal" '{ n += !/^#/ } END { printf "%d", 60 + 4 * n * x }')

work=$(mktemp -d)
down() {
    for pid in "$work"/pid/*; do
        [ ! -s "$pid" ] || kill "$(cat "$pid")" 2>/dev/null || :
    done
    rm -f "$work"/pid/*
    timeout 60 tresse lab down --name "$lab" >/dev/null 2>&1 || :
}
end() {
    down
    wait
    rm -rf "$work"
}
trap end EXIT
trap 'exit 130' INT TERM
mkdir "$work/pid" "$work/keys" "$work/clush" "$work/tmp" "$work/took" "$work/data" "$work/nodes"
data=$work/data

has() {
    for program; do
        command -v "$program" >/dev/null || return
    done
}

# A node, as programs see it. What is unmounted elsewhere goes away here too, so no other lab's namespace is kept.
cat >"$work/inside" <<INSIDE
set -e
hostname "\$1"
mount --bind "$work/nodes/\$1" "$data"
mount --bind "$work/hosts" /etc/hosts
if [ -e "$work/ssh_config" ]; then
    mount --bind "$work/ssh_config" /etc/ssh/ssh_config
    mount --bind "$work/shadow" /etc/shadow
    [ ! -d ~/.ssh ] || mount -t tmpfs none ~/.ssh
    mount -t tmpfs none /run
    mkdir /run/sshd
fi
shift
exec "\$@"
INSIDE
# on NODE COMMAND..
on() {
    node=$1
    shift
    timeout "$limit" tresse lab exec --name "$lab" "$node" -- \
        unshare --mount --uts --propagation slave sh "$work/inside" "$node" "$@"
}

# up FILE: the lab, and of its nodes `first` and `others`
up() {
    timeout 60 tresse lab up "$1" --name "$lab" --rate "$rate" --tressed "$built/tressed" >/dev/null
    cluster=$1
    tresse export "$1" hosts >"$work/hosts"
    echo "127.0.0.1 localhost" >>"$work/hosts"
    awk '!/^#/ && $2 != "localhost" && !seen[$2]++ { print $2 }' "$work/hosts" >"$work/names"
    first=$(head -n 1 "$work/names")
    others=$(tail -n +2 "$work/names")
    for node in $first $others; do
        mkdir -p "$work/nodes/$node"
    done
    [ -e "$work/nodes/$first/file" ] || head -c "${mib}M" /dev/urandom >"$work/nodes/$first/file"
    sum=$(sha256sum <"$work/nodes/$first/file")
}

# An sshd on every node, with keys of this run, of which no file outside knows.
ssh_up() {
    ssh-keygen -q -t ed25519 -N '' -f "$work/key"
    echo 'root:*:1::::::' >"$work/shadow"
    cat >"$work/ssh_config" <<CONFIG
IdentityFile $work/key
IdentitiesOnly yes
UserKnownHostsFile $work/known_hosts
GlobalKnownHostsFile none
BatchMode yes
LogLevel ERROR
CONFIG
    for node in $first $others; do
        ssh-keygen -q -t ed25519 -N '' -f "$work/keys/$node"
        echo "$node $(cut -d' ' -f1-2 "$work/keys/$node.pub")" >>"$work/known_hosts"
        cat >"$work/keys/$node.conf" <<CONFIG
HostKey $work/keys/$node
PidFile $work/pid/$node
AuthorizedKeysFile $work/key.pub
StrictModes no
PermitRootLogin prohibit-password
MaxStartups 1000
Subsystem sftp internal-sftp
SetEnv PATH=$built:/usr/local/bin:/usr/bin:/bin
CONFIG
    done
    for node in $first $others; do
        on "$node" "$(command -v sshd)" -f "$work/keys/$node.conf" -E "$work/keys/$node.log"
        tries=0
        until [ -s "$work/pid/$node" ]; do
            tries=$((tries + 1))
            [ "$tries" -lt 100 ] || return
            sleep 0.1
        done
    done
}

# measure ROW: one copy, judged and removed; its seconds go to took/ROW
measure() {
    row=$1
    before=$(date +%s.%N)
    # In the background, so that an interrupt does not wait for it.
    "$row" >"$work/said" 2>&1 </dev/null &
    wait $! || {
        echo "$row ended with $?:" >&2
        tail -n 20 "$work/said" >&2
        exit 1
    }
    echo "$(date +%s.%N) $before" | awk '{ printf "%.3f\n", $1 - $2 }' >>"$work/took/$row"
    for node in $others; do
        if [ "$(sha256sum <"$work/nodes/$node/file")" != "$sum" ]; then
            echo "$row: $node has not got the file:" >&2
            tail -n 20 "$work/said" >&2
            exit 1
        fi
        rm "$work/nodes/$node/file"
    done
}

# rounds ROW..: each in turn
rounds() {
    for round in $(seq "$runs"); do
        for row; do
            echo "round $round: $row" >&2
            measure "$row"
        done
    done
}

by_copy() {
    timeout "$limit" tresse copy "$cluster" "$first:$work/nodes/$first/file" "$work/nodes/{node}/" \
        --launcher netns --lab "$lab"
}
by_copy_switch() {
    by_copy
}
by_copy_ssh() {
    on "$first" tresse copy "$cluster" "$first:$data/file"
}
by_scp() {
    # shellcheck disable=SC2016,SC2086
    on "$first" sh -c 'for node; do scp -q "$0/file" "$node:$0/" & done; wait' "$data" $others
}
by_clush() {
    on "$first" env CLUSTERSHELL_CFGDIR="$work/clush" XDG_CONFIG_HOME="$work/clush" \
        CLUSTERSHELL_GW_PYTHON_EXECUTABLE=/usr/bin/python3 CLUSTERSHELL_GW_LOG_DIR="$work/tmp" \
        clush -S -w "$(echo "$others" | paste -sd, -)" --copy "$data/file" --dest "$data/"
}
by_mpi() {
    on "$first" sh "$work/mpirun"
    tail -n 1 "$work/said" | grep -x '[0-9.]*' >>"$work/took/bcast"
}
# An address of its own for the meeting, as NIC addresses here have no broadcast; without the interval it waits 2 s.
udpcast="--nokbd --no-progress --interface eth0 --mcast-rdv-address 224.0.0.1 --file $data/file"
by_udpcast() {
    # shellcheck disable=SC2086
    for node in $others; do
        on "$node" udp-receiver $udpcast &
    done
    # shellcheck disable=SC2086
    on "$first" udp-sender $udpcast --rexmit-hello-interval 100 --min-receivers "$(echo "$others" | wc -l)" || return
    wait
}

up "$file"
rows=by_copy
if has sshd ssh; then
    ssh_up || {
        echo "no sshd on $node:" >&2
        cat "$work/keys/$node.log" >&2
        exit 1
    }
    rows="$rows by_copy_ssh by_scp"
    # Gateways: the first of each so many nodes.
    if has clush; then
        printf '[Main]\nfanout: 64\nconnect_timeout: 30\ncommand_timeout: %s\n' "$limit" \
            >"$work/clush/clush.conf"
        awk 'BEGIN { print "[routes]" }
            { name[n++] = $1 }
            END {
                while (every * every < n) every++
                for (i = 1; i < n; i++) {
                    gateway = i - i % every
                    if (i < every || i == gateway) gateway = 0
                    below[gateway] = below[gateway] (below[gateway] ? "," : "") name[i]
                }
                for (i = 0; i < n; i++) if (i in below) print name[i] ": " below[i]
            }' "$work/names" >"$work/clush/topology.conf"
        rows="$rows by_clush"
    fi
    if has mpirun && /usr/bin/python3 -c 'import mpi4py' 2>/dev/null; then
        sed 's/$/ slots=1/' "$work/names" >"$work/hostfile"
        {
            tresse env "$file" --for openmpi
            cat <<RUN
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
cd "$work/tmp"
exec mpirun --hostfile "$work/hostfile" --mca oob_tcp_if_include tresse0 --mca mpi_yield_when_idle 1 \\
    --mca orte_tmpdir_base "$work/tmp" /usr/bin/python3 "$bcast" "$data/file" "$data/file"
RUN
        } >"$work/mpirun"
        rows="$rows by_mpi"
    fi
fi

# shellcheck disable=SC2086
rounds $rows
down
if has udp-sender udp-receiver; then
    echo "0: $(seq -s ' ' 0 "$(echo "$others" | wc -l)")" >"$work/switch.fnn"
    up "$work/switch.fnn"
    # A way for its multicast, and one for its answers to NIC addresses, which the plan makes unreachable.
    for node in $first $others; do
        on "$node" ip route add default dev eth0
        on "$node" ip route add 10.78.0.0/16 dev eth0
    done
    rounds by_copy_switch by_udpcast
fi

# median ROW
median() {
    sort -n "$work/took/$1" | awk '{ s[NR] = $1 } END { print (s[int((NR + 1) / 2)] + s[int(NR / 2) + 1]) / 2 }'
}
# line ROW OURS PROGRAM FABRIC: the median of a row, beside that of the row that is ours, and X / L
line() {
    if [ -s "$work/took/$1" ]; then
        echo "$(median "$1") $(median "$2") $ideal" |
            awk -v is="$3 | $4" '{ printf "| %s | %.2f | %.2f | %.2f |\n", is, $1, $1 / $2, $1 / $3 }'
    else
        echo "| $3 | $4 | not run (tests/deps.sh bench) | | |"
    fi
}
name=$(basename "$file" .toml)
echo "$mib MiB to $(echo "$others" | wc -l) nodes, cables of $rate, median of $runs; X / L is $ideal s"
echo
echo "| program | fabric | seconds | times ours | times X / L |"
echo "|---|---|---|---|---|"
line by_copy by_copy "tresse copy" "$name"
line by_copy_ssh by_copy "tresse copy, members started by ssh" "$name"
line by_scp by_copy "scp, all at once" "$name"
line by_clush by_copy "clush --copy, tree" "$name"
line bcast by_copy "MPI_Bcast alone" "$name"
line by_mpi by_copy "MPI_Bcast with mpirun, reading and writing" "$name"
line by_copy_switch by_copy_switch "tresse copy" "one switch"
line by_udpcast by_copy_switch udpcast "one switch"
