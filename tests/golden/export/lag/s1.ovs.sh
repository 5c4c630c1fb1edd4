#!/bin/sh
# s1.ovs.sh: switch s1 of fabric t
# Generation 1b89c4a86ad8c0ea, written by `tresse export openvswitch`.
#
# Port 1 = swp1, port 2 = swp2; bridge br0. Others: port=eth bridge=br1 sh s1.ovs.sh
# Applying it again changes nothing. Plug in cables that close a loop last.
# Userspace datapath: datapath=netdev sh ...; needs a bridge without a controller.
# Forwarding entries need Open vSwitch 2.16 and are lost when ovs-vswitchd restarts:
# run the script again. Pre-flight: no storm control (policing), no port isolation
# (other_config:protected), EEE off: ethtool --set-eee PORT eee off.
# Note: static forwarding entries name derived MAC addresses: lab only, fill in real ones (`tresse macs`) before real switches
# Note: ports 6, 7, 8 are one link aggregation group (LACP, active), as lag = true asks for: a flow uses one of its cables
# Note: the channel dependency graph is cyclic: with flow control (802.3x) on, the fabric can deadlock
# port 1: node, b0 eth0
# port 2: node, b1 eth0
# ports 6,7,8: trunk, s0 ports 6,7,8

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
    -- set port "${port}1" vlan_mode=trunk trunks=2 \
    -- --may-exist add-port "$bridge" "${port}2" \
    -- clear port "${port}2" tag \
    -- set port "${port}2" vlan_mode=trunk trunks=2 \
    -- --if-exists del-port "$bridge" "${port}6" \
    -- --if-exists del-port "$bridge" "${port}7" \
    -- --if-exists del-port "$bridge" "${port}8" \
    -- --may-exist add-bond "$bridge" "lag6" "${port}6" "${port}7" "${port}8" \
    -- set port "lag6" lacp=active bond_mode=balance-tcp \
    -- clear port "lag6" tag \
    -- set port "lag6" vlan_mode=trunk trunks=2 \
    # end of the transaction

# Forwarding entries along the trees.
while read -r name vid mac; do
    ovs-appctl fdb/add "$bridge" "$name" "$vid" "$mac"
done <<EOF
${port}6 2 02:54:00:00:00:00
${port}6 2 02:54:00:00:01:00
${port}1 2 02:54:00:00:02:00
${port}2 2 02:54:00:00:03:00
EOF

for n in 1 2 6 7 8; do
    ethtool -A "$port$n" autoneg off rx off tx off 2>/dev/null || :
    ip link set dev "$port$n" up
done

# Last: spanning tree off.
ovs-vsctl set bridge "$bridge" stp_enable=false rstp_enable=false
