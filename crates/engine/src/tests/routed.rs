//! Fabrics whose nodes route for each other.

use tresse_base::units::Prefix;
use tresse_reconcile::{Nexthop, Wanted};

use super::*;
use crate::gate::Gated;
use crate::target::{Plans, target};
use crate::transition::Senders;

fn ring(nodes: u32) -> Prepared {
    let cluster = Cluster::generated(TopologyShape::Ring { nodes }, 1, 1, Strategy::Xy, 2);
    let plan = Plan::build(cluster).unwrap();
    Prepared::new(&plan, NodeId(1), String::new(), None)
}

/// What the tables by arriving NIC have for a destination.
fn tables(wanted: &Wanted, destination: Prefix) -> Vec<(&str, &Nexthop)> {
    let of = wanted.xy.tables.iter().filter(|((_, to), _)| *to == destination);
    of.map(|((interface, _), nexthop)| (interface.as_str(), nexthop)).collect()
}

/// Else a packet that the old plan sends here by its backup path is sent back.
#[test]
fn tables_by_arriving_nic_follow_the_plan_that_each_destination_goes_by() {
    let (old, new) = (ring(4), ring(5));
    let (gates, none, free, out) =
        (BTreeMap::new(), BTreeSet::new(), KeptFree::default(), BTreeSet::new());
    let doubtful = Default::default();
    let gated = |prepared| Gated {
        prepared,
        gates: &gates,
        dead: &none,
        doubtful: &doubtful,
        free: &free,
        out: &out,
    };
    let heard = Senders::new();
    let plans = Plans { new: gated(&new), old: Some(gated(&old)), heard: Some(&heard) };
    let target = target(&plans, ENGINES, &KernelModel::default().observed);
    // Destinations that wait for their peers and have other tables in the new plan.
    let mut differ = 0;
    for ((destination, metric), route) in &target.wanted.routes {
        if *metric != METRIC_PRIMARY {
            continue;
        }
        let key = (*destination, *metric);
        let (before, after) = (old.wanted.routes.get(&key), new.wanted.routes.get(&key));
        if before != after && before == Some(route) {
            let kept = tables(&old.wanted, *destination);
            assert_eq!(tables(&target.wanted, *destination), kept);
            differ += usize::from(kept != tables(&new.wanted, *destination));
        } else {
            assert_eq!(tables(&target.wanted, *destination), tables(&new.wanted, *destination));
        }
    }
    assert!(differ > 0);
}
