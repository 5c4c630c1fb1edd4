//! Passes records between this node and its neighbours: what each node knows of its own NICs and hops (DESIGN section
//! 7a). A raw socket for each interface that BFD watches; a neighbour is spoken to while it is shown to be there,
//! by its session or its answers to echo requests.
//!
//! Where nodes do not route, the neighbours are the other ends of watched paths, and each is spoken to by the first of its
//! paths that is shown to be sound. The other end may send by another VLAN and NIC: it is known by that NIC's MAC
//! address.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tresse_base::id::{NodeId, PathId};
use tresse_base::units::Mac;
use tresse_control::CounterLine;
use tresse_frame::keys::Keys;
use tresse_frame::records::{Origin, RecordsFrame, open, sign};
use tresse_linux::kernel::RecordsSocket;
use tresse_liveness::records::{Records, Report};
use tresse_liveness::{PathEvent, Watching};

use super::{chain, unix_ms};

/// Largest number of received frames that wait for the main loop; more are dropped, and come again.
pub const FRAMES: usize = 1024;

/// So many nodes all speak to each other, where each watches all others.
const ALL_SPEAK: usize = 32;

/// A received frame, and the interface on which it arrived.
pub type Received = (String, RecordsFrame);

/// The records of all nodes, and the sockets by which they are passed on.
pub struct Flood {
    epoch: Instant,
    seed: u64,
    records: Option<(([u8; 8], Origin), Records)>,
    sockets: BTreeMap<(String, u32), Socket>,
    frames: Option<mpsc::Sender<Received>>,
    /// By number.
    neighbours: BTreeMap<u32, Neighbour>,
    next: u32,
    /// The paths whose ends are shown to be there, with the discriminators of their sessions.
    there: BTreeMap<PathId, u32>,
    /// The nodes by the MAC addresses of their NICs, where the ends of paths are not neighbours.
    senders: Arc<BTreeMap<Mac, NodeId>>,
    keys: Keys,
    unsent: u64,
    refused: u64,
    unsigned: u64,
}

/// A node that a hop leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Neighbour {
    path: PathId,
    /// By which frames leave, and that by which they arrive.
    interface: String,
    arrival: String,
    /// The NIC of this node.
    own: Mac,
    /// The NIC of the neighbour.
    mac: Mac,
    /// The discriminator of its session, while it is shown to be there.
    session: Option<u32>,
}

struct Socket {
    socket: Rc<RecordsSocket>,
    task: JoinHandle<()>,
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Flood {
    /// Without neighbours. `seed`: another one on each node.
    pub fn new(seed: u64, keys: Keys) -> Self {
        Self {
            epoch: Instant::now(),
            seed,
            records: None,
            sockets: BTreeMap::new(),
            frames: None,
            neighbours: BTreeMap::new(),
            next: 0,
            there: BTreeMap::new(),
            senders: Arc::default(),
            keys,
            unsent: 0,
            refused: 0,
            unsigned: 0,
        }
    }

    /// Sets the channel for received frames. Without one (`--once`) no socket is opened.
    pub fn deliver_to(&mut self, frames: mpsc::Sender<Received>) {
        self.frames = Some(frames);
    }

    /// Signs by these keys, and takes what is signed by them, from now on.
    pub fn set_keys(&mut self, keys: Keys) {
        self.keys = keys;
    }

    /// Speaks to the neighbours among the ends of these paths.
    pub fn set(&mut self, watching: &Watching) {
        let Some(frames) = self.frames.clone() else { return };
        self.senders = watching.senders.clone();
        let mut neighbours: Vec<Neighbour> = watching
            .paths
            .iter()
            // The first hop leads to the other end: it is a NIC, or the path has no node in transit.
            .filter(|path| path.nodes.is_some() || path.labels.is_empty() && path.arrival.is_some())
            .filter_map(|path| {
                let own = watching.interfaces.get(&path.interface)?.mac;
                let interface = path.interface.clone();
                let arrival = path.arrival.clone().unwrap_or_else(|| interface.clone());
                let (path, mac) = (path.id, path.mac);
                Some(Neighbour { path, interface, arrival, own, mac, session: None })
            })
            .collect();
        let names: BTreeSet<&String> =
            neighbours.iter().flat_map(|of| [&of.interface, &of.arrival]).collect();
        let wanted: BTreeSet<(String, u32)> = names
            .into_iter()
            .filter_map(|name| Some((name.clone(), watching.interfaces.get(name)?.ifindex)))
            .collect();
        self.sockets.retain(|key, _| wanted.contains(key));
        for key in wanted {
            if self.sockets.contains_key(&key) {
                continue;
            }
            match RecordsSocket::open(&key.0) {
                Ok(socket) => {
                    let socket = Rc::new(socket);
                    let listens = listen(socket.clone(), key.0.clone(), frames.clone());
                    let task = tokio::task::spawn_local(listens);
                    self.sockets.insert(key, Socket { socket, task });
                }
                Err(error) => {
                    let error = chain(&error);
                    tracing::warn!(interface = key.0, error, "cannot pass records on");
                }
            }
        }
        let now = self.epoch.elapsed();
        self.neighbours.retain(|number, old| {
            let same = |new: &Neighbour| Neighbour { session: None, ..old.clone() } == *new;
            let stays = neighbours.iter().position(same).map(|at| neighbours.remove(at)).is_some();
            if let Some((_, records)) = self.records.as_mut().filter(|_| !stays) {
                records.set_neighbour(*number, false, now);
            }
            stays
        });
        for neighbour in neighbours {
            self.neighbours.insert(self.next, neighbour);
            self.next += 1;
        }
    }

    /// Speaks to the neighbours that are shown to be there.
    pub fn hear_of(&mut self, event: &PathEvent) {
        let there = |path: &PathId| event.up.contains(path) || event.held.contains(path);
        let sessions = event.sessions.iter().filter(|session| there(&session.path));
        self.there = sessions.map(|session| (session.path, session.peer)).collect();
        self.meet();
        self.send();
    }

    /// Begins and ends to speak to neighbours. One that was started anew has lost what it knew.
    fn meet(&mut self) {
        let now = self.epoch.elapsed();
        let Some((_, records)) = &mut self.records else { return };
        let paths = self.neighbours.values().map(|of| of.path);
        let mut paths: BTreeSet<PathId> =
            paths.filter(|path| self.there.contains_key(path)).collect();
        if let Some(last) = self.senders.values().max() {
            // Each node by the first of its paths.
            let mut met = BTreeSet::new();
            let nodes = last.index() + 1;
            paths.retain(|path| met.insert(path.dst) && speaks(path.src, path.dst, nodes));
        }
        for (number, neighbour) in &mut self.neighbours {
            let session = self.there.get(&neighbour.path).copied();
            let session = session.filter(|_| paths.contains(&neighbour.path));
            if session != neighbour.session {
                neighbour.session = session;
                records.set_neighbour(*number, false, now);
                records.set_neighbour(*number, session.is_some(), now);
            }
        }
    }

    /// Says to all nodes what this node knows.
    pub fn originate(&mut self, fabric: [u8; 8], node: Origin, report: &Report) {
        let now = self.epoch.elapsed();
        let key = (fabric, node);
        if self.records.as_ref().is_none_or(|(of, _)| *of != key) {
            self.records = Some((key, Records::new(fabric, node, unix_ms(), self.seed)));
            self.neighbours.values_mut().for_each(|neighbour| neighbour.session = None);
            self.meet();
        }
        let Some((_, records)) = &mut self.records else { return };
        if let Err(error) = records.originate(report.emit(), now) {
            tracing::warn!(%error, "cannot say what this node knows of its hops");
        }
        self.send();
    }

    /// Hears a frame. [`send`](Self::send) has the answer: one for all frames that came together.
    pub fn hear(&mut self, (interface, frame): Received) {
        let sender = self.senders.get(&frame.source);
        let is_own = |mac| self.neighbours.values().any(|of| of.own == mac);
        let from = self.neighbours.iter().find(|(_, of)| match sender {
            Some(node) => of.session.is_some() && of.path.dst == *node && is_own(frame.destination),
            None => {
                of.interface == interface && of.mac == frame.source && of.own == frame.destination
            }
        });
        let Some(((number, _), (_, records))) = from.zip(self.records.as_mut()) else {
            self.refused += 1;
            return;
        };
        let RecordsFrame { source, destination, packet } = frame;
        let Ok(packet) = open(packet, &self.keys, source, destination) else {
            self.unsigned += 1;
            return;
        };
        if let Err(error) = records.hear(*number, &packet, self.epoch.elapsed()) {
            tracing::debug!(interface, %error, "records");
            self.refused += 1;
        }
    }

    /// What other nodes say that is new; `None`: nothing more.
    pub fn news(&mut self) -> BTreeMap<Origin, Option<Report>> {
        let Some((_, records)) = &mut self.records else { return BTreeMap::new() };
        let changed = records.changed();
        let report = |of: Origin| Report::parse(&records.record(of)?.fields).ok();
        changed.into_iter().map(|of| (of, report(of))).collect()
    }

    /// When [`send`](Self::send) has something to send.
    pub fn deadline(&self) -> Option<Instant> {
        let (_, records) = self.records.as_ref()?;
        records.deadline().map(|at| self.epoch + at)
    }

    /// Sends what is due.
    pub fn send(&mut self) {
        let Some((_, records)) = &mut self.records else { return };
        let mut out = Vec::new();
        records.poll(self.epoch.elapsed(), &mut out);
        for (number, packet) in out {
            let sent = self.neighbours.get(&number).is_some_and(|to| {
                let socket = self.sockets.iter().find(|((name, _), _)| *name == to.interface);
                let packet = sign(packet, &self.keys, to.own, to.mac);
                let frame = RecordsFrame { source: to.own, destination: to.mac, packet };
                socket.is_some_and(|(_, socket)| socket.socket.send(&frame).is_ok())
            });
            self.unsent += u64::from(!sent);
        }
    }

    /// Counters of records.
    pub fn counters(&self) -> Vec<CounterLine> {
        let records = self.records.as_ref().map(|(_, records)| records);
        [
            ("records", records.map_or(0, |records| records.iter().count() as u64)),
            ("records_held_total", records.map_or(0, |records| records.held)),
            ("records_refused_total", self.refused),
            ("records_unsent_total", self.unsent),
            ("records_unsigned_total", self.unsigned),
        ]
        .map(|(name, value)| CounterLine { name: name.into(), object: String::new(), value })
        .into()
    }
}

/// Of so many nodes that all watch each other, do these two pass records on to each other? Where there are many, those
/// whose numbers are a power of two apart, in a ring: a record then reaches each node a few times, not once from each.
fn speaks(a: NodeId, b: NodeId, nodes: usize) -> bool {
    let apart = a.index().abs_diff(b.index());
    nodes <= ALL_SPEAK || apart.is_power_of_two() || (nodes - apart).is_power_of_two()
}

async fn listen(socket: Rc<RecordsSocket>, interface: String, frames: mpsc::Sender<Received>) {
    loop {
        match socket.recv().await {
            // A full queue: what is not acknowledged comes again.
            Ok(Some(frame)) => drop(frames.try_send((interface.clone(), frame))),
            Ok(None) => {}
            Err(error) => {
                // ENETDOWN comes once when the interface goes down.
                tracing::debug!(interface, %error, "records socket");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_neighbours_some_are_spoken_to_and_reach_all() {
        for nodes in [2, ALL_SPEAK, ALL_SPEAK + 1, 100, 256] {
            let all = || (0..nodes).map(NodeId::from);
            for a in all() {
                let others = all().filter(|b| *b != a && speaks(a, *b, nodes));
                let most = if nodes <= ALL_SPEAK { nodes - 1 } else { 2 * 8 };
                assert!((1..=most).contains(&others.count()), "{nodes}");
                assert!(all().all(|b| speaks(a, b, nodes) == speaks(b, a, nodes)));
            }
            // Whichever one is off, a record reaches the others.
            for off in all() {
                let first = all().find(|node| *node != off).unwrap();
                let (mut met, mut open) = (BTreeSet::from([first, off]), vec![first]);
                while let Some(node) = open.pop() {
                    let next = all().filter(|to| speaks(node, *to, nodes));
                    open.extend(next.filter(|to| met.insert(*to)));
                }
                assert_eq!(met.len(), nodes);
            }
        }
    }
}
