//! Names of kernel objects and one-line texts of operations, as `tresse diff`, `apply --dry-run`
//! and error messages print them.

use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use tresse_base::id::Label;
use tresse_base::units::{Mac, Prefix};

use super::{GuardRule, Nexthop, Operation, Rule, SourceRule, WantedLabel};

/// Name of a kernel object: its kind, and the key by which people know it, such as the interface
/// and the address.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "kind", content = "name", rename_all = "lowercase")]
pub enum Object {
    /// An interface.
    Link(String),
    /// A file below `/proc/sys`.
    Sysctl(String),
    /// An address of an interface.
    Address(String, IpAddr),
    /// A permanent neighbour of an interface.
    Neighbour(String, IpAddr),
    /// A forwarding entry of a VXLAN interface.
    Fdb(String, Mac),
    /// A nexthop object that exists or is about to, by id.
    Nexthop(u32),
    /// A nexthop that has no id yet.
    #[serde(rename = "leg")]
    PlannedNexthop(Nexthop),
    /// A nexthop group, by id.
    Group(u32),
    /// A route by destination and metric.
    Route(Prefix, u32),
    /// An unreachable route by destination.
    Unreachable(Prefix),
    /// A table route, by table and destination.
    #[serde(rename = "turn")]
    TableRoute(u32, Prefix),
    /// A policy rule by arrival interface.
    Rule(Rule),
    /// A policy rule that keeps packets of the fabric inside it.
    #[serde(rename = "guardrule")]
    GuardRule(GuardRule),
    /// The kernel's own rule for the table `local`, of IPv4 or of IPv6.
    LocalRule {
        /// Does it concern IPv4 packets? Otherwise IPv6.
        ipv4: bool,
    },
    /// A policy rule by source address.
    #[serde(rename = "fromrule")]
    SourceRule(SourceRule),
    /// An MPTCP endpoint.
    Endpoint(IpAddr),
    /// The limit of subflows that an MPTCP connection may have besides its first.
    Subflows,
    /// A label route, with its nexthop if it only pops.
    Label(Label, Option<WantedLabel>),
    /// The clsact qdisc of an interface.
    Ingress(String),
    /// A filter on labelled frames: the interface, and the source MAC address that it passes, or
    /// `None` for the one that drops the rest.
    Filter(String, Option<Mac>),
}

impl Object {
    /// The kind, as `tresse diff` prints it.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Link(_) => "link",
            Self::Sysctl(_) => "sysctl",
            Self::Address(..) => "address",
            Self::Neighbour(..) => "neighbour",
            Self::Fdb(..) => "fdb",
            Self::Nexthop(_) | Self::PlannedNexthop(_) => "nexthop",
            Self::Group(_) => "group",
            Self::Route(..) | Self::TableRoute(..) | Self::Unreachable(_) => "route",
            Self::Rule(_) | Self::SourceRule(_) | Self::GuardRule(_) | Self::LocalRule { .. } => {
                "rule"
            }
            Self::Endpoint(_) => "endpoint",
            Self::Subflows => "limit",
            Self::Label(..) => "label",
            Self::Ingress(_) => "qdisc",
            Self::Filter(..) => "filter",
        }
    }
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Link(name) | Self::Sysctl(name) => f.write_str(name),
            Self::Address(interface, address) | Self::Neighbour(interface, address) => {
                write!(f, "{address} dev {interface}")
            }
            Self::Fdb(interface, mac) => write!(f, "{mac} dev {interface}"),
            Self::Nexthop(id) | Self::Group(id) => write!(f, "{id:#x}"),
            Self::PlannedNexthop(nexthop) => write!(f, "{nexthop}"),
            Self::Route(dst, metric) => write!(f, "{dst} metric {metric}"),
            Self::Unreachable(dst) => write!(f, "unreachable {dst}"),
            Self::TableRoute(table, dst) => write!(f, "{dst} table {table}"),
            Self::Rule(rule) => write!(f, "{rule}"),
            Self::SourceRule(rule) => write!(f, "{rule}"),
            Self::GuardRule(rule) => write!(f, "{rule}"),
            Self::LocalRule { ipv4: true } => f.write_str("IPv4 lookup local priority 0"),
            Self::LocalRule { ipv4: false } => f.write_str("IPv6 lookup local priority 0"),
            Self::Endpoint(address) => write!(f, "{address} subflow"),
            Self::Subflows => f.write_str("MPTCP subflows"),
            Self::Label(label, None) => write!(f, "{}", label.0),
            Self::Label(label, Some(nexthop)) => write!(f, "{} {nexthop}", label.0),
            Self::Ingress(interface) => write!(f, "clsact dev {interface}"),
            Self::Filter(interface, Some(mac)) => {
                write!(f, "labelled from {mac} dev {interface} pass")
            }
            Self::Filter(interface, None) => write!(f, "labelled dev {interface} drop"),
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let family = if self.ipv4 { "IPv4" } else { "IPv6" };
        write!(f, "{family} iif {} lookup {}", self.interface, self.table)
    }
}

impl fmt::Display for GuardRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let family = if self.is_ipv4() { "IPv4" } else { "IPv6" };
        write!(f, "{family} {}", self.words())
    }
}

impl fmt::Display for SourceRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let family = if self.source.is_ipv4() { "IPv4" } else { "IPv6" };
        write!(f, "{family} from {} ", self.source)?;
        if self.unreachable {
            f.write_str("unreachable")
        } else {
            write!(f, "lookup {}", self.table)
        }
    }
}

impl fmt::Display for WantedLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "via {} dev {}", self.via, self.interface)
    }
}

impl fmt::Display for Nexthop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_on_link() {
            return write!(f, "dev {}", self.interface);
        }
        write!(f, "via {} dev {}", self.via, self.interface)?;
        write_labels(f, &self.labels)
    }
}

fn write_labels(f: &mut fmt::Formatter<'_>, labels: &[Label]) -> fmt::Result {
    for (i, label) in labels.iter().enumerate() {
        write!(f, "{}{}", if i == 0 { " mpls " } else { "/" }, label.0)?;
    }
    Ok(())
}

impl Operation {
    /// The verb: `add`, `change`, `replace`, `delete`, `up`, `down` or `write`.
    #[must_use]
    pub const fn verb(&self) -> &'static str {
        match self {
            Self::AddLink { .. }
            | Self::AddAddress { .. }
            | Self::AddNexthop { .. }
            | Self::AddUnreachable { .. }
            | Self::AddRule { .. }
            | Self::AddSourceRule { .. }
            | Self::AddGuardRule { .. }
            | Self::AddLocalRule { .. }
            | Self::AddEndpoint { .. }
            | Self::AddIngress { .. }
            | Self::AddFilter { .. } => "add",
            Self::ChangeLink { .. } => "change",
            Self::SetLinkState { up: true, .. } => "up",
            Self::SetLinkState { up: false, .. } => "down",
            Self::WriteSysctl { .. } | Self::LimitSubflows { .. } => "write",
            Self::AddNeighbour { replace, .. }
            | Self::AddFdb { replace, .. }
            | Self::AddGroup { replace, .. }
            | Self::AddRoute { replace, .. }
            | Self::AddTableRoute { replace, .. }
            | Self::AddLabel { replace, .. } => {
                if *replace {
                    "replace"
                } else {
                    "add"
                }
            }
            Self::DeleteLink { .. }
            | Self::DeleteAddress { .. }
            | Self::DeleteNeighbour { .. }
            | Self::DeleteFdb { .. }
            | Self::DeleteNexthop { .. }
            | Self::DeleteRoute { .. }
            | Self::DeleteUnreachable { .. }
            | Self::DeleteTableRoute { .. }
            | Self::DeleteRule { .. }
            | Self::DeleteSourceRule { .. }
            | Self::DeleteGuardRule { .. }
            | Self::DeleteLocalRule { .. }
            | Self::DeleteEndpoint { .. }
            | Self::DeleteLabel { .. }
            | Self::DeleteIngress { .. }
            | Self::DeleteFilter { .. } => "delete",
        }
    }

    /// The object that the operation changes.
    #[must_use]
    pub fn object(&self) -> Object {
        match self {
            Self::AddLink { name, .. }
            | Self::ChangeLink { name, .. }
            | Self::SetLinkState { name, .. }
            | Self::DeleteLink { name } => Object::Link(name.clone()),
            Self::WriteSysctl { key, .. } => Object::Sysctl(key.clone()),
            Self::AddAddress { interface, address }
            | Self::DeleteAddress { interface, address } => {
                Object::Address(interface.clone(), *address)
            }
            Self::AddNeighbour { interface, address, .. }
            | Self::DeleteNeighbour { interface, address } => {
                Object::Neighbour(interface.clone(), *address)
            }
            Self::AddFdb { interface, mac, .. } | Self::DeleteFdb { interface, mac } => {
                Object::Fdb(interface.clone(), *mac)
            }
            Self::AddNexthop { id, .. } | Self::DeleteNexthop { id } => Object::Nexthop(*id),
            Self::AddGroup { id, .. } => Object::Group(*id),
            Self::AddRoute { dst, metric, .. } | Self::DeleteRoute { dst, metric } => {
                Object::Route(*dst, *metric)
            }
            Self::AddUnreachable { dst } | Self::DeleteUnreachable { dst } => {
                Object::Unreachable(*dst)
            }
            Self::AddTableRoute { table, dst, .. } | Self::DeleteTableRoute { table, dst } => {
                Object::TableRoute(*table, *dst)
            }
            Self::AddRule { rule } | Self::DeleteRule { rule } => Object::Rule(rule.clone()),
            Self::AddSourceRule { rule } | Self::DeleteSourceRule { rule } => {
                Object::SourceRule(rule.clone())
            }
            Self::AddGuardRule { rule } | Self::DeleteGuardRule { rule } => {
                Object::GuardRule(rule.clone())
            }
            &Self::AddLocalRule { ipv4 } | &Self::DeleteLocalRule { ipv4 } => {
                Object::LocalRule { ipv4 }
            }
            Self::AddEndpoint { address, .. } | Self::DeleteEndpoint { address, .. } => {
                Object::Endpoint(*address)
            }
            Self::LimitSubflows { .. } => Object::Subflows,
            Self::AddLabel { label, nexthop, .. } | Self::DeleteLabel { label, nexthop } => {
                Object::Label(*label, Some(nexthop.clone()))
            }
            Self::AddIngress { interface } | Self::DeleteIngress { interface } => {
                Object::Ingress(interface.clone())
            }
            Self::AddFilter { interface, source, .. }
            | Self::DeleteFilter { interface, source, .. } => {
                Object::Filter(interface.clone(), *source)
            }
        }
    }

    /// One short line: verb, kind, object and its new content.
    #[must_use]
    pub fn describe(&self) -> String {
        self.to_string()
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let object = self.object();
        write!(f, "{} {} {object}", self.verb(), object.kind())?;
        match self {
            Self::AddLink { mtu, mac, .. } | Self::ChangeLink { mtu, mac, .. } => {
                write!(f, " mtu {mtu}")?;
                mac.iter().try_for_each(|mac| write!(f, " address {mac}"))
            }
            Self::WriteSysctl { value, .. } => write!(f, " = {value}"),
            Self::AddEndpoint { id, .. } => write!(f, " id {id}"),
            Self::LimitSubflows { limit, .. } => write!(f, " = {limit}"),
            Self::AddNeighbour { mac, .. } => write!(f, " lladdr {mac}"),
            Self::AddFdb { at, .. } => write!(f, " dst {at}"),
            Self::AddNexthop { interface, via, labels, .. } => {
                write!(f, " via {via} dev {interface}")?;
                write_labels(f, labels)
            }
            Self::AddGroup { members, .. } => {
                for (i, (id, weight)) in members.iter().enumerate() {
                    write!(f, "{}{id:#x},{weight}", if i == 0 { " " } else { "/" })?;
                }
                Ok(())
            }
            Self::AddRoute { group, .. } => write!(f, " group {group:#x}"),
            Self::AddTableRoute { interface, via, .. } => write!(f, " via {via} dev {interface}"),
            _ => Ok(()),
        }
    }
}
