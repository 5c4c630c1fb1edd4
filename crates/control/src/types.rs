//! The record types that replies and events of `org.tresse.Node` are made of.
//!
//! Field names are part of the JSON contract (DESIGN section 8): fields may be added, but never
//! renamed or removed.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use zlink::introspect::CustomType;

/// One operation on a kernel object (an interface, address, route, sysctl or the like), done or to
/// be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, CustomType)]
pub struct OperationLine {
    /// `add`, `change`, `replace`, `delete`, `up`, `down` or `write`; `refused` if the daemon does
    /// nothing, for the reason in `why`.
    pub op: String,
    /// Kind of the object: `link`, `address`, `neighbour`, `nexthop`, `group`, `route`, `sysctl`, `rule`,
    /// `endpoint`, `limit`, `label`, `qdisc` or `filter`; `foreign` if `op` is `refused`.
    pub kind: String,
    /// The object's name, as `ip` prints it; if `op` is `refused` the interface that is not used, if it is about one.
    pub object: String,
    /// The reason: what is wanted, or what was found instead.
    pub why: String,
}

/// A kernel object that the plan wants on this node and that cannot be installed yet, with the
/// reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, CustomType)]
pub struct PendingLine {
    /// Kind of the object, as in OperationLine; `plan` for the old plan that is kept until all peers
    /// use the new one.
    pub kind: String,
    /// The object's name.
    pub object: String,
    /// What it waits for: a carrier, or the proof of its VLAN.
    pub why: String,
}

/// Describes pending kernel objects (wanted, but not installable now) in sentences, one per reason,
/// such as `3 objects (2 addresses, 1 route): interface eth1 is absent`. The reasons are in the
/// order in which they first appear in `pending`. If only one object has a reason, the sentence
/// names that object.
#[must_use]
pub fn waiting(pending: &[PendingLine]) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<&PendingLine>)> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for line in pending {
        let place = *places.entry(&line.why).or_insert(reasons.len());
        match reasons.get_mut(place) {
            Some((_, lines)) => lines.push(line),
            None => reasons.push((&line.why, vec![line])),
        }
    }
    let sentence = |(why, lines): (&str, Vec<&PendingLine>)| match lines[..] {
        [one] => format!("{} {}: {why}", one.kind, one.object),
        _ => {
            let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
            lines.iter().for_each(|line| *kinds.entry(&line.kind).or_default() += 1);
            let plural = |(kind, n): (&str, usize)| match (n, kind.ends_with('s')) {
                (1, _) => format!("1 {kind}"),
                (n, true) => format!("{n} {kind}es"),
                (n, false) => format!("{n} {kind}s"),
            };
            let kinds: Vec<_> = kinds.into_iter().map(plural).collect();
            format!("{} objects ({}): {why}", lines.len(), kinds.join(", "))
        }
    };
    reasons.into_iter().map(sentence).collect()
}

/// A VLAN that this node has taken out of use because an announcement on it arrived a second time,
/// which shows a loop (K5).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, CustomType)]
pub struct FusedLine {
    /// The VID.
    pub vid: u16,
    /// What the canary saw.
    pub why: String,
    /// Links of the VLAN's tree (`s00-s01`), where the fault must be looked for.
    pub links: Vec<String>,
}

/// What a change of plans on this node waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, CustomType)]
pub struct WaitLine {
    /// The node that it waits for; null: this node itself.
    pub node: Option<String>,
    /// For what.
    pub what: String,
    /// For how long it has waited, in milliseconds.
    pub since_ms: u64,
    /// After this time it goes on without that node if the node stays silent, in milliseconds; null
    /// if it waits for as long as it takes.
    pub left_ms: Option<u64>,
    /// Was that node never heard where the new plan has it, and no path there is known to be broken? Then a
    /// cable is not where the plan says. Older daemons leave it out.
    #[serde(default)]
    pub unheard: Option<bool>,
}

impl fmt::Display for WaitLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.node {
            Some(node) => write!(f, "waits for {node}, which {}", self.what)?,
            None => write!(f, "{}", self.what)?,
        }
        write!(f, ", since {} s", self.since_ms / 1000)?;
        match self.left_ms {
            Some(left) => {
                write!(f, ", for {} s more at most if it stays silent", left.div_ceil(1000))
            }
            None => Ok(()),
        }
    }
}

/// A node that announces another plan than this node's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, CustomType)]
pub struct OtherLine {
    /// The node.
    pub node: String,
    /// Time since its last announcement, in milliseconds.
    pub age_ms: u64,
}

/// A gateway by which this node may reach what the plan does not know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, CustomType)]
pub struct GatewayLine {
    /// Everything of a family: `0.0.0.0/0` or `::/0`.
    pub dst: String,
    /// The gateway.
    pub node: String,
    /// Does a route lead to it?
    pub reached: bool,
    /// Does it say that it has no way out, so that others come first?
    pub shut: bool,
    /// Is it the first of those that are left, which is used?
    pub used: bool,
}

/// A NIC of this node's plan at which announcements of another fabric are heard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, CustomType)]
pub struct ForeignLine {
    /// The NIC of this node.
    pub nic: String,
    /// MAC address of the NIC that is heard.
    pub mac: String,
    /// Time since its last announcement, in milliseconds.
    pub age_ms: u64,
}

/// Something that is up or down on this node, since when, and how often that has changed today.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, CustomType)]
pub struct StateLine {
    /// `link` (a NIC of the plan), `path` (from this node), `vlan` (down: taken out of use), or `plan` (of another
    /// node; down: it is not this node's).
    pub kind: String,
    /// Its name: `eth1`, `n1 rank 0 by eth1`, `100`, `n3`.
    pub object: String,
    /// Is it up?
    pub up: bool,
    /// Since when, in milliseconds since 1 January 1970, UTC; null: as long as the daemon's events reach back.
    pub since: Option<u64>,
    /// How often it went up or down since midnight, UTC.
    pub today: u32,
    /// Why it is down, in words; empty if it is up. Of a link one of the constants here.
    pub why: String,
}

impl StateLine {
    /// A link has no carrier.
    pub const NO_CARRIER: &str = "no carrier: its cable, or what is at the other end, has failed";
    /// A link was set down by somebody.
    pub const SET_DOWN: &str = "set down";
    /// There is no link of this name.
    pub const ABSENT: &str = "no interface of this name";
}

/// One error in a cluster file, lock file or configuration file, with its line and column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, CustomType)]
pub struct Problem {
    /// Line, from 1; 0 if the error has no place.
    pub line: u32,
    /// Column, from 1; 0 if the error has no place.
    pub column: u32,
    /// What is wrong and what was expected.
    pub message: String,
}

/// One planned path from this node to another node, with its state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, CustomType)]
pub struct PathLine {
    /// Source node.
    pub src: String,
    /// Destination node.
    pub dst: String,
    /// Path rank; 0 is the primary.
    pub rank: u32,
    /// Weight among the weighted siblings.
    pub weight: u32,
    /// Does the path have as few hops as the fabric allows?
    pub minimal: bool,
    /// Number of switch-to-switch links crossed.
    pub hops: u32,
    /// Its segments, in order.
    pub segments: Vec<SegmentLine>,
    /// State on this node: `active`, `standby`, `pending`, `fused`, `broken` or `drained`.
    pub state: String,
}

/// One thing that is believed broken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, CustomType)]
pub struct BrokenLine {
    /// `node`, to which no hop leads; `hop`, where nodes route, from one NIC to another; or `path`, one of this node's.
    pub kind: String,
    /// Its name: `n3`, `n0:eth1-n1:eth0`, or `n3 rank 0 by eth0.100`.
    pub object: String,
    /// The nodes that say so.
    pub by: String,
    /// Since when this node has known it: milliseconds since 1 January 1970, UTC.
    pub since: u64,
}

/// A pair of nodes whose packets go round what is broken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, CustomType)]
pub struct AroundLine {
    /// Source node.
    pub src: String,
    /// Destination node.
    pub dst: String,
    /// The nodes on the way, with both ends.
    pub path: Vec<String>,
}

/// A pair of nodes that nothing joins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, CustomType)]
pub struct CutLine {
    /// Source node.
    pub src: String,
    /// Destination node.
    pub dst: String,
    /// `no-cable`: no whole cables lead there. `no-transit`: they do, but not by way of nodes that may be in transit.
    pub reason: String,
    /// The switch that has no live node in transit; null with `no-cable`.
    pub at: Option<String>,
}

/// One segment of a path: what layer 2 carries in one go, from a NIC of one node across switches to
/// a NIC of the next node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, CustomType)]
pub struct SegmentLine {
    /// The node that sends on this segment.
    pub from: String,
    /// The NIC by which frames leave.
    pub nic: String,
    /// The VID; null if the segment crosses no switch-to-switch link.
    pub vlan: Option<u16>,
    /// Switches crossed, in order.
    pub switches: Vec<String>,
    /// The node it ends at.
    pub to: String,
    /// The NIC it arrives at.
    pub to_nic: String,
}

/// The weight of one path of a pair of nodes, by the path's rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, CustomType)]
pub struct WeightLine {
    /// Rank of the path.
    pub rank: u32,
    /// Its share of the traffic beside the weights of the other paths: 0 to 255.
    pub weight: u32,
}

/// A destination node to which this one sends now, or by other weights than the plan's: by which paths, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, CustomType)]
pub struct DetourLine {
    /// Name of the destination node.
    pub dst: String,
    /// Why the paths have these weights, in words.
    pub why: String,
    /// For so many milliseconds its detours get no more, unless traffic changes much.
    #[serde(default)]
    pub rests_ms: u64,
    /// All its paths by rank.
    pub paths: Vec<UseLine>,
}

/// A path, its share, and what was sent by it in the last second.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, CustomType)]
pub struct UseLine {
    /// Rank of the path.
    pub rank: u32,
    /// Its share beside the weights of the other paths; 0: none.
    pub weight: u32,
    /// Does the plan give it a share? Otherwise it is a detour, or a backup.
    pub planned: bool,
    /// The NIC by which it leaves.
    pub nic: String,
    /// The switches and nodes that it crosses, in order, without its ends.
    pub through: Vec<String>,
    /// What was sent by it, as far as samples tell.
    pub bits_per_second: u64,
}

/// A destination node whose traffic moves, with the paths that carry it before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, CustomType)]
pub struct MoveLine {
    /// Name of the destination node.
    pub node: String,
    /// The paths that carry the traffic before.
    pub before: Vec<ShareLine>,
    /// The paths that carry it afterwards.
    pub after: Vec<ShareLine>,
}

/// A path that carries traffic of a pair, with its share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, CustomType)]
pub struct ShareLine {
    /// Rank of the path.
    pub rank: u32,
    /// Its share beside the weights of the other paths listed with it.
    pub weight: u32,
    /// The NIC by which it leaves.
    pub nic: String,
    /// The switches and nodes that it crosses, in order, without its ends.
    pub through: Vec<String>,
}

impl MoveLine {
    /// The paths before and after in words: `rank 0 by eth1 -> rank 1 by eth0 through n3`.
    #[must_use]
    pub fn change(&self) -> String {
        format!("{} -> {}", shares(&self.before), shares(&self.after))
    }
}

fn shares(paths: &[ShareLine]) -> String {
    let total: u32 = paths.iter().map(|path| path.weight).sum();
    let path = |path: &ShareLine| {
        let mut words = format!("rank {} by {}", path.rank, path.nic);
        if !path.through.is_empty() {
            words.push_str(&format!(" through {}", path.through.join(" ")));
        }
        if paths.len() > 1 {
            words.push_str(&format!(" ({} of {total})", path.weight));
        }
        words
    };
    match paths {
        [] => "nothing".into(),
        _ => paths.iter().map(path).collect::<Vec<_>>().join(", "),
    }
}

/// One NIC of this host, and the devices from which it has received LLDP frames or announcements.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, CustomType)]
pub struct NicLine {
    /// The interface.
    pub name: String,
    /// Its MAC.
    pub mac: Option<String>,
    /// Is the interface set up?
    pub up: bool,
    /// Does it have carrier?
    pub carrier: bool,
    /// Why it is left alone when a fabric is drafted: it leads to whoever manages this host. Null: nothing does. Older
    /// daemons leave it out.
    #[serde(default)]
    pub management: Option<String>,
    /// For how long untagged announcements could be received here; null if they cannot.
    pub listening_ms: Option<u64>,
    /// Senders of LLDP frames.
    pub lldp: Vec<LldpLine>,
    /// Senders of announcements, by MAC address.
    pub heard: Vec<HeardLine>,
    /// Frames received for all stations since the daemon listens there.
    #[serde(default)]
    pub broadcasts: u64,
    /// Those of the present minute, or of the one before if these were more.
    #[serde(default)]
    pub broadcasts_a_minute: u64,
    /// Who has sent some of them, the last one first.
    #[serde(default)]
    pub broadcasters: Vec<BroadcastLine>,
}

/// A device from which one NIC of this host has received frames for all stations. Of many in a second only some are
/// read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, CustomType)]
pub struct BroadcastLine {
    /// MAC address of the sender.
    pub mac: String,
    /// The node that has this NIC in the plan in force; null: it is no part of the plan.
    pub node: Option<String>,
    /// Name of the NIC.
    pub nic: Option<String>,
    /// What the last one was: `ARP of 192.0.2.9 for 192.0.2.1`.
    pub kind: String,
    /// How many were read.
    pub read: u64,
    /// Time since the last one.
    pub age_ms: u64,
}

/// A device from which one NIC of this host has received LLDP frames, with the contents of the last
/// one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, CustomType)]
pub struct LldpLine {
    /// Name of the switch or host.
    pub system: Option<String>,
    /// Its chassis ID.
    pub chassis: String,
    /// Its port ID.
    pub port: String,
    /// Its port ID, if that is a MAC address.
    pub port_mac: Option<String>,
    /// The port's description.
    pub description: Option<String>,
    /// Source MAC address of the frame.
    pub source: String,
    /// Lifetime of the information in seconds, from the frame.
    pub ttl_seconds: u16,
    /// Does the device say that it is a host that forwards nothing?
    #[serde(default)]
    pub station: bool,
    /// Was the frame sent to all stations, as by Introduce? Then it may have crossed switches.
    #[serde(default)]
    pub flooded: bool,
    /// Time since the last frame.
    pub age_ms: u64,
}

/// A NIC of another node from which one NIC of this host has received announcements, the frames by
/// which a NIC makes itself known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, CustomType)]
pub struct HeardLine {
    /// The node that has this NIC in the plan in force.
    pub node: Option<String>,
    /// Name of the NIC.
    pub nic: Option<String>,
    /// Index of the node, from the announcement.
    pub index: u32,
    /// MAC address of the NIC.
    pub mac: String,
    /// VID on which it was last heard; null: untagged.
    pub vid: Option<u16>,
    /// Does the announcement belong to another fabric?
    pub foreign: bool,
    /// Time since the last announcement.
    pub age_ms: u64,
}

/// One counter of the daemon: its name, the object that it counts for, and its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, CustomType)]
pub struct CounterLine {
    /// Name with its unit, `announcements_sent_total`.
    pub name: String,
    /// The object that it counts for (`eth0.100`), or empty.
    pub object: String,
    /// Value since the daemon started.
    pub value: u64,
}

/// An event of the daemon: a change of state that operators may want to see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, CustomType)]
pub struct Event {
    /// Sequence number since the daemon started. A gap means that this client was too slow.
    pub seq: u64,
    /// Milliseconds since the Unix epoch.
    pub time_ms: u64,
    /// `started`, `applied`, `confirmed`, `moved`, `waiting`, `settled`, `rolled-back`, `withdrawn`, `drift`, `link`, `proven`, `fused`, `unfused`, `path-down`,
    /// `path-up`, `other-plan`, `same-plan`, `drained`, `undrained`, `pinned`, `weighted`, `unpinned`, `resync` or `failed`; `hello` for the
    /// first event of every stream.
    pub kind: String,
    /// The object concerned.
    pub object: String,
    /// The event in words.
    pub message: String,
    /// How urgent the event is.
    pub alert: Alert,
}

/// How urgent an event of the daemon is for an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, CustomType)]
#[serde(rename_all = "lowercase")]
#[zlink(rename_all = "lowercase")]
pub enum Alert {
    /// Normal operation.
    Info,
    /// The fabric works, but not fully.
    Warning,
    /// A person must act.
    Critical,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_move_names_the_paths_and_where_there_are_several_their_shares() {
        let path = |rank, weight, nic: &str, through: &[&str]| ShareLine {
            rank,
            weight,
            nic: nic.into(),
            through: through.iter().map(|name| (*name).to_owned()).collect(),
        };
        let (zero, one) = (path(0, 1, "eth1", &[]), path(1, 3, "eth0", &["n3", "n2"]));
        let mut line =
            MoveLine { node: "n1".into(), before: vec![zero.clone()], after: vec![one.clone()] };
        assert_eq!(line.change(), "rank 0 by eth1 -> rank 1 by eth0 through n3 n2");
        line.after = vec![zero, one];
        let after = "rank 0 by eth1 (1 of 4), rank 1 by eth0 through n3 n2 (3 of 4)";
        assert_eq!(line.change(), format!("rank 0 by eth1 -> {after}"));
    }

    #[test]
    fn what_waits_for_one_thing_is_one_sentence() {
        let line = |kind: &str, object: &str, why: &str| PendingLine {
            kind: kind.into(),
            object: object.into(),
            why: why.into(),
        };
        let absent = "interface eth1 is absent";
        let pending = [
            line("address", "a", absent),
            line("link", "eth0.7", "interface eth0 has no carrier"),
            line("route", "r", absent),
            line("address", "b", absent),
        ];
        let expected = [
            "3 objects (2 addresses, 1 route): interface eth1 is absent",
            "link eth0.7: interface eth0 has no carrier",
        ];
        assert_eq!(waiting(&pending), expected);
        assert_eq!(waiting(&[]), [""; 0]);
    }
}
