//! Checks the uplink of a flat neighbourhood (flat-neighborhood-network-compiler, sections 1 and 2): whether
//! the cables that connect its otherwise separate switches form a loop, and whether a planned path
//! crosses them that may not: only those of nodes on the uplink switch alone, such as spares, do, and with `use_uplink`
//! those of any pair beside its primary. All other checks of flat neighbourhoods are in [`direct`](super::direct).
//!
//! One cable leads from every switch of the wiring table to one additional switch, the uplink. This star
//! has no loop and needs no spanning tree protocol. But all NICs are in one broadcast domain, so every
//! switch learns the address of every NIC.

use tresse_base::id::SwitchId;
use tresse_plan::Plan;
use tresse_topology::cluster::Link;
use tresse_topology::path::{Path, Segment};
use tresse_topology::{Channel, Components};

use super::{Finding, Survey};

/// Returns violations and notes about the uplink; nothing if there is none. Its load was checked by
/// [`is_whole`], which reports a broken path.
pub(super) fn findings(plan: &Plan, survey: &Survey) -> (Vec<Finding>, Vec<Finding>) {
    let Some(uplink) = plan.cluster().uplink() else { return (Vec::new(), Vec::new()) };
    let violations = Vec::from_iter(loops(plan));
    let mut notes = Vec::new();
    let behind: Vec<&str> = (0..plan.cluster().nodes.len())
        .filter(|node| plan.cluster().is_behind_uplink((*node).into()))
        .map(|node| plan.cluster().nodes[node].name.as_str())
        .collect();
    let object = plan.cluster().switch(uplink).name.clone();
    let unused = survey.loads.iter().all(|load| *load == 0);
    let detours = plan.cluster().routing.use_uplink;
    let crosses = match behind[..] {
        [] if detours => Some("detours of `reflect` alone cross its cables".to_owned()),
        [] if unused => Some("no planned path crosses its cables".to_owned()),
        [] => None,
        [ref first @ .., last] => {
            let list =
                if first.is_empty() { String::new() } else { format!("{} and ", first.join(", ")) };
            let detours = if detours { " and detours of `reflect`" } else { "" };
            Some(format!("of planned paths those of {list}{last}{detours} alone cross its cables"))
        }
    };
    notes.extend(crosses.map(|crosses| Finding {
        kind: "uplink",
        object,
        message: format!(
            "{crosses}: they carry multicast, broadcast, what comes from and goes to other networks, and \
             unicast to addresses that a switch has forgotten, which permanent neighbours and \
             announcements every third of fdb_age_seconds avoid"
        ),
    }));
    (violations, notes)
}

/// Returns a finding on a cable between switches that are already connected.
fn loops(plan: &Plan) -> Option<Finding> {
    let cluster = plan.cluster();
    let mut parts = Components::new(cluster.switches.len());
    let closes = |link: &&Link| !parts.join(link.a.switch.index(), link.b.switch.index());
    let link = cluster.links.iter().find(closes)?;
    let name = |switch: SwitchId| cluster.switch(switch).name.as_str();
    Some(Finding {
        kind: "loop",
        object: format!("{}-{}", name(link.a.switch), name(link.b.switch)),
        message: "this cable closes a loop, in which broadcasts never end: take it out".into(),
    })
}

/// The cables of the uplink, as directed channels, that join the switches of a segment; none if it stays on one.
pub(super) fn crossed(plan: &Plan, segment: &Segment) -> Vec<Channel> {
    let (s, d) = (plan.sender(segment).switch, plan.receiver(segment).switch);
    let uplink = plan.cluster().uplink().filter(|_| s != d);
    let hops = uplink.into_iter().flat_map(|uplink| [(s, uplink), (uplink, d)]);
    hops.filter_map(|(from, to)| plan.graph().between(from, to)).collect()
}

/// Returns whether a segment of a path stays on one switch, or begins or ends at a node that the uplink alone joins to
/// others, or is all of a path beside the primary and the cluster file lets such paths cross. If it is none of these,
/// loads the cables of the uplink that it crosses.
pub(super) fn is_whole(plan: &Plan, path: &Path, segment: &Segment, survey: &mut Survey) -> bool {
    if plan.sender(segment).switch == plan.receiver(segment).switch {
        return true;
    }
    let channels = crossed(plan, segment);
    let behind = [segment.from, segment.to].map(|node| plan.cluster().is_behind_uplink(node));
    let beside = plan.cluster().routing.use_uplink && path.id.rank > 0 && path.segments.len() == 1;
    if (behind.contains(&true) || beside) && !channels.is_empty() {
        return true;
    }
    channels.into_iter().for_each(|channel| survey.loads[channel as usize] += 1);
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use tresse_base::id::{NodeId, PathId, TreeId};
    use tresse_cluster::parse;

    fn plan(uplink: &str) -> Plan {
        let text = format!(
            "[fabric]\ntopology = {{ kind = \"fnn\", wiring = \"0: 0 1 2\\n1: 0 1 2\"{uplink} }}\n"
        );
        Plan::build(parse(&text, "x").unwrap()).unwrap()
    }

    #[test]
    fn a_segment_between_switches_loads_the_uplink_and_stays_on_none() {
        let plan = plan(", uplink = \"u0\"");
        let mut survey = Survey::empty(&plan);
        let path = |rank, nic, to_nic| {
            let (src, dst) = (NodeId(0), NodeId(1));
            let segment = Segment { from: src, nic, tree: TreeId::NONE, to: dst, to_nic };
            Path {
                id: PathId { src, dst, rank },
                weight: 1,
                segments: [segment].into_iter().collect(),
            }
        };
        let mut whole =
            |plan: &Plan, path: &Path| is_whole(plan, path, &path.segments[0], &mut survey);
        assert!(whole(&plan, &path(0, 1, 1)));
        let open = self::plan(
            ", uplink = \"u0\" }\n[routing]\nreflect = \"adaptive\"\nuse_uplink = true #",
        );
        assert!(whole(&open, &path(1, 0, 1)), "a path beside the primary");
        assert!(!whole(&plan, &path(1, 0, 1)));
        assert_eq!(survey.loads.iter().sum::<u64>(), 2);
        let mut survey = Survey::empty(&plan);
        assert!(!is_whole(&open, &path(0, 0, 1), &path(0, 0, 1).segments[0], &mut survey));
        let graph = plan.graph();
        let loaded = (0u32..).zip(&survey.loads).filter(|(_, load)| **load > 0);
        let ends: Vec<_> = loaded.map(|(c, _)| (graph.tail(c), graph.head(c))).collect();
        assert_eq!(ends, [(0, 2), (2, 1)]);
        assert_eq!(findings(&plan, &survey), (Vec::new(), Vec::new()), "not said to be unused");
    }

    #[test]
    fn without_an_uplink_nothing_is_said() {
        let found = |plan: &Plan| findings(plan, &Survey::empty(plan));
        assert_eq!(found(&plan("")), (Vec::new(), Vec::new()));
        let (violations, notes) = found(&plan(", uplink = \"u0\""));
        assert_eq!((violations.len(), notes.len()), (0, 1));
    }
}
