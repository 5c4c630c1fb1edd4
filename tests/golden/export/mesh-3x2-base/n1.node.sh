#!/bin/sh
# n1.node.sh: node n1 of fabric mesh-3x2
# Generation bfb1769f417b9da1, written by `tresse export iproute2`.
#
# sh n1.node.sh up     make the fabric's kernel objects; again: changes nothing
# sh n1.node.sh undo   remove everything with our mark, of any generation
#
# Before another generation's script: undo. The same objects as tressed makes, but
# nothing watches them: no repair, no canary before the first frame, no BFD.
set -eu
: "${state:=/run/tresse-script}"

die() { echo "$0: $*" >&2; exit 1; }

# nic NAME MAC MTU
nic() {
    have=$(ip -o link show dev "$1") || die "NIC $1 is missing"
    case $have in
    *"link/ether $2 "*) ;;
    *) die "NIC $1 does not have the MAC address $2 of the plan" ;;
    esac
    mtu=${have#* mtu }
    [ "${mtu%% *}" -ge "$3" ] || die "NIC $1 needs an MTU of at least $3"
    case $have in
    *[\<,]UP[\>,]*) ;;
    *) ip link set dev "$1" up ;;
    esac
}

# link NAME MTU ALIAS ADD-ARGUMENTS...
link() {
    name=$1 mtu=$2 alias=$3
    shift 3
    if ip link show dev "$name" >/dev/null 2>&1; then
        case $(ip -d link show dev "$name") in
        *"alias tresse:"*) ;;
        *) die "interface $name exists and is not ours" ;;
        esac
    else
        ip link add "$@" || return 1
    fi
    ip link set dev "$name" alias "$alias" addrgenmode none mtu "$mtu"
}

# put KEY VALUE: below /proc/sys; goes away with the interface
put() { [ ! -e "/proc/sys/$1" ] || echo "$2" >"/proc/sys/$1"; }

# keep KEY VALUE: as put, and undo writes the old value back
keep() {
    [ -e "/proc/sys/$1" ] || return 0
    mkdir -p "$state"
    grep -qs "^$1 " "$state/sysctls" || echo "$1 $(cat "/proc/sys/$1")" >>"$state/sysctls"
    echo "$2" >"/proc/sys/$1"
}

undo() {
    ip -4 route flush proto 78 2>/dev/null || :
    ip nexthop flush proto 78 >/dev/null 2>&1 || :
    ip -o link show | while read -r _ name rest; do
        case $rest in
        *"alias tresse:"*)
            name=${name%:}
            ip link del dev "${name%%@*}" ;;
        esac
    done
    [ ! -e "$state/sysctls" ] || while read -r key value; do
        [ ! -e "/proc/sys/$key" ] || echo "$value" >"/proc/sys/$key"
    done <"$state/sysctls"
    rm -rf "$state"
}

up() {
    nic eth0 02:54:00:00:01:00 1500
    nic eth1 02:54:00:00:01:01 1500
    link eth0.100 1500 'tresse:VL(-,1)' link eth0 name eth0.100 type vlan id 100
    link eth0.101 1500 'tresse:VL(1,-)' link eth0 name eth0.101 type vlan id 101
    link eth1.100 1500 'tresse:VL(-,1)' link eth1 name eth1.100 type vlan id 100
    link eth1.101 1500 'tresse:VL(1,-)' link eth1 name eth1.101 type vlan id 101
    link tresse0 1500 tresse:node name tresse0 type dummy 2>/dev/null ||
        link tresse0 1500 tresse:node name tresse0 type bridge
    put net/ipv4/conf/eth0.100/accept_redirects 0
    put net/ipv4/conf/eth0.100/arp_announce 2
    put net/ipv4/conf/eth0.100/arp_ignore 1
    put net/ipv4/conf/eth0.100/rp_filter 2
    put net/ipv4/conf/eth0.100/send_redirects 0
    put net/ipv4/conf/eth0.101/accept_redirects 0
    put net/ipv4/conf/eth0.101/arp_announce 2
    put net/ipv4/conf/eth0.101/arp_ignore 1
    put net/ipv4/conf/eth0.101/rp_filter 2
    put net/ipv4/conf/eth0.101/send_redirects 0
    put net/ipv4/conf/eth1.100/accept_redirects 0
    put net/ipv4/conf/eth1.100/arp_announce 2
    put net/ipv4/conf/eth1.100/arp_ignore 1
    put net/ipv4/conf/eth1.100/rp_filter 2
    put net/ipv4/conf/eth1.100/send_redirects 0
    put net/ipv4/conf/eth1.101/accept_redirects 0
    put net/ipv4/conf/eth1.101/arp_announce 2
    put net/ipv4/conf/eth1.101/arp_ignore 1
    put net/ipv4/conf/eth1.101/rp_filter 2
    put net/ipv4/conf/eth1.101/send_redirects 0
    keep net/ipv4/fib_multipath_hash_policy 1
    put net/ipv4/neigh/eth0.100/mcast_solicit 0
    put net/ipv4/neigh/eth0.101/mcast_solicit 0
    put net/ipv4/neigh/eth1.100/mcast_solicit 0
    put net/ipv4/neigh/eth1.101/mcast_solicit 0
    put net/ipv6/conf/eth0.100/disable_ipv6 1
    put net/ipv6/conf/eth0.101/disable_ipv6 1
    put net/ipv6/conf/eth1.100/disable_ipv6 1
    put net/ipv6/conf/eth1.101/disable_ipv6 1
    ip -batch - <<'EOF'
address replace 10.78.0.3/32 dev eth0.100 scope link noprefixroute
address replace 10.78.0.3/32 dev eth0.101 scope link noprefixroute
address replace 10.78.0.4/32 dev eth1.100 scope link noprefixroute
address replace 10.78.0.4/32 dev eth1.101 scope link noprefixroute
address replace 10.77.0.2/32 dev tresse0 noprefixroute
link set dev eth0.100 up
link set dev eth0.101 up
link set dev eth1.100 up
link set dev eth1.101 up
link set dev tresse0 up
neigh replace 10.78.0.6 lladdr 02:54:00:00:02:01 dev eth0.100 nud permanent protocol 78
neigh replace 10.78.0.8 lladdr 02:54:00:00:03:01 dev eth0.100 nud permanent protocol 78
neigh replace 10.78.0.9 lladdr 02:54:00:00:04:00 dev eth0.100 nud permanent protocol 78
neigh replace 10.78.0.2 lladdr 02:54:00:00:00:01 dev eth0.101 nud permanent protocol 78
neigh replace 10.78.0.12 lladdr 02:54:00:00:05:01 dev eth0.101 nud permanent protocol 78
neigh replace 10.78.0.1 lladdr 02:54:00:00:00:00 dev eth1.100 nud permanent protocol 78
neigh replace 10.78.0.7 lladdr 02:54:00:00:03:00 dev eth1.100 nud permanent protocol 78
neigh replace 10.78.0.10 lladdr 02:54:00:00:04:01 dev eth1.100 nud permanent protocol 78
neigh replace 10.78.0.11 lladdr 02:54:00:00:05:00 dev eth1.100 nud permanent protocol 78
neigh replace 10.78.0.5 lladdr 02:54:00:00:02:00 dev eth1.101 nud permanent protocol 78
EOF
    # A NIC without carrier takes no nexthop: its part is left out, run again later.
    ip -force -batch - <<'EOF'
nexthop replace id 1409286144 via 10.78.0.6 dev eth0.100 onlink protocol 78
nexthop replace id 1409286145 via 10.78.0.8 dev eth0.100 onlink protocol 78
nexthop replace id 1409286146 via 10.78.0.9 dev eth0.100 onlink protocol 78
nexthop replace id 1409286147 via 10.78.0.2 dev eth0.101 onlink protocol 78
nexthop replace id 1409286148 via 10.78.0.12 dev eth0.101 onlink protocol 78
nexthop replace id 1409286149 via 10.78.0.1 dev eth1.100 onlink protocol 78
nexthop replace id 1409286150 via 10.78.0.7 dev eth1.100 onlink protocol 78
nexthop replace id 1409286151 via 10.78.0.10 dev eth1.100 onlink protocol 78
nexthop replace id 1409286152 via 10.78.0.11 dev eth1.100 onlink protocol 78
nexthop replace id 1409286153 via 10.78.0.5 dev eth1.101 onlink protocol 78
nexthop replace id 1417674752 group 1409286144,1 protocol 78
nexthop replace id 1417674753 group 1409286145,1 protocol 78
nexthop replace id 1417674754 group 1409286146,1 protocol 78
nexthop replace id 1417674755 group 1409286147,1 protocol 78
nexthop replace id 1417674756 group 1409286148,1 protocol 78
nexthop replace id 1417674757 group 1409286149,1 protocol 78
nexthop replace id 1417674758 group 1409286150,1 protocol 78
nexthop replace id 1417674759 group 1409286151,1 protocol 78
nexthop replace id 1417674760 group 1409286152,1 protocol 78
nexthop replace id 1417674761 group 1409286153,1 protocol 78
route replace 10.77.0.1/32 nhid 1417674755 src 10.77.0.2 metric 7800 mtu 1500 advmss 1460 protocol 78
route replace 10.77.0.1/32 nhid 1417674757 src 10.77.0.2 metric 7801 mtu 1500 advmss 1460 protocol 78
route replace 10.77.0.3/32 nhid 1417674761 src 10.77.0.2 metric 7800 mtu 1500 advmss 1460 protocol 78
route replace 10.77.0.3/32 nhid 1417674752 src 10.77.0.2 metric 7801 mtu 1500 advmss 1460 protocol 78
route replace 10.77.0.4/32 nhid 1417674753 src 10.77.0.2 metric 7800 mtu 1500 advmss 1460 protocol 78
route replace 10.77.0.4/32 nhid 1417674758 src 10.77.0.2 metric 7801 mtu 1500 advmss 1460 protocol 78
route replace 10.77.0.5/32 nhid 1417674759 src 10.77.0.2 metric 7800 mtu 1500 advmss 1460 protocol 78
route replace 10.77.0.5/32 nhid 1417674754 src 10.77.0.2 metric 7801 mtu 1500 advmss 1460 protocol 78
route replace 10.77.0.6/32 nhid 1417674760 src 10.77.0.2 metric 7800 mtu 1500 advmss 1460 protocol 78
route replace 10.77.0.6/32 nhid 1417674756 src 10.77.0.2 metric 7801 mtu 1500 advmss 1460 protocol 78
route replace unreachable 10.77.0.0/16 metric 4294967295 protocol 78
route replace unreachable 10.78.0.0/16 metric 4294967295 protocol 78
EOF
}

case ${1:-up} in
up) up ;;
undo) undo ;;
*) echo "usage: $0 [up|undo]" >&2; exit 2 ;;
esac
