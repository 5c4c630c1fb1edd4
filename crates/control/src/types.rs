//! The named types of `org.tresse.Node`: lines that replies and events are made of.
//!
//! Field names are the JSON contract of DESIGN section 8; they are only ever added to.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use zlink::introspect::CustomType;

/// One kernel operation, done or to be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, CustomType)]
pub struct OperationLine {
    /// `add`, `change` or `delete`.
    pub op: String,
    /// `link`, `address`, `neighbour`, `nexthop`, `group`, `route` or `sysctl`.
    pub kind: String,
    /// The object's name, as `ip` prints it.
    pub object: String,
    /// Why: what is wanted, or what was found instead.
    pub why: String,
}

/// A wanted object that cannot be installed yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, CustomType)]
pub struct PendingLine {
    /// Kind of the object, as in OperationLine.
    pub kind: String,
    /// The object's name.
    pub object: String,
    /// What it waits for: a carrier, or the proof of its VLAN.
    pub why: String,
}

/// What waits in words, a sentence per reason in the order of first appearance:
/// `3 objects (2 addresses, 1 route): interface eth1 is absent`, one object by its name.
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

/// A VLAN that this node has taken out of use (canary, K5).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, CustomType)]
pub struct FusedLine {
    /// VLAN identifier.
    pub vid: u16,
    /// What was seen.
    pub why: String,
    /// The links of its tree, `s00-s01`: where to look for the fault.
    pub links: Vec<String>,
}

/// One problem of a cluster file, lock or configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, CustomType)]
pub struct Problem {
    /// Line from 1; 0 where the problem has no place.
    pub line: u32,
    /// Column from 1; 0 where the problem has no place.
    pub column: u32,
    /// What is wrong and what was expected.
    pub message: String,
}

/// One path from this node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, CustomType)]
pub struct PathLine {
    /// Source node.
    pub src: String,
    /// Destination node.
    pub dst: String,
    /// 0 is the primary.
    pub rank: u32,
    /// Weight among siblings of the same rank.
    pub weight: u32,
    /// Is it as short as the fabric allows?
    pub minimal: bool,
    /// Switch-to-switch links crossed.
    pub hops: u32,
    /// Its segments, in order.
    pub segments: Vec<SegmentLine>,
    /// `active`, `standby`, `pending`, `fused`, `broken` or `drained` on this node.
    pub state: String,
}

/// One segment of a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, CustomType)]
pub struct SegmentLine {
    /// The node it leaves.
    pub from: String,
    /// The NIC it leaves by.
    pub nic: String,
    /// Its VLAN; null where it crosses no switch-to-switch link.
    pub vlan: Option<u16>,
    /// Switches crossed, in order.
    pub switches: Vec<String>,
    /// The node it ends at.
    pub to: String,
    /// The NIC it arrives at.
    pub to_nic: String,
}

/// Who is heard on one NIC of the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, CustomType)]
pub struct NicLine {
    /// The interface.
    pub name: String,
    /// Its MAC.
    pub mac: Option<String>,
    /// Is it set up?
    pub up: bool,
    /// Has it carrier?
    pub carrier: bool,
    /// For how long announcements without tag could be heard here; null where they cannot.
    pub listening_ms: Option<u64>,
    /// Who told of himself by LLDP.
    pub lldp: Vec<LldpLine>,
    /// Who announced himself, by MAC.
    pub heard: Vec<HeardLine>,
}

/// One LLDP neighbour.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, CustomType)]
pub struct LldpLine {
    /// The name of the switch or host.
    pub system: Option<String>,
    /// Its chassis id.
    pub chassis: String,
    /// Its port id.
    pub port: String,
    /// The same, where it is a MAC.
    pub port_mac: Option<String>,
    /// The port's description.
    pub description: Option<String>,
    /// The MAC that sent it.
    pub source: String,
    /// For how long it holds.
    pub ttl_seconds: u16,
    /// Was it sent to all stations, as by Introduce, so that it may have crossed switches?
    #[serde(default)]
    pub flooded: bool,
    /// When it was last heard.
    pub age_ms: u64,
}

/// One announcer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, CustomType)]
pub struct HeardLine {
    /// The node with this NIC in the plan in force.
    pub node: Option<String>,
    /// The NIC.
    pub nic: Option<String>,
    /// The node's index, as the announcement has it.
    pub index: u32,
    /// The NIC's MAC.
    pub mac: String,
    /// The VLAN it was last heard on; 0 is none.
    pub vid: u16,
    /// Is it of another fabric?
    pub foreign: bool,
    /// When it was last heard.
    pub age_ms: u64,
}

/// One counter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, CustomType)]
pub struct CounterLine {
    /// Name with its unit, `announcements_sent_total`.
    pub name: String,
    /// The object counted for (`eth0.100`), or empty.
    pub object: String,
    /// Value since the daemon started.
    pub value: u64,
}

/// Something that happened in the daemon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, CustomType)]
pub struct Event {
    /// Number since the daemon started; a gap means that this watcher was too slow.
    pub seq: u64,
    /// Milliseconds since the Unix epoch.
    pub time_ms: u64,
    /// `applied`, `confirmed`, `rolled-back`, `withdrawn`, `drift`, `link`, `proven`, `fused`,
    /// `unfused`, `resync`, `failed`.
    pub kind: String,
    /// The object concerned.
    pub object: String,
    /// In words.
    pub message: String,
    /// Must a person look?
    pub alert: Alert,
}

/// How urgent an event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, CustomType)]
#[serde(rename_all = "lowercase")]
#[zlink(rename_all = "lowercase")]
pub enum Alert {
    /// Normal operation.
    Info,
    /// Works, but degraded.
    Warning,
    /// A person must act.
    Critical,
}

#[cfg(test)]
mod tests {
    use super::*;

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
