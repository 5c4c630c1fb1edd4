# s1.rsc: switch s1 of fabric t
# Generation 1b89c4a86ad8c0ea, written by `tresse export routeros`.
#
# Port 1 = ether1, port 2 = ether2, ...; bridge bridge1
# Applying it again changes nothing. Plug in cables that close a loop last.
# Apply: /import FILE, in safe mode; manage the switch by a port outside the bridge or
# by the base VLAN. Pre-flight: no storm-rate on these ports, no bpdu-guard,
# no horizon, learn=yes, RouterOS 7. EEE off where the port has it.
# VLANs that the plan no longer has: /interface bridge vlan remove [find comment=...].
# Note: static forwarding entries name derived MAC addresses: lab only, fill in real ones (`tresse macs`) before real switches
# Note: ports 6, 7, 8 are one link aggregation group (LACP, active), as lag = true asks for: a flow uses one of its cables
# Note: the channel dependency graph is cyclic: with flow control (802.3x) on, the fabric can deadlock
# port 1: node, b0 eth0
# port 2: node, b1 eth0
# ports 6,7,8: trunk, s0 ports 6,7,8

:if ([:len [/interface bridge find where name="bridge1"]] = 0) do={ \
    /interface bridge add name=bridge1 vlan-filtering=yes pvid=4094 \
    frame-types=admit-only-vlan-tagged }
/interface bridge set bridge1 vlan-filtering=yes pvid=4094 frame-types=admit-only-vlan-tagged \
    ageing-time=300s igmp-snooping=no

# Ports: tagged frames only, but for the base VLAN.
/interface bridge port remove [find where interface=ether6]
/interface bridge port remove [find where interface=ether7]
/interface bridge port remove [find where interface=ether8]
:if ([:len [/interface bonding find where name=lag6]] = 0) do={ \
    /interface bonding add name=lag6 slaves=ether6,ether7,ether8 mode=802.3ad lacp-rate=1sec transmit-hash-policy=layer-2-and-3 } else={ \
    /interface bonding set [find where name=lag6] name=lag6 slaves=ether6,ether7,ether8 mode=802.3ad lacp-rate=1sec transmit-hash-policy=layer-2-and-3 }
:if ([:len [/interface bridge port find where interface=ether1]] = 0) do={ \
    /interface bridge port add interface=ether1 bridge=bridge1 pvid=4094 frame-types=admit-only-vlan-tagged ingress-filtering=yes comment="b0 eth0" } else={ \
    /interface bridge port set [find where interface=ether1] interface=ether1 bridge=bridge1 pvid=4094 frame-types=admit-only-vlan-tagged ingress-filtering=yes comment="b0 eth0" }
:if ([:len [/interface bridge port find where interface=ether2]] = 0) do={ \
    /interface bridge port add interface=ether2 bridge=bridge1 pvid=4094 frame-types=admit-only-vlan-tagged ingress-filtering=yes comment="b1 eth0" } else={ \
    /interface bridge port set [find where interface=ether2] interface=ether2 bridge=bridge1 pvid=4094 frame-types=admit-only-vlan-tagged ingress-filtering=yes comment="b1 eth0" }
:if ([:len [/interface bridge port find where interface=lag6]] = 0) do={ \
    /interface bridge port add interface=lag6 bridge=bridge1 pvid=4094 frame-types=admit-only-vlan-tagged ingress-filtering=yes comment="s0 ports 6,7,8" } else={ \
    /interface bridge port set [find where interface=lag6] interface=lag6 bridge=bridge1 pvid=4094 frame-types=admit-only-vlan-tagged ingress-filtering=yes comment="s0 ports 6,7,8" }
/interface ethernet
set [find where name="ether1"] loop-protect=off rx-flow-control=off tx-flow-control=off disabled=no
set [find where name="ether2"] loop-protect=off rx-flow-control=off tx-flow-control=off disabled=no
set [find where name="ether6"] loop-protect=off rx-flow-control=off tx-flow-control=off disabled=no
set [find where name="ether7"] loop-protect=off rx-flow-control=off tx-flow-control=off disabled=no
set [find where name="ether8"] loop-protect=off rx-flow-control=off tx-flow-control=off disabled=no

# VLANs.
:if ([:len [/interface bridge vlan find where comment="tresse 2 stp"]] = 0) do={ \
    /interface bridge vlan add bridge=bridge1 vlan-ids=2 tagged=ether1,ether2,lag6 comment="tresse 2 stp" } else={ \
    /interface bridge vlan set [find where comment="tresse 2 stp"] bridge=bridge1 vlan-ids=2 tagged=ether1,ether2,lag6 comment="tresse 2 stp" }

# Forwarding entries along the trees; addresses are learned meanwhile.
/interface bridge host
remove [find where comment="tresse"]
add bridge=bridge1 interface=lag6 mac-address=02:54:00:00:00:00 vid=2 comment="tresse"
add bridge=bridge1 interface=lag6 mac-address=02:54:00:00:01:00 vid=2 comment="tresse"
add bridge=bridge1 interface=ether1 mac-address=02:54:00:00:02:00 vid=2 comment="tresse"
add bridge=bridge1 interface=ether2 mac-address=02:54:00:00:03:00 vid=2 comment="tresse"

# Last: spanning tree off.
/interface bridge set bridge1 protocol-mode=none
