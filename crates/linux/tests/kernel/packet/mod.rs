//! The `packet` forwarding engine between two cables: frames go into the far ends and are looked for
//! there.

mod bad;
mod load;
mod merge;
mod pair;
mod ports;
pub mod tap;

use libtest_mimic::Trial;
use pnet::packet::ethernet::EtherTypes;
use tresse_namespace::trial;

use self::pair::{ACROSS, BACK, UNTAGGED, engine};
use self::tap::{Sent, Tap, own, peer};
use crate::cables::cables;

pub fn trials() -> Vec<Trial> {
    vec![
        trial("packet_pops_across_nics_and_back_out_of_the_same", &[], pops),
        trial("packet_passes_checksums_on_that_are_left_to_the_nic", &[], checksums),
        trial("packet_sends_segments_of_a_flow_as_one_frame", &[], merge::merged),
        trial("packet_counts_every_bad_frame_and_forwards_none", &[], bad::counted),
        trial("packet_swaps_tables_under_load_without_loss", &[], load::swaps),
        trial("packet_port_that_blocks_holds_up_no_other", &[], ports::blocked),
        trial("packet_burst_into_a_slow_port_waits_and_loses_nothing", &[], ports::spilled),
        trial("packet_port_that_stands_still_holds_no_more_than_its_share", &[], ports::shared),
        trial("packet_frames_that_wait_too_long_are_dropped", &[], ports::waited),
        trial("packet_survives_a_nic_that_goes_and_comes_back", &[], ports::gone),
        trial("packet_refuses_with_the_name_of_the_nic", &[], ports::refused),
    ]
}

fn pops() {
    cables(2);
    let engine = engine();
    let (mut far0, mut far1) = (Tap::open("far0"), Tap::open("far1"));
    for vid in [Some(100), None] {
        for (sequence, label) in (0..).zip([ACROSS, BACK, UNTAGGED]) {
            let sent = Sent { vid, labels: &[label], ..Sent::new(own(0), sequence) };
            far0.send(&[sent.frame()]);
        }
        let back = far0.expect(1);
        assert_eq!((back[0].vid, back[0].to, back[0].from), (Some(101), peer(22), own(0)));
        assert_eq!((back[0].ethertype, back[0].ttl, back[0].sequence), (EtherTypes::Ipv4.0, 63, 1));
        let across = far1.expect(2);
        assert_eq!((across[0].vid, across[0].to, across[0].from), (Some(102), peer(21), own(1)));
        assert_eq!((across[1].vid, across[1].to, across[1].sequence), (None, peer(23), 2));
        assert!(across.iter().chain(&back).all(|seen| seen.is_sound()), "{across:?} {back:?}");
    }
    let sent = Sent { labels: &[ACROSS, 900_000], ..Sent::new(own(0), 7) };
    far0.send(&[sent.frame()]);
    assert_eq!(far1.expect(1)[0].ethertype, EtherTypes::Mpls.0, "a label is left");
    far0.expect(0);
    let counters = engine.counters();
    assert_eq!(counters.ports[0].received.frames, 7);
    assert_eq!((counters.ports[0].sent.frames, counters.ports[1].sent.frames), (2, 5));
    let popped: Vec<_> = counters.labels.iter().map(|l| (l.label.0, l.popped.frames)).collect();
    assert_eq!(popped, [(ACROSS, 3), (BACK, 2), (UNTAGGED, 2)]);
    assert!(counters.ports.iter().all(|p| p.running && p.dropped.is_empty()), "{counters:?}");
}

/// What a kernel leaves to the NIC, and a veth to nobody.
fn checksums() {
    cables(2);
    let engine = engine();
    let (far0, mut far1) = (Tap::open("far0"), Tap::open("far1"));
    for (label, rest) in [(ACROSS, &[][..]), (UNTAGGED, &[]), (ACROSS, &[900_000])] {
        for length in [40, 1400] {
            let labels = [&[label], rest].concat();
            let sent = Sent { labels: &labels, vid: Some(100), length, ..Sent::new(own(0), 1) };
            far0.send(&[sent.with_checksum_left()]);
            let seen = far1.expect(1);
            assert!(seen[0].has_right_udp_checksum(), "{labels:?} {length} {seen:?}");
        }
    }
    drop(engine);
}
