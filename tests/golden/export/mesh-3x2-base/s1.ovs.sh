#!/bin/sh
# s1.ovs.sh: switch s1 of fabric mesh-3x2
# Generation bfb1769f417b9da1, written by `tresse export openvswitch`.
#
# Port 1 = swp1, port 2 = swp2; bridge br0. Others: port=eth bridge=br1 sh s1.ovs.sh
# Applying it again changes nothing. Plug in cables that close a loop last.
# Userspace datapath: datapath=netdev sh ...; needs a bridge without a controller.
# Forwarding entries need Open vSwitch 2.16 and are lost when ovs-vswitchd restarts:
# run the script again. Pre-flight: no storm control (policing), no port isolation
# (other_config:protected), EEE off: ethtool --set-eee PORT eee off.
# Note: static forwarding entries name derived MAC addresses: lab only, fill in real ones (`tresse macs`) before real switches
# port 1: node, n1 eth0
# port 2: node, n0 eth1
# port 3: trunk, s0 port 4
# port 4: trunk, s2 port 3
# port 6: trunk, s4 port 5

set -eu
: "${bridge:=br0}" "${port:=swp}" "${datapath:=system}"

# One transaction: every port is pruned before it forwards its first frame.
ovs-vsctl \
    --may-exist add-br "$bridge" \
    -- set bridge "$bridge" datapath_type="$datapath" \
        mcast_snooping_enable=false other_config:mac-aging-time=300 \
    -- set port "$bridge" tag=1 \
    -- --may-exist add-port "$bridge" "${port}1" \
    -- set port "${port}1" vlan_mode=native-untagged tag=1 trunks=1,100,101 \
    -- --may-exist add-port "$bridge" "${port}2" \
    -- set port "${port}2" vlan_mode=native-untagged tag=1 trunks=1,100,101 \
    -- --may-exist add-port "$bridge" "${port}3" \
    -- set port "${port}3" vlan_mode=native-untagged tag=1 trunks=1,101,102 \
    -- --may-exist add-port "$bridge" "${port}4" \
    -- set port "${port}4" vlan_mode=native-untagged tag=1 trunks=1,101,102 \
    -- --may-exist add-port "$bridge" "${port}6" \
    -- set port "${port}6" vlan_mode=native-untagged tag=1 trunks=1,100,101,102 \
    # end of the transaction

# Forwarding entries along the trees.
while read -r name vid mac; do
    ovs-appctl fdb/add "$bridge" "$name" "$vid" "$mac"
done <<EOF
${port}2 100 02:54:00:00:00:01
${port}1 100 02:54:00:00:01:00
${port}6 100 02:54:00:00:02:01
${port}6 100 02:54:00:00:03:01
${port}6 100 02:54:00:00:04:00
${port}6 100 02:54:00:00:05:00
${port}2 101 02:54:00:00:00:01
${port}1 101 02:54:00:00:01:00
${port}4 101 02:54:00:00:02:00
${port}3 101 02:54:00:00:05:01
${port}3 102 02:54:00:00:03:00
${port}4 102 02:54:00:00:04:01
EOF

for n in 1 2 3 4 6; do
    ip link set dev "$port$n" up
done

# Last: spanning tree off.
ovs-vsctl set bridge "$bridge" stp_enable=false rstp_enable=false
