//! The state that a node's kernel should have: interfaces, addresses, neighbours, routes, sysctls
//! and the like.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use tresse_base::id::{Label, Vid};
use tresse_base::units::{Mac, Prefix};

use super::{GuardRule, METRIC_BACKUP, Nexthop, Rule, SourceRule, TABLES, WantedMptcp};

/// The kernel state that a slice (one node's part of the plan) asks for. Everything in it is
/// sorted, so that equal plans give equal bytes when written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Wanted {
    /// Our own interfaces by name: `eth0.100`, `tresse0`.
    pub links: BTreeMap<String, WantedLink>,
    /// (interface, address); each a /32 or /128 without prefix route (K2).
    pub addresses: BTreeSet<(String, IpAddr)>,
    /// Permanent neighbours by (interface, address).
    #[serde(with = "super::pairs")]
    pub neighbours: BTreeMap<(String, IpAddr), WantedNeighbour>,
    /// Routes by (destination, metric).
    #[serde(with = "super::pairs")]
    pub routes: BTreeMap<(Prefix, u32), WantedRoute>,
    /// Prefixes that end in the main table where no other route leads on: packets to an address that the
    /// fabric has no path to must not leave by a default route.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub unreachable: BTreeSet<Prefix>,
    /// Path below `/proc/sys` (`net/ipv4/conf/eth0.100/rp_filter`; an interface name keeps its `.`)
    /// to value.
    pub sysctls: BTreeMap<String, String>,
    /// NICs of this node that the plan uses, by name: the MAC address that each must have (K16) and
    /// the smallest MTU that it must carry (K9).
    pub nics: BTreeMap<String, (Mac, u32)>,
    /// Label routes of a transit node, by incoming label.
    #[serde(default, with = "super::pairs")]
    pub labels: BTreeMap<Label, WantedLabel>,
    /// Interfaces on which labels arrive, each with the MAC addresses from which labelled frames
    /// are accepted (K11). All other labelled frames are dropped there.
    #[serde(default)]
    pub label_sources: BTreeMap<String, BTreeSet<Mac>>,
    /// Table routes by arrival interface, and the backups that need them (where nodes route).
    #[serde(default, skip_serializing_if = "XyBackups::is_empty")]
    #[serde(rename = "turns")]
    pub xy: XyBackups,
    /// Policy rules that keep packets of the fabric inside it, where this node forwards.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub guard: BTreeSet<GuardRule>,
    /// The networks behind other nodes, each with the addresses of the nodes that lead there, in the order of their use: the
    /// routes to the first one that can be reached are the network's ([`Wanted::followed`]).
    #[serde(default, with = "super::pairs", skip_serializing_if = "BTreeMap::is_empty")]
    pub behind: BTreeMap<Prefix, Vec<IpAddr>>,
    /// The other ends of the tunnel to gateways ([`LinkKind::Vxlan`]), by the address of the node that each is: at a gateway all
    /// nodes, elsewhere the gateways. What they need besides the interface is wanted once routes to networks behind nodes are
    /// ([`Wanted::followed`]): they are no neighbours on cables.
    #[serde(default, with = "super::pairs", skip_serializing_if = "BTreeMap::is_empty")]
    pub ends: BTreeMap<IpAddr, TunnelEnd>,
    /// Forwarding entries (FDB) of the tunnel by (interface, MAC address): the address to which frames for that MAC are sent.
    #[serde(default, with = "super::pairs", skip_serializing_if = "BTreeMap::is_empty")]
    pub fdb: BTreeMap<(String, Mac), IpAddr>,
    /// At a gateway, the routes by which packets from elsewhere go back by the tunnel, in [`GuardRule::BACK_TABLE`].
    #[serde(default, with = "super::pairs", skip_serializing_if = "BTreeMap::is_empty")]
    pub back: BTreeMap<Prefix, Nexthop>,
    /// All networks behind nodes, also behind this one.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub networks: BTreeSet<Prefix>,
    /// Is this node a gateway, by which packets of the fabric may go anywhere?
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub open: bool,
    /// Are routes to single nodes folded into prefixes when they are installed ([`Wanted::folded`])?
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub folds: bool,
    /// MPTCP endpoints and their tables, which let one connection use several NICs.
    #[serde(default, skip_serializing_if = "WantedMptcp::is_empty")]
    pub mptcp: WantedMptcp,
}

/// The backup routes where nodes route, and the routes in other tables that they need. A packet on a
/// backup route reaches nodes whose main table would send it back; the table for the NIC by which
/// it arrived sends it on. Neither may be installed without the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct XyBackups {
    /// Backup routes, with metric [`METRIC_BACKUP`].
    #[serde(with = "super::pairs")]
    pub backups: BTreeMap<Prefix, WantedRoute>,
    /// Table routes for packets that arrive by an interface and would leave by it again, by (that
    /// interface, destination). Each interface has a table: [`Wanted::table_routes`].
    #[serde(with = "super::pairs")]
    pub tables: BTreeMap<(String, Prefix), Nexthop>,
}

impl XyBackups {
    /// Is nothing wanted?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.backups.is_empty() && self.tables.is_empty()
    }
}

impl Wanted {
    /// All routes of the main table by (destination, metric): [`Wanted::routes`], and the backups
    /// of
    /// [`Wanted::xy`] for a kernel that also gets their table routes.
    #[must_use]
    pub fn all_routes(&self) -> BTreeMap<(Prefix, u32), WantedRoute> {
        let backups = self.xy.backups.iter();
        let backups = backups.map(|(dst, route)| ((*dst, METRIC_BACKUP), route.clone()));
        self.routes.iter().map(|(key, route)| (*key, route.clone())).chain(backups).collect()
    }

    /// The policy rules that lead to the tables of [`Wanted::xy`].
    #[must_use]
    pub fn rules(&self) -> BTreeSet<Rule> {
        let tables = self.xy.tables.keys();
        let rule = |(came, to): &(String, Prefix)| {
            let (interface, ipv4) = (came.clone(), to.address.is_ipv4());
            Some(Rule { table: self.table_of(came)?, ipv4, interface })
        };
        tables.filter_map(rule).collect()
    }

    /// The routes of all tables besides the main one, by (table, destination).
    #[must_use]
    pub fn table_routes(&self) -> BTreeMap<(u32, Prefix), &Nexthop> {
        let table_routes = self.xy.tables.iter();
        let table_routes = table_routes
            .filter_map(|((came, to), nexthop)| Some((self.table_of(came)?, *to, nexthop)));
        let from = self.mptcp.tables.iter();
        let from =
            from.filter_map(|((nic, to), nexthop)| Some((self.source_table(nic)?, *to, nexthop)));
        let back = self.back.iter().map(|(to, nexthop)| (GuardRule::BACK_TABLE, *to, nexthop));
        let all = table_routes.chain(from).chain(back);
        all.map(|(table, to, nexthop)| ((table, to), nexthop)).collect()
    }

    /// The table for packets from the addresses of a NIC: by the NIC's place in [`Wanted::nics`].
    pub(super) fn source_table(&self, nic: &str) -> Option<u32> {
        let place = self.nics.keys().position(|name| name == nic)?;
        { SourceRule::TABLES }.nth(place)
    }

    /// The table for packets that arrive by a NIC: by the NIC's place in [`Wanted::nics`].
    fn table_of(&self, came: &str) -> Option<u32> {
        let place = self.nics.keys().position(|nic| nic == came)?;
        TABLES.clone().nth(place)
    }
}

/// Path below `/proc/sys` of the sysctl that limits MPLS labels: only a label less than its value
/// can have a label route.
pub const PLATFORM_LABELS: &str = "net/mpls/platform_labels";

/// Returns the path below `/proc/sys` of the sysctl that lets `interface` accept MPLS frames.
#[must_use]
pub fn label_input(interface: &str) -> String {
    format!("net/mpls/conf/{interface}/input")
}

/// Returns the wanted sysctls (a map from path to value) of a kernel that forwards MPLS frames
/// itself: room for label routes up to the label `highest`, and label input switched on for the
/// interfaces `arrivals`, on which labelled frames arrive.
pub fn label_sysctls<'a>(
    highest: Option<Label>,
    arrivals: impl IntoIterator<Item = &'a String>,
) -> BTreeMap<String, String> {
    let limit = highest.map(|highest| (PLATFORM_LABELS.into(), (highest.0 + 1).to_string()));
    let inputs = arrivals.into_iter().map(|interface| (label_input(interface), "1".into()));
    limit.into_iter().chain(inputs).collect()
}

/// Returns the wanted sysctls (a map from path to value) of a kernel that must ignore MPLS frames
/// because the daemon forwards them (K12): label input is switched off for the interfaces
/// `arrivals`, on which labelled frames arrive.
pub fn no_label_sysctls<'a>(
    arrivals: impl IntoIterator<Item = &'a String>,
) -> BTreeMap<String, String> {
    arrivals.into_iter().map(|interface| (label_input(interface), "0".into())).collect()
}

/// A wanted label route: the incoming MPLS label is popped, and the packet goes to a neighbour.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct WantedLabel {
    /// Outgoing interface.
    pub interface: String,
    /// The neighbour; its permanent entry is wanted too.
    pub via: IpAddr,
}

/// An interface that we create, such as `eth0.100` or `tresse0`, as the plan wants it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WantedLink {
    /// Its kind.
    pub kind: LinkKind,
    /// IP MTU.
    pub mtu: u32,
    /// Its alias, which starts with [`super::ALIAS_PREFIX`].
    pub alias: String,
    /// Set up? False while its VID is fused (K5): then the interface exists but is down.
    pub up: bool,
    /// The MAC address that it must have; `None`: that which the kernel gives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac: Option<Mac>,
}

/// Kind of a network interface that we create: VLAN, dummy, TUN or VXLAN.
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
    /// A dummy interface; on kernels without them, a bridge without ports (K8).
    Dummy,
    /// A TUN interface that gives the daemon the packets onto which it pushes labels. It exists as
    /// long as the daemon holds it open. Slices never ask for one; a daemon whose kernel cannot
    /// push labels does.
    Tun,
    /// A VXLAN interface with [`TUNNEL_VNI`](tresse_base::kernel::TUNNEL_VNI) that learns nothing, between the nodes and the
    /// gateways of a fabric whose nodes route.
    Vxlan {
        /// Is it between IPv6 addresses of nodes? Otherwise IPv4.
        ipv6: bool,
    },
}

/// Another node as an end of the tunnel to gateways.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TunnelEnd {
    /// MAC address of its tunnel interface.
    pub mac: Mac,
    /// The node's address to which packets for it are sent.
    pub at: IpAddr,
}

impl TunnelEnd {
    /// The gateway of routes of a family by the tunnel to this end. The IPv4 address of its node; of IPv6 the link-local
    /// address of its MAC (RFC 4291, appendix A), as Linux takes none there that another interface leads to.
    #[must_use]
    pub fn via(&self, node: IpAddr) -> IpAddr {
        if node.is_ipv4() {
            return node;
        }
        let [a, b, c, d, e, f] = self.mac.0;
        let mut address = [0; 16];
        address[..2].copy_from_slice(&[0xfe, 0x80]);
        address[8..].copy_from_slice(&[a ^ 2, b, c, 0xff, 0xfe, d, e, f]);
        address.into()
    }
}

/// A wanted permanent neighbour entry: the MAC address of the neighbour.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WantedNeighbour {
    /// Its MAC address (lladdr).
    pub mac: Mac,
}

/// A wanted route of the main table through a nexthop group: everything but its destination and
/// metric.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WantedRoute {
    /// Preferred source: this node's own address.
    pub src: IpAddr,
    /// RTAX_MTU.
    pub mtu: u32,
    /// RTAX_ADVMSS.
    pub advmss: u32,
    /// Members of the group, sorted, at least one.
    #[serde(rename = "legs")]
    pub nexthops: Vec<Nexthop>,
}

impl WantedRoute {
    /// A route whose TCP segments fit into packets of `mtu` bytes: less the headers of IP and TCP.
    #[must_use]
    pub const fn new(src: IpAddr, mtu: u32, nexthops: Vec<Nexthop>) -> Self {
        let headers = if src.is_ipv4() { 40 } else { 60 };
        Self { src, mtu, advmss: mtu - headers, nexthops }
    }
}
