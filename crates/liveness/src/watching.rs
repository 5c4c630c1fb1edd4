//! The list of paths that BFD sessions watch for failures, and the interfaces that they may use.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tresse_base::id::{Label, NodeId, PathId};
use tresse_base::units::Mac;

/// The paths that BFD is to watch for failures, and the interfaces that packets may be sent on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watching {
    /// Number of the plan that the paths belong to, an FNV-1a hash (64 bits) of the plan's digest; zeros where there is none. Path
    /// events repeat it.
    pub generation: [u8; 8],
    /// The paths.
    pub paths: Arc<Vec<WatchedPath>>,
    /// Those that were broken when this was last known.
    #[serde(default)]
    pub broken: BTreeSet<PathId>,
    /// Those that may cross what broke other paths: watched like active ones as long as they are listed.
    #[serde(default)]
    pub probed: BTreeSet<PathId>,
    /// The nodes by the MAC addresses of their NICs, where records are passed on between the ends of planned paths. Empty
    /// where the ends of paths are neighbours.
    #[serde(default)]
    pub senders: Arc<BTreeMap<Mac, NodeId>>,
    /// The interfaces that may be sent by now, by name.
    pub interfaces: BTreeMap<String, SendingInterface>,
}

impl Watching {
    /// Is there no plan any more, so that this node forwards nothing?
    #[must_use]
    pub fn is_of_no_plan(&self) -> bool {
        self.generation == [0; 8]
    }
}

/// A path from this node to a peer, with what its BFD session needs: addresses, interfaces and
/// labels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchedPath {
    /// The path.
    pub id: PathId,
    /// Source address of the packets: this node's, or a NIC's if the peer is a routing neighbour.
    pub source: IpAddr,
    /// Destination address of the packets, and source of those received.
    pub destination: IpAddr,
    /// Interface by which the packets leave.
    pub interface: String,
    /// MAC address of the first nexthop.
    pub mac: Mac,
    /// MPLS label stack, outermost first; empty for one-segment paths.
    pub labels: Vec<Label>,
    /// The interface on which the peer's packets of this rank arrive; `None` if the peer has no such path: then there is
    /// no session.
    pub arrival: Option<String>,
    /// Do packets of several ranks arrive there? Then their source ports tell them apart.
    #[serde(default)]
    pub shared: bool,
    /// Number of transit nodes on the path from the peer to this node.
    pub transits: u8,
    /// Does this end start the session? Otherwise it only answers.
    pub active: bool,
    /// The node addresses of the two ends, if `source` and `destination` are NIC addresses. The nodes may
    /// have other paths to each other.
    pub nodes: Option<(IpAddr, IpAddr)>,
}

/// What the packets of a path show of it. One that stays the same through a change of plans is the same path.
pub(crate) type Trail = ([IpAddr; 2], String, Mac, Vec<Label>, Option<String>, u8);

impl WatchedPath {
    pub(crate) fn trail(&self) -> Trail {
        let Self { interface, mac, labels, arrival, transits, .. } = self.clone();
        ([self.source, self.destination], interface, mac, labels, arrival, transits)
    }

    pub(crate) const fn ends(&self) -> (IpAddr, IpAddr) {
        (self.source, self.destination)
    }
}

/// An interface on which BFD packets can be sent now: up and with carrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SendingInterface {
    /// Its number in the kernel.
    pub ifindex: u32,
    /// Its MAC address.
    pub mac: Mac,
}
