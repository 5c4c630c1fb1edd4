//! When a change of plans reports whom it waits for.

use super::Host;
use super::canary::hear_all;
use super::transactions::in_a_ring;

/// A node of a ring that has just changed from two paths to one.
fn changed() -> Host {
    let mut host = Host::new(true);
    host.apply(&in_a_ring(2)).unwrap().unwrap();
    host.settle();
    host.apply(&in_a_ring(1)).unwrap().unwrap();
    host.published.clear();
    host
}

#[test]
fn who_still_sends_by_the_plan_before_is_reported_two_seconds_after_this_node_moved() {
    let mut host = changed();
    let began = host.now;
    let (old, new) = (in_a_ring(2), in_a_ring(1));
    host.run_until(began + 3000);
    host.published.clear();
    hear_all(&mut host, &new, &old);
    let kinds =
        |host: &Host| host.published.iter().map(|(kind, _)| kind.clone()).collect::<Vec<_>>();
    host.run_until(host.now + 1500);
    assert_eq!(kinds(&host), ["moved"], "{:?}", host.published);
    host.run_until(host.now + 1500);
    assert_eq!(kinds(&host), ["moved", "waiting", "waiting"], "{:?}", host.published);
}
