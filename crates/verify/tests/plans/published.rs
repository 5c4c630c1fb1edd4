//! Published networks that were planned badly once: a router network of Rocketfuel (Spring et al., SIGCOMM 2002), and four of
//! the Internet Topology Zoo (Knight et al., IEEE JSAC 2011). A line of the files is a cable: the numbers of two switches.

use std::collections::BTreeSet;

use tresse_base::id::{LinkId, SwitchId};
use tresse_plan::Plan;
use tresse_topology::Channel;
use tresse_verify as verify;

use super::shapes::{explicit, routing};

fn cables(text: &str) -> Vec<(u32, u32, &'static str)> {
    let cable = |line: &str| {
        let (a, b) = line.split_once(' ').unwrap();
        (a.parse().unwrap(), b.parse().unwrap(), "1G")
    };
    text.lines().map(cable).collect()
}

/// The first choice of a root led to 837 pairs on one cable, and s050 to 753.
#[test]
fn rocketfuel_6461_has_the_root_of_the_lowest_load() {
    let cables = cables(include_str!("rf6461.txt"));
    let load = |root: &str| {
        let routing = format!("{}\n{root}", routing("updown", 1));
        verify::check(&explicit(&[1; 138], &cables, &routing)).max_link_load
    };
    let [chosen, s50] = ["", "root = \"s50\""].map(load);
    assert!(chosen <= 700, "{chosen}");
    assert!(chosen as f64 <= 1.05 * s50 as f64, "{chosen}, and {s50} from s50");
}

/// Any path that `transit` takes is open to `minimal` too, which had 36 pairs on a cable of BtEurope and 137 on one of Cwix.
#[test]
fn minimal_loads_no_link_more_than_transit() {
    let networks = [(24, include_str!("bteurope.txt"), 35), (36, include_str!("cwix.txt"), 136)];
    for (switches, text, most) in networks {
        let load = |strategy| {
            let plan = explicit(&vec![1; switches], &cables(text), &routing(strategy, 1));
            verify::check(&plan).max_link_load
        };
        let [minimal, transit] = ["minimal", "transit"].map(load);
        assert!(minimal <= transit && minimal <= most, "{minimal}, and {transit} by transit");
    }
}

/// Iterated first fit needs three for the routes of Agis, and stopped at four.
#[test]
fn routes_of_agis_are_packed_into_three_trees() {
    let cables = cables(include_str!("agis.txt"));
    let report = verify::check(&explicit(&[1; 25], &cables, &routing("minimal", 1)));
    assert_eq!(report.vlans, 3);
}

/// Backups shared a switch with their primary for 364 pairs under `minimal` and 944 under `stp`.
#[test]
fn backups_on_xspedius_share_a_switch_only_where_they_must() {
    let cables = cables(include_str!("xspedius.txt"));
    for strategy in ["minimal", "stp"] {
        let plan = explicit(&[2; 34], &cables, &routing(strategy, 2));
        let (mut shared, mut forced) = (0, 0);
        for (s, d) in plan.pairs() {
            let walked: Vec<Vec<Channel>> =
                plan.paths(s, d).iter().map(|path| walked(&plan, path)).collect();
            let ends = [s, d].map(|node| plan.cluster().node(node).nics[0].switch);
            let [primary, backup] = &walked[..] else {
                // Each cable of the one path cuts the fabric.
                let other =
                    |c: &Channel| has_way(&plan, ends, |via| link(&plan, via) != link(&plan, *c));
                assert!(!walked[0].iter().any(other), "{s:?} {d:?} {strategy}: no backup");
                continue;
            };
            let own: BTreeSet<u32> = inner(&plan, primary);
            if inner(&plan, backup).is_disjoint(&own) {
                continue;
            }
            shared += 1;
            let other = |c| !own.contains(&plan.graph().head(c));
            forced += usize::from(!has_way(&plan, ends, other));
        }
        assert_eq!(shared, forced, "{strategy}");
    }
}

fn walked(plan: &Plan, path: &tresse_topology::path::Path) -> Vec<Channel> {
    let mut channels = Vec::new();
    path.segments.iter().for_each(|segment| plan.walk(segment, &mut channels));
    channels
}

/// The switches between the ends.
fn inner(plan: &Plan, channels: &[Channel]) -> BTreeSet<u32> {
    channels.iter().skip(1).map(|c| plan.graph().tail(*c)).collect()
}

fn link(plan: &Plan, channel: Channel) -> LinkId {
    plan.graph().link(channel)
}

/// Whether cables that may be taken join two switches.
fn has_way(plan: &Plan, [s, d]: [SwitchId; 2], may: impl Fn(Channel) -> bool) -> bool {
    let (mut seen, mut open) = (BTreeSet::from([s.0]), vec![s.0]);
    while let Some(u) = open.pop() {
        for c in plan.graph().out(u).filter(|c| may(*c)) {
            let v = plan.graph().head(c);
            if seen.insert(v) {
                open.push(v);
            }
        }
    }
    seen.contains(&d.0)
}
