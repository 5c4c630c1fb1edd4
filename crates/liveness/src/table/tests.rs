use std::sync::Arc;

use tresse_base::id::{Label, NodeId};
use tresse_base::units::Mac;

use super::*;

mod again;
mod arrived;

const TIMING: Timing = Timing { interval: Duration::from_millis(100), multiplier: 3 };
const LABEL: Label = Label(16);
const NONE: [Vec<u32>; 2] = [Vec::new(), Vec::new()];

/// A packet that a dead daemon has not read: to whom, when it came, interface, port, TTL, whether it is multi-hop.
type Waiting = (usize, Duration, u32, u16, u8, bool, [u8; 24]);

/// Two nodes and two paths between them: rank 0 by `a`, ifindex 1, and rank 1 by `b`, ifindex 2, through a
/// node in transit.
struct Pair {
    now: Duration,
    tables: [SessionTable; 2],
    /// Directions that lose everything: (from, ifindex).
    cut: BTreeSet<(usize, u32)>,
    /// Nodes whose daemon does nothing; their kernels answer echoes.
    dead: BTreeSet<usize>,
    /// Nodes that are kept waiting as a whole; nothing reaches them.
    stopped: BTreeSet<usize>,
    /// What the sockets of dead daemons hold: to, when it arrived, by which interface, TTL, several hops, payload.
    queue: Vec<Waiting>,
    /// The node at which all comes in by interface 1.
    gathers: Option<usize>,
    /// Interfaces by which the paths of each node leave, by rank.
    ways: [Vec<String>; 2],
    seen: [PathEvent; 2],
}

fn address(node: usize) -> IpAddr {
    [10, 0, 0, node as u8].into()
}

/// The path from a node to the other.
fn id(node: usize, rank: u32) -> PathId {
    PathId { src: NodeId::from(node), dst: NodeId::from(1 - node), rank }
}

/// Of the plan with this number.
fn watching(node: usize, plan: u8) -> Watching {
    let other = 1 - node;
    let path = |rank: u32, name: &str, labels: &[Label]| WatchedPath {
        id: id(node, rank),
        source: address(node),
        destination: address(other),
        interface: name.into(),
        mac: Mac([other as u8; 6]),
        labels: labels.into(),
        arrival: Some(name.into()),
        shared: false,
        transits: rank as u8,
        // One end asks for sessions, the other answers.
        active: node == 0,
        nodes: None,
    };
    let interface = |ifindex| SendingInterface { ifindex, mac: Mac([node as u8; 6]) };
    Watching {
        senders: Arc::default(),
        generation: [plan; 8],
        paths: Arc::new(vec![path(0, "a", &[]), path(1, "b", &[LABEL])]),
        broken: BTreeSet::new(),
        probed: BTreeSet::new(),
        interfaces: [("a".into(), interface(1)), ("b".into(), interface(2))].into(),
    }
}

impl Pair {
    fn new() -> Self {
        let mut pair = Self {
            now: Duration::ZERO,
            tables: [SessionTable::new(TIMING, 1), SessionTable::new(TIMING, 2)],
            cut: BTreeSet::new(),
            dead: BTreeSet::new(),
            stopped: BTreeSet::new(),
            queue: Vec::new(),
            gathers: None,
            ways: Default::default(),
            seen: [PathEvent::default(), PathEvent::default()],
        };
        pair.set(0, watching(0, 1));
        pair.set(1, watching(1, 1));
        pair
    }

    /// With an end at which both paths of the other come in by one interface.
    fn gathered() -> Self {
        let mut pair = Self { gathers: Some(1), ..Self::new() };
        pair.set(1, gathered(2));
        pair.set(0, watching(0, 2));
        pair
    }

    /// With paths that leave by one interface and come in by the other.
    fn crossed() -> Self {
        let mut pair = Self::new();
        for node in [0, 1] {
            pair.set(node, crossed(node, 2));
        }
        pair
    }

    fn set(&mut self, node: usize, watching: Watching) {
        self.ways[node] = watching.paths.iter().map(|path| path.interface.clone()).collect();
        let mut out = Vec::new();
        self.tables[node].set(watching, self.now, &mut out);
        self.deliver(node, out);
    }

    /// Ifindex of the path that a node's routes lead along.
    fn route(&self, node: usize) -> u32 {
        let PathEvent { down, held, .. } = &self.seen[node];
        let whole = [0, 1].into_iter().find(|rank| !down.contains(&id(node, *rank)));
        let held = || [0, 1].into_iter().find(|rank| held.contains(&id(node, *rank)));
        let interface = &self.ways[node][whole.or_else(held).unwrap_or(0) as usize];
        if interface == "a" { 1 } else { 2 }
    }

    /// A millisecond at a time.
    fn run(&mut self, ms: u64) {
        for _ in 0..ms {
            self.now += Duration::from_millis(1);
            for node in [0, 1] {
                if self.dead.contains(&node) {
                    continue;
                }
                let mut out = Vec::new();
                self.tables[node].wake(self.now);
                self.tables[node].poll(self.now, &mut out);
                self.deliver(node, out);
                if let Some(event) = self.tables[node].news(self.now) {
                    self.seen[node] = event;
                }
            }
        }
    }

    fn deliver(&mut self, from: usize, out: Vec<Sending>) {
        let to = 1 - from;
        for sending in out {
            let Sending::Planned(way, content) = sending else { panic!("{sending:?}") };
            let ifindex = way.ifindex;
            if self.cut.contains(&(from, ifindex)) {
                continue;
            }
            let labelled = !way.labels.is_empty();
            assert!(!labelled || ifindex == 2);
            assert_eq!((way.source, way.destination), (address(from), address(to)));
            let (ports, packet) = match content {
                PacketContent::Control { ports, packet } => (ports, packet),
                PacketContent::Echo(echo) => {
                    // The kernel of the other end answers by the path that its routes lead along.
                    if !self.stopped.contains(&to) && !self.cut.contains(&(to, self.route(to))) {
                        self.tables[from].answered(echo, self.now).unwrap();
                    }
                    continue;
                }
            };
            let (ttl, multi_hop) = (if labelled { 254 } else { 255 }, ports.1 == MULTI_HOP_PORT);
            let ifindex = if self.gathers == Some(to) { 1 } else { ifindex };
            let port = ports.0;
            if self.dead.contains(&to) {
                self.queue.push((to, self.now, ifindex, port, ttl, multi_hop, packet.emit()));
                continue;
            }
            let (source, payload) = (address(from), &packet.emit());
            let destination = address(to);
            let datagram =
                Datagram { ifindex, source, destination, from: port, ttl, multi_hop, payload };
            let mut back = Vec::new();
            let taken = self.tables[to].hear(&datagram, self.now, &mut back);
            // One that is held down, or has just begun, has no use for it.
            assert!(matches!(taken, Ok(()) | Err(Dropped::Unknown)), "{taken:?}");
            self.deliver(to, back);
        }
    }

    /// A dead daemon goes on, and reads first what its sockets hold.
    fn resume(&mut self, node: usize) {
        self.dead.remove(&node);
        self.tables[node].wake(self.now);
        for (to, at, ifindex, from, ttl, multi_hop, payload) in std::mem::take(&mut self.queue) {
            assert_eq!(to, node);
            let source = address(1 - node);
            let (destination, payload) = (address(node), &payload[..]);
            let datagram = Datagram { ifindex, source, destination, from, ttl, multi_hop, payload };
            let mut back = Vec::new();
            let _ = self.tables[node].hear(&datagram, at, &mut back);
            self.deliver(node, back);
        }
    }

    /// Ranks of the paths that are broken, at each end.
    fn down(&self) -> [Vec<u32>; 2] {
        [0, 1].map(|node| self.seen[node].down.iter().map(|path| path.rank).collect())
    }

    fn all_up(&self) {
        for (node, event) in self.seen.iter().enumerate() {
            assert_eq!(event.up, BTreeSet::from([id(node, 0), id(node, 1)]), "{event:?}");
            assert_eq!(event.sessions.len(), 2);
            assert!(event.sessions.iter().all(|session| session.state == SessionState::Up));
        }
    }
}

#[test]
fn one_end_begins_and_the_other_answers() {
    let mut pair = Pair::new();
    pair.run(3000);
    pair.all_up();
    assert_eq!(pair.down(), NONE);
}

#[test]
fn a_path_that_loses_everything_is_broken_within_the_detection_time_at_both_ends() {
    let mut pair = Pair::new();
    pair.run(3000);
    pair.cut = [(0, 2), (1, 2)].into();
    pair.run(301);
    assert_eq!(pair.down(), [vec![1], vec![1]]);
    pair.cut.clear();
    pair.run(2000);
    assert_eq!(pair.down(), [vec![1], vec![1]], "it is up, and on trial");
    pair.run(2500);
    assert_eq!(pair.down(), NONE);
    pair.all_up();
}

#[test]
fn a_one_way_fault_is_broken_at_both_ends_at_once() {
    for cut in [(0, 1), (1, 1), (0, 2), (1, 2)] {
        let mut pair = Pair::new();
        pair.run(3000);
        pair.cut = [cut].into();
        let rank = cut.1 - 1;
        pair.run(302);
        // Whoever sends into the fault must know; who hears nothing may find that its own way is sound.
        assert!(pair.seen[cut.0].down.contains(&id(cut.0, rank)), "{cut:?} {:?}", pair.seen);
        assert!(!pair.seen[cut.0].down.contains(&id(cut.0, 1 - rank)), "{cut:?}");
    }
}

#[test]
fn a_daemon_that_died_leaves_its_paths_in_use_and_begins_anew() {
    let mut pair = Pair::new();
    pair.run(3000);
    pair.dead = [1].into();
    pair.run(5000);
    assert_eq!(pair.down(), NONE);
    assert_eq!(pair.seen[0].up, BTreeSet::from([id(0, 0), id(0, 1)]), "their echoes are answered");
    // Its paths fail while it is dead.
    pair.cut = [(0, 2), (1, 2)].into();
    pair.run(401);
    assert_eq!(pair.down()[0], [1]);
    pair.cut.clear();
    pair.tables[1] = SessionTable::new(TIMING, 3);
    pair.dead.clear();
    pair.set(1, watching(1, 1));
    pair.run(6000);
    pair.all_up();
}

#[test]
fn a_daemon_that_began_anew_within_the_detection_time_breaks_nothing() {
    let mut pair = Pair::new();
    pair.run(3000);
    pair.tables[1] = SessionTable::new(TIMING, 4);
    pair.set(1, watching(1, 1));
    for _ in 0..50 {
        pair.run(100);
        assert_eq!(pair.down(), NONE);
    }
    pair.all_up();
}

#[test]
fn an_end_that_stops_breaks_nothing() {
    let mut pair = Pair::new();
    pair.run(3000);
    let mut out = Vec::new();
    pair.tables[1].stop(pair.now, &mut out);
    pair.deliver(1, out);
    pair.dead = [1].into();
    pair.run(10);
    let states: Vec<SessionState> = pair.seen[0].sessions.iter().map(|s| s.state).collect();
    assert_eq!(states, [SessionState::Down, SessionState::Down]);
    pair.run(5000);
    assert_eq!(pair.down()[0], [0u32; 0]);
}

#[test]
fn a_plan_without_a_path_ends_its_session_and_keeps_the_others() {
    let mut pair = Pair::new();
    pair.run(3000);
    let fewer = |node| {
        let mut watching = watching(node, 2);
        Arc::make_mut(&mut watching.paths).truncate(1);
        watching
    };
    pair.set(0, fewer(0));
    pair.run(500);
    assert_eq!(pair.down(), NONE);
    let states: Vec<SessionState> = pair.seen[1].sessions.iter().map(|s| s.state).collect();
    assert_eq!(states, [SessionState::Up], "it was the other end that wanted it");
    assert_eq!(pair.seen[0].generation, [2; 8]);
    pair.set(1, fewer(1));
    pair.run(500);
    assert_eq!(pair.seen[1].sessions.len(), 1);
    assert_eq!(pair.seen[0].up, BTreeSet::from([id(0, 0)]), "it never went down");
}

/// Nodes come before this one in the cluster file: every path has another name, and leads as before.
#[test]
fn a_path_that_stays_keeps_its_session_under_another_name() {
    let mut pair = Pair::new();
    pair.run(3000);
    let mut watching = watching(0, 2);
    let renamed = |id: PathId| PathId { src: NodeId(5), dst: NodeId(6), ..id };
    for path in Arc::make_mut(&mut watching.paths) {
        path.id = renamed(path.id);
    }
    pair.set(0, watching);
    pair.run(1);
    assert_eq!(pair.seen[0].up, [0, 1].map(|rank| renamed(id(0, rank))).into());
    assert!(pair.seen[0].sessions.iter().all(|session| session.state == SessionState::Up));
    assert!(pair.seen[1].sessions.iter().all(|session| session.state == SessionState::Up));
}

#[test]
fn an_interface_that_is_lost_is_told_by_the_other_path_at_once() {
    let mut pair = Pair::new();
    pair.run(3000);
    let mut watching = watching(0, 2);
    watching.interfaces.remove("a");
    pair.set(0, watching);
    pair.run(1);
    assert_eq!(pair.down(), [[0], [0]]);
}

/// A cable that is moved before its sessions are up may lead to another node.
#[test]
fn an_interface_that_is_lost_before_anything_was_heard_is_not_trusted_when_it_is_back() {
    let mut pair = Pair::new();
    let mut less = watching(0, 2);
    less.interfaces.remove("a");
    pair.set(0, less);
    pair.cut = [(0, 1), (1, 1)].into();
    pair.run(3000);
    pair.set(0, watching(0, 3));
    pair.run(5000);
    assert_eq!(pair.down()[0], [0]);
    // The other end may be one without failure detection.
    pair.run(5010);
    assert_eq!(pair.down(), NONE);
    pair.cut.clear();
    pair.run(8000);
    pair.all_up();
}

/// What it reads then was sent long ago, and says that nothing was heard of it.
#[test]
fn a_daemon_that_hung_takes_no_path_for_broken_when_it_goes_on() {
    for hung in [0, 1] {
        for ms in [400, 1000, 5000, 40_000] {
            let mut pair = Pair::new();
            pair.run(3000);
            pair.dead = [hung].into();
            pair.run(ms);
            pair.resume(hung);
            for _ in 0..5000 {
                pair.run(1);
                assert_eq!(pair.down(), NONE, "{hung} after {ms} ms: {:?}", pair.seen);
            }
            pair.all_up();
        }
    }
}

/// Node 1, where both ranks of node 0 come in by the same interface.
fn gathered(plan: u8) -> Watching {
    let mut watching = watching(1, plan);
    for path in Arc::make_mut(&mut watching.paths) {
        (path.arrival, path.shared) = (Some("a".into()), true);
    }
    watching
}

/// Rank 0 leaves by the one and comes in by the other at both ends, rank 1 the other way round.
fn crossed(node: usize, plan: u8) -> Watching {
    let mut watching = watching(node, plan);
    let ways = [("a", "b"), ("b", "a")];
    for (path, (out, into)) in Arc::make_mut(&mut watching.paths).iter_mut().zip(ways) {
        let (nexthop, arrival) = if node == 0 { (out, into) } else { (into, out) };
        (path.interface, path.labels) = (nexthop.into(), Vec::new());
        (path.arrival, path.transits) = (Some(arrival.into()), 0);
    }
    watching
}

#[test]
fn a_lost_nic_breaks_what_leaves_by_it_here_and_what_comes_in_by_it_there() {
    let mut pair = Pair::crossed();
    pair.run(3000);
    pair.all_up();
    pair.cut = [(0, 1), (1, 1)].into();
    let mut less = crossed(0, 3);
    less.interfaces.remove("a");
    pair.set(0, less);
    pair.run(1);
    assert_eq!(pair.down(), [[0], [1]], "at once");
    pair.run(2500);
    assert_eq!(
        pair.down(),
        [[0], [1]],
        "rank 0 of the other end is sound: its echoes are answered"
    );
    pair.cut.clear();
    pair.set(0, crossed(0, 4));
    pair.run(8000);
    assert_eq!(pair.down(), NONE);
    pair.all_up();
}

/// Rank 0 of the one end and rank 1 of the other cross the same dead cable. Both sessions fail at both
/// ends, and yet each end has a sound path, which the other hears (K10).
#[test]
fn each_direction_is_judged_by_itself() {
    for (mut pair, cut, sound) in [
        (Pair::new(), [(0, 1), (1, 2)], [1, 0]),
        (Pair::new(), [(0, 2), (1, 1)], [0, 1]),
        (Pair::crossed(), [(0, 1), (1, 1)], [1, 0]),
        (Pair::crossed(), [(0, 2), (1, 2)], [0, 1]),
        (Pair::gathered(), [(0, 1), (1, 2)], [1, 0]),
        (Pair::gathered(), [(0, 2), (1, 1)], [0, 1]),
        (Pair::gathered(), [(0, 1), (1, 1)], [1, 1]),
        (Pair::gathered(), [(0, 2), (1, 2)], [0, 0]),
    ] {
        pair.run(3000);
        pair.all_up();
        pair.cut = cut.into();
        pair.run(2500);
        for node in [0, 1] {
            let way = pair.route(node);
            assert!(
                !pair.cut.contains(&(node, way)),
                "{cut:?}: {node} sends by {way}, {:?}",
                pair.seen
            );
        }
        for _ in 0..100 {
            pair.run(100);
            let down = sound.map(|rank| vec![1 - rank]);
            if pair.now > Duration::from_secs(10) {
                assert_eq!(pair.down(), down, "{cut:?}");
            }
        }
        pair.cut.clear();
        pair.run(8000);
        assert_eq!(pair.down(), NONE, "{cut:?}");
        pair.all_up();
    }
}

/// Both hosts stand still for a second, as two virtual machines of one host do.
#[test]
fn hosts_that_stood_still_break_nothing() {
    for ms in [200, 400, 1000, 5000] {
        for stopped in [vec![0, 1], vec![0], vec![1]] {
            let mut pair = Pair::new();
            pair.run(3000);
            pair.dead = stopped.iter().copied().collect();
            pair.stopped = pair.dead.clone();
            pair.run(ms);
            // The other takes it for dead only after a while, and knows better when it speaks again.
            let patient = ms < 750;
            assert!(!patient || pair.down() == NONE, "{ms} ms, {stopped:?}: {:?}", pair.seen);
            pair.dead.clear();
            pair.stopped.clear();
            for _ in 0..50 {
                pair.run(100);
                for node in [0, 1] {
                    let judged = patient || stopped.contains(&node);
                    let down = &pair.seen[node].down;
                    assert!(!judged || down.is_empty(), "{ms} ms, {stopped:?}: {:?}", pair.seen);
                }
            }
        }
    }
}

#[test]
fn a_peer_that_falls_silent_on_all_paths_is_given_time() {
    let mut pair = Pair::new();
    pair.run(3000);
    pair.cut = [(0, 1), (1, 1), (0, 2), (1, 2)].into();
    pair.run(750);
    assert_eq!(pair.down(), NONE);
    pair.run(250);
    assert_eq!(pair.down(), [[0, 1], [0, 1]]);
    pair.cut.clear();
    pair.run(8000);
    pair.all_up();
}

/// Rank 1 has no session: rank 0 covers what it crosses. When that fails, rank 1 is in doubt.
fn probing(node: usize, probed: bool) -> Watching {
    let mut watching = watching(node, 1);
    for path in Arc::make_mut(&mut watching.paths) {
        path.active = node == 0 && path.id.rank == 0;
    }
    watching.probed = [id(node, 1)].into_iter().filter(|_| probed).collect();
    watching
}

#[test]
fn a_path_in_doubt_is_watched_as_long_as_it_is() {
    for sound in [true, false] {
        let mut pair = Pair::new();
        for node in [0, 1] {
            pair.tables[node] = SessionTable::new(TIMING, 8 + node as u64);
            pair.set(node, probing(node, false));
        }
        pair.run(3000);
        assert_eq!(pair.seen[0].sessions.len(), 1);
        pair.cut = [(0, 1), (1, 1)].into();
        pair.cut.extend([(0, 2), (1, 2)].into_iter().filter(|_| !sound));
        pair.run(400);
        assert_eq!(pair.down(), [[0], [0]]);
        pair.set(0, probing(0, true));
        pair.run(if sound { 110 } else { 310 });
        assert_eq!(pair.down()[0], if sound { vec![0] } else { vec![0, 1] });
        assert_eq!(pair.seen[0].up.contains(&id(0, 1)), sound, "its echoes are answered, or not");
        pair.run(3000);
        assert_eq!(pair.seen[0].up.contains(&id(0, 1)), sound);
        pair.cut.clear();
        pair.run(8000);
        pair.all_up();
        pair.set(0, probing(0, false));
        pair.run(500);
        for (node, event) in pair.seen.iter().enumerate() {
            assert_eq!(event.up, [id(node, 0)].into(), "its session is over");
            assert_eq!((event.sessions.len(), event.down.len()), (1, 0));
        }
        pair.run(5000);
        assert!(pair.seen.iter().all(|event| event.sessions.len() == 1));
    }
}

#[test]
fn what_was_broken_before_is_broken_until_it_is_shown_to_be_sound() {
    let mut pair = Pair::new();
    pair.run(3000);
    pair.cut = [(0, 2), (1, 2)].into();
    pair.run(400);
    // Its daemon begins anew and knows what it stored.
    pair.tables[0] = SessionTable::new(TIMING, 5);
    pair.set(0, Watching { broken: [id(0, 1)].into(), ..watching(0, 1) });
    pair.run(5000);
    assert_eq!(pair.down(), [[1], [1]]);
    pair.cut.clear();
    pair.run(8000);
    assert_eq!(pair.down(), NONE);
}

/// The daemon of one end does nothing for a second, and hears what the other has said meanwhile.
#[test]
fn a_daemon_that_was_kept_waiting_breaks_nothing() {
    let mut pair = Pair::new();
    pair.run(3000);
    pair.dead = [1].into();
    let mut kept = Vec::new();
    for _ in 0..1000 {
        pair.now += Duration::from_millis(1);
        let mut out = Vec::new();
        pair.tables[0].poll(pair.now, &mut out);
        let echo =
            |sending: &Sending| matches!(sending, Sending::Planned(_, PacketContent::Echo(_)));
        let (echoes, others) = out.into_iter().partition(echo);
        pair.deliver(0, echoes);
        kept.extend(others);
    }
    pair.dead.clear();
    pair.tables[1].wake(pair.now);
    pair.deliver(0, kept);
    for _ in 0..50 {
        pair.run(100);
        assert_eq!(pair.down(), NONE);
    }
    pair.all_up();
}
