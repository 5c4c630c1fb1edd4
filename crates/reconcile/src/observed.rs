//! The state of one node's kernel as it was read: interfaces, addresses, neighbours, routes,
//! sysctls and the like.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use tresse_base::id::Label;
use tresse_base::units::{Mac, Prefix};

use super::guard::GuardRule;
use super::mptcp::ObservedMptcp;
use super::routes::ObservedRoutes;
use super::rule::{Rule, SourceRule};
use super::wanted::LinkKind;

/// The state of one node's kernel: our objects, and the foreign objects (those of others) that
/// could conflict with ours (K15). Foreign objects are never changed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Observed {
    /// All interfaces by name.
    pub links: BTreeMap<String, ObservedLink>,
    /// All addresses of all interfaces, by (interface, address).
    #[serde(with = "super::pairs")]
    pub addresses: BTreeMap<(String, IpAddr), ObservedAddress>,
    /// Permanent neighbours by (interface, address), ours and foreign.
    #[serde(with = "super::pairs")]
    pub neighbours: BTreeMap<(String, IpAddr), ObservedNeighbour>,
    /// Permanent forwarding entries (FDB) of VXLAN interfaces of ours by (interface, MAC address), with the address to which
    /// frames are sent.
    #[serde(default, with = "super::pairs", skip_serializing_if = "BTreeMap::is_empty")]
    pub fdb: BTreeMap<(String, Mac), IpAddr>,
    /// All nexthop objects and groups by id.
    pub nexthops: BTreeMap<u32, ObservedNexthop>,
    /// Unicast routes of the main table by (destination, metric), ours and foreign; several
    /// foreign routes with the same key are kept once, ours wins.
    pub routes: ObservedRoutes,
    /// Present values of the sysctls that were asked for; those without a file are absent.
    pub sysctls: BTreeMap<String, String>,
    /// Can this kernel forward labels (mpls_router)?
    #[serde(default)]
    pub mpls: bool,
    /// All label routes, ours and foreign.
    #[serde(default, with = "super::pairs")]
    pub labels: BTreeMap<Label, ObservedLabel>,
    /// Interfaces with an ingress qdisc (clsact or ingress).
    #[serde(default)]
    pub ingress: BTreeMap<String, ObservedIngress>,
    /// Our policy rules by arrival interface. Foreign rules do not conflict with them, and are not
    /// listed.
    #[serde(default)]
    pub rules: BTreeSet<Rule>,
    /// Unicast routes of the tables [`super::TABLES`], ours and foreign.
    #[serde(default, with = "super::pairs")]
    #[serde(rename = "turns")]
    pub table_routes: BTreeMap<TableRouteKey, ObservedTableRoute>,
    /// Routes of the main table at metric [`super::METRIC_UNREACHABLE`] that refuse their packets
    /// (RTN_UNREACHABLE), by prefix, with their rtm_protocol.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unreachable: BTreeMap<Prefix, u8>,
    /// Our policy rules by source address.
    #[serde(default, rename = "from_rules")]
    pub source_rules: BTreeSet<SourceRule>,
    /// Our policy rules that keep packets of the fabric inside it.
    #[serde(default)]
    pub guard: BTreeSet<GuardRule>,
    /// The families whose table `local` is looked up before all others, by the rule at priority 0 that
    /// kernels have: `true` is IPv4, `false` IPv6.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub local_rules: BTreeSet<bool>,
    /// The families whose table `local` is looked up by a rule of somebody else at another priority.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub local_elsewhere: BTreeSet<bool>,
    /// MPTCP state; `None` if the kernel has no MPTCP.
    #[serde(default)]
    pub mptcp: Option<ObservedMptcp>,
}

/// Key of a route in one of our routing tables besides the main one: number of the table,
/// destination and metric.
pub type TableRouteKey = (u32, Prefix, u32);

/// A route found in one of our routing tables besides the main one ([`super::TABLES`]).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservedTableRoute {
    /// rtm_protocol; ours is [`super::PROTOCOL`].
    pub protocol: u8,
    /// RTA_OIF (name), if it has one nexthop only.
    pub interface: Option<String>,
    /// RTA_GATEWAY.
    pub via: Option<IpAddr>,
}

/// An MPLS label route found in the kernel: where packets with one incoming label go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservedLabel {
    /// rtm_protocol; ours is [`super::PROTOCOL`].
    pub protocol: u8,
    /// RTA_OIF (name), if it has one nexthop only.
    pub interface: Option<String>,
    /// RTA_VIA, if it is an IP address.
    pub via: Option<IpAddr>,
    /// RTA_NEWDST: labels that replace the one popped, outermost first. Ours have none.
    pub swap: Vec<Label>,
}

/// The tc filters found on the ingress qdisc of an interface: ours for MPLS frames, and whether
/// there are foreign ones.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ObservedIngress {
    /// Our filters that pass the labelled frames of one MAC address, by handle.
    pub passed: BTreeMap<u32, Mac>,
    /// Handles of our filters that drop all other labelled frames.
    pub dropped: BTreeSet<u32>,
    /// Is there a foreign filter?
    pub foreign: bool,
    /// One of our preferences that a foreign filter uses.
    pub taken: Option<u16>,
}

/// An interface found in the kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservedLink {
    /// ifindex.
    pub index: u32,
    /// `Some` for the kinds that we create. A bridge without ports and with our alias counts as
    /// [`LinkKind::Dummy`].
    pub kind: Option<LinkKind>,
    /// MAC address, if it has one of 6 bytes.
    pub mac: Option<Mac>,
    /// IP MTU in bytes.
    pub mtu: u32,
    /// IFF_UP.
    pub up: bool,
    /// IFF_LOWER_UP and IFF_RUNNING: it has carrier and its queue is active. Between the two events
    /// a frame is accepted and silently lost, which must not happen to a canary (K5).
    pub carrier: bool,
    /// Its alias.
    pub alias: Option<String>,
    /// Name of its master (bond, bridge, ...), if it has one (K20).
    pub master: Option<String>,
    /// Name of the interface below it (IFLA_LINK of a VLAN, macvlan, macsec, ...). Deleting that
    /// one deletes this one too.
    pub lower: Option<String>,
}

impl ObservedLink {
    /// Does it bear our mark?
    #[must_use]
    pub fn is_ours(&self) -> bool {
        self.alias.as_deref().is_some_and(|a| a.starts_with(super::ALIAS_PREFIX))
    }

    /// Is it our end of the tunnel to gateways?
    #[must_use]
    pub fn is_tunnel(&self) -> bool {
        self.is_ours() && matches!(self.kind, Some(LinkKind::Vxlan { .. }))
    }

    /// Its MAC address, if it is of a kind whose MAC addresses are planned.
    #[must_use]
    pub fn planned_mac(&self) -> Option<Mac> {
        self.mac.filter(|_| self.is_tunnel())
    }
}

/// An address of an interface, found in the kernel: everything but the interface and the address
/// itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservedAddress {
    /// Prefix length.
    pub len: u8,
    /// IFA_PROTO, if the kernel has it (0: unset).
    pub protocol: u8,
}

/// A permanent neighbour entry found in the kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservedNeighbour {
    /// Its MAC address (lladdr).
    pub mac: Mac,
    /// NDA_PROTOCOL; ours is [`super::PROTOCOL`].
    pub protocol: u8,
}

/// A nexthop object or nexthop group found in the kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservedNexthop {
    /// nh_protocol; ours is [`super::PROTOCOL`].
    pub protocol: u8,
    /// Outgoing interface (name); plain nexthops only.
    pub interface: Option<String>,
    /// Gateway; plain nexthops only.
    pub via: Option<IpAddr>,
    /// Label stack of `encap mpls`, outermost first.
    pub labels: Vec<Label>,
    /// Members (id, weight 1-256) of a group; empty for a plain nexthop.
    pub group: Vec<(u32, u16)>,
}
