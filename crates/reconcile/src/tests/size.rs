//! Nothing quadratic: a node with 100,000 routes and 10,000 neighbours.

use std::net::Ipv4Addr;
use std::time::Instant;

use tresse_base::units::Prefix;

use super::scene::*;
use crate::model::KernelModel;
use crate::{Nexthop, Saved, WantedNeighbour, WantedRoute, reconcile};

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the planner has no clock, but its tests may measure"
)]
fn a_large_node_in_sync_is_quick() {
    let mut wanted = base(&[(0, 100), (1, 101)], false);
    for n in 0..10_000u32 {
        let via = Ipv4Addr::from(0x0a4e_0000 + n);
        let key = (if n % 2 == 0 { "eth0.100" } else { "eth1.101" }.to_owned(), via.into());
        wanted.neighbours.insert(key, WantedNeighbour { mac: mac(2, 0) });
    }
    for n in 0..100_000u32 {
        let interface = if n % 2 == 0 { "eth0.100" } else { "eth1.101" }.to_owned();
        let via = Ipv4Addr::from(0x0a4e_0000 + n % 10_000).into();
        let nexthops = vec![Nexthop { interface, via, labels: vec![], weight: 1 }];
        let route = WantedRoute { src: node_address(1, false), mtu: 1500, advmss: 1460, nexthops };
        let dst = Prefix::host(Ipv4Addr::from(0x0b00_0000 + n).into());
        wanted.routes.insert((dst, 7800), route);
    }
    let (mut model, saved): (KernelModel, _) = (node(), Saved::default());
    let outcome = reconcile(&wanted, &model.observed, &saved);
    assert!(outcome.operations.len() > 130_000);
    execute(&mut model, &outcome.operations);
    let started = Instant::now();
    let outcome = reconcile(&wanted, &model.observed, &saved);
    let took = started.elapsed();
    assert!(outcome.operations.is_empty() && outcome.pending.is_empty());
    let limit = if cfg!(debug_assertions) { 3_000 } else { 100 };
    println!("100,000 routes in sync: {took:?}");
    assert!(took.as_millis() < limit, "{took:?}");
}
