//! The result of a comparison of wanted and observed kernel state: operations with their reasons,
//! objects that must wait, refusals, and foreign objects (those of others) that disturb ours. Only
//! data.

use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use tresse_base::id::Label;
use tresse_base::units::{Mac, Prefix};

use super::{Object, Operation};

/// The result of [`super::reconcile`]: the operations to execute, the wanted objects that must
/// wait, what is refused, and the foreign objects that disturb ours.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Reconciliation {
    /// Operations to execute in this order: additions before removals.
    pub operations: Vec<Planned>,
    /// Wanted objects that are absent and cannot be installed now (K1). They are installed as soon
    /// as the reason is gone.
    pub pending: Vec<Pending>,
    /// Wanted objects that are not installed, or unwanted ones that are not removed, because of a
    /// foreign object: a person must act.
    pub refused: Vec<Refusal>,
    /// Foreign objects that disturb what is installed (K15).
    pub drift: Vec<Refusal>,
}

impl Reconciliation {
    /// Does the kernel hold all that is wanted and nothing else of ours?
    #[must_use]
    pub const fn in_sync(&self) -> bool {
        self.operations.is_empty() && self.pending.is_empty() && self.refused.is_empty()
    }
}

/// An operation on a kernel object that is to be executed, with its reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Planned {
    /// The operation.
    pub operation: Operation,
    /// The reason.
    pub why: Why,
}

impl Planned {
    /// The record that `tresse diff --json` prints.
    #[must_use]
    pub fn line(&self) -> DiffLine {
        let object = self.operation.object();
        DiffLine {
            op: self.operation.verb().into(),
            kind: object.kind().into(),
            object: object.to_string(),
            why: self.why.to_string(),
        }
    }
}

/// One line of `tresse diff --json`: one operation on a kernel object, with its reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiffLine {
    /// The operation's verb.
    pub op: String,
    /// Kind of the object.
    pub kind: String,
    /// Its name.
    pub object: String,
    /// The reason.
    pub why: String,
}

/// Why an operation on a kernel object is needed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Why {
    /// The object is wanted and absent.
    Missing,
    /// The object exists with another content.
    Changed {
        /// The present content.
        from: String,
    },
    /// The object is ours and not wanted.
    Leftover,
    /// A value that we had changed gets its original content back.
    Restored,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("missing"),
            Self::Changed { from } => write!(f, "is {from}"),
            Self::Leftover => f.write_str("not wanted"),
            Self::Restored => f.write_str("restores the value found at first"),
        }
    }
}

/// A wanted kernel object that cannot be installed now, with the reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    /// The object.
    pub object: Object,
    /// What it waits for.
    pub why: PendingReason,
}

impl fmt::Display for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.object.kind(), self.object, self.why)
    }
}

/// Why a wanted kernel object cannot be installed now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum PendingReason {
    /// The interface does not exist.
    #[error("interface {0} is absent")]
    Absent(String),
    /// The interface is down.
    #[error("interface {0} is down")]
    Down(String),
    /// The interface has no carrier.
    #[error("interface {0} has no carrier")]
    NoCarrier(String),
    /// The interface is refused; see [`Reconciliation::refused`].
    #[error("interface {0} is refused")]
    Refused(String),
    /// The kernel does not have the sysctl (yet).
    #[error("the file does not exist")]
    NoFile,
    /// The route has no usable nexthop.
    #[error("no nexthop of the route can be used")]
    #[serde(rename = "no-leg")]
    NoNexthop,
    /// The route's source address is not on this node.
    #[error("source {0} of the route is not an address of this node")]
    NoSource(IpAddr),
}

/// A problem that only an operator can solve: a kernel object that we refuse to change, or an
/// object of others that disturbs ours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "refused", rename_all = "kebab-case")]
pub enum Refusal {
    /// K16: the NIC is not the planned one.
    #[error("NIC {nic} has MAC {}, the plan says {wanted}: run `tresse macs`", found.map_or_else(|| "none".to_owned(), |m| m.to_string()))]
    MacDiffers {
        /// The NIC.
        nic: String,
        /// Planned.
        wanted: Mac,
        /// Observed.
        found: Option<Mac>,
    },
    /// K20: the NIC belongs to a bond, bridge, VRF or the like.
    #[error(
        "interface {interface} belongs to {master}: take it out, or pass --force-interface {interface}"
    )]
    HasMaster {
        /// The interface.
        interface: String,
        /// Its master.
        master: String,
    },
    /// K9: frames of the plan would not fit.
    #[error("NIC {nic} has MTU {found}, the plan needs {needed}: raise it")]
    MtuTooSmall {
        /// The NIC.
        nic: String,
        /// Smallest MTU that the plan needs.
        needed: u32,
        /// Observed.
        found: u32,
    },
    /// K15: a foreign interface has the name that we need.
    #[error("interface {name} exists and is not ours: remove or rename it")]
    ForeignLink {
        /// Its name.
        name: String,
    },
    /// An interface that bears our mark is not what its name says.
    #[error("interface {name} bears our mark but is of another kind: remove it")]
    KindDiffers {
        /// Its name.
        name: String,
    },
    /// Another interface already has this VID on this NIC.
    #[error("interface {name} cannot be created: {holder} is that VLAN already: remove it")]
    VlanTaken {
        /// The wanted interface.
        name: String,
        /// The existing interface.
        holder: String,
    },
    /// K15: a foreign address equals one of ours; it is used as it is.
    #[error("address {address} dev {interface} exists and is not ours")]
    ForeignAddress {
        /// Interface.
        interface: String,
        /// Address.
        address: IpAddr,
    },
    /// K15: a foreign permanent neighbour has another MAC address than planned.
    #[error(
        "neighbour {address} dev {interface} lladdr {found} exists and is not ours (protocol {protocol}), the plan says {wanted}: remove it"
    )]
    ForeignNeighbour {
        /// Interface.
        interface: String,
        /// Address.
        address: IpAddr,
        /// Planned.
        wanted: Mac,
        /// Observed.
        found: Mac,
        /// Its NDA_PROTOCOL.
        protocol: u8,
    },
    /// K15: a foreign route has our metric, or our protocol number without our nexthop object.
    #[error("route {dst} metric {metric} exists and is not ours (protocol {protocol}): remove it")]
    ForeignRoute {
        /// Destination.
        dst: Prefix,
        /// Metric.
        metric: u32,
        /// Its protocol.
        protocol: u8,
    },
    /// K15: a foreign route overlaps destinations of ours: it covers one, lies within one, or
    /// shadows one.
    #[error(
        "foreign route {route} metric {metric} (protocol {protocol}{}) overlaps {destinations} destinations of the plan, the first is {first}",
        interface.as_ref().map_or_else(String::new, |i| format!(", dev {i}"))
    )]
    Overlap {
        /// The foreign route.
        route: Prefix,
        /// Its metric.
        metric: u32,
        /// Its protocol.
        protocol: u8,
        /// Its interface.
        interface: Option<String>,
        /// The first of our destinations that it overlaps.
        first: Prefix,
        /// Number of destinations that it overlaps.
        destinations: usize,
    },
    /// K15: a foreign label route, or one with our protocol number that no plan of ours makes.
    #[error("label route {} exists and is not ours (protocol {protocol}): remove it", label.0)]
    ForeignLabel {
        /// The label.
        label: Label,
        /// Its protocol.
        protocol: u8,
    },
    /// K15: a foreign route is in a table that a policy rule of ours leads to.
    #[error(
        "routing table {table} is taken: route {dst} metric {metric} in it is not ours (protocol {protocol}), remove it"
    )]
    ForeignTableRoute {
        /// The table.
        table: u32,
        /// Destination.
        dst: Prefix,
        /// Metric.
        metric: u32,
        /// Its protocol.
        protocol: u8,
    },
    /// K15: a foreign filter has a preference of ours.
    #[error(
        "an ingress filter at preference {preference} dev {interface} is not ours: give it another preference"
    )]
    ForeignFilter {
        /// Interface.
        interface: String,
        /// The preference.
        preference: u16,
    },
    /// The `kernel` engine is configured, but the kernel lacks its module.
    #[error(
        "this kernel forwards no labels, the plan needs {labels} label routes here: `modprobe -a mpls_router mpls_iptunnel`, or `engine = \"packet\"`"
    )]
    NoLabels {
        /// Number of label routes wanted.
        labels: usize,
    },
    /// The kernel lacks MPTCP.
    #[error(
        "this kernel has no Multipath TCP (CONFIG_MPTCP), the plan's `mptcp = true` needs it: every TCP connection uses one NIC"
    )]
    NoMptcp,
    /// K15: a foreign MPTCP endpoint has an address of ours. It is used if it has the flag
    /// `subflow`.
    #[error("MPTCP endpoint {address} exists and is not ours (id {id})")]
    ForeignEndpoint {
        /// Its address.
        address: IpAddr,
        /// Its id.
        id: u8,
    },
    /// The kernel has no room for another MPTCP endpoint (MPTCP_PM_ADDR_MAX).
    #[error(
        "no room for MPTCP endpoint {address}: the kernel holds at most {}, and {others} are not \
         ours: remove some",
        super::ENDPOINTS_MAX
    )]
    EndpointsFull {
        /// Its address.
        address: IpAddr,
        /// Number of foreign endpoints.
        others: usize,
    },
    /// K2: without this address the kernel would delete what depends on the interface.
    #[error("address {address} is the last IPv4 address of {interface}, which is in use")]
    LastAddress {
        /// Interface.
        interface: String,
        /// Address.
        address: IpAddr,
    },
    /// K15: a foreign object depends on an unwanted object of ours.
    #[error("{} {object} is not wanted, but foreign {} {user} depends on it: remove that first", object.kind(), user.kind())]
    InUse {
        /// Our object.
        object: Object,
        /// The foreign object.
        user: Object,
    },
}

impl Refusal {
    /// The interface that is not used because of it, if it is about one.
    #[must_use]
    pub fn interface(&self) -> Option<&str> {
        match self {
            Self::MacDiffers { nic: name, .. }
            | Self::MtuTooSmall { nic: name, .. }
            | Self::HasMaster { interface: name, .. }
            | Self::ForeignLink { name }
            | Self::KindDiffers { name }
            | Self::VlanTaken { name, .. } => Some(name),
            _ => None,
        }
    }
}
