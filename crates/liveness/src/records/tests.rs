//! Networks of nodes in virtual time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use proptest::prelude::*;

use super::*;

const FABRIC: [u8; 8] = [7; 8];
const DELAY: Duration = Duration::from_millis(2);

/// What happens to packets on their way.
#[derive(Debug, Clone, Copy, Default)]
struct Wires {
    /// Shares that are lost and that arrive twice.
    lost: f64,
    twice: f64,
    /// The longest additional delay, by which packets overtake others.
    jitter: Duration,
}

/// A packet on its way: when it arrives, its number, to, from.
type Flying = (Duration, u64, usize, usize, Vec<u8>);

struct Network {
    now: Duration,
    nodes: Vec<Records>,
    links: Vec<(usize, usize)>,
    cut: BTreeSet<(usize, usize)>,
    wires: Wires,
    random: Random,
    flying: BinaryHeap<Reverse<Flying>>,
    deadlines: BTreeSet<(Duration, usize)>,
    packets: u64,
    /// When each node learned the last thing that it learned of each other.
    learned: BTreeMap<(usize, Origin), Duration>,
}

fn origin(node: usize) -> Origin {
    Origin(1000 + node as u64)
}

impl Network {
    fn new(nodes: usize, links: Vec<(usize, usize)>, wires: Wires, seed: u64) -> Self {
        let records = |node| Records::new(FABRIC, origin(node), 1, seed ^ node as u64);
        let mut network = Self {
            now: Duration::from_secs(1),
            nodes: (0..nodes).map(records).collect(),
            links: links.clone(),
            cut: BTreeSet::new(),
            wires,
            random: Random::new(seed),
            flying: BinaryHeap::new(),
            deadlines: BTreeSet::new(),
            packets: 0,
            learned: BTreeMap::new(),
        };
        links.into_iter().for_each(|link| network.set(link, true));
        network
    }

    /// A link comes up or goes down at both ends.
    fn set(&mut self, (a, b): (usize, usize), is_up: bool) {
        match is_up {
            true => self.cut.remove(&(a, b)),
            false => self.cut.insert((a, b)),
        };
        for (node, other) in [(a, b), (b, a)] {
            self.nodes[node].set_neighbour(other as u32, is_up, self.now);
            self.serve(node);
        }
    }

    fn originate(&mut self, node: usize, fields: &[u8]) {
        self.nodes[node].originate(fields.into(), self.now).unwrap();
        self.serve(node);
    }

    /// Sends what a node has to send.
    fn serve(&mut self, node: usize) {
        let mut out = Vec::new();
        self.nodes[node].poll(self.now, &mut out);
        for (to, packet) in out {
            self.packets += 1;
            let to = to as usize;
            if self.random.fraction() < self.wires.lost {
                continue;
            }
            let copies = 1 + usize::from(self.random.fraction() < self.wires.twice);
            for _ in 0..copies {
                let at = self.now + DELAY + self.wires.jitter.mul_f64(self.random.fraction());
                let number = self.random.number();
                self.flying.push(Reverse((at, number, to, node, packet.clone())));
            }
        }
        for of in self.nodes[node].changed() {
            self.learned.insert((node, of), self.now);
        }
        if let Some(at) = self.nodes[node].deadline() {
            self.deadlines.insert((at, node));
        }
    }

    fn run_until(&mut self, end: Duration) {
        loop {
            let arrival = self.flying.peek().map(|Reverse((at, ..))| *at);
            let deadline = self.deadlines.first().map(|(at, _)| *at);
            let Some(at) = arrival.into_iter().chain(deadline).min().filter(|at| *at <= end) else {
                break;
            };
            self.now = self.now.max(at);
            if arrival == Some(at) {
                let Reverse((_, _, to, from, packet)) = self.flying.pop().unwrap();
                if !self.cut.contains(&(to, from)) && !self.cut.contains(&(from, to)) {
                    self.nodes[to].hear(from as u32, &packet, self.now).unwrap();
                    self.serve(to);
                }
            } else {
                let (_, node) = self.deadlines.pop_first().unwrap();
                self.serve(node);
            }
        }
        self.now = end;
    }

    fn run(&mut self, time: Duration) {
        self.run_until(self.now + time);
    }

    /// Do these nodes all say the same of all these origins, with this content?
    fn agrees(&self, nodes: &[usize], of: usize, fields: &[u8]) -> bool {
        let known = |node: &usize| self.nodes[*node].record(origin(of)).map(|it| &*it.fields);
        nodes.iter().all(|node| known(node) == Some(fields))
    }
}

fn field(text: &str) -> Vec<u8> {
    let mut fields = Vec::new();
    tresse_frame::records::push_field(&mut fields, 9, text.as_bytes());
    fields
}

fn ring(nodes: usize) -> Vec<(usize, usize)> {
    (0..nodes).map(|node| (node, (node + 1) % nodes)).collect()
}

fn torus(size: usize) -> Vec<(usize, usize)> {
    let mut links = Vec::new();
    for node in 0..size.pow(3) {
        for step in [1, size, size * size] {
            let place = node / step % size;
            links.push((node, node - place * step + (place + 1) % size * step));
        }
    }
    links
}

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_thousand_nodes_know_a_change_after_the_time_of_the_hops_to_them() {
    let mut network = Network::new(1000, torus(10), Wires::default(), 1);
    network.originate(0, &field("first"));
    network.run(SECOND);
    let (began, packets) = (network.now, network.packets);
    network.originate(0, &field("second"));
    network.run(SECOND);
    for node in 1..1000 {
        let steps = [1, 10, 100].map(|step| (node / step % 10).min(10 - node / step % 10));
        let hops: usize = steps.iter().sum();
        let took = network.learned[&(node, origin(0))] - began;
        assert_eq!(took, DELAY * hops as u32, "{node}");
    }
    // Once over each link in one direction or both, and an acknowledgement.
    assert!(network.packets - packets <= 2 * 3000, "{}", network.packets - packets);
}

#[test]
fn all_records_of_a_torus_arrive_everywhere_and_then_all_is_quiet() {
    let mut network = Network::new(64, torus(4), Wires::default(), 2);
    let all: Vec<usize> = (0..64).collect();
    for node in &all {
        network.originate(*node, &field(&node.to_string()));
    }
    network.run(SECOND);
    for node in &all {
        assert!(network.agrees(&all, *node, &field(&node.to_string())), "{node}");
    }
    let packets = network.packets;
    network.run(SECOND * 600);
    assert_eq!(network.packets, packets, "nothing is sent again");
    // Made anew before it is forgotten, for ever.
    network.run(SECOND * 10_000);
    for node in &all {
        assert!(network.agrees(&all, *node, &field(&node.to_string())), "{node}");
    }
}

#[test]
fn what_is_lost_comes_again() {
    let wires = Wires { lost: 0.3, twice: 0.1, jitter: DELAY * 10 };
    let mut network = Network::new(64, torus(4), wires, 3);
    let all: Vec<usize> = (0..64).collect();
    for round in 0..4 {
        for node in &all {
            network.originate(*node, &field(&format!("{node} {round}")));
        }
        network.run(SECOND * 10);
        for node in &all {
            assert!(network.agrees(&all, *node, &field(&format!("{node} {round}"))), "{node}");
        }
    }
}

#[test]
fn a_node_that_has_lost_its_epoch_is_heard_all_the_same() {
    let mut network = Network::new(6, ring(6), Wires::default(), 4);
    for round in 0..5 {
        network.originate(2, &field(&round.to_string()));
        network.run(SECOND);
    }
    for epoch in [0, 9] {
        for other in [1, 3] {
            network.set((2.min(other), 2.max(other)), false);
        }
        network.nodes[2] = Records::new(FABRIC, origin(2), epoch, 9);
        network.originate(2, &field(&format!("again {epoch}")));
        network.run(SECOND);
        for other in [1, 3] {
            network.set((2.min(other), 2.max(other)), true);
        }
        network.run(SECOND * 2);
        let all: Vec<usize> = (0..6).collect();
        assert!(network.agrees(&all, 2, &field(&format!("again {epoch}"))), "{epoch}");
    }
}

#[test]
fn parted_halves_that_meet_again_know_the_same() {
    let mut network = Network::new(8, ring(8), Wires::default(), 5);
    let all: Vec<usize> = (0..8).collect();
    for node in &all {
        network.originate(*node, &field("whole"));
    }
    network.run(SECOND);
    for link in [(0, 1), (4, 5)] {
        network.set(link, false);
    }
    network.originate(2, &field("parted"));
    network.originate(6, &field("parted"));
    network.run(SECOND);
    assert!(network.agrees(&[1, 2, 3, 4], 2, &field("parted")));
    assert!(network.agrees(&[0, 5, 6, 7], 2, &field("whole")));
    network.set((4, 5), true);
    let began = network.now;
    network.run(SECOND);
    for node in &all {
        let fields = if [2, 6].contains(node) { field("parted") } else { field("whole") };
        assert!(network.agrees(&all, *node, &fields), "{node}");
    }
    // Offer, request and record cross the link, and then each hop once.
    assert!(network.learned[&(0, origin(2))] - began <= DELAY * (3 + 3));
}

#[test]
fn records_that_are_not_made_anew_are_forgotten() {
    let mut network = Network::new(4, ring(4), Wires::default(), 6);
    network.originate(0, &field("here"));
    network.run(SECOND);
    for link in [(0, 1), (3, 0)] {
        network.set(link, false);
    }
    network.run(LIFETIME - SECOND * 5);
    assert!(network.nodes[2].record(origin(0)).is_some());
    network.nodes[2].changed();
    network.run(SECOND * 10);
    assert!((1..4).all(|node| network.nodes[node].record(origin(0)).is_none()));
    assert!(network.learned[&(2, origin(0))] > LIFETIME - SECOND * 10);
}

#[test]
fn who_makes_records_wildly_is_held_to_a_rate() {
    let mut network = Network::new(5, ring(5), Wires::default(), 7);
    let mut number = 0;
    let end = network.now + SECOND * 10;
    let before = network.packets;
    while network.now < end {
        // As a node of another making would.
        number += 1;
        let fields = field(&number.to_string());
        let digest = digest(&fields);
        let instance = Instance { epoch: 1, number, digest };
        let id = RecordId { origin: origin(0), instance };
        let mut packet = tresse_frame::records::Emitter::new(FABRIC);
        assert!(packet.push(&Item::Record { id, seconds: 3600, fields: &fields }));
        network.nodes[1].hear(0, &packet.finish(), network.now).unwrap();
        network.serve(1);
        network.run(Duration::from_millis(1));
    }
    assert!(network.nodes[1].held > 9000, "{}", network.nodes[1].held);
    // 16 and then ten a second, each over all links of the ring, with acknowledgements.
    let most = (16 + 10 * 10 + 1) * 2 * 5;
    assert!(network.packets - before <= most, "{}", network.packets - before);
    // An honest node holds itself to less.
    let mut network = Network::new(5, ring(5), Wires::default(), 8);
    for number in 0..1000 {
        network.originate(0, &field(&number.to_string()));
        network.run(Duration::from_millis(10));
    }
    network.run(SECOND);
    assert!(network.nodes.iter().all(|node| node.held == 0));
    assert!(network.agrees(&[0, 1, 2, 3, 4], 0, &field("999")));
}

/// A node that hears what another could send it.
fn heard(node: &mut Records, items: &[Item<'_>], now: Duration) -> Vec<(u32, Vec<u8>)> {
    let mut packet = tresse_frame::records::Emitter::new(FABRIC);
    assert!(items.iter().all(|item| packet.push(item)));
    node.hear(1, &packet.finish(), now).unwrap();
    let mut out = Vec::new();
    node.poll(now, &mut out);
    out
}

fn id(node: usize, epoch: u64, number: u32) -> RecordId {
    RecordId { origin: origin(node), instance: Instance { epoch, number, digest: 0 } }
}

/// A record with the right digest.
fn of(id: RecordId, seconds: u16, fields: &[u8]) -> Item<'_> {
    let digest = digest(fields);
    let id = RecordId { instance: Instance { digest, ..id.instance }, ..id };
    Item::Record { id, seconds, fields }
}

#[test]
fn what_no_node_can_have_made_is_acknowledged_and_has_no_effect() {
    let mut node = Records::new(FABRIC, origin(0), 1, 1);
    (1..3).for_each(|neighbour| node.set_neighbour(neighbour, true, SECOND));
    node.originate(field("own"), SECOND).unwrap();
    let good = field("good");
    let of = |id, seconds| of(id, seconds, &good);
    heard(&mut node, &[of(id(5, 1, 1), 3600)], SECOND);
    let forged = [
        of(id(5, 1, 2), 0),
        of(id(5, 1, 2), 60),
        of(id(5, u64::MAX, 1), 3600),
        of(id(0, u64::MAX, u32::MAX), 3600),
        Item::Record { id: id(5, 1, 2), seconds: 3600, fields: &good },
        Item::Offer(id(0, u64::MAX, u32::MAX - 1)),
        Item::Offer(id(6, u64::MAX, 7)),
    ];
    for item in forged {
        let out = heard(&mut node, &[item], SECOND);
        let bytes = &out.iter().find(|(to, _)| *to == 1).unwrap().1;
        let (_, items) = parse(bytes).unwrap();
        assert!(matches!(items[0], Item::Acknowledgement(_)), "{item:?}: {items:?}");
    }
    assert_eq!(node.record(origin(5)).map(|it| it.instance.number), Some(1));
    node.originate(field("own and new"), SECOND * 2).unwrap();
    heard(&mut node, &[], SECOND * 2);
    assert_eq!(node.record(origin(0)).map(|it| it.instance.number), Some(2));
}

#[test]
fn of_two_records_of_one_number_all_keep_the_same_and_their_node_replaces_the_other() {
    let (a, b) = (field("a"), field("b"));
    let of = |fields| of(id(5, 1, 1), 3600, fields);
    for order in [[&a, &b], [&b, &a]] {
        let mut node = Records::new(FABRIC, origin(0), 1, 1);
        node.set_neighbour(1, true, SECOND);
        order.into_iter().for_each(|fields| drop(heard(&mut node, &[of(fields)], SECOND)));
        let kept = [&a, &b].into_iter().max_by_key(|it| digest(it));
        assert_eq!(node.record(origin(5)).map(|it| it.fields.to_vec()).as_ref(), kept);
    }
    let mut own = Records::new(FABRIC, origin(5), 1, 1);
    own.set_neighbour(1, true, SECOND);
    own.originate(a.clone(), SECOND).unwrap();
    heard(&mut own, &[], SECOND);
    heard(&mut own, &[of(&b)], SECOND);
    let greater = digest(&b) > digest(&a);
    let number = if greater { 2 } else { 1 };
    assert_eq!(own.record(origin(5)).map(|it| it.instance.number), Some(number));
    assert_eq!(own.record(origin(5)).map(|it| it.fields.to_vec()), Some(a));
}

#[test]
fn offers_of_records_that_nobody_has_take_bounded_room() {
    let mut node = Records::new(FABRIC, origin(0), 1, 1);
    node.set_neighbour(1, true, SECOND);
    for number in 0..40_000 {
        let mut packet = tresse_frame::records::Emitter::new(FABRIC);
        assert!(packet.push(&Item::Offer(id(9, 1, number))));
        node.hear(1, &packet.finish(), SECOND).unwrap();
    }
    let (mut packets, mut now) = (0, SECOND);
    while let Some(at) = node.deadline() {
        now = now.max(at);
        let mut out = Vec::new();
        node.poll(now, &mut out);
        packets += out.len();
    }
    assert!(packets < 340, "{packets}");
}

#[test]
fn what_is_not_for_this_node_has_no_effect() {
    let mut records = Records::new(FABRIC, origin(0), 1, 1);
    let packet = tresse_frame::records::Emitter::new([1; 8]).finish();
    assert_eq!(records.hear(1, &packet, SECOND), Err(Refused::Fabric));
    let packet = tresse_frame::records::Emitter::new(FABRIC).finish();
    assert_eq!(records.hear(1, &packet, SECOND), Err(Refused::Stranger));
    records.set_neighbour(1, true, SECOND);
    assert_eq!(records.hear(1, &packet, SECOND), Ok(()));
    assert!(matches!(records.hear(1, &[1], SECOND), Err(Refused::Malformed(_))));
    assert_eq!(records.originate(vec![0; 1357], SECOND), Err(TooLong { found: 1357 }));
    assert_eq!(records.deadline(), None);
}

proptest! {
    /// Links and nodes come and go, wires lose, double and reorder: what is joined at last agrees.
    #[test]
    fn whoever_is_joined_at_last_agrees(
        seed in any::<u64>(),
        links in proptest::collection::btree_set((0..9usize, 0..9usize), 8..20),
        steps in proptest::collection::vec((0..4u8, 0..64usize, 0..3000u64), 1..40),
    ) {
        let links: Vec<_> = links.into_iter().filter(|(a, b)| a < b).collect();
        let wires = Wires { lost: 0.2, twice: 0.1, jitter: DELAY * 5 };
        let mut network = Network::new(9, links.clone(), wires, seed);
        let mut said = vec![None; 9];
        for (round, (step, which, ms)) in steps.into_iter().enumerate() {
            match step {
                0 | 1 if !links.is_empty() => network.set(links[which % links.len()], step == 1),
                2 => {
                    // It begins anew, with an epoch that is behind, or ahead.
                    let node = which % 9;
                    let of: Vec<_> = network.links.iter().copied()
                        .filter(|link| link.0 == node || link.1 == node).collect();
                    let up: Vec<_> =
                        of.into_iter().filter(|link| !network.cut.contains(link)).collect();
                    up.iter().for_each(|link| network.set(*link, false));
                    // Its sessions are up again only after what was on its way.
                    network.run(DELAY * 10);
                    let epoch = Random::new(seed ^ round as u64).number() >> 25;
                    network.nodes[node] = Records::new(FABRIC, origin(node), epoch, seed);
                    up.iter().for_each(|link| network.set(*link, true));
                    let fields = field(&format!("anew {round}"));
                    network.originate(node, &fields);
                    said[node] = Some(fields);
                }
                _ => {
                    let fields = field(&round.to_string());
                    network.originate(which % 9, &fields);
                    said[which % 9] = Some(fields);
                }
            }
            network.run(Duration::from_millis(ms));
        }
        network.run(SECOND * 60);
        let mut part: Vec<usize> = (0..9).collect();
        for _ in 0..9 {
            for link in network.links.iter().filter(|link| !network.cut.contains(link)) {
                let least = part[link.0].min(part[link.1]);
                (part[link.0], part[link.1]) = (least, least);
            }
        }
        for (node, fields) in said.iter().enumerate() {
            let Some(fields) = fields else { continue };
            let joined: Vec<usize> = (0..9).filter(|other| part[*other] == part[node]).collect();
            let known = |at: &usize| network.nodes[*at].record(origin(node)).cloned();
            let states: Vec<_> = joined.iter().map(known).collect();
            prop_assert!(
                network.agrees(&joined, node, fields),
                "{node} of {joined:?}: {states:?} are not {fields:?}"
            );
        }
        let packets = network.packets;
        network.run(SECOND * 60);
        prop_assert_eq!(network.packets, packets);
    }
}
