#!/bin/sh
# s01.bridge.sh: switch s01 of fabric torus-4x4
# Generation 4e29f01fa089c4b1, written by `tresse export bridge`.
#
# Port 1 = swp1, port 2 = swp2; bridge br0. Others: port=eth bridge=br1 sh s01.bridge.sh
# Applying it again changes nothing. Plug in cables that close a loop last.
# Pre-flight: no loop detection, storm control (tc) or port isolation on these ports,
# `learning` and `flood` on (the default); EEE off: ethtool --set-eee PORT eee off.
# Note: static forwarding entries name derived MAC addresses: lab only, fill in real ones (`tresse macs`) before real switches
# Note: the channel dependency graph is cyclic: with flow control (802.3x) on, the fabric can deadlock
# port 1: node, n01 eth0
# port 2: trunk, s00 port 3
# port 3: trunk, s02 port 2
# port 4: trunk, s13 port 5
# port 5: trunk, s05 port 4

set -eu
: "${bridge:=br0}" "${port:=swp}"

# A new bridge forwards nothing: no VLAN is on any port.
ip link show dev "$bridge" >/dev/null 2>&1 ||
    ip link add name "$bridge" type bridge vlan_filtering 1 \
        vlan_default_pvid 0 vlan_stats_enabled 1 vlan_stats_per_port 1
ip link set dev "$bridge" type bridge vlan_default_pvid 0 vlan_filtering 1 \
    mcast_snooping 0 ageing_time 30000
for dev in "${port}1" "${port}2" "${port}3" "${port}4" "${port}5"; do
    off=/proc/sys/net/ipv6/conf/$dev/disable_ipv6
    [ ! -w "$off" ] || echo 1 >"$off"
    ip link set dev "$dev" master "$bridge"
done
off=/proc/sys/net/ipv6/conf/$bridge/disable_ipv6
[ ! -w "$off" ] || echo 1 >"$off"

# Prune: the default VLAN and everything else that the plan does not have.
bridge -batch - <<EOF
vlan del dev $bridge vid 1-4094 self
vlan del dev ${port}1 vid 1-99
vlan del dev ${port}1 vid 108-4094
vlan del dev ${port}2 vid 1-99
vlan del dev ${port}2 vid 101-103
vlan del dev ${port}2 vid 105-4094
vlan del dev ${port}3 vid 1-99
vlan del dev ${port}3 vid 101-4094
vlan del dev ${port}4 vid 1-99
vlan del dev ${port}4 vid 101
vlan del dev ${port}4 vid 105
vlan del dev ${port}4 vid 108-4094
vlan del dev ${port}5 vid 1-99
vlan del dev ${port}5 vid 102
vlan del dev ${port}5 vid 106
vlan del dev ${port}5 vid 108-4094
EOF

# VLANs. A port without an untagged VLAN drops untagged frames.
bridge -batch - <<EOF
vlan add dev ${port}1 vid 100-107
vlan add dev ${port}2 vid 100
vlan add dev ${port}2 vid 104
vlan add dev ${port}3 vid 100
vlan add dev ${port}4 vid 100
vlan add dev ${port}4 vid 102-104
vlan add dev ${port}4 vid 106-107
vlan add dev ${port}5 vid 100-101
vlan add dev ${port}5 vid 103-105
vlan add dev ${port}5 vid 107
EOF

# Forwarding entries along the trees.
bridge -batch - <<EOF
fdb replace 02:54:00:00:01:00 dev ${port}1 vlan 100 master static
fdb replace 02:54:00:00:02:00 dev ${port}3 vlan 100 master static
fdb replace 02:54:00:00:03:00 dev ${port}3 vlan 100 master static
fdb replace 02:54:00:00:05:00 dev ${port}5 vlan 100 master static
fdb replace 02:54:00:00:06:00 dev ${port}3 vlan 100 master static
fdb replace 02:54:00:00:07:00 dev ${port}3 vlan 100 master static
fdb replace 02:54:00:00:09:00 dev ${port}5 vlan 100 master static
fdb replace 02:54:00:00:0a:00 dev ${port}3 vlan 100 master static
fdb replace 02:54:00:00:0b:00 dev ${port}3 vlan 100 master static
fdb replace 02:54:00:00:0d:00 dev ${port}4 vlan 100 master static
fdb replace 02:54:00:00:0e:00 dev ${port}3 vlan 100 master static
fdb replace 02:54:00:00:0f:00 dev ${port}3 vlan 100 master static
fdb replace 02:54:00:00:01:00 dev ${port}1 vlan 101 master static
fdb replace 02:54:00:00:01:00 dev ${port}1 vlan 102 master static
fdb replace 02:54:00:00:01:00 dev ${port}1 vlan 103 master static
fdb replace 02:54:00:00:05:00 dev ${port}5 vlan 103 master static
fdb replace 02:54:00:00:00:00 dev ${port}2 vlan 104 master static
fdb replace 02:54:00:00:01:00 dev ${port}1 vlan 104 master static
fdb replace 02:54:00:00:04:00 dev ${port}2 vlan 104 master static
fdb replace 02:54:00:00:05:00 dev ${port}5 vlan 104 master static
fdb replace 02:54:00:00:08:00 dev ${port}2 vlan 104 master static
fdb replace 02:54:00:00:09:00 dev ${port}5 vlan 104 master static
fdb replace 02:54:00:00:0c:00 dev ${port}2 vlan 104 master static
fdb replace 02:54:00:00:0d:00 dev ${port}4 vlan 104 master static
fdb replace 02:54:00:00:01:00 dev ${port}1 vlan 105 master static
fdb replace 02:54:00:00:01:00 dev ${port}1 vlan 106 master static
fdb replace 02:54:00:00:01:00 dev ${port}1 vlan 107 master static
fdb replace 02:54:00:00:05:00 dev ${port}5 vlan 107 master static
EOF

# Flow control off; virtual ports have none.
for n in 1 2 3 4 5; do
    ethtool -A "$port$n" autoneg off rx off tx off 2>/dev/null || :
done

for n in 1 2 3 4 5; do ip link set dev "$port$n" up; done
ip link set dev "$bridge" up

# Last: spanning tree off.
ip link set dev "$bridge" type bridge stp_state 0
