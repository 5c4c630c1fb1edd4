#!/bin/sh
# n1.node.sh: node n1 of fabric t
# Generation 88616c9bc4e528e6, written by `tresse export iproute2`.
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

# forward NIC: IPv6 by this NIC; before Linux 6.17 by all interfaces, which go on hearing routers
forward() {
    if [ -e "/proc/sys/net/ipv6/conf/$1/force_forwarding" ]; then
        keep "net/ipv6/conf/$1/force_forwarding" 1
        return
    fi
    for all in /proc/sys/net/ipv6/conf/*/accept_ra; do
        [ "$(cat "$all")" != 1 ] || keep "${all#/proc/sys/}" 2
    done
    keep net/ipv6/conf/all/forwarding 1
}

# guard FAMILY PRIORITY WORDS...: a rule that passes what goes from fabric to fabric, or drops the rest
guard() {
    family=$1 priority=$2
    shift 2
    ip "$family" rule show | grep -q "^$priority:.*[[:space:]]$*" ||
        ip "$family" rule add "$@" priority "$priority" protocol 78 ||
        die "no rule $*: without it this node would forward to other networks"
}

# arriving FAMILY NIC TABLE: what arrives by this NIC asks this table first
arriving() {
    ip "$1" rule add iif "$2" lookup "$3" priority "$3" protocol 78 2>/dev/null ||
        ip "$1" rule show | grep -q "^$3:.* iif $2 lookup $3 " ||
        die "no rule for NIC $2: priority $3 is somebody else's"
}

undo() {
    ip -4 route flush proto 78 2>/dev/null || :
    ip -6 route flush proto 78 2>/dev/null || :
    ip nexthop flush proto 78 >/dev/null 2>&1 || :
    ip -4 route flush table all proto 78 2>/dev/null || :
    ip -6 route flush table all proto 78 2>/dev/null || :
    ip address del 10.78.0.3/32 dev eth0 2>/dev/null || :
    ip address del fd78::3/128 dev eth0 2>/dev/null || :
    ip address del 10.78.0.4/32 dev eth1 2>/dev/null || :
    ip address del fd78::4/128 dev eth1 2>/dev/null || :
    ip neigh del 10.78.0.2 dev eth0 2>/dev/null || :
    ip neigh del fd78::2 dev eth0 2>/dev/null || :
    ip neigh del 10.78.0.5 dev eth1 2>/dev/null || :
    ip neigh del fd78::5 dev eth1 2>/dev/null || :
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
    ip -4 rule flush protocol 78 2>/dev/null || :
    ip -6 rule flush protocol 78 2>/dev/null || :
    rm -rf "$state"
}

up() {
    nic eth0 02:54:00:00:01:00 1500
    nic eth1 02:54:00:00:01:01 1500
    link tresse0 1500 tresse:node name tresse0 type dummy 2>/dev/null ||
        link tresse0 1500 tresse:node name tresse0 type bridge
    guard -6 7799 nop
    guard -4 7799 nop
    guard -4 778 from 10.77.0.0/24 to 10.77.0.0/24 goto 7799
    guard -4 778 from 10.77.0.0/24 to 10.78.0.0/24 goto 7799
    guard -4 778 from 10.78.0.0/24 to 10.77.0.0/24 goto 7799
    guard -4 778 from 10.78.0.0/24 to 10.78.0.0/24 goto 7799
    guard -6 778 from fd77::/64 to fd77::/64 goto 7799
    guard -6 778 from fd77::/64 to fd78::/64 goto 7799
    guard -6 778 from fd78::/64 to fd77::/64 goto 7799
    guard -6 778 from fd78::/64 to fd78::/64 goto 7799
    guard -6 779 iif eth0 blackhole
    guard -4 779 iif eth0 blackhole
    guard -6 779 iif eth1 blackhole
    guard -4 779 iif eth1 blackhole
    keep net/ipv4/conf/eth0/accept_local 1
    keep net/ipv4/conf/eth0/accept_redirects 0
    keep net/ipv4/conf/eth0/arp_announce 2
    keep net/ipv4/conf/eth0/arp_ignore 1
    keep net/ipv4/conf/eth0/forwarding 1
    keep net/ipv4/conf/eth0/ignore_routes_with_linkdown 1
    keep net/ipv4/conf/eth0/rp_filter 2
    keep net/ipv4/conf/eth0/send_redirects 0
    keep net/ipv4/conf/eth1/accept_local 1
    keep net/ipv4/conf/eth1/accept_redirects 0
    keep net/ipv4/conf/eth1/arp_announce 2
    keep net/ipv4/conf/eth1/arp_ignore 1
    keep net/ipv4/conf/eth1/forwarding 1
    keep net/ipv4/conf/eth1/ignore_routes_with_linkdown 1
    keep net/ipv4/conf/eth1/rp_filter 2
    keep net/ipv4/conf/eth1/send_redirects 0
    keep net/ipv4/fib_multipath_hash_policy 1
    keep net/ipv6/conf/eth0/accept_ra 0
    keep net/ipv6/conf/eth0/accept_redirects 0
    forward eth0
    keep net/ipv6/conf/eth0/ignore_routes_with_linkdown 1
    keep net/ipv6/conf/eth1/accept_ra 0
    keep net/ipv6/conf/eth1/accept_redirects 0
    forward eth1
    keep net/ipv6/conf/eth1/ignore_routes_with_linkdown 1
    keep net/ipv6/fib_multipath_hash_policy 1
    ip -batch - <<'EOF'
address replace 10.78.0.3/32 dev eth0 scope link noprefixroute
address replace fd78::3/128 dev eth0 scope link nodad noprefixroute
address replace 10.78.0.4/32 dev eth1 scope link noprefixroute
address replace fd78::4/128 dev eth1 scope link nodad noprefixroute
address replace 10.77.0.2/32 dev tresse0 noprefixroute
address replace fd77::2/128 dev tresse0 nodad noprefixroute
link set dev tresse0 up
neigh replace 10.78.0.2 lladdr 02:54:00:00:00:01 dev eth0 nud permanent protocol 78
neigh replace fd78::2 lladdr 02:54:00:00:00:01 dev eth0 nud permanent protocol 78
neigh replace 10.78.0.5 lladdr 02:54:00:00:02:00 dev eth1 nud permanent protocol 78
neigh replace fd78::5 lladdr 02:54:00:00:02:00 dev eth1 nud permanent protocol 78
EOF
    # A NIC without carrier takes no nexthop: its part is left out, run again later.
    ip -force -batch - <<'EOF'
nexthop replace id 1409286144 via 10.78.0.2 dev eth0 onlink protocol 78
nexthop replace id 1409286145 via fd78::2 dev eth0 onlink protocol 78
nexthop replace id 1409286146 via 10.78.0.5 dev eth1 onlink protocol 78
nexthop replace id 1409286147 via fd78::5 dev eth1 onlink protocol 78
nexthop replace id 1417674752 group 1409286144,1 protocol 78
nexthop replace id 1417674753 group 1409286145,1 protocol 78
nexthop replace id 1417674754 group 1409286146,1 protocol 78
nexthop replace id 1417674755 group 1409286147,1 protocol 78
route replace 10.77.0.1/32 nhid 1417674752 src 10.77.0.2 metric 7800 mtu 1500 advmss 1460 protocol 78
route replace 10.77.0.1/32 nhid 1417674754 src 10.77.0.2 metric 7801 mtu 1500 advmss 1460 protocol 78
route replace 10.77.0.3/32 nhid 1417674754 src 10.77.0.2 metric 7800 mtu 1500 advmss 1460 protocol 78
route replace 10.77.0.3/32 nhid 1417674752 src 10.77.0.2 metric 7801 mtu 1500 advmss 1460 protocol 78
route replace 10.77.0.4/32 nhid 1417674752 src 10.77.0.2 metric 7800 mtu 1500 advmss 1460 protocol 78
route replace 10.77.0.4/32 nhid 1417674754 src 10.77.0.2 metric 7801 mtu 1500 advmss 1460 protocol 78
route replace 10.78.0.1/32 nhid 1417674752 src 10.77.0.2 metric 7800 mtu 1500 advmss 1460 protocol 78
route replace 10.78.0.2/32 nhid 1417674752 src 10.77.0.2 metric 7800 mtu 1500 advmss 1460 protocol 78
route replace 10.78.0.5/32 nhid 1417674754 src 10.77.0.2 metric 7800 mtu 1500 advmss 1460 protocol 78
route replace 10.78.0.6/32 nhid 1417674754 src 10.77.0.2 metric 7800 mtu 1500 advmss 1460 protocol 78
route replace 10.78.0.7/32 nhid 1417674752 src 10.77.0.2 metric 7800 mtu 1500 advmss 1460 protocol 78
route replace 10.78.0.8/32 nhid 1417674752 src 10.77.0.2 metric 7800 mtu 1500 advmss 1460 protocol 78
route replace fd77::1/128 nhid 1417674753 src fd77::2 metric 7800 mtu 1500 advmss 1440 protocol 78
route replace fd77::1/128 nhid 1417674755 src fd77::2 metric 7801 mtu 1500 advmss 1440 protocol 78
route replace fd77::3/128 nhid 1417674755 src fd77::2 metric 7800 mtu 1500 advmss 1440 protocol 78
route replace fd77::3/128 nhid 1417674753 src fd77::2 metric 7801 mtu 1500 advmss 1440 protocol 78
route replace fd77::4/128 nhid 1417674753 src fd77::2 metric 7800 mtu 1500 advmss 1440 protocol 78
route replace fd77::4/128 nhid 1417674755 src fd77::2 metric 7801 mtu 1500 advmss 1440 protocol 78
route replace fd78::1/128 nhid 1417674753 src fd77::2 metric 7800 mtu 1500 advmss 1440 protocol 78
route replace fd78::2/128 nhid 1417674753 src fd77::2 metric 7800 mtu 1500 advmss 1440 protocol 78
route replace fd78::5/128 nhid 1417674755 src fd77::2 metric 7800 mtu 1500 advmss 1440 protocol 78
route replace fd78::6/128 nhid 1417674755 src fd77::2 metric 7800 mtu 1500 advmss 1440 protocol 78
route replace fd78::7/128 nhid 1417674753 src fd77::2 metric 7800 mtu 1500 advmss 1440 protocol 78
route replace fd78::8/128 nhid 1417674753 src fd77::2 metric 7800 mtu 1500 advmss 1440 protocol 78
route replace unreachable 10.77.0.0/24 metric 4294967295 protocol 78
route replace unreachable 10.78.0.0/24 metric 4294967295 protocol 78
route replace unreachable fd77::/64 metric 4294967295 protocol 78
route replace unreachable fd78::/64 metric 4294967295 protocol 78
EOF
    ip -batch - <<'EOF'
route replace 10.77.0.1/32 via 10.78.0.5 dev eth1 onlink table 7800 metric 7800 protocol 78
route replace 10.77.0.4/32 via 10.78.0.5 dev eth1 onlink table 7800 metric 7800 protocol 78
route replace fd77::1/128 via fd78::5 dev eth1 onlink table 7800 metric 7800 protocol 78
route replace fd77::4/128 via fd78::5 dev eth1 onlink table 7800 metric 7800 protocol 78
route replace 10.77.0.3/32 via 10.78.0.2 dev eth0 onlink table 7801 metric 7800 protocol 78
route replace fd77::3/128 via fd78::2 dev eth0 onlink table 7801 metric 7800 protocol 78
EOF
    arriving -6 eth0 7800
    arriving -4 eth0 7800
    arriving -6 eth1 7801
    arriving -4 eth1 7801
}

case ${1:-up} in
up) up ;;
undo) undo ;;
*) echo "usage: $0 [up|undo]" >&2; exit 2 ;;
esac
