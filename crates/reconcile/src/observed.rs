//! What the kernel of one node holds, as dumped.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use tresse_base::id::Label;
use tresse_base::units::{Mac, Prefix};

use super::mptcp::ObservedMptcp;
use super::routes::Routes;
use super::rule::{FromRule, Rule};
use super::wanted::LinkKind;

/// One dump of everything that concerns us. Foreign objects are included where they matter for
/// safety (K15): they are never changed.
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
    /// All nexthop objects and groups by id.
    pub nexthops: BTreeMap<u32, ObservedNexthop>,
    /// Unicast routes of the main table by (destination, metric), ours and foreign; several
    /// foreign routes with the same key are kept once, ours wins.
    pub routes: Routes,
    /// Present values of the sysctls that were asked for; absent where the file does not exist.
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
    /// Rules of ours: those of others beside them are neither in the way nor touched.
    #[serde(default)]
    pub rules: BTreeSet<Rule>,
    /// Unicast routes of [`super::TABLES`], ours and foreign.
    #[serde(default, with = "super::pairs")]
    pub turns: BTreeMap<TurnKey, ObservedTurn>,
    /// Rules of ours by source address.
    #[serde(default)]
    pub from_rules: BTreeSet<FromRule>,
    /// `None` where the kernel has no MPTCP.
    #[serde(default)]
    pub mptcp: Option<ObservedMptcp>,
}

/// What tells routes of [`super::TABLES`] apart: table, destination and metric.
pub type TurnKey = (u32, Prefix, u32);

/// One route of [`super::TABLES`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservedTurn {
    /// rtm_protocol; ours is [`super::PROTOCOL`].
    pub protocol: u8,
    /// RTA_OIF (name), where there is one way only.
    pub interface: Option<String>,
    /// RTA_GATEWAY.
    pub via: Option<IpAddr>,
}

/// One label route.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservedLabel {
    /// rtm_protocol; ours is [`super::PROTOCOL`].
    pub protocol: u8,
    /// RTA_OIF (name), where there is one way only.
    pub interface: Option<String>,
    /// RTA_VIA, where it is an IP address.
    pub via: Option<IpAddr>,
    /// RTA_NEWDST: labels pushed in place of the one popped, outermost first. Never ours.
    pub swap: Vec<Label>,
}

/// The filters on an interface's ingress qdisc.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ObservedIngress {
    /// Filters of ours that pass the labelled frames of one MAC, by handle.
    pub passed: BTreeMap<u32, Mac>,
    /// Handles of filters of ours that drop all labelled frames left.
    pub dropped: BTreeSet<u32>,
    /// Is there a filter that is not ours?
    pub foreign: bool,
    /// A preference of ours that a foreign filter holds.
    pub taken: Option<u16>,
}

/// One interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservedLink {
    /// ifindex.
    pub index: u32,
    /// `Some` for the kinds that we create; a bridge without ports with our alias counts as
    /// [`LinkKind::Dummy`].
    pub kind: Option<LinkKind>,
    /// Its MAC address, where it has one of 6 octets.
    pub mac: Option<Mac>,
    /// IP MTU.
    pub mtu: u32,
    /// IFF_UP.
    pub up: bool,
    /// IFF_LOWER_UP and IFF_RUNNING: has carrier, and its queue is active. Between the two a frame
    /// is accepted and silently lost, which a canary (K5) must not be.
    pub carrier: bool,
    /// Its alias.
    pub alias: Option<String>,
    /// Name of its master (bond, bridge, ...), where it has one (K20).
    pub master: Option<String>,
    /// Name of the interface below it (IFLA_LINK of a VLAN, macvlan, macsec, ...): the kernel deletes
    /// it together with that one.
    pub lower: Option<String>,
}

impl ObservedLink {
    /// Does it bear our mark?
    #[must_use]
    pub fn is_ours(&self) -> bool {
        self.alias.as_deref().is_some_and(|a| a.starts_with(super::ALIAS_PREFIX))
    }
}

/// One address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservedAddress {
    /// Prefix length.
    pub len: u8,
    /// IFA_PROTO, where the kernel has it (0 = unset).
    pub protocol: u8,
}

/// One permanent neighbour.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservedNeighbour {
    /// Its lladdr.
    pub mac: Mac,
    /// NDA_PROTOCOL; ours is [`super::PROTOCOL`].
    pub protocol: u8,
}

/// One nexthop object or group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservedNexthop {
    /// nh_protocol; ours is [`super::PROTOCOL`].
    pub protocol: u8,
    /// Outgoing interface (name), of a plain nexthop.
    pub interface: Option<String>,
    /// Gateway, of a plain nexthop.
    pub via: Option<IpAddr>,
    /// Label stack of `encap mpls`, outermost first.
    pub labels: Vec<Label>,
    /// Members (id, weight 1-256) of a group; empty for a plain nexthop.
    pub group: Vec<(u32, u16)>,
}
