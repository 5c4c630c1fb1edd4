#!/bin/sh
# n01.node.sh: node n01 of fabric torus-4x4
# Generation 4e29f01fa089c4b1, written by `tresse export iproute2`.
#
# sh n01.node.sh up     make the fabric's kernel objects; again: changes nothing
# sh n01.node.sh undo   remove everything with our mark, of any generation
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
    link eth0.100 1500 'tresse:VL(-:1,0)' link eth0 name eth0.100 type vlan id 100
    link eth0.101 1500 'tresse:VL(-:1,1)' link eth0 name eth0.101 type vlan id 101
    link eth0.102 1500 'tresse:VL(-:1,2)' link eth0 name eth0.102 type vlan id 102
    link eth0.103 1500 'tresse:VL(-:1,3)' link eth0 name eth0.103 type vlan id 103
    link eth0.104 1500 'tresse:VL(-:3,0)' link eth0 name eth0.104 type vlan id 104
    link eth0.105 1500 'tresse:VL(-:3,1)' link eth0 name eth0.105 type vlan id 105
    link eth0.106 1500 'tresse:VL(-:3,2)' link eth0 name eth0.106 type vlan id 106
    link eth0.107 1500 'tresse:VL(-:3,3)' link eth0 name eth0.107 type vlan id 107
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
    put net/ipv4/conf/eth0.102/accept_redirects 0
    put net/ipv4/conf/eth0.102/arp_announce 2
    put net/ipv4/conf/eth0.102/arp_ignore 1
    put net/ipv4/conf/eth0.102/rp_filter 2
    put net/ipv4/conf/eth0.102/send_redirects 0
    put net/ipv4/conf/eth0.103/accept_redirects 0
    put net/ipv4/conf/eth0.103/arp_announce 2
    put net/ipv4/conf/eth0.103/arp_ignore 1
    put net/ipv4/conf/eth0.103/rp_filter 2
    put net/ipv4/conf/eth0.103/send_redirects 0
    put net/ipv4/conf/eth0.104/accept_redirects 0
    put net/ipv4/conf/eth0.104/arp_announce 2
    put net/ipv4/conf/eth0.104/arp_ignore 1
    put net/ipv4/conf/eth0.104/rp_filter 2
    put net/ipv4/conf/eth0.104/send_redirects 0
    put net/ipv4/conf/eth0.105/accept_redirects 0
    put net/ipv4/conf/eth0.105/arp_announce 2
    put net/ipv4/conf/eth0.105/arp_ignore 1
    put net/ipv4/conf/eth0.105/rp_filter 2
    put net/ipv4/conf/eth0.105/send_redirects 0
    put net/ipv4/conf/eth0.106/accept_redirects 0
    put net/ipv4/conf/eth0.106/arp_announce 2
    put net/ipv4/conf/eth0.106/arp_ignore 1
    put net/ipv4/conf/eth0.106/rp_filter 2
    put net/ipv4/conf/eth0.106/send_redirects 0
    put net/ipv4/conf/eth0.107/accept_redirects 0
    put net/ipv4/conf/eth0.107/arp_announce 2
    put net/ipv4/conf/eth0.107/arp_ignore 1
    put net/ipv4/conf/eth0.107/rp_filter 2
    put net/ipv4/conf/eth0.107/send_redirects 0
    keep net/ipv4/fib_multipath_hash_policy 1
    put net/ipv4/neigh/eth0.100/mcast_solicit 0
    put net/ipv4/neigh/eth0.101/mcast_solicit 0
    put net/ipv4/neigh/eth0.102/mcast_solicit 0
    put net/ipv4/neigh/eth0.103/mcast_solicit 0
    put net/ipv4/neigh/eth0.104/mcast_solicit 0
    put net/ipv4/neigh/eth0.105/mcast_solicit 0
    put net/ipv4/neigh/eth0.106/mcast_solicit 0
    put net/ipv4/neigh/eth0.107/mcast_solicit 0
    put net/ipv6/conf/eth0.100/disable_ipv6 1
    put net/ipv6/conf/eth0.101/disable_ipv6 1
    put net/ipv6/conf/eth0.102/disable_ipv6 1
    put net/ipv6/conf/eth0.103/disable_ipv6 1
    put net/ipv6/conf/eth0.104/disable_ipv6 1
    put net/ipv6/conf/eth0.105/disable_ipv6 1
    put net/ipv6/conf/eth0.106/disable_ipv6 1
    put net/ipv6/conf/eth0.107/disable_ipv6 1
    ip -batch - <<'EOF'
address replace 10.78.0.2/32 dev eth0.100 scope link noprefixroute
address replace 10.78.0.2/32 dev eth0.101 scope link noprefixroute
address replace 10.78.0.2/32 dev eth0.102 scope link noprefixroute
address replace 10.78.0.2/32 dev eth0.103 scope link noprefixroute
address replace 10.78.0.2/32 dev eth0.104 scope link noprefixroute
address replace 10.78.0.2/32 dev eth0.105 scope link noprefixroute
address replace 10.78.0.2/32 dev eth0.106 scope link noprefixroute
address replace 10.78.0.2/32 dev eth0.107 scope link noprefixroute
address replace 10.77.0.2/32 dev tresse0 noprefixroute
link set dev eth0.100 up
link set dev eth0.101 up
link set dev eth0.102 up
link set dev eth0.103 up
link set dev eth0.104 up
link set dev eth0.105 up
link set dev eth0.106 up
link set dev eth0.107 up
link set dev tresse0 up
neigh replace 10.78.0.3 lladdr 02:54:00:00:02:00 dev eth0.100 nud permanent protocol 78
neigh replace 10.78.0.4 lladdr 02:54:00:00:03:00 dev eth0.100 nud permanent protocol 78
neigh replace 10.78.0.6 lladdr 02:54:00:00:05:00 dev eth0.100 nud permanent protocol 78
neigh replace 10.78.0.7 lladdr 02:54:00:00:06:00 dev eth0.100 nud permanent protocol 78
neigh replace 10.78.0.8 lladdr 02:54:00:00:07:00 dev eth0.100 nud permanent protocol 78
neigh replace 10.78.0.10 lladdr 02:54:00:00:09:00 dev eth0.100 nud permanent protocol 78
neigh replace 10.78.0.11 lladdr 02:54:00:00:0a:00 dev eth0.100 nud permanent protocol 78
neigh replace 10.78.0.12 lladdr 02:54:00:00:0b:00 dev eth0.100 nud permanent protocol 78
neigh replace 10.78.0.14 lladdr 02:54:00:00:0d:00 dev eth0.100 nud permanent protocol 78
neigh replace 10.78.0.15 lladdr 02:54:00:00:0e:00 dev eth0.100 nud permanent protocol 78
neigh replace 10.78.0.16 lladdr 02:54:00:00:0f:00 dev eth0.100 nud permanent protocol 78
neigh replace 10.78.0.1 lladdr 02:54:00:00:00:00 dev eth0.104 nud permanent protocol 78
neigh replace 10.78.0.5 lladdr 02:54:00:00:04:00 dev eth0.104 nud permanent protocol 78
neigh replace 10.78.0.9 lladdr 02:54:00:00:08:00 dev eth0.104 nud permanent protocol 78
neigh replace 10.78.0.13 lladdr 02:54:00:00:0c:00 dev eth0.104 nud permanent protocol 78
EOF
    # A NIC without carrier takes no nexthop: its part is left out, run again later.
    ip -force -batch - <<'EOF'
nexthop replace id 1409286144 via 10.78.0.3 dev eth0.100 onlink protocol 78
nexthop replace id 1409286145 via 10.78.0.4 dev eth0.100 onlink protocol 78
nexthop replace id 1409286146 via 10.78.0.6 dev eth0.100 onlink protocol 78
nexthop replace id 1409286147 via 10.78.0.7 dev eth0.100 onlink protocol 78
nexthop replace id 1409286148 via 10.78.0.8 dev eth0.100 onlink protocol 78
nexthop replace id 1409286149 via 10.78.0.10 dev eth0.100 onlink protocol 78
nexthop replace id 1409286150 via 10.78.0.11 dev eth0.100 onlink protocol 78
nexthop replace id 1409286151 via 10.78.0.12 dev eth0.100 onlink protocol 78
nexthop replace id 1409286152 via 10.78.0.14 dev eth0.100 onlink protocol 78
nexthop replace id 1409286153 via 10.78.0.15 dev eth0.100 onlink protocol 78
nexthop replace id 1409286154 via 10.78.0.16 dev eth0.100 onlink protocol 78
nexthop replace id 1409286155 via 10.78.0.1 dev eth0.104 onlink protocol 78
nexthop replace id 1409286156 via 10.78.0.5 dev eth0.104 onlink protocol 78
nexthop replace id 1409286157 via 10.78.0.9 dev eth0.104 onlink protocol 78
nexthop replace id 1409286158 via 10.78.0.13 dev eth0.104 onlink protocol 78
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
nexthop replace id 1417674762 group 1409286154,1 protocol 78
nexthop replace id 1417674763 group 1409286155,1 protocol 78
nexthop replace id 1417674764 group 1409286156,1 protocol 78
nexthop replace id 1417674765 group 1409286157,1 protocol 78
nexthop replace id 1417674766 group 1409286158,1 protocol 78
route replace 10.77.0.1/32 nhid 1417674763 src 10.77.0.2 metric 7800 mtu 1500 advmss 1460 protocol 78
route replace 10.77.0.3/32 nhid 1417674752 src 10.77.0.2 metric 7800 mtu 1500 advmss 1460 protocol 78
route replace 10.77.0.4/32 nhid 1417674753 src 10.77.0.2 metric 7800 mtu 1500 advmss 1460 protocol 78
route replace 10.77.0.5/32 nhid 1417674764 src 10.77.0.2 metric 7800 mtu 1500 advmss 1460 protocol 78
route replace 10.77.0.6/32 nhid 1417674754 src 10.77.0.2 metric 7800 mtu 1500 advmss 1460 protocol 78
route replace 10.77.0.7/32 nhid 1417674755 src 10.77.0.2 metric 7800 mtu 1500 advmss 1460 protocol 78
route replace 10.77.0.8/32 nhid 1417674756 src 10.77.0.2 metric 7800 mtu 1500 advmss 1460 protocol 78
route replace 10.77.0.9/32 nhid 1417674765 src 10.77.0.2 metric 7800 mtu 1500 advmss 1460 protocol 78
route replace 10.77.0.10/32 nhid 1417674757 src 10.77.0.2 metric 7800 mtu 1500 advmss 1460 protocol 78
route replace 10.77.0.11/32 nhid 1417674758 src 10.77.0.2 metric 7800 mtu 1500 advmss 1460 protocol 78
route replace 10.77.0.12/32 nhid 1417674759 src 10.77.0.2 metric 7800 mtu 1500 advmss 1460 protocol 78
route replace 10.77.0.13/32 nhid 1417674766 src 10.77.0.2 metric 7800 mtu 1500 advmss 1460 protocol 78
route replace 10.77.0.14/32 nhid 1417674760 src 10.77.0.2 metric 7800 mtu 1500 advmss 1460 protocol 78
route replace 10.77.0.15/32 nhid 1417674761 src 10.77.0.2 metric 7800 mtu 1500 advmss 1460 protocol 78
route replace 10.77.0.16/32 nhid 1417674762 src 10.77.0.2 metric 7800 mtu 1500 advmss 1460 protocol 78
route replace unreachable 10.77.0.0/16 metric 4294967295 protocol 78
route replace unreachable 10.78.0.0/16 metric 4294967295 protocol 78
EOF
}

case ${1:-up} in
up) up ;;
undo) undo ;;
*) echo "usage: $0 [up|undo]" >&2; exit 2 ;;
esac
