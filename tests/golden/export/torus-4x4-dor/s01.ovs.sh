#!/bin/sh
# s01.ovs.sh: switch s01 of fabric torus-4x4
# Generation 4e29f01fa089c4b1, written by `tresse export openvswitch`.
#
# Port 1 = swp1, port 2 = swp2; bridge br0. Others: port=eth bridge=br1 sh s01.ovs.sh
# Applying it again changes nothing. Plug in cables that close a loop last.
# Userspace datapath: datapath=netdev sh ...; needs a bridge without a controller.
# Forwarding entries need Open vSwitch 2.16 and are lost when ovs-vswitchd restarts:
# run the script again. Pre-flight: no storm control (policing), no port isolation
# (other_config:protected), EEE off: ethtool --set-eee PORT eee off.
# Note: static forwarding entries name derived MAC addresses: lab only, fill in real ones (`tresse macs`) before real switches
# Note: the channel dependency graph is cyclic: with flow control (802.3x) on, the fabric can deadlock
# port 1: node, n01 eth0
# port 2: trunk, s00 port 3
# port 3: trunk, s02 port 2
# port 4: trunk, s13 port 5
# port 5: trunk, s05 port 4

set -eu
: "${bridge:=br0}" "${port:=swp}" "${datapath:=system}"

# One transaction: every port is pruned before it forwards its first frame.
ovs-vsctl \
    --may-exist add-br "$bridge" \
    -- set bridge "$bridge" datapath_type="$datapath" \
        mcast_snooping_enable=false other_config:mac-aging-time=300 \
    -- set port "$bridge" tag=4094 \
    -- --may-exist add-port "$bridge" "${port}1" \
    -- clear port "${port}1" tag \
    -- set port "${port}1" vlan_mode=trunk trunks=100,101,102,103,104,105,106,107 \
    -- --may-exist add-port "$bridge" "${port}2" \
    -- clear port "${port}2" tag \
    -- set port "${port}2" vlan_mode=trunk trunks=100,104 \
    -- --may-exist add-port "$bridge" "${port}3" \
    -- clear port "${port}3" tag \
    -- set port "${port}3" vlan_mode=trunk trunks=100 \
    -- --may-exist add-port "$bridge" "${port}4" \
    -- clear port "${port}4" tag \
    -- set port "${port}4" vlan_mode=trunk trunks=100,102,103,104,106,107 \
    -- --may-exist add-port "$bridge" "${port}5" \
    -- clear port "${port}5" tag \
    -- set port "${port}5" vlan_mode=trunk trunks=100,101,103,104,105,107 \
    # end of the transaction

# Forwarding entries along the trees.
while read -r name vid mac; do
    ovs-appctl fdb/add "$bridge" "$name" "$vid" "$mac"
done <<EOF
${port}1 100 02:54:00:00:01:00
${port}3 100 02:54:00:00:02:00
${port}3 100 02:54:00:00:03:00
${port}5 100 02:54:00:00:05:00
${port}3 100 02:54:00:00:06:00
${port}3 100 02:54:00:00:07:00
${port}5 100 02:54:00:00:09:00
${port}3 100 02:54:00:00:0a:00
${port}3 100 02:54:00:00:0b:00
${port}4 100 02:54:00:00:0d:00
${port}3 100 02:54:00:00:0e:00
${port}3 100 02:54:00:00:0f:00
${port}1 101 02:54:00:00:01:00
${port}1 102 02:54:00:00:01:00
${port}1 103 02:54:00:00:01:00
${port}5 103 02:54:00:00:05:00
${port}2 104 02:54:00:00:00:00
${port}1 104 02:54:00:00:01:00
${port}2 104 02:54:00:00:04:00
${port}5 104 02:54:00:00:05:00
${port}2 104 02:54:00:00:08:00
${port}5 104 02:54:00:00:09:00
${port}2 104 02:54:00:00:0c:00
${port}4 104 02:54:00:00:0d:00
${port}1 105 02:54:00:00:01:00
${port}1 106 02:54:00:00:01:00
${port}1 107 02:54:00:00:01:00
${port}5 107 02:54:00:00:05:00
EOF

for n in 1 2 3 4 5; do
    ethtool -A "$port$n" autoneg off rx off tx off 2>/dev/null || :
    ip link set dev "$port$n" up
done

# Last: spanning tree off.
ovs-vsctl set bridge "$bridge" stp_enable=false rstp_enable=false
