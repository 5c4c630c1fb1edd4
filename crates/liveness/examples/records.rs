//! Times what a node does with a record that is new to it, in microseconds: reads its packet, keeps it, and makes the
//! packets for its other five neighbours and the acknowledgement, as on a torus of 1,000 nodes in three dimensions with
//! two paths a pair, whose records it has all.
//!
//! `cargo run --release --package tresse-liveness --example records`. Prints the fastest and the median of 41 rounds.
#![expect(clippy::disallowed_methods, reason = "an example measures time; the crate does not")]

use std::time::{Duration, Instant};

use tresse_frame::records::{Emitter, Instance, Item, Origin, RecordId, digest};
use tresse_liveness::records::{PathState, Records, Report};

const FABRIC: [u8; 8] = [7; 8];
const NODES: u64 = 1000;
const NEIGHBOURS: u32 = 6;
const ROUNDS: usize = 41;
const TIMES: u32 = 1000;

fn main() {
    let paths = vec![PathState::Sound; 2 * (NODES as usize - 1)];
    let mut report = Report { generation: [8; 8], ranks: 2, paths, ..Report::default() };
    let mut node = Records::new(FABRIC, Origin(0), 1, 1);
    let mut now = Duration::from_secs(1);
    (0..NEIGHBOURS).for_each(|neighbour| node.set_neighbour(neighbour, true, now));
    let mut out = Vec::new();
    for origin in 1..NODES {
        hear(&mut node, origin, 1, &report.emit(), now, &mut out);
    }
    let mut number = 1;
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let mut spent = Duration::ZERO;
        for _ in 0..TIMES {
            number += 1;
            // As if all neighbours had acknowledged; records come at the rate of one node.
            (0..NEIGHBOURS)
                .for_each(|neighbour| acknowledge(&mut node, neighbour, number - 1, now));
            now += Duration::from_millis(200);
            report.paths.rotate_left(1);
            report.paths[0] = PathState::Broken;
            let fields = report.emit();
            spent += hear(&mut node, 1, number, &fields, now, &mut out);
            assert_eq!(out.len(), NEIGHBOURS as usize);
        }
        rounds.push(spent / TIMES);
    }
    assert_eq!(node.held, 0);
    rounds.sort_unstable();
    let us = |time: Duration| time.as_secs_f64() * 1e6;
    println!("a new record: {:.1} us, median {:.1} us", us(rounds[0]), us(rounds[ROUNDS / 2]));
}

/// The first neighbour sends a record. Returns how long that takes until all that follows is made.
fn hear(
    node: &mut Records,
    origin: u64,
    number: u32,
    fields: &[u8],
    now: Duration,
    out: &mut Vec<(u32, Vec<u8>)>,
) -> Duration {
    let mut id = id(origin, number);
    id.instance.digest = digest(fields);
    let item = Item::Record { id, seconds: 3600, fields };
    let packet = packet(&item);
    out.clear();
    let began = Instant::now();
    node.hear(0, &packet, now).expect("it is a packet of this fabric");
    node.poll(now, out);
    let spent = began.elapsed();
    if number == 1 {
        (0..NEIGHBOURS).for_each(|neighbour| {
            let _ = node.hear(
                neighbour,
                &self::packet(&Item::Acknowledgement(self::id(origin, 1))),
                now,
            );
        });
    }
    spent
}

fn acknowledge(node: &mut Records, neighbour: u32, number: u32, now: Duration) {
    let _ = node.hear(neighbour, &packet(&Item::Acknowledgement(id(1, number))), now);
}

fn id(origin: u64, number: u32) -> RecordId {
    RecordId { origin: Origin(origin), instance: Instance { epoch: 1, number, digest: u32::MAX } }
}

fn packet(item: &Item<'_>) -> Vec<u8> {
    let mut packet = Emitter::new(FABRIC);
    assert!(packet.push(item));
    packet.finish()
}
