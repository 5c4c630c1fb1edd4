//! How soon a change of plans asks for peers, and when it reports whom it waits for.

use tresse_frame::announce::AnnouncementKind;

use super::Host;
use super::canary::hear_all;
use super::transactions::in_a_ring;

/// A node of a ring that has just changed from two paths to one.
fn changed() -> Host {
    let mut host = Host::new(true);
    host.apply(&in_a_ring(2)).unwrap().unwrap();
    host.settle();
    host.apply(&in_a_ring(1)).unwrap().unwrap();
    (host.published, host.announced) = Default::default();
    host
}

#[test]
fn a_peer_that_was_not_heard_is_asked_for_at_once_and_then_once_a_second() {
    let mut host = changed();
    let began = host.now;
    let asked = |host: &mut Host, until| {
        host.run_until(began + until);
        let canary = |(_, sent): &&(String, _)| is_canary(sent);
        let asked = host.announced.iter().filter(canary).count();
        host.announced.clear();
        asked
    };
    assert_eq!(asked(&mut host, 240), 0);
    assert_eq!(asked(&mut host, 380), 2, "one on each cable");
    assert_eq!(asked(&mut host, 1200), 0);
    assert_eq!(asked(&mut host, 1900), 2);
}

fn is_canary(sent: &tresse_frame::announce::Announcement) -> bool {
    sent.kind == AnnouncementKind::Canary
}

#[test]
fn who_still_sends_by_the_plan_before_is_reported_two_seconds_after_this_node_moved() {
    let mut host = changed();
    let began = host.now;
    let (old, new) = (in_a_ring(2), in_a_ring(1));
    host.run_until(began + 3000);
    host.published.clear();
    hear_all(&mut host, &new, &old);
    let held = |host: &Host| {
        let still = |(_, words): &&(String, String)| words.contains("sends by the plan before,");
        host.published.iter().filter(still).count()
    };
    host.run_until(host.now + 1500);
    assert!(host.published.iter().any(|(kind, _)| kind == "moved"), "{:?}", host.published);
    assert_eq!(held(&host), 0, "{:?}", host.published);
    host.run_until(host.now + 1500);
    assert_eq!(held(&host), 2, "{:?}", host.published);
}
