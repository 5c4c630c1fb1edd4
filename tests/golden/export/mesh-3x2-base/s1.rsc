# s1.rsc: switch s1 of fabric mesh-3x2
# Generation bfb1769f417b9da1, written by `tresse export routeros`.
#
# Port 1 = ether1, port 2 = ether2, ...; bridge bridge1
# Applying it again changes nothing. Plug in cables that close a loop last.
# Apply: /import FILE, in safe mode; manage the switch by a port outside the bridge or
# by the base VLAN. Pre-flight: no storm-rate on these ports, no bpdu-guard,
# no horizon, learn=yes, RouterOS 7. EEE off where the port has it.
# VLANs that the plan no longer has: /interface bridge vlan remove [find comment=...].
# Note: static forwarding entries name derived MAC addresses: lab only, fill in real ones (`tresse macs`) before real switches
# port 1: node, n1 eth0
# port 2: node, n0 eth1
# port 3: trunk, s0 port 4
# port 4: trunk, s2 port 3
# port 6: trunk, s4 port 5

:if ([:len [/interface bridge find where name="bridge1"]] = 0) do={ \
    /interface bridge add name=bridge1 vlan-filtering=yes pvid=4094 \
    frame-types=admit-only-vlan-tagged }
/interface bridge set bridge1 vlan-filtering=yes pvid=1 frame-types=admit-all \
    ageing-time=300s igmp-snooping=no

# Ports: tagged frames only, but for the base VLAN.
:if ([:len [/interface bridge port find where interface=ether1]] = 0) do={ \
    /interface bridge port add interface=ether1 bridge=bridge1 pvid=1 frame-types=admit-all ingress-filtering=yes comment="n1 eth0" } else={ \
    /interface bridge port set [find where interface=ether1] interface=ether1 bridge=bridge1 pvid=1 frame-types=admit-all ingress-filtering=yes comment="n1 eth0" }
:if ([:len [/interface bridge port find where interface=ether2]] = 0) do={ \
    /interface bridge port add interface=ether2 bridge=bridge1 pvid=1 frame-types=admit-all ingress-filtering=yes comment="n0 eth1" } else={ \
    /interface bridge port set [find where interface=ether2] interface=ether2 bridge=bridge1 pvid=1 frame-types=admit-all ingress-filtering=yes comment="n0 eth1" }
:if ([:len [/interface bridge port find where interface=ether3]] = 0) do={ \
    /interface bridge port add interface=ether3 bridge=bridge1 pvid=1 frame-types=admit-all ingress-filtering=yes comment="s0 port 4" } else={ \
    /interface bridge port set [find where interface=ether3] interface=ether3 bridge=bridge1 pvid=1 frame-types=admit-all ingress-filtering=yes comment="s0 port 4" }
:if ([:len [/interface bridge port find where interface=ether4]] = 0) do={ \
    /interface bridge port add interface=ether4 bridge=bridge1 pvid=1 frame-types=admit-all ingress-filtering=yes comment="s2 port 3" } else={ \
    /interface bridge port set [find where interface=ether4] interface=ether4 bridge=bridge1 pvid=1 frame-types=admit-all ingress-filtering=yes comment="s2 port 3" }
:if ([:len [/interface bridge port find where interface=ether6]] = 0) do={ \
    /interface bridge port add interface=ether6 bridge=bridge1 pvid=1 frame-types=admit-all ingress-filtering=yes comment="s4 port 5" } else={ \
    /interface bridge port set [find where interface=ether6] interface=ether6 bridge=bridge1 pvid=1 frame-types=admit-all ingress-filtering=yes comment="s4 port 5" }
/interface ethernet
set [find where name="ether1"] loop-protect=off disabled=no
set [find where name="ether2"] loop-protect=off disabled=no
set [find where name="ether3"] loop-protect=off disabled=no
set [find where name="ether4"] loop-protect=off disabled=no
set [find where name="ether6"] loop-protect=off disabled=no

# VLANs.
:if ([:len [/interface bridge vlan find where comment="tresse base"]] = 0) do={ \
    /interface bridge vlan add bridge=bridge1 vlan-ids=1 untagged=bridge1,ether1,ether2,ether3,ether4,ether6 comment="tresse base" } else={ \
    /interface bridge vlan set [find where comment="tresse base"] bridge=bridge1 vlan-ids=1 untagged=bridge1,ether1,ether2,ether3,ether4,ether6 comment="tresse base" }
:if ([:len [/interface bridge vlan find where comment="tresse 100 VL(-,1)"]] = 0) do={ \
    /interface bridge vlan add bridge=bridge1 vlan-ids=100 tagged=ether1,ether2,ether6 comment="tresse 100 VL(-,1)" } else={ \
    /interface bridge vlan set [find where comment="tresse 100 VL(-,1)"] bridge=bridge1 vlan-ids=100 tagged=ether1,ether2,ether6 comment="tresse 100 VL(-,1)" }
:if ([:len [/interface bridge vlan find where comment="tresse 101 VL(1,-)"]] = 0) do={ \
    /interface bridge vlan add bridge=bridge1 vlan-ids=101 tagged=ether1,ether2,ether3,ether4,ether6 comment="tresse 101 VL(1,-)" } else={ \
    /interface bridge vlan set [find where comment="tresse 101 VL(1,-)"] bridge=bridge1 vlan-ids=101 tagged=ether1,ether2,ether3,ether4,ether6 comment="tresse 101 VL(1,-)" }
:if ([:len [/interface bridge vlan find where comment="tresse 102 T2"]] = 0) do={ \
    /interface bridge vlan add bridge=bridge1 vlan-ids=102 tagged=ether3,ether4,ether6 comment="tresse 102 T2" } else={ \
    /interface bridge vlan set [find where comment="tresse 102 T2"] bridge=bridge1 vlan-ids=102 tagged=ether3,ether4,ether6 comment="tresse 102 T2" }

# Forwarding entries along the trees; addresses are learned meanwhile.
/interface bridge host
remove [find where comment="tresse"]
add bridge=bridge1 interface=ether2 mac-address=02:54:00:00:00:01 vid=100 comment="tresse"
add bridge=bridge1 interface=ether1 mac-address=02:54:00:00:01:00 vid=100 comment="tresse"
add bridge=bridge1 interface=ether6 mac-address=02:54:00:00:02:01 vid=100 comment="tresse"
add bridge=bridge1 interface=ether6 mac-address=02:54:00:00:03:01 vid=100 comment="tresse"
add bridge=bridge1 interface=ether6 mac-address=02:54:00:00:04:00 vid=100 comment="tresse"
add bridge=bridge1 interface=ether6 mac-address=02:54:00:00:05:00 vid=100 comment="tresse"
add bridge=bridge1 interface=ether2 mac-address=02:54:00:00:00:01 vid=101 comment="tresse"
add bridge=bridge1 interface=ether1 mac-address=02:54:00:00:01:00 vid=101 comment="tresse"
add bridge=bridge1 interface=ether4 mac-address=02:54:00:00:02:00 vid=101 comment="tresse"
add bridge=bridge1 interface=ether3 mac-address=02:54:00:00:05:01 vid=101 comment="tresse"
add bridge=bridge1 interface=ether3 mac-address=02:54:00:00:03:00 vid=102 comment="tresse"
add bridge=bridge1 interface=ether4 mac-address=02:54:00:00:04:01 vid=102 comment="tresse"

# Last: spanning tree off.
/interface bridge set bridge1 protocol-mode=none
