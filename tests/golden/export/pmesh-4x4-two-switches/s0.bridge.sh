#!/bin/sh
# s0.bridge.sh: switch s0 of fabric t
# Generation 9b3804e11749f456, written by `tresse export bridge`.
#
# Port 1 = swp1, port 2 = swp2; bridge br0. Others: port=eth bridge=br1 sh s0.bridge.sh
# Applying it again changes nothing. Plug in cables that close a loop last.
# Pre-flight: no loop detection, storm control (tc) or port isolation on these ports,
# `learning` and `flood` on (the default); EEE off: ethtool --set-eee PORT eee off.
# Note: the channel dependency graph is cyclic: with flow control (802.3x) on, the fabric can deadlock
# port 1: access, n00 eth0
# port 2: access, n01 eth0
# port 3: access, n02 eth0
# port 4: access, n03 eth0
# port 5: access, n04 eth0
# port 6: access, n05 eth0
# port 7: access, n06 eth0
# port 8: access, n07 eth0
# port 9: access, n08 eth0
# port 10: access, n09 eth0
# port 11: access, n10 eth0
# port 12: access, n11 eth0
# port 13: access, n12 eth0
# port 14: access, n13 eth0
# port 15: access, n14 eth0
# port 16: access, n15 eth0

set -eu
: "${bridge:=br0}" "${port:=swp}"

# A new bridge forwards nothing: no VLAN is on any port.
ip link show dev "$bridge" >/dev/null 2>&1 ||
    ip link add name "$bridge" type bridge vlan_filtering 1 \
        vlan_default_pvid 0 vlan_stats_enabled 1 vlan_stats_per_port 1
ip link set dev "$bridge" type bridge vlan_default_pvid 0 vlan_filtering 1 \
    mcast_snooping 0 ageing_time 30000
for dev in "${port}1" "${port}2" "${port}3" "${port}4" "${port}5" "${port}6" "${port}7" "${port}8" "${port}9" "${port}10" "${port}11" "${port}12" "${port}13" "${port}14" "${port}15" "${port}16"; do
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
vlan del dev ${port}3 vid 1
vlan del dev ${port}3 vid 3-4094
vlan del dev ${port}4 vid 1
vlan del dev ${port}4 vid 3-4094
vlan del dev ${port}5 vid 1-2
vlan del dev ${port}5 vid 4-4094
vlan del dev ${port}6 vid 1-2
vlan del dev ${port}6 vid 4-4094
vlan del dev ${port}7 vid 1-2
vlan del dev ${port}7 vid 4-4094
vlan del dev ${port}8 vid 1-2
vlan del dev ${port}8 vid 4-4094
vlan del dev ${port}9 vid 1-3
vlan del dev ${port}9 vid 5-4094
vlan del dev ${port}10 vid 1-3
vlan del dev ${port}10 vid 5-4094
vlan del dev ${port}11 vid 1-3
vlan del dev ${port}11 vid 5-4094
vlan del dev ${port}12 vid 1-3
vlan del dev ${port}12 vid 5-4094
vlan del dev ${port}13 vid 1-4
vlan del dev ${port}13 vid 6-4094
vlan del dev ${port}14 vid 1-4
vlan del dev ${port}14 vid 6-4094
vlan del dev ${port}15 vid 1-4
vlan del dev ${port}15 vid 6-4094
vlan del dev ${port}16 vid 1-4
vlan del dev ${port}16 vid 6-4094
EOF

# VLANs. A port without an untagged VLAN drops untagged frames.
bridge -batch - <<EOF
vlan add dev ${port}1 vid 2 pvid untagged
vlan add dev ${port}2 vid 2 pvid untagged
vlan add dev ${port}3 vid 2 pvid untagged
vlan add dev ${port}4 vid 2 pvid untagged
vlan add dev ${port}5 vid 3 pvid untagged
vlan add dev ${port}6 vid 3 pvid untagged
vlan add dev ${port}7 vid 3 pvid untagged
vlan add dev ${port}8 vid 3 pvid untagged
vlan add dev ${port}9 vid 4 pvid untagged
vlan add dev ${port}10 vid 4 pvid untagged
vlan add dev ${port}11 vid 4 pvid untagged
vlan add dev ${port}12 vid 4 pvid untagged
vlan add dev ${port}13 vid 5 pvid untagged
vlan add dev ${port}14 vid 5 pvid untagged
vlan add dev ${port}15 vid 5 pvid untagged
vlan add dev ${port}16 vid 5 pvid untagged
EOF

# Flow control off; virtual ports have none.
for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
    ethtool -A "$port$n" autoneg off rx off tx off 2>/dev/null || :
done

for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do ip link set dev "$port$n" up; done
ip link set dev "$bridge" up

# Last: spanning tree off.
ip link set dev "$bridge" type bridge stp_state 0
