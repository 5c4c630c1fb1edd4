//! The reply type of each method of `org.tresse.Node`, and the parameters of Apply.

use serde::{Deserialize, Serialize, Serializer};
use zlink::introspect::Type;

use crate::types::{
    AroundLine, BrokenLine, CounterLine, CutLine, DetourLine, Event, ForeignLine, FusedLine,
    GatewayLine, MoveLine, NicLine, OperationLine, OtherLine, PathLine, PendingLine, StateLine,
    WaitLine,
};

/// Reply of the method GetStatus: the plan in force on this node, what the kernel still lacks of
/// it, failures, and what the daemon does now.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Type)]
pub struct Status {
    /// Version of this reply's format: 1.
    pub format: u32,
    /// This node's name in the plan; null before the first plan.
    pub node: Option<String>,
    /// Digest of the plan in force; null before the first plan.
    pub generation: Option<String>,
    /// Does the kernel hold everything that the slice asks for, except what is `pending`?
    pub in_sync: bool,
    /// Wanted objects that wait for a carrier or for the proof of their VLAN.
    pub pending: Vec<PendingLine>,
    /// Operations that would repair changes that others made to the kernel.
    pub drift: Vec<OperationLine>,
    /// VLANs that this node has taken out of use.
    pub fused: Vec<FusedLine>,
    /// Destinations whose traffic uses a backup now.
    pub backup: Vec<String>,
    /// Broken paths, which are not used: peer, rank, first interface.
    #[serde(default)]
    pub broken: Vec<String>,
    /// Switches, nodes, links, ports and NICs that are drained here.
    #[serde(default)]
    pub drained: Vec<String>,
    /// Pairs that are pinned to one path here: peer, rank.
    #[serde(default)]
    pub pinned: Vec<String>,
    /// Pairs whose traffic an operator shares out by weights here: peer, and the weight of each rank.
    #[serde(default)]
    pub weighted: Vec<String>,
    /// Destinations whose traffic uses the planned paths, but whose backup is missing or broken.
    #[serde(default)]
    pub unprotected: Vec<String>,
    /// Names of the nodes of `backup`. Older daemons leave it out.
    #[serde(default)]
    pub backup_nodes: Vec<String>,
    /// Names of the nodes of `unprotected`. Older daemons leave it out.
    #[serde(default)]
    pub unprotected_nodes: Vec<String>,
    /// Nodes to which every path of the plan is known to be broken or has no interface. Older daemons leave it out.
    #[serde(default)]
    pub cut: Vec<String>,
    /// The gateways to everything that the plan does not know, in the order of their use; none on a gateway. Older daemons leave
    /// it out.
    #[serde(default)]
    pub gateways: Vec<GatewayLine>,
    /// Number of BFD sessions of this node.
    #[serde(default)]
    pub sessions: u32,
    /// Number of those that are up.
    #[serde(default)]
    pub sessions_up: u32,
    /// Are the packets by which nodes speak to each other signed: `none`, `optional` (those without a tag are taken too), or
    /// `required`. Older daemons leave it out.
    #[serde(default)]
    pub authentication: String,
    /// What forwards labelled frames on this node: `none`, `kernel` or `packet`.
    pub engine: String,
    /// What pushes labels onto packets of this node: `none`, `kernel`, or `tun` (the daemon, if the
    /// kernel cannot).
    #[serde(default)]
    pub source: String,
    /// What the daemon does now: `idle`, `applying`, `rolling-back`, `withdrawing`, `failed`.
    pub activity: String,
    /// Is a change of plans under way: VLANs unproven, peers not heard, or the plan before still
    /// installed?
    #[serde(default)]
    pub changing: bool,
    /// What the change of plans waits for; empty if none is under way.
    #[serde(default)]
    pub waits: Vec<WaitLine>,
    /// Nodes that announce another plan than this node's: pairs with them may not work.
    #[serde(default)]
    pub others: Vec<OtherLine>,
    /// All NICs of the plan, and those paths, VLANs and plans of other nodes that are down or have turned today. Older
    /// daemons leave it out.
    #[serde(default)]
    pub states: Vec<StateLine>,
    /// NICs of the plan at which another fabric is heard.
    #[serde(default)]
    pub foreign: Vec<ForeignLine>,
    /// Seconds left to confirm the last apply; null if no confirmation is due.
    pub confirm_seconds: Option<u32>,
    /// Digest of the plan that rollback would return to.
    pub previous: Option<String>,
    /// VLANs whose canary has not come back yet.
    pub unproven: Vec<u16>,
    /// The daemon's version.
    pub version: String,
    /// The last fault in words; null if there is none.
    pub fault: Option<String>,
    /// Was the plan withdrawn, and none applied since? Survives a restart.
    #[serde(default)]
    pub withdrawn: bool,
}

/// Parameters of the method Apply, which installs a plan: the text of the cluster file (which
/// describes the fabric), the text of the lock file, and options.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ApplyRequest {
    /// Text of the cluster file.
    pub cluster: String,
    /// Text of the lock, if there is one.
    pub lock: Option<String>,
    /// Only list the operations.
    pub dry_run: Option<bool>,
    /// Seconds after which the plan is rolled back unless Confirm is called.
    pub confirm_seconds: Option<u32>,
    /// Do without the guard of the management connection (K19).
    pub force: Option<bool>,
    /// NICs to use although they have a master (K20).
    pub force_interfaces: Option<Vec<String>>,
}

/// Reply of the methods Apply, Rollback and Reload: the plan that is in force afterwards, and the
/// operations on the kernel that led to it. For a dry run: the plan that would be in force, and the
/// operations that it would take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Type)]
pub struct Applied {
    /// Digest of the plan that is (or would be) in force.
    pub generation: Option<String>,
    /// Operations done (or to be done), in order.
    pub operations: Vec<OperationLine>,
    /// Objects that wait for a carrier or for the proof of their VLAN.
    pub pending: Vec<PendingLine>,
    /// Seconds left to confirm; null if no confirmation is due.
    pub confirm_seconds: Option<u32>,
}

/// Reply of the methods Drain, Undrain, Pin, Weight and Unpin: the destination addresses whose
/// traffic moves to another path, that are left with one path, or whose every path is drained; and
/// the same nodes by name. Older daemons send no names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, Type)]
pub struct Steered {
    /// Destinations whose traffic moves to another path.
    pub moved: Vec<String>,
    /// Destinations left with one path.
    pub single: Vec<String>,
    /// Destinations whose every path is drained. Their traffic keeps using a drained path.
    pub cut: Vec<String>,
    /// The destination nodes whose traffic moves, with the paths before and after.
    #[serde(default)]
    pub moves: Vec<MoveLine>,
    /// Names of the nodes of `moved`.
    #[serde(default)]
    pub moved_nodes: Vec<String>,
    /// Names of the nodes left with one path.
    #[serde(default)]
    pub single_nodes: Vec<String>,
    /// Names of the nodes that no path leads to but by what is drained.
    #[serde(default)]
    pub cut_nodes: Vec<String>,
}

impl Steered {
    /// To how many nodes traffic moves; destinations, where an older daemon sends no names.
    #[must_use]
    pub const fn moved_count(&self) -> usize {
        if self.moved_nodes.is_empty() { self.moved.len() } else { self.moved_nodes.len() }
    }

    /// How many nodes are left with one path, counted in the same way.
    #[must_use]
    pub const fn single_count(&self) -> usize {
        if self.single_nodes.is_empty() { self.single.len() } else { self.single_nodes.len() }
    }
}

/// Reply of the method Withdraw: the kernel objects that were removed, and those that could not be
/// removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Type)]
pub struct Withdrawn {
    /// Operations done, in order.
    pub operations: Vec<OperationLine>,
    /// Objects that could not be removed because foreign objects depend on them; `why` says what to
    /// do.
    #[serde(default)]
    pub left: Vec<OperationLine>,
}

/// Reply of the method Diff: the operations that would make the node's kernel equal to its slice,
/// which is the node's part of the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Type)]
pub struct Difference {
    /// Digest of the plan that the kernel was compared with.
    pub generation: Option<String>,
    /// The operations; empty if nothing differs.
    pub operations: Vec<OperationLine>,
    /// Objects that wait for a carrier or for the proof of their VLAN.
    pub pending: Vec<PendingLine>,
}

/// Reply of the method GetPlan: the files of the plan in force. All are null where there is no plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Type)]
pub struct PlanFiles {
    /// The plan's digest.
    pub generation: Option<String>,
    /// Text of the cluster file, with the wiring table that it names.
    pub cluster: Option<String>,
    /// Text of the lock, if there was one.
    pub lock: Option<String>,
}

/// Reply of the method ListPaths: the planned paths from this node to other nodes, with their
/// state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Type)]
pub struct PathList {
    /// Sorted by (dst, rank).
    pub paths: Vec<PathLine>,
}

/// Reply of the method ListFailures: what is believed broken, and what that does to the paths from this node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Type)]
pub struct FailureList {
    /// What is believed broken.
    pub broken: Vec<BrokenLine>,
    /// Destinations that are reached round it.
    pub around: Vec<AroundLine>,
    /// Destinations that are not reached.
    pub cut: Vec<CutLine>,
}

/// Reply of the method ListDetours: by which paths this node sends, where detours are used as they are needed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Type)]
pub struct DetourList {
    /// Does the plan say so (`reflect = "adaptive"`), and do sessions watch the paths?
    pub planned: bool,
    /// Has no operator switched it off?
    pub used: bool,
    /// The destinations to which this node sends.
    pub pairs: Vec<DetourLine>,
}

/// Reply of the method ListNeighbours: for each NIC of this host, the devices whose LLDP frames or
/// announcements the NIC has received.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Type)]
pub struct NeighbourList {
    /// This node's name in the plan; null before the first plan.
    pub node: Option<String>,
    /// The NICs of the host, by interface index.
    pub nics: Vec<NicLine>,
}

/// Reply of the method Introduce: the number of NICs on which the daemon sent an LLDP frame.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Type)]
pub struct Introduced {
    /// Number of NICs on which an LLDP frame was sent.
    pub nics: u32,
}

/// Reply of the method GetEvents: the last events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Type)]
pub struct EventList {
    /// Oldest first. Numbers (`seq`) begin anew with each start of the daemon, which is an event too.
    pub events: Vec<Event>,
}

/// Reply of the method GetCounters: all counters of the daemon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Type)]
pub struct Counters {
    /// Sorted by (name, object).
    pub counters: Vec<CounterLine>,
}

/// One reply of the method Monitor, which streams the daemon's events. It has one event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Type)]
pub struct MonitorReply {
    /// The event. The first is `hello`: from then on no event is missed.
    pub event: Event,
}

/// The reply to a successful call of any method of `org.tresse.Node`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    /// Of GetStatus.
    Status(Box<Status>),
    /// Of GetPlan.
    Plan(PlanFiles),
    /// Of ListPaths.
    Paths(PathList),
    /// Of ListFailures.
    Failures(FailureList),
    /// Of ListDetours.
    Detours(DetourList),
    /// Of ListNeighbours.
    Neighbours(NeighbourList),
    /// Of Introduce.
    Introduced(Introduced),
    /// Of GetCounters.
    Counters(Counters),
    /// Of GetEvents.
    Events(EventList),
    /// Of Diff.
    Difference(Difference),
    /// Of Apply, Rollback and Reload.
    Applied(Applied),
    /// Of Withdraw.
    Withdrawn(Withdrawn),
    /// Of Drain, Undrain, Pin, Weight and Unpin.
    Steered(Steered),
    /// Of Confirm, Unfuse and SetDetours, which return nothing.
    Done,
}

impl Reply {
    /// The reply's fields as JSON; `None` for [`Reply::Done`].
    #[must_use]
    pub fn parameters(&self) -> Option<impl Serialize> {
        (*self != Self::Done).then_some(Parameters(self))
    }
}

/// Serializes the fields of a reply, without the variant's name.
struct Parameters<'a>(&'a Reply);

impl Serialize for Parameters<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Reply::Status(reply) => reply.serialize(serializer),
            Reply::Plan(reply) => reply.serialize(serializer),
            Reply::Paths(reply) => reply.serialize(serializer),
            Reply::Failures(reply) => reply.serialize(serializer),
            Reply::Detours(reply) => reply.serialize(serializer),
            Reply::Neighbours(reply) => reply.serialize(serializer),
            Reply::Introduced(reply) => reply.serialize(serializer),
            Reply::Counters(reply) => reply.serialize(serializer),
            Reply::Events(reply) => reply.serialize(serializer),
            Reply::Difference(reply) => reply.serialize(serializer),
            Reply::Applied(reply) => reply.serialize(serializer),
            Reply::Withdrawn(reply) => reply.serialize(serializer),
            Reply::Steered(reply) => reply.serialize(serializer),
            Reply::Done => serializer.serialize_unit(),
        }
    }
}
