//! What the kernel of one node shall hold.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use tresse_base::id::{Label, Vid};
use tresse_base::units::{Mac, Prefix};

use super::{Leg, METRIC_BACKUP, Rule, TABLES, WantedMptcp};

/// The kernel state that one slice asks for. Sorted, so that equal plans give equal bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Wanted {
    /// Our own interfaces by name: `eth0.100`, `tresse0`.
    pub links: BTreeMap<String, WantedLink>,
    /// (interface, address), each a /32 or /128 without prefix route (K2).
    pub addresses: BTreeSet<(String, IpAddr)>,
    /// Permanent neighbours by (interface, address).
    #[serde(with = "super::pairs")]
    pub neighbours: BTreeMap<(String, IpAddr), WantedNeighbour>,
    /// Routes by (destination, metric).
    #[serde(with = "super::pairs")]
    pub routes: BTreeMap<(Prefix, u32), WantedRoute>,
    /// Path below `/proc/sys` (`net/ipv4/conf/eth0.100/rp_filter`, with `/` inside an interface
    /// name impossible and `.` kept) to value.
    pub sysctls: BTreeMap<String, String>,
    /// NICs of this node that the plan uses, by name: the MAC each must have (K16) and the least
    /// MTU it must carry (K9).
    pub nics: BTreeMap<String, (Mac, u32)>,
    /// Label routes of a transit node, by the label that arrives.
    #[serde(default, with = "super::pairs")]
    pub labels: BTreeMap<Label, WantedLabel>,
    /// Interfaces on which labels arrive, each with the MACs that they are taken from (K11): all
    /// other labelled frames are dropped there.
    #[serde(default)]
    pub label_sources: BTreeMap<String, BTreeSet<Mac>>,
    /// What strategy `xy` needs of a kernel that routes by the interface that packets arrive by.
    #[serde(default, skip_serializing_if = "WantedTurns::is_empty")]
    pub turns: WantedTurns,
    /// What lets one connection use several NICs.
    #[serde(default, skip_serializing_if = "WantedMptcp::is_empty")]
    pub mptcp: WantedMptcp,
}

/// Backups after which packets come to nodes that would send them back, and the routes by which those
/// nodes turn them aside. One is not to be installed without the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct WantedTurns {
    /// Backup routes, at [`METRIC_BACKUP`].
    #[serde(with = "super::pairs")]
    pub backups: BTreeMap<Prefix, WantedRoute>,
    /// Routes for packets that arrive by an interface which they would leave by again, by (that
    /// interface, destination), in a table of its own: [`Wanted::table_routes`].
    #[serde(with = "super::pairs")]
    pub tables: BTreeMap<(String, Prefix), Leg>,
}

impl WantedTurns {
    /// Is nothing asked for?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.backups.is_empty() && self.tables.is_empty()
    }
}

impl Wanted {
    /// All routes of the main table by (destination, metric): those of [`Wanted::routes`], and the backups of
    /// [`Wanted::turns`] for a kernel that gets the tables of those too.
    #[must_use]
    pub fn all_routes(&self) -> BTreeMap<(Prefix, u32), WantedRoute> {
        let backups = self.turns.backups.iter();
        let backups = backups.map(|(dst, route)| ((*dst, METRIC_BACKUP), route.clone()));
        self.routes.iter().map(|(key, route)| (*key, route.clone())).chain(backups).collect()
    }

    /// The rules that lead to the tables of [`Wanted::turns`].
    #[must_use]
    pub fn rules(&self) -> BTreeSet<Rule> {
        let tables = self.turns.tables.keys();
        let rule = |(came, to): &(String, Prefix)| {
            let (interface, ipv4) = (came.clone(), to.address.is_ipv4());
            Some(Rule { table: self.turn_table(came)?, ipv4, interface })
        };
        tables.filter_map(rule).collect()
    }

    /// The routes of all tables beside the main one, by (table, destination).
    #[must_use]
    pub fn table_routes(&self) -> BTreeMap<(u32, Prefix), &Leg> {
        let turns = self.turns.tables.iter();
        let turns = turns.filter_map(|((came, to), leg)| Some((self.turn_table(came)?, *to, leg)));
        let from = self.mptcp.tables.iter();
        let from = from.filter_map(|((nic, to), leg)| Some((self.source_table(nic)?, *to, leg)));
        turns.chain(from).map(|(table, to, leg)| ((table, to), leg)).collect()
    }

    /// The table for packets that arrive by a NIC: by its place among [`Wanted::nics`].
    fn turn_table(&self, came: &str) -> Option<u32> {
        let place = self.nics.keys().position(|nic| nic == came)?;
        TABLES.clone().nth(place)
    }
}

/// Labels below this number can have a route.
pub const PLATFORM_LABELS: &str = "net/mpls/platform_labels";

/// The sysctl that lets an interface take labelled frames.
#[must_use]
pub fn label_input(interface: &str) -> String {
    format!("net/mpls/conf/{interface}/input")
}

/// The sysctls of a kernel that forwards labelled frames itself: room for labels up to the highest, and
/// label input on the interfaces where labels arrive.
pub fn label_sysctls<'a>(
    highest: Option<Label>,
    arrivals: impl IntoIterator<Item = &'a String>,
) -> BTreeMap<String, String> {
    let limit = highest.map(|highest| (PLATFORM_LABELS.into(), (highest.0 + 1).to_string()));
    let inputs = arrivals.into_iter().map(|interface| (label_input(interface), "1".into()));
    limit.into_iter().chain(inputs).collect()
}

/// The sysctls of a kernel that keeps its hands off labelled frames, which another engine forwards (K12): no
/// label input on the interfaces where labels arrive.
pub fn no_label_sysctls<'a>(
    arrivals: impl IntoIterator<Item = &'a String>,
) -> BTreeMap<String, String> {
    arrivals.into_iter().map(|interface| (label_input(interface), "0".into())).collect()
}

/// A label route: the label is popped, what is left goes to a neighbour.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct WantedLabel {
    /// Outgoing interface.
    pub interface: String,
    /// The neighbour, whose permanent entry is wanted too.
    pub via: IpAddr,
}

/// One interface of ours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WantedLink {
    /// What it is.
    pub kind: LinkKind,
    /// IP MTU.
    pub mtu: u32,
    /// Its alias: starts with [`super::ALIAS_PREFIX`].
    pub alias: String,
    /// False while its VID is fused (K5): the interface exists but is down.
    pub up: bool,
}

/// Kinds of interface that we create.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum LinkKind {
    /// An 802.1Q VLAN interface; created with `addrgenmode none` (K5).
    Vlan {
        /// Name of the NIC below.
        parent: String,
        /// The VID.
        vid: Vid,
    },
    /// A dummy; where the kernel has none, a bridge without ports (K8).
    Dummy,
    /// A TUN interface through which the daemon gets what it pushes labels onto: it is there for as
    /// long as the daemon holds it open. No slice asks for one, a daemon whose kernel cannot push
    /// labels does.
    Tun,
}

/// A permanent neighbour entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WantedNeighbour {
    /// Its link-layer address (lladdr).
    pub mac: Mac,
}

/// A route to a node address through a nexthop group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WantedRoute {
    /// Preferred source: this node's own address.
    pub src: IpAddr,
    /// RTAX_MTU.
    pub mtu: u32,
    /// RTAX_ADVMSS.
    pub advmss: u32,
    /// Members of the group, sorted, at least one.
    pub legs: Vec<Leg>,
}
