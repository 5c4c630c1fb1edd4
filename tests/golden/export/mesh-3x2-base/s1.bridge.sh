#!/bin/sh
# s1.bridge.sh: switch s1 of fabric mesh-3x2
# Generation bfb1769f417b9da1, written by `tresse export bridge`.
#
# Port 1 = swp1, port 2 = swp2; bridge br0. Others: port=eth bridge=br1 sh s1.bridge.sh
# Applying it again changes nothing. Plug in cables that close a loop last.
# Pre-flight: no loop detection, storm control (tc) or port isolation on these ports,
# `learning` and `flood` on (the default); EEE off: ethtool --set-eee PORT eee off.
# Note: static forwarding entries name derived MAC addresses: lab only, fill in real ones (`tresse macs`) before real switches
# port 1: node, n1 eth0
# port 2: node, n0 eth1
# port 3: trunk, s0 port 4
# port 4: trunk, s2 port 3
# port 6: trunk, s4 port 5

set -eu
: "${bridge:=br0}" "${port:=swp}"

# A new bridge forwards nothing: no VLAN is on any port.
ip link show dev "$bridge" >/dev/null 2>&1 ||
    ip link add name "$bridge" type bridge vlan_filtering 1 \
        vlan_default_pvid 0 vlan_stats_enabled 1 vlan_stats_per_port 1
ip link set dev "$bridge" type bridge vlan_default_pvid 0 vlan_filtering 1 \
    mcast_snooping 0 ageing_time 30000
for dev in "${port}1" "${port}2" "${port}3" "${port}4" "${port}6"; do
    off=/proc/sys/net/ipv6/conf/$dev/disable_ipv6
    [ ! -w "$off" ] || echo 1 >"$off"
    ip link set dev "$dev" master "$bridge"
done

# Prune: the default VLAN and everything else that the plan does not have.
bridge -batch - <<EOF
vlan del dev $bridge vid 2-4094 self
vlan del dev ${port}1 vid 2-99
vlan del dev ${port}1 vid 102-4094
vlan del dev ${port}2 vid 2-99
vlan del dev ${port}2 vid 102-4094
vlan del dev ${port}3 vid 2-100
vlan del dev ${port}3 vid 103-4094
vlan del dev ${port}4 vid 2-100
vlan del dev ${port}4 vid 103-4094
vlan del dev ${port}6 vid 2-99
vlan del dev ${port}6 vid 103-4094
EOF

# VLANs. A port without an untagged VLAN drops untagged frames.
bridge -batch - <<EOF
vlan add dev $bridge vid 1 pvid untagged self
vlan add dev ${port}1 vid 1 pvid untagged
vlan add dev ${port}1 vid 100-101
vlan add dev ${port}2 vid 1 pvid untagged
vlan add dev ${port}2 vid 100-101
vlan add dev ${port}3 vid 1 pvid untagged
vlan add dev ${port}3 vid 101-102
vlan add dev ${port}4 vid 1 pvid untagged
vlan add dev ${port}4 vid 101-102
vlan add dev ${port}6 vid 1 pvid untagged
vlan add dev ${port}6 vid 100-102
EOF

# Forwarding entries along the trees.
bridge -batch - <<EOF
fdb replace 02:54:00:00:00:01 dev ${port}2 vlan 100 master static
fdb replace 02:54:00:00:01:00 dev ${port}1 vlan 100 master static
fdb replace 02:54:00:00:02:01 dev ${port}6 vlan 100 master static
fdb replace 02:54:00:00:03:01 dev ${port}6 vlan 100 master static
fdb replace 02:54:00:00:04:00 dev ${port}6 vlan 100 master static
fdb replace 02:54:00:00:05:00 dev ${port}6 vlan 100 master static
fdb replace 02:54:00:00:00:01 dev ${port}2 vlan 101 master static
fdb replace 02:54:00:00:01:00 dev ${port}1 vlan 101 master static
fdb replace 02:54:00:00:02:00 dev ${port}4 vlan 101 master static
fdb replace 02:54:00:00:05:01 dev ${port}3 vlan 101 master static
fdb replace 02:54:00:00:03:00 dev ${port}3 vlan 102 master static
fdb replace 02:54:00:00:04:01 dev ${port}4 vlan 102 master static
EOF

for n in 1 2 3 4 6; do ip link set dev "$port$n" up; done
ip link set dev "$bridge" up

# Last: spanning tree off.
ip link set dev "$bridge" type bridge stp_state 0
