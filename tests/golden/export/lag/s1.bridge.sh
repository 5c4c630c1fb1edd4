#!/bin/sh
# s1.bridge.sh: switch s1 of fabric t
# Generation 1b89c4a86ad8c0ea, written by `tresse export bridge`.
#
# Port 1 = swp1, port 2 = swp2; bridge br0. Others: port=eth bridge=br1 sh s1.bridge.sh
# Applying it again changes nothing. Plug in cables that close a loop last.
# Pre-flight: no loop detection, storm control (tc) or port isolation on these ports,
# `learning` and `flood` on (the default); EEE off: ethtool --set-eee PORT eee off.
# Note: static forwarding entries name derived MAC addresses: lab only, fill in real ones (`tresse macs`) before real switches
# Note: ports 6, 7, 8 are one link aggregation group (LACP, active), as lag = true asks for: a flow uses one of its cables
# Note: the channel dependency graph is cyclic: with flow control (802.3x) on, the fabric can deadlock
# port 1: node, b0 eth0
# port 2: node, b1 eth0
# ports 6,7,8: trunk, s0 ports 6,7,8

set -eu
: "${bridge:=br0}" "${port:=swp}"

# A new bridge forwards nothing: no VLAN is on any port.
ip link show dev "$bridge" >/dev/null 2>&1 ||
    ip link add name "$bridge" type bridge vlan_filtering 1 \
        vlan_default_pvid 0 vlan_stats_enabled 1 vlan_stats_per_port 1
ip link set dev "$bridge" type bridge vlan_default_pvid 0 vlan_filtering 1 \
    mcast_snooping 0 ageing_time 30000
ip link show dev lag6 >/dev/null 2>&1 ||
    ip link add name lag6 type bond mode 802.3ad miimon 100 \
        lacp_rate fast xmit_hash_policy layer3+4
for n in 6 7 8; do
    case $(ip -o link show dev "$port$n") in *" master lag6 "*) continue ;; esac
    ip link set dev "$port$n" down
    ip link set dev "$port$n" master lag6
done
for dev in "${port}1" "${port}2" "lag6"; do
    off=/proc/sys/net/ipv6/conf/$dev/disable_ipv6
    [ ! -w "$off" ] || echo 1 >"$off"
    ip link set dev "$dev" master "$bridge"
done
off=/proc/sys/net/ipv6/conf/$bridge/disable_ipv6
[ ! -w "$off" ] || echo 1 >"$off"

# Prune: the default VLAN and everything else that the plan does not have.
bridge -batch - <<EOF
vlan del dev $bridge vid 1-4094 self
vlan del dev ${port}1 vid 1
vlan del dev ${port}1 vid 3-4094
vlan del dev ${port}2 vid 1
vlan del dev ${port}2 vid 3-4094
vlan del dev lag6 vid 1
vlan del dev lag6 vid 3-4094
EOF

# VLANs. A port without an untagged VLAN drops untagged frames.
bridge -batch - <<EOF
vlan add dev ${port}1 vid 2
vlan add dev ${port}2 vid 2
vlan add dev lag6 vid 2
EOF

# Forwarding entries along the trees.
bridge -batch - <<EOF
fdb replace 02:54:00:00:00:00 dev lag6 vlan 2 master static
fdb replace 02:54:00:00:01:00 dev lag6 vlan 2 master static
fdb replace 02:54:00:00:02:00 dev ${port}1 vlan 2 master static
fdb replace 02:54:00:00:03:00 dev ${port}2 vlan 2 master static
EOF

# Flow control off; virtual ports have none.
for n in 1 2 6 7 8; do
    ethtool -A "$port$n" autoneg off rx off tx off 2>/dev/null || :
done

for n in 1 2 6 7 8; do ip link set dev "$port$n" up; done
ip link set dev lag6 up
ip link set dev "$bridge" up

# Last: spanning tree off.
ip link set dev "$bridge" type bridge stp_state 0
