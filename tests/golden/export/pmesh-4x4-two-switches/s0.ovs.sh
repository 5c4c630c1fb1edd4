#!/bin/sh
# s0.ovs.sh: switch s0 of fabric t
# Generation 9b3804e11749f456, written by `tresse export openvswitch`.
#
# Port 1 = swp1, port 2 = swp2; bridge br0. Others: port=eth bridge=br1 sh s0.ovs.sh
# Applying it again changes nothing. Plug in cables that close a loop last.
# Userspace datapath: datapath=netdev sh ...; needs a bridge without a controller.
# Forwarding entries need Open vSwitch 2.16 and are lost when ovs-vswitchd restarts:
# run the script again. Pre-flight: no storm control (policing), no port isolation
# (other_config:protected), EEE off: ethtool --set-eee PORT eee off.
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
: "${bridge:=br0}" "${port:=swp}" "${datapath:=system}"

# One transaction: every port is pruned before it forwards its first frame.
ovs-vsctl \
    --may-exist add-br "$bridge" \
    -- set bridge "$bridge" datapath_type="$datapath" \
        mcast_snooping_enable=false other_config:mac-aging-time=300 \
    -- set port "$bridge" tag=4094 \
    -- --may-exist add-port "$bridge" "${port}1" \
    -- clear port "${port}1" trunks \
    -- set port "${port}1" vlan_mode=access tag=2 \
    -- --may-exist add-port "$bridge" "${port}2" \
    -- clear port "${port}2" trunks \
    -- set port "${port}2" vlan_mode=access tag=2 \
    -- --may-exist add-port "$bridge" "${port}3" \
    -- clear port "${port}3" trunks \
    -- set port "${port}3" vlan_mode=access tag=2 \
    -- --may-exist add-port "$bridge" "${port}4" \
    -- clear port "${port}4" trunks \
    -- set port "${port}4" vlan_mode=access tag=2 \
    -- --may-exist add-port "$bridge" "${port}5" \
    -- clear port "${port}5" trunks \
    -- set port "${port}5" vlan_mode=access tag=3 \
    -- --may-exist add-port "$bridge" "${port}6" \
    -- clear port "${port}6" trunks \
    -- set port "${port}6" vlan_mode=access tag=3 \
    -- --may-exist add-port "$bridge" "${port}7" \
    -- clear port "${port}7" trunks \
    -- set port "${port}7" vlan_mode=access tag=3 \
    -- --may-exist add-port "$bridge" "${port}8" \
    -- clear port "${port}8" trunks \
    -- set port "${port}8" vlan_mode=access tag=3 \
    -- --may-exist add-port "$bridge" "${port}9" \
    -- clear port "${port}9" trunks \
    -- set port "${port}9" vlan_mode=access tag=4 \
    -- --may-exist add-port "$bridge" "${port}10" \
    -- clear port "${port}10" trunks \
    -- set port "${port}10" vlan_mode=access tag=4 \
    -- --may-exist add-port "$bridge" "${port}11" \
    -- clear port "${port}11" trunks \
    -- set port "${port}11" vlan_mode=access tag=4 \
    -- --may-exist add-port "$bridge" "${port}12" \
    -- clear port "${port}12" trunks \
    -- set port "${port}12" vlan_mode=access tag=4 \
    -- --may-exist add-port "$bridge" "${port}13" \
    -- clear port "${port}13" trunks \
    -- set port "${port}13" vlan_mode=access tag=5 \
    -- --may-exist add-port "$bridge" "${port}14" \
    -- clear port "${port}14" trunks \
    -- set port "${port}14" vlan_mode=access tag=5 \
    -- --may-exist add-port "$bridge" "${port}15" \
    -- clear port "${port}15" trunks \
    -- set port "${port}15" vlan_mode=access tag=5 \
    -- --may-exist add-port "$bridge" "${port}16" \
    -- clear port "${port}16" trunks \
    -- set port "${port}16" vlan_mode=access tag=5 \
    # end of the transaction

for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
    ethtool -A "$port$n" autoneg off rx off tx off 2>/dev/null || :
    ip link set dev "$port$n" up
done

# Last: spanning tree off.
ovs-vsctl set bridge "$bridge" stp_enable=false rstp_enable=false
