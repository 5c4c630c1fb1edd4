//! What each method of `org.tresse.Node` answers, and what Apply takes.

use serde::{Deserialize, Serialize, Serializer};
use zlink::introspect::Type;

use crate::types::{CounterLine, Event, FusedLine, NicLine, OperationLine, PathLine, PendingLine};

/// Answer of GetStatus.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Type)]
pub struct Status {
    /// Version of this answer's format: 1.
    pub format: u32,
    /// This node's name in the plan; null before the first plan.
    pub node: Option<String>,
    /// Digest of the plan in force; null before the first plan.
    pub generation: Option<String>,
    /// Does the kernel hold what the slice asks for, apart from `pending`?
    pub in_sync: bool,
    /// Wanted objects that wait for a carrier or for the proof of their VLAN.
    pub pending: Vec<PendingLine>,
    /// Differences found and not yet repaired.
    pub drift: Vec<OperationLine>,
    /// VLANs taken out of use.
    pub fused: Vec<FusedLine>,
    /// Destinations that are reached by their backup now.
    pub backup: Vec<String>,
    /// Paths that are not used as they are broken: peer, rank, first interface.
    #[serde(default)]
    pub broken: Vec<String>,
    /// Switches, nodes, links, ports and NICs that an operator drained here.
    #[serde(default)]
    pub drained: Vec<String>,
    /// Pairs that an operator pinned to a path here: peer, rank.
    #[serde(default)]
    pub pinned: Vec<String>,
    /// Destinations that are reached as planned, and whose backup is gone or broken.
    #[serde(default)]
    pub unprotected: Vec<String>,
    /// BFD sessions of this node.
    #[serde(default)]
    pub sessions: u32,
    /// Those of them that are up.
    #[serde(default)]
    pub sessions_up: u32,
    /// What forwards labelled frames here: `none`, `kernel` or `packet`.
    pub engine: String,
    /// What pushes labels onto what this node sends: `none`, `kernel`, or `tun` where the kernel
    /// cannot, the daemon itself then.
    #[serde(default)]
    pub source: String,
    /// What the daemon is doing: `idle`, `applying`, `rolling-back`, `withdrawing`, `failed`.
    pub activity: String,
    /// Is a change of plans under way: VLANs not proven, peers not heard, the plan before still held?
    #[serde(default)]
    pub changing: bool,
    /// Seconds left to confirm the last apply; null where none is due.
    pub confirm_seconds: Option<u32>,
    /// Digest of the plan that rollback would return to.
    pub previous: Option<String>,
    /// VLANs whose canary is still out.
    pub unproven: Vec<u16>,
    /// The daemon's version.
    pub version: String,
    /// The last fault, in words; null where there is none.
    pub fault: Option<String>,
    /// Was the plan withdrawn, and none applied since? Also after a restart.
    #[serde(default)]
    pub withdrawn: bool,
}

/// Parameters of Apply.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ApplyRequest {
    /// Text of the cluster file.
    pub cluster: String,
    /// Text of the lock, where there is one.
    pub lock: Option<String>,
    /// Answer the operations and do nothing.
    pub dry_run: Option<bool>,
    /// Roll back unless Confirm comes within this time.
    pub confirm_seconds: Option<u32>,
    /// Leave the management guard out (K19).
    pub force: Option<bool>,
    /// NICs to use although they have a master (K20).
    pub force_interfaces: Option<Vec<String>>,
}

/// Answer of Apply and Rollback.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Type)]
pub struct Applied {
    /// Digest of the plan that is (or would be) in force.
    pub generation: Option<String>,
    /// Operations done (or to be done), in order.
    pub operations: Vec<OperationLine>,
    /// Objects that wait for a carrier or for the proof of their VLAN.
    pub pending: Vec<PendingLine>,
    /// Seconds left to confirm; null where nothing is armed.
    pub confirm_seconds: Option<u32>,
}

/// Answer of Drain, Undrain, Pin and Unpin: destinations by address.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, Type)]
pub struct Steered {
    /// Those whose path moves.
    pub moved: Vec<String>,
    /// Those left with one way.
    pub single: Vec<String>,
    /// Those left with none but what is drained: they go on using it.
    pub cut: Vec<String>,
}

/// Answer of Withdraw.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Type)]
pub struct Withdrawn {
    /// Operations done, in order.
    pub operations: Vec<OperationLine>,
    /// What could not be removed, as something foreign hangs on it: each `why` says what to do.
    #[serde(default)]
    pub left: Vec<OperationLine>,
}

/// Answer of Diff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Type)]
pub struct Difference {
    /// Digest of the plan compared with.
    pub generation: Option<String>,
    /// What would have to be done; empty where the kernel is in sync.
    pub operations: Vec<OperationLine>,
    /// Objects that wait for a carrier or for the proof of their VLAN.
    pub pending: Vec<PendingLine>,
}

/// Answer of ListPaths.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Type)]
pub struct PathList {
    /// Paths from this node by (dst, rank).
    pub paths: Vec<PathLine>,
}

/// Answer of ListNeighbours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Type)]
pub struct NeighbourList {
    /// This node's name in the plan; null before the first plan.
    pub node: Option<String>,
    /// The NICs of the host, in the order of their numbers.
    pub nics: Vec<NicLine>,
}

/// Answer of Introduce.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Type)]
pub struct Introduced {
    /// NICs on which this host has told which they are.
    pub nics: u32,
}

/// Answer of GetCounters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Type)]
pub struct Counters {
    /// By (name, object).
    pub counters: Vec<CounterLine>,
}

/// One answer of Monitor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Type)]
pub struct MonitorReply {
    /// The event; the first answer is `hello`, so that a watcher knows it is listening.
    pub event: Event,
}

/// The answer to a call that did what was asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    /// To GetStatus.
    Status(Box<Status>),
    /// To ListPaths.
    Paths(PathList),
    /// To ListNeighbours.
    Neighbours(NeighbourList),
    /// To Introduce.
    Introduced(Introduced),
    /// To GetCounters.
    Counters(Counters),
    /// To Diff.
    Difference(Difference),
    /// To Apply, Rollback and Reload.
    Applied(Applied),
    /// To Withdraw.
    Withdrawn(Withdrawn),
    /// To Drain, Undrain, Pin and Unpin.
    Steered(Steered),
    /// To Confirm and Unfuse.
    Done,
}

impl Reply {
    /// The answer's parameters as they go to the client; none where nothing is to be said.
    #[must_use]
    pub fn parameters(&self) -> Option<impl Serialize> {
        (*self != Self::Done).then_some(Parameters(self))
    }
}

/// The fields of a reply alone.
struct Parameters<'a>(&'a Reply);

impl Serialize for Parameters<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Reply::Status(reply) => reply.serialize(serializer),
            Reply::Paths(reply) => reply.serialize(serializer),
            Reply::Neighbours(reply) => reply.serialize(serializer),
            Reply::Introduced(reply) => reply.serialize(serializer),
            Reply::Counters(reply) => reply.serialize(serializer),
            Reply::Difference(reply) => reply.serialize(serializer),
            Reply::Applied(reply) => reply.serialize(serializer),
            Reply::Withdrawn(reply) => reply.serialize(serializer),
            Reply::Steered(reply) => reply.serialize(serializer),
            Reply::Done => serializer.serialize_unit(),
        }
    }
}
