//! The sessions of this node, one for each path that is watched: whose packet one is, what is to be sent
//! and when, and which paths are broken. No socket and no clock.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use tresse_base::random::Random;
use tresse_engine::{Interface, Watching};
use tresse_liveness::{
    Diagnostic, MULTI_HOP_PORT, Outgoing, Packet, SINGLE_HOP_PORT, Session, State, Timing,
};
use tresse_slice::watch::Watch;

use super::frame::{self, Echo};
use super::verdict::Verdict;
use super::{SessionLine, Sight};

/// First of the ports that packets come from, of which each session has one (RFC 5881 section 4).
const FIRST_PORT: u32 = 49152;
/// Nodes that a packet which says the end of a session may have come through.
const HOPS_MOST: u8 = 64;

/// A datagram as it came in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Datagram<'a> {
    /// By which interface.
    pub ifindex: u32,
    /// From whom.
    pub source: IpAddr,
    /// Its TTL or hop limit.
    pub ttl: u8,
    /// To [`MULTI_HOP_PORT`]?
    pub multi_hop: bool,
    /// What it carries.
    pub payload: &'a [u8],
}

/// What is to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Sending {
    /// A frame, by this interface.
    Frame(u32, Vec<u8>),
    /// A datagram to [`MULTI_HOP_PORT`] from one address to another, whichever way the kernel knows.
    Routed(IpAddr, IpAddr, [u8; Packet::LENGTH]),
}

/// Why a datagram was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Dropped {
    /// It is no control packet.
    Malformed,
    /// It came through more routers than a planned path has (RFC 5881 section 5).
    Ttl,
    /// For no session of ours, or none that is planned.
    Unknown,
}

struct Entry {
    watch: Watch,
    session: Option<Session>,
    verdict: Verdict,
    /// When the session heard something last.
    heard: Duration,
    sequence: u16,
    due: Option<Duration>,
}

/// All of them.
pub(super) struct Table {
    timing: Timing,
    lot: Random,
    identifier: u16,
    serial: u64,
    entries: Vec<Entry>,
    interfaces: BTreeMap<String, Interface>,
    mine: HashMap<NonZeroU32, usize>,
    peers: HashMap<String, Vec<usize>>,
    /// By source address and interface of arrival.
    arrivals: HashMap<(IpAddr, u32), usize>,
    schedule: BTreeSet<(Duration, usize)>,
    changed: bool,
    /// Until when others may say with reason that they heard nothing: this thread was kept waiting.
    late: Duration,
    /// What went out.
    pub packets: u64,
    pub echoes: u64,
}

impl Table {
    pub fn new(timing: Timing, seed: u64) -> Self {
        let mut lot = Random::new(seed);
        let identifier = lot.number() as u16;
        Self {
            timing,
            lot,
            identifier,
            serial: 0,
            entries: Vec::new(),
            interfaces: BTreeMap::new(),
            mine: HashMap::new(),
            peers: HashMap::new(),
            late: Duration::ZERO,
            arrivals: HashMap::new(),
            schedule: BTreeSet::new(),
            changed: false,
            packets: 0,
            echoes: 0,
        }
    }

    /// That of its echoes.
    pub fn identifier(&self) -> u16 {
        self.identifier
    }

    /// Watches exactly this from now on. Paths that stay keep their sessions; the other ends of those that
    /// go are told that this is no fault.
    pub fn set(&mut self, watching: Watching, now: Duration, out: &mut Vec<Sending>) {
        let mut before: BTreeMap<(String, u32), Entry> = std::mem::take(&mut self.entries)
            .into_iter()
            .map(|entry| ((entry.watch.peer.clone(), entry.watch.rank), entry))
            .collect();
        let lost: Vec<String> = self
            .interfaces
            .iter()
            .filter(|(name, old)| watching.interfaces.get(*name) != Some(*old))
            .map(|(name, _)| name.clone())
            .collect();
        (self.schedule, self.mine, self.arrivals) = Default::default();
        self.peers.clear();
        self.serial = watching.serial;
        let mut entries: Vec<Entry> = Vec::with_capacity(watching.watches.paths.len());
        for (at, watch) in watching.watches.paths.iter().enumerate() {
            let key = (watch.peer.clone(), watch.rank);
            let kept = before.get(&key).is_some_and(|old| same(&old.watch, watch));
            let old = kept.then(|| before.remove(&key)).flatten();
            let new = || Entry {
                watch: watch.clone(),
                session: None,
                verdict: match watching.broken.contains(&at) {
                    true => Verdict::broken(self.timing.interval, self.timing.multiplier),
                    false => Verdict::new(self.timing.interval, self.timing.multiplier),
                },
                heard: now,
                sequence: 0,
                due: None,
            };
            let old = old.map(|old| Entry { watch: watch.clone(), due: None, ..old });
            let mut entry = old.unwrap_or_else(new);
            if lost.contains(&entry.watch.arrival) {
                entry.deaf(now);
            }
            if lost.contains(&entry.watch.leg.interface) {
                entry.verdict.lost(now);
            }
            entries.push(entry);
        }
        for mut gone in before.into_values() {
            if let Some(session) = &mut gone.session {
                session.hold(true, now);
            }
            self.entries.push(gone);
            self.send(self.entries.len() - 1, now, out);
        }
        self.entries = entries;
        self.interfaces = watching.interfaces;
        for (at, entry) in self.entries.iter().enumerate() {
            self.peers.entry(entry.watch.peer.clone()).or_default().push(at);
        }
        for at in 0..self.entries.len() {
            let watch = &self.entries[at].watch;
            if let Some(arrival) = self.interfaces.get(&watch.arrival) {
                self.arrivals.insert((watch.destination, arrival.ifindex), at);
            }
            if self.entries[at].watch.active && self.entries[at].session.is_none() {
                self.begin(at, now);
            }
            if let Some(session) = &self.entries[at].session {
                self.mine.insert(session.discriminator(), at);
            }
            self.serve(at, now, out);
        }
        self.changed = true;
    }

    /// A datagram that has come in.
    pub fn hear(
        &mut self,
        datagram: &Datagram<'_>,
        now: Duration,
        out: &mut Vec<Sending>,
    ) -> Result<(), Dropped> {
        let packet = Packet::parse(datagram.payload).map_err(|_| Dropped::Malformed)?;
        let known = NonZeroU32::new(packet.yours).and_then(|yours| self.mine.get(&yours).copied());
        let found = match packet.yours {
            0 => self.arrivals.get(&(datagram.source, datagram.ifindex)).copied(),
            _ => known,
        };
        let at = found.ok_or(Dropped::Unknown)?;
        if self.deadline().is_some_and(|due| due + self.timing.interval < now) {
            self.late = now + self.timing.interval * u32::from(self.timing.multiplier);
        }
        let watch = &self.entries[at].watch;
        let from = datagram.source == watch.destination
            || watch.nodes.is_some_and(|(_, node)| node == datagram.source);
        if !from {
            return Err(Dropped::Unknown);
        }
        // What says the end of a session may come any way; all else comes by the path itself.
        let planned = || self.interfaces.values().any(|i| i.ifindex == datagram.ifindex);
        let down = matches!(packet.state, State::Down | State::AdminDown);
        let ends = known.is_some() && down && planned();
        let (port, hops) = match (ends && datagram.multi_hop, watch.transits) {
            (true, _) => (true, HOPS_MOST),
            (false, transits) => (transits > 0, transits),
        };
        if datagram.multi_hop != port || datagram.ttl < 255 - hops {
            return Err(Dropped::Ttl);
        }
        if self.entries[at].session.is_none() {
            if packet.state == State::AdminDown {
                return Ok(());
            }
            let mine = self.begin(at, now);
            self.mine.insert(mine, at);
        }
        let entry = &mut self.entries[at];
        let Some(session) = &mut entry.session else { return Err(Dropped::Unknown) };
        session.receive(&packet, now).map_err(|_| Dropped::Unknown)?;
        entry.heard = now;
        for change in session.take_changes() {
            match (change.from, change.to) {
                (_, State::Up) => entry.verdict.up(now),
                (State::Up, _) if is_fault(&packet) && now < self.late => {
                    entry.verdict.doubted(now)
                }
                (State::Up, _) if is_fault(&packet) => entry.verdict.failed(true, now),
                (State::Up, _) => entry.verdict.ended(),
                _ => continue,
            }
            self.changed = true;
        }
        self.serve(at, now, out);
        Ok(())
    }

    /// An answer to an echo.
    pub fn answered(&mut self, echo: Echo, now: Duration) -> Result<(), Dropped> {
        let session = NonZeroU32::new(echo.session).filter(|_| echo.identifier == self.identifier);
        let at = session.and_then(|session| self.mine.get(&session)).ok_or(Dropped::Unknown)?;
        let sound = self.entries[*at].verdict.is_sound(now);
        self.entries[*at].verdict.answer(now);
        self.changed |= sound != self.entries[*at].verdict.is_sound(now);
        self.schedule(*at);
        Ok(())
    }

    /// All that is due.
    pub fn poll(&mut self, now: Duration, out: &mut Vec<Sending>) {
        while let Some(&(at, entry)) = self.schedule.first()
            && at <= now
        {
            self.serve(entry, now, out);
        }
    }

    /// When [`Self::poll`] has something to do.
    pub fn deadline(&self) -> Option<Duration> {
        self.schedule.first().map(|(at, _)| *at)
    }

    /// Which paths are broken and which are shown to be sound, where that has changed.
    pub fn news(&mut self, now: Duration) -> Option<Sight> {
        std::mem::take(&mut self.changed).then(|| Sight {
            serial: self.serial,
            down: self.which(|entry| entry.verdict.is_broken()),
            up: self.which(|entry| entry.verdict.is_sound(now)),
            sessions: self.entries.iter().filter_map(line).collect(),
        })
    }

    /// Tells all other ends that this one stops.
    pub fn stop(&mut self, now: Duration, out: &mut Vec<Sending>) {
        for at in 0..self.entries.len() {
            if let Some(session) = &mut self.entries[at].session {
                session.hold(true, now);
            }
            self.send(at, now, out);
        }
    }

    fn which(&self, of: impl Fn(&Entry) -> bool) -> BTreeSet<usize> {
        let entries = self.entries.iter().enumerate();
        entries.filter(|(_, entry)| of(entry)).map(|(at, _)| at).collect()
    }

    /// Begins the session of a path under a number that nobody knows.
    fn begin(&mut self, at: usize, now: Duration) -> NonZeroU32 {
        let mine = loop {
            let number = NonZeroU32::new(self.lot.number() as u32);
            if let Some(number) = number.filter(|number| !self.mine.contains_key(number)) {
                break number;
            }
        };
        self.entries[at].session = Some(Session::new(mine, self.timing, self.lot.number(), now));
        self.changed = true;
        mine
    }

    /// What time brings to one path.
    fn serve(&mut self, at: usize, now: Duration, out: &mut Vec<Sending>) {
        self.send(at, now, out);
        let entry = &mut self.entries[at];
        let Some(session) = &mut entry.session else { return };
        for change in session.take_changes() {
            if change.from == State::Up {
                entry.verdict.failed(false, now);
                self.changed = true;
            }
        }
        self.changed |= entry.verdict.tick(now);
        let detection = session.detection_time();
        let session = session.discriminator().get();
        let there = self.interfaces.contains_key(&entry.watch.leg.interface);
        if there && entry.verdict.asks(entry.heard, detection, now) {
            entry.sequence = entry.sequence.wrapping_add(1);
            let sequence = entry.sequence;
            let echo = Echo { identifier: self.identifier, sequence, session };
            let watch = &self.entries[at].watch;
            out.extend(self.wrap(watch, &echo.request((watch.source, watch.destination))));
            self.echoes += 1;
        }
        self.schedule(at);
    }

    fn schedule(&mut self, at: usize) {
        let entry = &mut self.entries[at];
        if let Some(due) = entry.due.take() {
            self.schedule.remove(&(due, at));
        }
        let Some(session) = &entry.session else { return };
        let there = self.interfaces.contains_key(&entry.watch.leg.interface);
        let judged = entry.verdict.deadline(entry.heard, session.detection_time());
        let judged = judged.filter(|_| there);
        entry.due = session.deadline().into_iter().chain(judged).min();
        self.schedule.extend(entry.due.map(|due| (due, at)));
    }

    /// The packets of a session that are due.
    fn send(&mut self, at: usize, now: Duration, out: &mut Vec<Sending>) {
        let mut due = Vec::new();
        if let Some(session) = &mut self.entries[at].session {
            due.extend(std::iter::from_fn(|| session.poll(now)));
        }
        for Outgoing { packet, everywhere } in due {
            let watch = &self.entries[at].watch;
            let payload = packet.emit();
            let session = packet.mine;
            out.extend(self.control(watch, session, &payload));
            self.packets += 1;
            if everywhere {
                out.extend(self.second(at, session, &payload));
            }
        }
    }

    /// A packet of a session by another way to the same node.
    fn second(&self, at: usize, session: u32, payload: &[u8; Packet::LENGTH]) -> Option<Sending> {
        let watch = &self.entries[at].watch;
        if let Some((from, to)) = watch.nodes {
            return Some(Sending::Routed(from, to, *payload));
        }
        let others = self.peers.get(&watch.peer).into_iter().flatten();
        let others = others.filter_map(|at| self.entries.get(*at)).filter(|other| {
            other.watch.leg != watch.leg
                && !other.verdict.is_broken()
                && self.interfaces.contains_key(&other.watch.leg.interface)
        });
        // By another NIC where there is one.
        let other = others.max_by_key(|o| o.watch.leg.interface != watch.leg.interface)?;
        let ends = (watch.source, watch.destination);
        let packet = frame::datagram(ends, (port_of(session), MULTI_HOP_PORT), payload);
        self.wrap(&other.watch, &packet)
    }

    fn control(&self, watch: &Watch, session: u32, payload: &[u8]) -> Option<Sending> {
        let to = if watch.leg.labels.is_empty() { SINGLE_HOP_PORT } else { MULTI_HOP_PORT };
        let ends = (watch.source, watch.destination);
        self.wrap(watch, &frame::datagram(ends, (port_of(session), to), payload))
    }

    /// A packet in the encapsulation of a path; none while its interface is not there.
    fn wrap(&self, watch: &Watch, packet: &[u8]) -> Option<Sending> {
        let interface = self.interfaces.get(&watch.leg.interface)?;
        let frame = frame::ethernet(interface.mac, watch.mac, &watch.leg.labels, packet);
        Some(Sending::Frame(interface.ifindex, frame))
    }
}

impl Entry {
    /// The interface that its packets come in by is gone, or without carrier: the other end's way here is
    /// broken, and it hears so by another one. Of our own way there this says nothing.
    fn deaf(&mut self, now: Duration) {
        if let Some(session) = &mut self.session {
            let was_up = session.state() == State::Up;
            session.expire(now);
            session.take_changes();
            if was_up {
                self.verdict.doubted(now);
            }
        }
    }
}

/// Does a packet say that the path to its sender is broken? Else its sender stops, or has just begun.
fn is_fault(packet: &Packet) -> bool {
    packet.state == State::Down && packet.diagnostic == Diagnostic::TIME_EXPIRED
}

/// The same path, as far as its packets show?
fn same(a: &Watch, b: &Watch) -> bool {
    let key = |watch: &Watch| {
        (watch.source, watch.destination, watch.leg.clone(), watch.mac, watch.arrival.clone())
    };
    key(a) == key(b) && a.transits == b.transits
}

fn port_of(session: u32) -> u16 {
    (FIRST_PORT + session % (u32::from(u16::MAX) + 1 - FIRST_PORT)) as u16
}

fn line(entry: &Entry) -> Option<SessionLine> {
    let session = entry.session.as_ref()?;
    Some(SessionLine {
        peer: entry.watch.peer.clone(),
        rank: entry.watch.rank,
        interface: entry.watch.leg.interface.clone(),
        state: session.state(),
        diagnostic: session.diagnostic(),
        broken: entry.verdict.is_broken(),
    })
}

#[cfg(test)]
mod tests;
