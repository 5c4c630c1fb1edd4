//! Faults of known parts, and what is made of what nodes say then.

use std::collections::BTreeSet;

use tresse_base::id::NodeId;
use tresse_control::{
    BrokenLine, GatewayLine, NeighbourList, OperationLine, PathLine, PendingLine, StateLine, Status,
};
use tresse_plan::Plan;
use tresse_slice::watch::part::FabricParts;
use tresse_topology::path::Crossing;

use super::{Kind, Report, Said, Suspect, suspects};

fn plan(topology: &str) -> Plan {
    let text = format!("[fabric]\nname = \"t\"\ntopology = {topology}\n");
    let cluster = tresse_cluster::parse(&text, "t.toml").unwrap();
    Plan::build(cluster).unwrap()
}

/// What all nodes say when these crossings carry nothing; those of NICs have no carrier where `dark`.
fn reports(plan: &Plan, broken: &BTreeSet<Crossing>, dark: bool) -> Vec<Report> {
    let cluster = plan.cluster();
    let report = |at: usize| {
        let src = NodeId::from(at);
        let mut status = Status {
            generation: Some(plan.generation().to_owned()),
            in_sync: true,
            sessions: 1,
            sessions_up: 1,
            ..Status::default()
        };
        let mut lines = Vec::new();
        for (_, dst) in plan.pairs().filter(|(from, _)| *from == src) {
            for path in plan.paths(src, dst) {
                // A session needs both ways.
                let back = plan.paths(dst, src);
                let back = back.iter().find(|other| other.id.rank == path.id.rank);
                let mut crosses = plan.path_crossings(&path);
                crosses.extend(back.into_iter().flat_map(|path| plan.path_crossings(path)));
                let fails = crosses.iter().any(|at| broken.contains(at));
                let state = if fails { "broken" } else { "active" };
                lines.push(line(plan, src, dst, path.id.rank, state));
            }
        }
        for (nic, named) in cluster.node(src).nics.iter().enumerate() {
            let fails = broken.contains(&Crossing::Out(src, nic));
            status.states.push(StateLine {
                kind: "link".into(),
                object: named.name.clone(),
                up: !(dark && fails),
                since: Some(7),
                today: 3,
                why: String::new(),
            });
        }
        let nics = NeighbourList { node: None, nics: Vec::new() };
        let said = Some(Said { status, nics, paths: lines, broken: Vec::new() });
        Report { node: cluster.node(src).name.clone(), said }
    };
    (0..cluster.nodes.len()).map(report).collect()
}

fn line(plan: &Plan, src: NodeId, dst: NodeId, rank: u32, state: &str) -> PathLine {
    let name = |node| plan.cluster().node(node).name.clone();
    PathLine {
        src: name(src),
        dst: name(dst),
        rank,
        weight: 1,
        minimal: true,
        hops: 1,
        segments: Vec::new(),
        state: state.into(),
    }
}

fn part(plan: &Plan, name: &str) -> BTreeSet<Crossing> {
    let parts = FabricParts::of(plan.cluster(), plan.graph());
    parts.named(name).unwrap().wires().clone()
}

fn objects(found: &[Suspect]) -> Vec<(Kind, &str)> {
    found.iter().map(|suspect| (suspect.kind, suspect.object.as_str())).collect()
}

const TORUS: &str = "{ kind = \"torus\", dims = [3, 3] }";
const RING: &str = "{ kind = \"ring\", nodes = 5 }";

#[test]
fn nothing_is_suspected_where_all_is_well() {
    for topology in [TORUS, RING] {
        let plan = plan(topology);
        assert_eq!(suspects(&plan, &reports(&plan, &BTreeSet::new(), true)), []);
    }
}

/// Changes what node 0 says of itself, and returns what is suspected then.
fn suspected(change: impl FnOnce(&mut Status)) -> Vec<Suspect> {
    let plan = plan(RING);
    let mut all = reports(&plan, &BTreeSet::new(), true);
    change(&mut all[0].said.as_mut().unwrap().status);
    suspects(&plan, &all)
}

#[test]
fn what_a_node_refuses_is_told_once_with_the_remedy_that_it_gives() {
    let why = "NIC eth1 has MTU 1400, the plan needs 1500: raise it";
    let line = |op: &str, why: &str| OperationLine {
        op: op.into(),
        kind: "foreign".into(),
        object: "eth1".into(),
        why: why.into(),
    };
    let found = suspected(|status| {
        status.in_sync = false;
        status.drift = vec![line("refused", why)];
    });
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].seen, why);
    assert!(found[0].remedy.contains("`tresse doctor` on n0"), "{found:?}");
    // Objects of the plan that wait for their repair are nothing to remove.
    let found = suspected(|status| {
        status.in_sync = false;
        status.drift = vec![line("add", "10.77.0.2/32 is missing")];
    });
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].remedy.contains("by itself"), "{found:?}");
}

#[test]
fn sessions_that_never_came_up_vouch_for_nothing() {
    let found = suspected(|status| status.sessions_up = 0);
    assert_eq!(objects(&found), [(Kind::Node, "n0")]);
    assert!(found[0].seen.contains("1 of 1 sessions"), "{found:?}");
    assert_eq!(suspected(|status| (status.sessions_up, status.changing) = (0, true)), []);
}

#[test]
fn a_gateway_without_a_way_out_and_what_waits_are_told() {
    let gateway = GatewayLine {
        dst: "0.0.0.0/0".into(),
        node: "n3".into(),
        reached: true,
        shut: true,
        used: false,
    };
    let found = suspected(|status| status.gateways = vec![gateway]);
    assert_eq!(objects(&found), [(Kind::Node, "n3")]);
    assert!(found[0].seen.contains("no way out"), "{found:?}");
    let line = PendingLine { kind: "sysctl".into(), object: "x".into(), why: "no file".into() };
    let found = suspected(|status| status.pending = vec![line]);
    assert_eq!(objects(&found), [(Kind::Node, "n0")]);
    assert!(found[0].seen.contains("sysctl x waits"), "{found:?}");
}

#[test]
fn a_nic_that_is_set_down_or_absent_is_no_cable_to_replace() {
    for (why, word) in [(StateLine::SET_DOWN, "set down"), (StateLine::ABSENT, "no interface")] {
        let found = suspected(|status| {
            let link = &mut status.states[0];
            (link.up, link.why) = (false, why.into());
        });
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].kind == Kind::Cable && found[0].seen.contains(word), "{found:?}");
        assert!(!found[0].remedy.contains("replace"), "{found:?}");
    }
}

#[test]
fn every_silent_cable_between_switches_is_found_by_the_paths_over_it() {
    let plan = plan(TORUS);
    let parts = FabricParts::of(plan.cluster(), plan.graph());
    for (ends, crossings) in parts.cables().filter(|(_, at)| matches!(at[0], Crossing::Between(_)))
    {
        let all = suspects(&plan, &reports(&plan, &crossings.into(), false));
        let [a, b] = ends;
        let name = if a <= b { format!("{a}-{b}") } else { format!("{b}-{a}") };
        assert_eq!(objects(&all), [(Kind::Cable, name.as_str())]);
        assert!(all[0].pairs > 0 && all[0].seen.contains("though it has carrier"), "{all:?}");
    }
}

#[test]
fn a_dark_cable_is_named_by_both_ends_with_its_date() {
    let plan = plan(RING);
    let cable: BTreeSet<Crossing> =
        part(&plan, "n1:eth1").union(&part(&plan, "n2:eth0")).copied().collect();
    let all = suspects(&plan, &reports(&plan, &cable, true));
    assert_eq!(objects(&all), [(Kind::Cable, "n1:eth1-n2:eth0")]);
    assert_eq!((all[0].since, all[0].count, &*all[0].seen), (Some(7), 3, "no carrier"));
}

#[test]
fn a_dead_switch_is_one_suspect_and_not_each_of_its_cables() {
    let plan = plan("{ kind = \"torus\", dims = [3, 3], nodes_per_switch = 2 }");
    for dark in [true, false] {
        let all = suspects(&plan, &reports(&plan, &part(&plan, "s4"), dark));
        assert_eq!(objects(&all), [(Kind::Switch, "s4")], "{dark}");
    }
}

#[test]
fn two_faults_are_two_suspects() {
    let plan = plan(TORUS);
    let faults: BTreeSet<Crossing> =
        part(&plan, "s0-s1").union(&part(&plan, "s5-s8")).copied().collect();
    let all = suspects(&plan, &reports(&plan, &faults, false));
    assert_eq!(all.len(), 2, "{all:?}");
    assert!(all.iter().all(|suspect| suspect.kind == Kind::Cable));
    assert!(all[0].object.starts_with("s0:") && all[1].object.starts_with("s5:"), "{all:?}");
}

#[test]
fn a_node_that_does_not_answer_is_unknown_and_what_is_broken_to_it_is_its_own() {
    let plan = plan(TORUS);
    let mut reports = reports(&plan, &part(&plan, "n3"), false);
    reports[3].said = None;
    let all = suspects(&plan, &reports);
    assert_eq!(objects(&all), [(Kind::Node, "n3")]);
    assert!(all[0].seen.contains("unknown") && all[0].pairs >= 8, "{all:?}");
}

#[test]
fn a_node_that_does_not_answer_but_is_reached_does_not_hide_its_broken_cable() {
    let plan = plan(RING);
    let cable = part(&plan, "n2:eth1").union(&part(&plan, "n3:eth0")).copied().collect();
    let mut reports = reports(&plan, &cable, false);
    reports[3].said = None;
    let all = suspects(&plan, &reports);
    assert_eq!(objects(&all), [(Kind::Cable, "n2:eth1-n3:eth0"), (Kind::Node, "n3")]);
    assert!(all[1].seen.contains("paths to it work"), "{all:?}");
}

#[test]
fn a_node_with_another_plan_is_named_by_its_plan_and_its_paths_are_no_evidence() {
    let plan = plan(TORUS);
    let mut reports = reports(&plan, &BTreeSet::new(), false);
    if let Some(Said { status, paths, .. }) = &mut reports[2].said {
        status.generation = Some("0123456789abcdef".into());
        paths.iter_mut().for_each(|path| path.state = "broken".into());
    }
    let all = suspects(&plan, &reports);
    assert_eq!(objects(&all), [(Kind::Plan, "0123456789abcdef")]);
    assert!(all[0].seen.contains("n2") && all[0].remedy.contains("rollout"), "{all:?}");
}

#[test]
fn where_nodes_route_nobody_vouches_for_what_is_beyond_its_own_hops() {
    let ring = plan(RING);
    let mut reports = reports(&ring, &BTreeSet::new(), false);
    for (at, dst) in [(2, "n3"), (3, "n2")] {
        let src = NodeId::from(at);
        let there = ring.cluster().node_named(dst).unwrap();
        let paths = ring.paths(src, there);
        let hop = paths.iter().find(|path| path.segments.len() == 1).unwrap();
        let lines = &mut reports[at].said.as_mut().unwrap().paths;
        let line = lines.iter_mut().find(|line| line.dst == dst && line.rank == hop.id.rank);
        line.unwrap().state = "broken".into();
    }
    let all = suspects(&ring, &reports);
    assert_eq!(objects(&all), [(Kind::Cable, "n2:eth1-n3:eth0")]);
}

/// All but n0 are silent, and n0 has heard this.
fn heard(plan: &Plan, broken: &BTreeSet<Crossing>, kind: &str, object: &str) -> Vec<Suspect> {
    let mut reports = reports(plan, broken, false);
    reports.iter_mut().skip(1).for_each(|report| report.said = None);
    let line = BrokenLine { kind: kind.into(), object: object.into(), by: "n2".into(), since: 9 };
    reports[0].said.as_mut().unwrap().broken.push(line);
    let all = suspects(plan, &reports);
    all.into_iter().filter(|suspect| suspect.kind != Kind::Node).collect()
}

#[test]
fn what_is_heard_of_silent_nodes_names_their_cable() {
    let file = format!("[fabric]\ntopology = {RING}\n[routing]\npaths = 1\n");
    let ring = Plan::build(tresse_cluster::parse(&file, "t.toml").unwrap()).unwrap();
    // n0 itself sends nothing by it.
    let cable = part(&ring, "n2:eth1").union(&part(&ring, "n3:eth0")).copied().collect();
    let found = heard(&ring, &cable, "hop", "n2:eth1-n3:eth0");
    assert_eq!(objects(&found), [(Kind::Cable, "n2:eth1-n3:eth0")]);
    assert_eq!(
        (found[0].since, &*found[0].seen),
        (Some(9), "no packet crosses it, others have heard from n2")
    );
    assert_eq!(heard(&ring, &cable, "hop", "n9:eth1-n3:eth0"), [], "no hop of this plan");
    // Both paths of the pair are broken, so there are two faults.
    let torus = plan(TORUS);
    let found = heard(&torus, &BTreeSet::new(), "pair", "n2 -> n5");
    assert!(matches!(*objects(&found), [(Kind::Cable, _), (Kind::Cable, _)]), "{found:?}");
}
