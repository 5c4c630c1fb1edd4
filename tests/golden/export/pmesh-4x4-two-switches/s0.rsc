# s0.rsc: switch s0 of fabric t
# Generation 9b3804e11749f456, written by `tresse export routeros`.
#
# Port 1 = ether1, port 2 = ether2, ...; bridge bridge1
# Applying it again changes nothing. Plug in cables that close a loop last.
# Apply: /import FILE, in safe mode; manage the switch by a port outside the bridge or
# by the base VLAN. Pre-flight: no storm-rate on these ports, no bpdu-guard,
# no horizon, learn=yes, RouterOS 7. EEE off where the port has it.
# VLANs that the plan no longer has: /interface bridge vlan remove [find comment=...].
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

:if ([:len [/interface bridge find where name="bridge1"]] = 0) do={ \
    /interface bridge add name=bridge1 vlan-filtering=yes pvid=4094 \
    frame-types=admit-only-vlan-tagged }
/interface bridge set bridge1 vlan-filtering=yes pvid=4094 frame-types=admit-only-vlan-tagged \
    ageing-time=300s igmp-snooping=no

# Ports: untagged frames only, in the VLAN of their line.
:if ([:len [/interface bridge port find where interface=ether1]] = 0) do={ \
    /interface bridge port add interface=ether1 bridge=bridge1 pvid=2 frame-types=admit-only-untagged-and-priority-tagged ingress-filtering=yes comment="n00 eth0" } else={ \
    /interface bridge port set [find where interface=ether1] interface=ether1 bridge=bridge1 pvid=2 frame-types=admit-only-untagged-and-priority-tagged ingress-filtering=yes comment="n00 eth0" }
:if ([:len [/interface bridge port find where interface=ether2]] = 0) do={ \
    /interface bridge port add interface=ether2 bridge=bridge1 pvid=2 frame-types=admit-only-untagged-and-priority-tagged ingress-filtering=yes comment="n01 eth0" } else={ \
    /interface bridge port set [find where interface=ether2] interface=ether2 bridge=bridge1 pvid=2 frame-types=admit-only-untagged-and-priority-tagged ingress-filtering=yes comment="n01 eth0" }
:if ([:len [/interface bridge port find where interface=ether3]] = 0) do={ \
    /interface bridge port add interface=ether3 bridge=bridge1 pvid=2 frame-types=admit-only-untagged-and-priority-tagged ingress-filtering=yes comment="n02 eth0" } else={ \
    /interface bridge port set [find where interface=ether3] interface=ether3 bridge=bridge1 pvid=2 frame-types=admit-only-untagged-and-priority-tagged ingress-filtering=yes comment="n02 eth0" }
:if ([:len [/interface bridge port find where interface=ether4]] = 0) do={ \
    /interface bridge port add interface=ether4 bridge=bridge1 pvid=2 frame-types=admit-only-untagged-and-priority-tagged ingress-filtering=yes comment="n03 eth0" } else={ \
    /interface bridge port set [find where interface=ether4] interface=ether4 bridge=bridge1 pvid=2 frame-types=admit-only-untagged-and-priority-tagged ingress-filtering=yes comment="n03 eth0" }
:if ([:len [/interface bridge port find where interface=ether5]] = 0) do={ \
    /interface bridge port add interface=ether5 bridge=bridge1 pvid=3 frame-types=admit-only-untagged-and-priority-tagged ingress-filtering=yes comment="n04 eth0" } else={ \
    /interface bridge port set [find where interface=ether5] interface=ether5 bridge=bridge1 pvid=3 frame-types=admit-only-untagged-and-priority-tagged ingress-filtering=yes comment="n04 eth0" }
:if ([:len [/interface bridge port find where interface=ether6]] = 0) do={ \
    /interface bridge port add interface=ether6 bridge=bridge1 pvid=3 frame-types=admit-only-untagged-and-priority-tagged ingress-filtering=yes comment="n05 eth0" } else={ \
    /interface bridge port set [find where interface=ether6] interface=ether6 bridge=bridge1 pvid=3 frame-types=admit-only-untagged-and-priority-tagged ingress-filtering=yes comment="n05 eth0" }
:if ([:len [/interface bridge port find where interface=ether7]] = 0) do={ \
    /interface bridge port add interface=ether7 bridge=bridge1 pvid=3 frame-types=admit-only-untagged-and-priority-tagged ingress-filtering=yes comment="n06 eth0" } else={ \
    /interface bridge port set [find where interface=ether7] interface=ether7 bridge=bridge1 pvid=3 frame-types=admit-only-untagged-and-priority-tagged ingress-filtering=yes comment="n06 eth0" }
:if ([:len [/interface bridge port find where interface=ether8]] = 0) do={ \
    /interface bridge port add interface=ether8 bridge=bridge1 pvid=3 frame-types=admit-only-untagged-and-priority-tagged ingress-filtering=yes comment="n07 eth0" } else={ \
    /interface bridge port set [find where interface=ether8] interface=ether8 bridge=bridge1 pvid=3 frame-types=admit-only-untagged-and-priority-tagged ingress-filtering=yes comment="n07 eth0" }
:if ([:len [/interface bridge port find where interface=ether9]] = 0) do={ \
    /interface bridge port add interface=ether9 bridge=bridge1 pvid=4 frame-types=admit-only-untagged-and-priority-tagged ingress-filtering=yes comment="n08 eth0" } else={ \
    /interface bridge port set [find where interface=ether9] interface=ether9 bridge=bridge1 pvid=4 frame-types=admit-only-untagged-and-priority-tagged ingress-filtering=yes comment="n08 eth0" }
:if ([:len [/interface bridge port find where interface=ether10]] = 0) do={ \
    /interface bridge port add interface=ether10 bridge=bridge1 pvid=4 frame-types=admit-only-untagged-and-priority-tagged ingress-filtering=yes comment="n09 eth0" } else={ \
    /interface bridge port set [find where interface=ether10] interface=ether10 bridge=bridge1 pvid=4 frame-types=admit-only-untagged-and-priority-tagged ingress-filtering=yes comment="n09 eth0" }
:if ([:len [/interface bridge port find where interface=ether11]] = 0) do={ \
    /interface bridge port add interface=ether11 bridge=bridge1 pvid=4 frame-types=admit-only-untagged-and-priority-tagged ingress-filtering=yes comment="n10 eth0" } else={ \
    /interface bridge port set [find where interface=ether11] interface=ether11 bridge=bridge1 pvid=4 frame-types=admit-only-untagged-and-priority-tagged ingress-filtering=yes comment="n10 eth0" }
:if ([:len [/interface bridge port find where interface=ether12]] = 0) do={ \
    /interface bridge port add interface=ether12 bridge=bridge1 pvid=4 frame-types=admit-only-untagged-and-priority-tagged ingress-filtering=yes comment="n11 eth0" } else={ \
    /interface bridge port set [find where interface=ether12] interface=ether12 bridge=bridge1 pvid=4 frame-types=admit-only-untagged-and-priority-tagged ingress-filtering=yes comment="n11 eth0" }
:if ([:len [/interface bridge port find where interface=ether13]] = 0) do={ \
    /interface bridge port add interface=ether13 bridge=bridge1 pvid=5 frame-types=admit-only-untagged-and-priority-tagged ingress-filtering=yes comment="n12 eth0" } else={ \
    /interface bridge port set [find where interface=ether13] interface=ether13 bridge=bridge1 pvid=5 frame-types=admit-only-untagged-and-priority-tagged ingress-filtering=yes comment="n12 eth0" }
:if ([:len [/interface bridge port find where interface=ether14]] = 0) do={ \
    /interface bridge port add interface=ether14 bridge=bridge1 pvid=5 frame-types=admit-only-untagged-and-priority-tagged ingress-filtering=yes comment="n13 eth0" } else={ \
    /interface bridge port set [find where interface=ether14] interface=ether14 bridge=bridge1 pvid=5 frame-types=admit-only-untagged-and-priority-tagged ingress-filtering=yes comment="n13 eth0" }
:if ([:len [/interface bridge port find where interface=ether15]] = 0) do={ \
    /interface bridge port add interface=ether15 bridge=bridge1 pvid=5 frame-types=admit-only-untagged-and-priority-tagged ingress-filtering=yes comment="n14 eth0" } else={ \
    /interface bridge port set [find where interface=ether15] interface=ether15 bridge=bridge1 pvid=5 frame-types=admit-only-untagged-and-priority-tagged ingress-filtering=yes comment="n14 eth0" }
:if ([:len [/interface bridge port find where interface=ether16]] = 0) do={ \
    /interface bridge port add interface=ether16 bridge=bridge1 pvid=5 frame-types=admit-only-untagged-and-priority-tagged ingress-filtering=yes comment="n15 eth0" } else={ \
    /interface bridge port set [find where interface=ether16] interface=ether16 bridge=bridge1 pvid=5 frame-types=admit-only-untagged-and-priority-tagged ingress-filtering=yes comment="n15 eth0" }
/interface ethernet
set [find where name="ether1"] loop-protect=off rx-flow-control=off tx-flow-control=off disabled=no
set [find where name="ether2"] loop-protect=off rx-flow-control=off tx-flow-control=off disabled=no
set [find where name="ether3"] loop-protect=off rx-flow-control=off tx-flow-control=off disabled=no
set [find where name="ether4"] loop-protect=off rx-flow-control=off tx-flow-control=off disabled=no
set [find where name="ether5"] loop-protect=off rx-flow-control=off tx-flow-control=off disabled=no
set [find where name="ether6"] loop-protect=off rx-flow-control=off tx-flow-control=off disabled=no
set [find where name="ether7"] loop-protect=off rx-flow-control=off tx-flow-control=off disabled=no
set [find where name="ether8"] loop-protect=off rx-flow-control=off tx-flow-control=off disabled=no
set [find where name="ether9"] loop-protect=off rx-flow-control=off tx-flow-control=off disabled=no
set [find where name="ether10"] loop-protect=off rx-flow-control=off tx-flow-control=off disabled=no
set [find where name="ether11"] loop-protect=off rx-flow-control=off tx-flow-control=off disabled=no
set [find where name="ether12"] loop-protect=off rx-flow-control=off tx-flow-control=off disabled=no
set [find where name="ether13"] loop-protect=off rx-flow-control=off tx-flow-control=off disabled=no
set [find where name="ether14"] loop-protect=off rx-flow-control=off tx-flow-control=off disabled=no
set [find where name="ether15"] loop-protect=off rx-flow-control=off tx-flow-control=off disabled=no
set [find where name="ether16"] loop-protect=off rx-flow-control=off tx-flow-control=off disabled=no

# VLANs.
:if ([:len [/interface bridge vlan find where comment="tresse 2 line(-,0)"]] = 0) do={ \
    /interface bridge vlan add bridge=bridge1 vlan-ids=2 untagged=ether1,ether2,ether3,ether4 comment="tresse 2 line(-,0)" } else={ \
    /interface bridge vlan set [find where comment="tresse 2 line(-,0)"] bridge=bridge1 vlan-ids=2 untagged=ether1,ether2,ether3,ether4 comment="tresse 2 line(-,0)" }
:if ([:len [/interface bridge vlan find where comment="tresse 3 line(-,1)"]] = 0) do={ \
    /interface bridge vlan add bridge=bridge1 vlan-ids=3 untagged=ether5,ether6,ether7,ether8 comment="tresse 3 line(-,1)" } else={ \
    /interface bridge vlan set [find where comment="tresse 3 line(-,1)"] bridge=bridge1 vlan-ids=3 untagged=ether5,ether6,ether7,ether8 comment="tresse 3 line(-,1)" }
:if ([:len [/interface bridge vlan find where comment="tresse 4 line(-,2)"]] = 0) do={ \
    /interface bridge vlan add bridge=bridge1 vlan-ids=4 untagged=ether9,ether10,ether11,ether12 comment="tresse 4 line(-,2)" } else={ \
    /interface bridge vlan set [find where comment="tresse 4 line(-,2)"] bridge=bridge1 vlan-ids=4 untagged=ether9,ether10,ether11,ether12 comment="tresse 4 line(-,2)" }
:if ([:len [/interface bridge vlan find where comment="tresse 5 line(-,3)"]] = 0) do={ \
    /interface bridge vlan add bridge=bridge1 vlan-ids=5 untagged=ether13,ether14,ether15,ether16 comment="tresse 5 line(-,3)" } else={ \
    /interface bridge vlan set [find where comment="tresse 5 line(-,3)"] bridge=bridge1 vlan-ids=5 untagged=ether13,ether14,ether15,ether16 comment="tresse 5 line(-,3)" }

# Last: spanning tree off.
/interface bridge set bridge1 protocol-mode=none
