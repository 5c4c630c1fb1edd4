//! What comparing wanted and observed yields: operations with their reasons, what must wait, what
//! is refused and what disturbs us. Values only.

use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use tresse_base::id::Label;
use tresse_base::units::{Mac, Prefix};

use super::{Object, Operation};

/// The outcome of [`super::reconcile`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Reconciliation {
    /// To be executed in this order: additions before removals.
    pub operations: Vec<Planned>,
    /// Wanted, absent, and impossible now (K1): installed as soon as the reason is gone.
    pub pending: Vec<Pending>,
    /// Wanted but not installed, or unwanted but not removed, because something foreign is in
    /// the way: a person must act.
    pub refused: Vec<Refusal>,
    /// Foreign objects that disturb what is installed (K15).
    pub drift: Vec<Refusal>,
}

impl Reconciliation {
    /// Does the kernel hold all that is wanted and nothing more?
    #[must_use]
    pub const fn in_sync(&self) -> bool {
        self.operations.is_empty() && self.pending.is_empty() && self.refused.is_empty()
    }
}

/// One operation and its reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Planned {
    /// What to do.
    pub operation: Operation,
    /// Why.
    pub why: Why,
}

impl Planned {
    /// The object that `tresse diff --json` prints.
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

/// One line of `tresse diff --json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiffLine {
    /// The verb.
    pub op: String,
    /// Kind of the object.
    pub kind: String,
    /// Its name.
    pub object: String,
    /// The reason.
    pub why: String,
}

/// Why an operation is needed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Why {
    /// Wanted and not there.
    Missing,
    /// There, with another content.
    Changed {
        /// What is there.
        from: String,
    },
    /// Ours and not wanted.
    Leftover,
    /// A value that we changed gets back what it was.
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

/// A wanted object that cannot be installed now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    /// The object.
    pub object: Object,
    /// What it waits for.
    pub why: Reason,
}

impl fmt::Display for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.object.kind(), self.object, self.why)
    }
}

/// What a pending object waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// The interface does not exist.
    #[error("interface {0} is absent")]
    Absent(String),
    /// The interface is down.
    #[error("interface {0} is down")]
    Down(String),
    /// The interface has no carrier.
    #[error("interface {0} has no carrier")]
    NoCarrier(String),
    /// The interface is refused; [`Reconciliation::refused`] says why.
    #[error("interface {0} is refused")]
    Refused(String),
    /// A sysctl that this kernel does not have (yet).
    #[error("the file does not exist")]
    NoFile,
    /// A route without a usable leg.
    #[error("no leg of it can be used")]
    NoLeg,
    /// A route whose source address is not on this node.
    #[error("its source {0} is not an address of this node")]
    NoSource(IpAddr),
}

/// Something that Tresse will not do, or that someone else did to us.
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
    /// K20: bond, bridge, VRF or the like.
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
        /// Least MTU.
        needed: u32,
        /// Observed.
        found: u32,
    },
    /// K15: a foreign interface has the name.
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
    /// Another interface is this VLAN of this NIC.
    #[error("interface {name} cannot be created: {holder} is that VLAN already: remove it")]
    VlanTaken {
        /// The wanted one.
        name: String,
        /// The existing one.
        holder: String,
    },
    /// K15: someone else's address; it serves.
    #[error("address {address} dev {interface} exists and is not ours")]
    ForeignAddress {
        /// Interface.
        interface: String,
        /// Address.
        address: IpAddr,
    },
    /// K15: someone else's permanent neighbour.
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
    /// K15: someone else's route with our metric, or of our protocol without our nexthop object.
    #[error("route {dst} metric {metric} exists and is not ours (protocol {protocol}): remove it")]
    ForeignRoute {
        /// Destination.
        dst: Prefix,
        /// Metric.
        metric: u32,
        /// Its protocol.
        protocol: u8,
    },
    /// K15: a foreign route overlaps (covers, lies within, or shadows) destinations of ours.
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
        /// First destination of ours.
        first: Prefix,
        /// How many.
        destinations: usize,
    },
    /// K15: someone else's label route, or one of our protocol that no plan of ours makes.
    #[error("label route {} exists and is not ours (protocol {protocol}): remove it", label.0)]
    ForeignLabel {
        /// The label.
        label: Label,
        /// Its protocol.
        protocol: u8,
    },
    /// K15: someone else's route in a table that a rule of ours leads to.
    #[error(
        "routing table {table} is taken: route {dst} metric {metric} in it is not ours (protocol {protocol}), remove it"
    )]
    ForeignTurn {
        /// The table.
        table: u32,
        /// Destination.
        dst: Prefix,
        /// Metric.
        metric: u32,
        /// Its protocol.
        protocol: u8,
    },
    /// K15: someone else's filter where ours belong.
    #[error(
        "an ingress filter at preference {preference} dev {interface} is not ours: give it another preference"
    )]
    ForeignFilter {
        /// Interface.
        interface: String,
        /// The preference.
        preference: u16,
    },
    /// The kernel engine without its module.
    #[error(
        "this kernel forwards no labels, the plan needs {labels} label routes here: `modprobe -a mpls_router mpls_iptunnel`, or `engine = \"packet\"`"
    )]
    NoLabels {
        /// How many are wanted.
        labels: usize,
    },
    /// The kernel lacks MPTCP.
    #[error(
        "this kernel has no Multipath TCP (CONFIG_MPTCP), the plan's `mptcp = true` needs it: every TCP connection uses one NIC"
    )]
    NoMptcp,
    /// K15: someone else's endpoint with an address of ours; it serves if it has the flag `subflow`.
    #[error("MPTCP endpoint {address} exists and is not ours (id {id})")]
    ForeignEndpoint {
        /// Its address.
        address: IpAddr,
        /// Its id.
        id: u8,
    },
    /// MPTCP_PM_ADDR_MAX.
    #[error(
        "no room for MPTCP endpoint {address}: the kernel holds {}, {others} are there that are not ours",
        super::ENDPOINTS_MAX
    )]
    EndpointsFull {
        /// Its address.
        address: IpAddr,
        /// Endpoints of others.
        others: usize,
    },
    /// K2: removing it would flush the interface.
    #[error("address {address} is the last IPv4 address of {interface}, which is in use")]
    LastAddress {
        /// Interface.
        interface: String,
        /// Address.
        address: IpAddr,
    },
    /// K15: an object of ours that something foreign hangs on.
    #[error("{} {object} is not wanted, but foreign {} {user} hangs on it: remove that first", object.kind(), user.kind())]
    InUse {
        /// Ours.
        object: Object,
        /// Theirs.
        user: Object,
    },
}
