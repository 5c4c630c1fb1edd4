#!/bin/sh
# Installs, by apt, the programs that building and testing need and this machine lacks. Touches
# nothing when all are there. Without apt it says which are missing and what each is for.
#
#   tests/deps.sh demo|test|check|bench|fuzz|labels   one set
#   tests/deps.sh --list test                say what is missing, install nothing
set -eu

list=no
[ "${1:-}" = --list ] && { list=yes; shift; }
set_wanted=${1:-test}
case $set_wanted in
demo | test | check | bench | fuzz | labels) ;;
*)
    echo "usage: tests/deps.sh [--list] demo|test|check|bench|fuzz|labels" >&2
    exit 2
    ;;
esac
# Programs of the system administrator are not on everybody's path.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

# program | package | sets | what for
table() {
    cat <<'TABLE'
cc|gcc libc6-dev|demo test check bench fuzz labels|linking what Rust compiles
c++|g++|fuzz|libFuzzer
ip|iproute2|demo test bench|labs, and judging what was installed
ping|iputils-ping|demo test|judging whether nodes reach each other
jq|jq|demo test bench|reading answers in scripts
iperf3|iperf3|test bench|measuring lab traffic
traceroute|traceroute|test|counting the nodes on the way
tcpdump|tcpdump|test|judging which frames pass a cable
ethtool|ethtool|test|judging NIC settings
nft|nftables|test|a firewall that drops what is forwarded
iptables|iptables|test|the same by the policy that Docker sets
qemu-system-x86_64|qemu-system-x86|demo test bench|the virtual machine, where this kernel lacks VLANs
mkfs.ext4|e2fsprogs|test|a disk for the virtual machine whose power is cut
cpio|cpio|demo test bench|packing the virtual machine's first root
modprobe|kmod|demo test bench|which modules the virtual machine's kernel needs
mksquashfs|squashfs-tools|demo test bench|packing the virtual machine's userland
dpkg-deb|dpkg|demo test bench|unpacking the virtual machine's packages
ovs-vsctl|openvswitch-switch|test|judging the Open vSwitch configuration by running it
python3-venv|python3-venv|test|an independent client of the control socket
systemd-analyze|systemd|test|judging the unit
systemd-nspawn|systemd-container|test|running the unit under a systemd of its own
time|time|bench|CPU time and memory of a run
curl|curl|test|reading metrics
promtool|prometheus|test|judging metrics and alerts
bfdd|frr|test|BFD at the other end of our sessions
lldpd|lldpd|test|switches that tell their neighbours
snmpd|snmpd|test|the SNMP agent of such a switch
/usr/lib/cni/bridge|containernetworking-plugins|test|pods as Kubernetes makes them
srun|slurm-client|test|members of a copy that Slurm starts
slurmctld|slurmctld|test|its controller
slurmd|slurmd|test|its daemon of each node
munged|munge|test|by which these know each other
bird|bird2|bench|the routing daemon that route installation is measured beside
mpirun|openmpi-bin|test bench|an MPI that runs over labs
mpicc|libopenmpi-dev|test bench|compiling an MPI program
gfortran|gfortran|bench|compiling an MPI program in Fortran
hpcc|hpcc|bench|an MPI program with checks of its own
NPtcp|netpipe-tcp|bench|latency and bandwidth by message size
sshd|openssh-server|bench|copies of a file by scp, clush and mpirun over labs
clush|clustershell|bench|a copy to many nodes by way of gateways
udp-sender|udpcast|bench|a copy to many nodes by multicast
python3-mpi4py|python3-mpi4py|bench|a broadcast by MPI
python3-scipy|python3-scipy|bench|linear programs that plans are judged by
chromium|chromium|labels|showing and printing labels
pdftotext|poppler-utils|labels|reading printed labels
TABLE
}

present() {
    case $1 in
    # A shell has its own `time`: look for the program.
    time) [ -x /usr/bin/time ] ;;
    # Daemons of FRR are on nobody's path.
    bfdd) [ -x /usr/lib/frr/bfdd ] ;;
    python3-venv) python3 -c 'import ensurepip, venv' 2>/dev/null ;;
    # A module of the distribution's own Python.
    python3-scipy) /usr/bin/python3 -c 'import scipy' 2>/dev/null ;;
    python3-mpi4py) /usr/bin/python3 -c 'import mpi4py' 2>/dev/null ;;
    *) command -v "$1" >/dev/null ;;
    esac
}

packages=
missing=
while IFS='|' read -r program package sets purpose; do
    case " $sets " in *" $set_wanted "*) ;; *) continue ;; esac
    present "$program" && continue
    packages="$packages $package"
    missing="$missing
  $program ($package): $purpose"
done <<EOT
$(table)
EOT

cargo_missing() {
    echo "cargo is missing: Tresse is built with Rust 1.88 or later, see https://rustup.rs" >&2
}

if [ "$list" = yes ]; then
    command -v cargo >/dev/null || cargo_missing
    [ -z "$missing" ] || echo "missing for '$set_wanted':$missing"
    exit 0
fi

install() {
    if [ "$(id -u)" = 0 ]; then
        as_root=
    elif command -v sudo >/dev/null; then
        as_root=sudo
    else
        echo "missing for '$set_wanted':$missing" >&2
        echo "as root: apt-get install --no-install-recommends$packages" >&2
        exit 1
    fi
    echo "installing for '$set_wanted':$packages"
    # shellcheck disable=SC2086
    set -- $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $packages
    "$@" >/dev/null 2>&1 || {
        $as_root apt-get update -q >/dev/null
        "$@"
    }
    # Packages that start a service: the tests want the program, not a daemon on this host.
    [ -d /run/systemd/system ] || return 0
    for service in bird2:bird frr:frr prometheus:prometheus openvswitch-switch:openvswitch-switch \
        openssh-server:ssh openssh-server:ssh.socket slurmctld:slurmctld slurmd:slurmd munge:munge lldpd:lldpd snmpd:snmpd; do
        case " $packages " in
        *" ${service%%:*} "*) $as_root systemctl disable --now "${service#*:}" || true ;;
        esac
    done
}

if [ -n "$packages" ]; then
    if ! command -v apt-get >/dev/null; then
        echo "missing for '$set_wanted', and there is no apt-get to install them with:$missing" >&2
        exit 1
    fi
    install
fi
command -v cargo >/dev/null || {
    cargo_missing
    exit 1
}
[ "$set_wanted" = check ] || exit 0
if ! cargo deny --version >/dev/null 2>&1; then
    echo "installing cargo-deny, which checks licences and advisories"
    cargo install cargo-deny --locked
fi
if ! cargo machete --version >/dev/null 2>&1; then
    echo "installing cargo-machete, which finds dependencies that nothing uses"
    cargo install cargo-machete --locked
fi
