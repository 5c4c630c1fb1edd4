//! Fabrics whose nodes route for each other.

use tresse_base::id::PathId;
use tresse_base::units::Prefix;
use tresse_reconcile::{METRIC_BACKUP, Nexthop, Wanted, WantedRoute};
use tresse_slice::watch::Watches;

use super::*;
use crate::gate::Gated;
use crate::healed::{Healed, HealedRoute};
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
    let (doubtful, healed) = Default::default();
    let gated = |prepared| Gated {
        prepared,
        gates: &gates,
        dead: &none,
        doubtful: &doubtful,
        free: &free,
        healed: &healed,
        out: &out,
    };
    let heard = Senders::new();
    let (of_old, heard) = (Some(gated(&old)), Some(&heard));
    let plans = Plans { new: gated(&new), old: of_old, heard, by_new_gateways: false };
    let target = target(&plans, &settings(true, 0), &seen(KernelModel::default().observed));
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

/// The primary route of the old plan is gone with its cable, and its backup carries: what the new plan has
/// instead waits for its peer all the same.
#[test]
fn a_destination_that_goes_by_its_backup_keeps_it_until_the_new_peer_is_heard() {
    let planned = |nodes, paths| {
        let shape = TopologyShape::Ring { nodes };
        let plan = Plan::build(Cluster::generated(shape, 1, 1, Strategy::Xy, paths)).unwrap();
        let mut prepared = Prepared::new(&plan, NodeId(3), String::new(), None);
        prepared.watches = Watches::new(&plan, NodeId(3)).into();
        prepared
    };
    let old = planned(4, 2);
    // The cable to node 0, which ends at node 4 in the new plans.
    let nearest = old.watches.paths().iter().find(|watch| watch.id.dst == NodeId(0)).unwrap();
    let nic = &nearest.nexthop.interface;
    let moved = old.watches.paths().iter().filter(|watch| watch.nexthop.interface == *nic);
    let broken: BTreeSet<PathId> = moved.map(|watch| watch.id).collect();
    let is_behind = |route: &&WantedRoute| route.nexthops.iter().any(|hop| hop.interface == *nic);
    let (gates, none, free, out) =
        (BTreeMap::new(), BTreeSet::new(), KeptFree::default(), BTreeSet::new());
    let (doubtful, healed) = Default::default();
    for new in [planned(5, 2), planned(5, 1)] {
        let gated = |prepared, dead| Gated {
            prepared,
            gates: &gates,
            dead,
            doubtful: &doubtful,
            free: &free,
            healed: &healed,
            out: &out,
        };
        let heard = Senders::new();
        let plans = Plans {
            new: gated(&new, &none),
            old: Some(gated(&old, &broken)),
            heard: Some(&heard),
            by_new_gateways: false,
        };
        let of = |plans: &Plans<'_>| {
            target(plans, &settings(true, 0), &seen(KernelModel::default().observed))
        };
        // Where nothing says so but the carrier, the kernel takes the backup by itself.
        let dark = BTreeSet::from([nic.as_str()]);
        let old_dark = Gated { out: &dark, ..gated(&old, &none) };
        let in_the_dark = of(&Plans { old: Some(old_dark), ..plans });
        let target = of(&plans);
        let (routes, before) = (&target.wanted.routes, &old.wanted.routes);
        let behind = before.iter().filter(|((destination, metric), route)| {
            let backup = before.contains_key(&(*destination, METRIC_BACKUP));
            *metric == METRIC_PRIMARY && is_behind(route) && backup
        });
        let behind: Vec<Prefix> = behind.map(|((destination, _), _)| *destination).collect();
        assert!(!behind.is_empty());
        for destination in behind {
            let [primary, backup] = [METRIC_PRIMARY, METRIC_BACKUP].map(|it| (destination, it));
            assert_eq!(routes.get(&primary), None, "{destination}");
            assert_eq!(routes.get(&backup), before.get(&backup), "{destination}");
            let dark = in_the_dark.wanted.routes.get(&backup);
            assert_eq!(dark, before.get(&backup), "{destination}");
        }
    }
}

/// The cable was drained and moved, so the new plan, too, goes by its backup there, which waits for its peer.
#[test]
fn a_route_round_a_moved_cable_stays_until_the_peer_of_the_new_backup_is_heard() {
    let planned = |nodes| {
        let shape = TopologyShape::Ring { nodes };
        let plan = Plan::build(Cluster::generated(shape, 1, 1, Strategy::Xy, 2)).unwrap();
        let mut prepared = Prepared::new(&plan, NodeId(3), String::new(), None);
        prepared.watches = Watches::new(&plan, NodeId(3)).into();
        prepared
    };
    let (old, new) = (planned(4), planned(5));
    let nearest = old.watches.paths().iter().find(|watch| watch.id.dst == NodeId(0)).unwrap();
    let nic = nearest.nexthop.interface.clone();
    let by_nic = |plan: &Prepared| -> BTreeSet<PathId> {
        let moved = plan.watches.paths().iter().filter(|watch| watch.nexthop.interface == nic);
        moved.map(|watch| watch.id).collect()
    };
    let (old_dead, dead) = (by_nic(&old), by_nic(&new));
    let round = |key: &(Prefix, u32), route: &WantedRoute| {
        let nexthop = route.nexthops.first().cloned();
        (key.1 == METRIC_BACKUP && nexthop.as_ref().is_some_and(|hop| hop.interface != nic))
            .then_some((key.0, HealedRoute { nexthop, other: None, mtu: None }))
    };
    let routes = old.wanted.routes.iter().filter_map(|(key, route)| round(key, route)).collect();
    let old_healed = Healed { routes, ..Healed::default() };
    let (gates, free, out) = (BTreeMap::new(), KeptFree::default(), BTreeSet::new());
    let (doubtful, healed) = Default::default();
    let gated = |prepared, dead, healed| Gated {
        prepared,
        gates: &gates,
        dead,
        doubtful: &doubtful,
        free: &free,
        healed,
        out: &out,
    };
    let nobody = Senders::new();
    let plans = Plans {
        new: gated(&new, &dead, &healed),
        old: Some(gated(&old, &old_dead, &old_healed)),
        heard: Some(&nobody),
        by_new_gateways: false,
    };
    let target = target(&plans, &settings(true, 0), &seen(KernelModel::default().observed));
    assert!(!old_healed.routes.is_empty());
    for (destination, kept) in &old_healed.routes {
        let route = target.wanted.routes.get(&(*destination, METRIC_PRIMARY));
        let nexthops = route.map(|route| &route.nexthops[..]);
        assert_eq!(nexthops, kept.nexthop.as_ref().map(std::slice::from_ref), "{destination}");
    }
}
