# s01.rsc: switch s01 of fabric torus-4x4
# Generation 4e29f01fa089c4b1, written by `tresse export routeros`.
#
# Port 1 = ether1, port 2 = ether2, ...; bridge bridge1
# Applying it again changes nothing. Plug in cables that close a loop last.
# Apply: /import FILE, in safe mode; manage the switch by a port outside the bridge or
# by the base VLAN. Pre-flight: no storm-rate on these ports, no bpdu-guard,
# no horizon, learn=yes, RouterOS 7. EEE off where the port has it.
# VLANs that the plan no longer has: /interface bridge vlan remove [find comment=...].
# Note: static forwarding entries name derived MAC addresses: lab only, fill in real ones (`tresse macs`) before real switches
# Note: the channel dependency graph is cyclic: with flow control (802.3x) on, the fabric can deadlock
# port 1: node, n01 eth0
# port 2: trunk, s00 port 3
# port 3: trunk, s02 port 2
# port 4: trunk, s13 port 5
# port 5: trunk, s05 port 4

:if ([:len [/interface bridge find where name="bridge1"]] = 0) do={ \
    /interface bridge add name=bridge1 vlan-filtering=yes pvid=4094 \
    frame-types=admit-only-vlan-tagged }
/interface bridge set bridge1 vlan-filtering=yes pvid=4094 frame-types=admit-only-vlan-tagged \
    ageing-time=300s igmp-snooping=no

# Ports: tagged frames only, but for the base VLAN.
:if ([:len [/interface bridge port find where interface=ether1]] = 0) do={ \
    /interface bridge port add interface=ether1 bridge=bridge1 pvid=4094 frame-types=admit-only-vlan-tagged ingress-filtering=yes comment="n01 eth0" } else={ \
    /interface bridge port set [find where interface=ether1] interface=ether1 bridge=bridge1 pvid=4094 frame-types=admit-only-vlan-tagged ingress-filtering=yes comment="n01 eth0" }
:if ([:len [/interface bridge port find where interface=ether2]] = 0) do={ \
    /interface bridge port add interface=ether2 bridge=bridge1 pvid=4094 frame-types=admit-only-vlan-tagged ingress-filtering=yes comment="s00 port 3" } else={ \
    /interface bridge port set [find where interface=ether2] interface=ether2 bridge=bridge1 pvid=4094 frame-types=admit-only-vlan-tagged ingress-filtering=yes comment="s00 port 3" }
:if ([:len [/interface bridge port find where interface=ether3]] = 0) do={ \
    /interface bridge port add interface=ether3 bridge=bridge1 pvid=4094 frame-types=admit-only-vlan-tagged ingress-filtering=yes comment="s02 port 2" } else={ \
    /interface bridge port set [find where interface=ether3] interface=ether3 bridge=bridge1 pvid=4094 frame-types=admit-only-vlan-tagged ingress-filtering=yes comment="s02 port 2" }
:if ([:len [/interface bridge port find where interface=ether4]] = 0) do={ \
    /interface bridge port add interface=ether4 bridge=bridge1 pvid=4094 frame-types=admit-only-vlan-tagged ingress-filtering=yes comment="s13 port 5" } else={ \
    /interface bridge port set [find where interface=ether4] interface=ether4 bridge=bridge1 pvid=4094 frame-types=admit-only-vlan-tagged ingress-filtering=yes comment="s13 port 5" }
:if ([:len [/interface bridge port find where interface=ether5]] = 0) do={ \
    /interface bridge port add interface=ether5 bridge=bridge1 pvid=4094 frame-types=admit-only-vlan-tagged ingress-filtering=yes comment="s05 port 4" } else={ \
    /interface bridge port set [find where interface=ether5] interface=ether5 bridge=bridge1 pvid=4094 frame-types=admit-only-vlan-tagged ingress-filtering=yes comment="s05 port 4" }
/interface ethernet
set [find where name="ether1"] loop-protect=off rx-flow-control=off tx-flow-control=off disabled=no
set [find where name="ether2"] loop-protect=off rx-flow-control=off tx-flow-control=off disabled=no
set [find where name="ether3"] loop-protect=off rx-flow-control=off tx-flow-control=off disabled=no
set [find where name="ether4"] loop-protect=off rx-flow-control=off tx-flow-control=off disabled=no
set [find where name="ether5"] loop-protect=off rx-flow-control=off tx-flow-control=off disabled=no

# VLANs.
:if ([:len [/interface bridge vlan find where comment="tresse 100 VL(-:1,0)"]] = 0) do={ \
    /interface bridge vlan add bridge=bridge1 vlan-ids=100 tagged=ether1,ether2,ether3,ether4,ether5 comment="tresse 100 VL(-:1,0)" } else={ \
    /interface bridge vlan set [find where comment="tresse 100 VL(-:1,0)"] bridge=bridge1 vlan-ids=100 tagged=ether1,ether2,ether3,ether4,ether5 comment="tresse 100 VL(-:1,0)" }
:if ([:len [/interface bridge vlan find where comment="tresse 101 VL(-:1,1)"]] = 0) do={ \
    /interface bridge vlan add bridge=bridge1 vlan-ids=101 tagged=ether1,ether5 comment="tresse 101 VL(-:1,1)" } else={ \
    /interface bridge vlan set [find where comment="tresse 101 VL(-:1,1)"] bridge=bridge1 vlan-ids=101 tagged=ether1,ether5 comment="tresse 101 VL(-:1,1)" }
:if ([:len [/interface bridge vlan find where comment="tresse 102 VL(-:1,2)"]] = 0) do={ \
    /interface bridge vlan add bridge=bridge1 vlan-ids=102 tagged=ether1,ether4 comment="tresse 102 VL(-:1,2)" } else={ \
    /interface bridge vlan set [find where comment="tresse 102 VL(-:1,2)"] bridge=bridge1 vlan-ids=102 tagged=ether1,ether4 comment="tresse 102 VL(-:1,2)" }
:if ([:len [/interface bridge vlan find where comment="tresse 103 VL(-:1,3)"]] = 0) do={ \
    /interface bridge vlan add bridge=bridge1 vlan-ids=103 tagged=ether1,ether4,ether5 comment="tresse 103 VL(-:1,3)" } else={ \
    /interface bridge vlan set [find where comment="tresse 103 VL(-:1,3)"] bridge=bridge1 vlan-ids=103 tagged=ether1,ether4,ether5 comment="tresse 103 VL(-:1,3)" }
:if ([:len [/interface bridge vlan find where comment="tresse 104 VL(-:3,0)"]] = 0) do={ \
    /interface bridge vlan add bridge=bridge1 vlan-ids=104 tagged=ether1,ether2,ether4,ether5 comment="tresse 104 VL(-:3,0)" } else={ \
    /interface bridge vlan set [find where comment="tresse 104 VL(-:3,0)"] bridge=bridge1 vlan-ids=104 tagged=ether1,ether2,ether4,ether5 comment="tresse 104 VL(-:3,0)" }
:if ([:len [/interface bridge vlan find where comment="tresse 105 VL(-:3,1)"]] = 0) do={ \
    /interface bridge vlan add bridge=bridge1 vlan-ids=105 tagged=ether1,ether5 comment="tresse 105 VL(-:3,1)" } else={ \
    /interface bridge vlan set [find where comment="tresse 105 VL(-:3,1)"] bridge=bridge1 vlan-ids=105 tagged=ether1,ether5 comment="tresse 105 VL(-:3,1)" }
:if ([:len [/interface bridge vlan find where comment="tresse 106 VL(-:3,2)"]] = 0) do={ \
    /interface bridge vlan add bridge=bridge1 vlan-ids=106 tagged=ether1,ether4 comment="tresse 106 VL(-:3,2)" } else={ \
    /interface bridge vlan set [find where comment="tresse 106 VL(-:3,2)"] bridge=bridge1 vlan-ids=106 tagged=ether1,ether4 comment="tresse 106 VL(-:3,2)" }
:if ([:len [/interface bridge vlan find where comment="tresse 107 VL(-:3,3)"]] = 0) do={ \
    /interface bridge vlan add bridge=bridge1 vlan-ids=107 tagged=ether1,ether4,ether5 comment="tresse 107 VL(-:3,3)" } else={ \
    /interface bridge vlan set [find where comment="tresse 107 VL(-:3,3)"] bridge=bridge1 vlan-ids=107 tagged=ether1,ether4,ether5 comment="tresse 107 VL(-:3,3)" }

# Forwarding entries along the trees; addresses are learned meanwhile.
/interface bridge host
remove [find where comment="tresse"]
add bridge=bridge1 interface=ether1 mac-address=02:54:00:00:01:00 vid=100 comment="tresse"
add bridge=bridge1 interface=ether3 mac-address=02:54:00:00:02:00 vid=100 comment="tresse"
add bridge=bridge1 interface=ether3 mac-address=02:54:00:00:03:00 vid=100 comment="tresse"
add bridge=bridge1 interface=ether5 mac-address=02:54:00:00:05:00 vid=100 comment="tresse"
add bridge=bridge1 interface=ether3 mac-address=02:54:00:00:06:00 vid=100 comment="tresse"
add bridge=bridge1 interface=ether3 mac-address=02:54:00:00:07:00 vid=100 comment="tresse"
add bridge=bridge1 interface=ether5 mac-address=02:54:00:00:09:00 vid=100 comment="tresse"
add bridge=bridge1 interface=ether3 mac-address=02:54:00:00:0A:00 vid=100 comment="tresse"
add bridge=bridge1 interface=ether3 mac-address=02:54:00:00:0B:00 vid=100 comment="tresse"
add bridge=bridge1 interface=ether4 mac-address=02:54:00:00:0D:00 vid=100 comment="tresse"
add bridge=bridge1 interface=ether3 mac-address=02:54:00:00:0E:00 vid=100 comment="tresse"
add bridge=bridge1 interface=ether3 mac-address=02:54:00:00:0F:00 vid=100 comment="tresse"
add bridge=bridge1 interface=ether1 mac-address=02:54:00:00:01:00 vid=101 comment="tresse"
add bridge=bridge1 interface=ether1 mac-address=02:54:00:00:01:00 vid=102 comment="tresse"
add bridge=bridge1 interface=ether1 mac-address=02:54:00:00:01:00 vid=103 comment="tresse"
add bridge=bridge1 interface=ether5 mac-address=02:54:00:00:05:00 vid=103 comment="tresse"
add bridge=bridge1 interface=ether2 mac-address=02:54:00:00:00:00 vid=104 comment="tresse"
add bridge=bridge1 interface=ether1 mac-address=02:54:00:00:01:00 vid=104 comment="tresse"
add bridge=bridge1 interface=ether2 mac-address=02:54:00:00:04:00 vid=104 comment="tresse"
add bridge=bridge1 interface=ether5 mac-address=02:54:00:00:05:00 vid=104 comment="tresse"
add bridge=bridge1 interface=ether2 mac-address=02:54:00:00:08:00 vid=104 comment="tresse"
add bridge=bridge1 interface=ether5 mac-address=02:54:00:00:09:00 vid=104 comment="tresse"
add bridge=bridge1 interface=ether2 mac-address=02:54:00:00:0C:00 vid=104 comment="tresse"
add bridge=bridge1 interface=ether4 mac-address=02:54:00:00:0D:00 vid=104 comment="tresse"
add bridge=bridge1 interface=ether1 mac-address=02:54:00:00:01:00 vid=105 comment="tresse"
add bridge=bridge1 interface=ether1 mac-address=02:54:00:00:01:00 vid=106 comment="tresse"
add bridge=bridge1 interface=ether1 mac-address=02:54:00:00:01:00 vid=107 comment="tresse"
add bridge=bridge1 interface=ether5 mac-address=02:54:00:00:05:00 vid=107 comment="tresse"

# Last: spanning tree off.
/interface bridge set bridge1 protocol-mode=none
