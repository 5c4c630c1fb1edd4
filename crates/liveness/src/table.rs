//! All BFD sessions of this node, at most one per watched path: finds the session of a received
//! packet, decides what to send and when, and which paths are broken. No socket and no clock.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use tresse_base::id::{Label, PathId};
use tresse_base::random::Random;
use tresse_base::units::Mac;

use crate::verdict::Verdict;
use crate::{
    Datagram, Diagnostic, Dropped, Echo, Encapsulation, MULTI_HOP_PORT, Outgoing, Packet,
    PacketContent, PathEvent, SINGLE_HOP_PORT, Sending, SendingInterface, Session, SessionLine,
    SessionState, Timing, WatchedPath, Watching,
};

/// The first source port; each session has its own (RFC 5881 section 4).
const FIRST_PORT: u32 = 49152;
/// The largest number of routers that a packet which ends a session may have crossed.
const HOPS_MOST: u8 = 64;

struct Entry {
    path: WatchedPath,
    session: Option<Session>,
    verdict: Verdict,
    /// When the session heard something last.
    heard: Duration,
    sequence: u16,
    due: Option<Duration>,
}

/// All BFD sessions of this node, at most one per watched path.
pub struct SessionTable {
    timing: Timing,
    random: Random,
    identifier: u16,
    generation: [u8; 8],
    entries: BTreeMap<PathId, Entry>,
    interfaces: BTreeMap<String, SendingInterface>,
    /// By the discriminator of this end.
    mine: HashMap<NonZeroU32, PathId>,
    /// By source address and interface of arrival.
    arrivals: HashMap<(IpAddr, u32), PathId>,
    schedule: BTreeSet<(Duration, PathId)>,
    changed: bool,
    /// Until when others may say with reason that they heard nothing: this thread was kept waiting.
    late: Duration,
    /// Control packets that went out.
    pub packets: u64,
    /// Echo requests that went out.
    pub echoes: u64,
}

impl SessionTable {
    /// A table without sessions. `seed`: a number that no other host can know.
    #[must_use]
    pub fn new(timing: Timing, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let identifier = random.number() as u16;
        Self {
            timing,
            random,
            identifier,
            generation: [0; 8],
            entries: BTreeMap::new(),
            interfaces: BTreeMap::new(),
            mine: HashMap::new(),
            arrivals: HashMap::new(),
            schedule: BTreeSet::new(),
            changed: false,
            late: Duration::ZERO,
            packets: 0,
            echoes: 0,
        }
    }

    /// The identifier of the echo requests.
    #[must_use]
    pub const fn identifier(&self) -> u16 {
        self.identifier
    }

    /// Watches exactly these paths from now on. Paths that stay keep their sessions; the peers of
    /// the others are told that this is not a failure.
    pub fn set(&mut self, watching: Watching, now: Duration, out: &mut Vec<Sending>) {
        let before = std::mem::take(&mut self.entries).into_iter();
        let mut before: BTreeMap<Trail, (PathId, Entry)> =
            before.map(|(id, entry)| (trail(&entry.path), (id, entry))).collect();
        let is_lost = |name: &String| {
            let old = self.interfaces.get(name);
            old.is_some() && watching.interfaces.get(name) != old
        };
        (self.schedule, self.mine, self.arrivals) = Default::default();
        self.generation = watching.generation;
        let mut entries = BTreeMap::new();
        for path in watching.paths.iter() {
            let new = || Entry {
                path: path.clone(),
                session: None,
                verdict: match watching.broken.contains(&path.id) {
                    true => Verdict::broken(self.timing.interval, self.timing.multiplier),
                    false => Verdict::new(self.timing.interval, self.timing.multiplier),
                },
                heard: now,
                sequence: 0,
                due: None,
            };
            let old = before.remove(&trail(path));
            let old = old.map(|(_, old)| Entry { path: path.clone(), due: None, ..old });
            let mut entry = old.unwrap_or_else(new);
            if path.arrival.as_ref().is_some_and(is_lost) {
                entry.deaf(now);
            }
            if is_lost(&path.interface) {
                entry.verdict.lost(now);
            }
            entries.insert(path.id, entry);
        }
        self.entries = before.into_values().collect();
        self.stop(now, out);
        self.entries = entries;
        self.interfaces = watching.interfaces;
        let ids: Vec<PathId> = self.entries.keys().copied().collect();
        for id in ids {
            let Entry { path, session, .. } = &self.entries[&id];
            let arrival = path.arrival.as_ref().and_then(|name| self.interfaces.get(name));
            if let Some(arrival) = arrival {
                self.arrivals.insert((path.destination, arrival.ifindex), id);
            }
            let mine = session.as_ref().map(Session::discriminator);
            let active = path.active;
            if let Some(mine) = mine {
                self.mine.insert(mine, id);
            } else if active {
                self.begin(id, now);
            }
            self.serve(id, now, out);
        }
        self.changed = true;
    }

    /// Handles a received datagram.
    ///
    /// # Errors
    /// [`Dropped`]: why it has no effect.
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
        let id = found.ok_or(Dropped::Unknown)?;
        if self.deadline().is_some_and(|due| due + self.timing.interval < now) {
            self.late = now + self.timing.interval * u32::from(self.timing.multiplier);
        }
        let path = &self.entries[&id].path;
        let from = datagram.source == path.destination
            || path.nodes.is_some_and(|(_, node)| node == datagram.source);
        if !from {
            return Err(Dropped::Unknown);
        }
        // What says the end of a session may come any way; all else comes by the path itself.
        let planned = || self.interfaces.values().any(|i| i.ifindex == datagram.ifindex);
        let down = matches!(packet.state, SessionState::Down | SessionState::AdminDown);
        let ends = known.is_some() && down && planned();
        let (port, hops) = match (ends && datagram.multi_hop, path.transits) {
            (true, _) => (true, HOPS_MOST),
            (false, transits) => (transits > 0, transits),
        };
        if datagram.multi_hop != port || datagram.ttl < 255 - hops {
            return Err(Dropped::Ttl);
        }
        if self.entries[&id].session.is_none() {
            if packet.state == SessionState::AdminDown {
                return Ok(());
            }
            self.begin(id, now);
        }
        let Some(entry) = self.entries.get_mut(&id) else { return Err(Dropped::Unknown) };
        let Some(session) = &mut entry.session else { return Err(Dropped::Unknown) };
        session.receive(&packet, now).map_err(|_| Dropped::Unknown)?;
        entry.heard = now;
        for change in session.take_changes() {
            match (change.from, change.to) {
                (_, SessionState::Up) => entry.verdict.up(now),
                (SessionState::Up, _) if is_fault(&packet) && now < self.late => {
                    entry.verdict.doubted(now)
                }
                (SessionState::Up, _) if is_fault(&packet) => entry.verdict.failed(true, now),
                (SessionState::Up, _) => entry.verdict.ended(),
                _ => continue,
            }
            self.changed = true;
        }
        self.serve(id, now, out);
        Ok(())
    }

    /// Handles an echo reply.
    ///
    /// # Errors
    /// [`Dropped::Unknown`] if no session of this table sent the request.
    pub fn answered(&mut self, echo: Echo, now: Duration) -> Result<(), Dropped> {
        let session = NonZeroU32::new(echo.session).filter(|_| echo.identifier == self.identifier);
        let id = session.and_then(|session| self.mine.get(&session)).copied();
        let id = id.ok_or(Dropped::Unknown)?;
        let verdict = &mut self.entries.get_mut(&id).ok_or(Dropped::Unknown)?.verdict;
        let sound = verdict.is_sound(now);
        verdict.answer(now);
        self.changed |= sound != verdict.is_sound(now);
        self.schedule(id);
        Ok(())
    }

    /// Sends everything that is due.
    pub fn poll(&mut self, now: Duration, out: &mut Vec<Sending>) {
        while let Some(&(at, id)) = self.schedule.first()
            && at <= now
        {
            self.serve(id, now, out);
        }
    }

    /// When [`Self::poll`] will have something to do.
    #[must_use]
    pub fn deadline(&self) -> Option<Duration> {
        self.schedule.first().map(|(at, _)| *at)
    }

    /// Returns which paths are broken and which are sound, if that has changed.
    pub fn news(&mut self, now: Duration) -> Option<PathEvent> {
        std::mem::take(&mut self.changed).then(|| PathEvent {
            generation: self.generation,
            down: self.which(|entry| entry.verdict.is_broken()),
            up: self.which(|entry| entry.verdict.is_sound(now)),
            sessions: self.entries.values().filter_map(line).collect(),
        })
    }

    /// Tells all peers that this end stops.
    pub fn stop(&mut self, now: Duration, out: &mut Vec<Sending>) {
        let ids: Vec<PathId> = self.entries.keys().copied().collect();
        for id in ids {
            if let Some(session) = self.entries.get_mut(&id).and_then(|e| e.session.as_mut()) {
                session.hold(true, now);
            }
            self.send(id, now, out);
        }
    }

    fn which(&self, of: impl Fn(&Entry) -> bool) -> BTreeSet<PathId> {
        self.entries.iter().filter(|(_, entry)| of(entry)).map(|(id, _)| *id).collect()
    }

    /// Begins the session of a path under a number that nobody knows.
    fn begin(&mut self, id: PathId, now: Duration) {
        let mine = loop {
            let number = NonZeroU32::new(self.random.number() as u32);
            if let Some(number) = number.filter(|number| !self.mine.contains_key(number)) {
                break number;
            }
        };
        let session = Session::new(mine, self.timing, self.random.number(), now);
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.session = Some(session);
            self.mine.insert(mine, id);
            self.changed = true;
        }
    }

    /// What time brings to one path.
    fn serve(&mut self, id: PathId, now: Duration, out: &mut Vec<Sending>) {
        self.send(id, now, out);
        let Some(entry) = self.entries.get_mut(&id) else { return };
        let Some(session) = &mut entry.session else { return };
        for change in session.take_changes() {
            if change.from == SessionState::Up {
                entry.verdict.failed(false, now);
                self.changed = true;
            }
        }
        self.changed |= entry.verdict.tick(now);
        let detection = session.detection_time();
        let session = session.discriminator().get();
        let there = self.interfaces.contains_key(&entry.path.interface);
        if there && entry.verdict.asks(entry.heard, detection, now) {
            entry.sequence = entry.sequence.wrapping_add(1);
            let sequence = entry.sequence;
            let echo = Echo { identifier: self.identifier, sequence, session };
            let path = &self.entries[&id].path;
            out.extend(self.by(path, ends(path), PacketContent::Echo(echo)));
            self.echoes += 1;
        }
        self.schedule(id);
    }

    fn schedule(&mut self, id: PathId) {
        let Some(entry) = self.entries.get_mut(&id) else { return };
        if let Some(due) = entry.due.take() {
            self.schedule.remove(&(due, id));
        }
        let Some(session) = &entry.session else { return };
        let there = self.interfaces.contains_key(&entry.path.interface);
        let judged = entry.verdict.deadline(entry.heard, session.detection_time());
        let judged = judged.filter(|_| there);
        entry.due = session.deadline().into_iter().chain(judged).min();
        self.schedule.extend(entry.due.map(|due| (due, id)));
    }

    /// The packets of a session that are due.
    fn send(&mut self, id: PathId, now: Duration, out: &mut Vec<Sending>) {
        let mut due = Vec::new();
        if let Some(session) = self.entries.get_mut(&id).and_then(|e| e.session.as_mut()) {
            due.extend(std::iter::from_fn(|| session.poll(now)));
        }
        for Outgoing { packet, everywhere } in due {
            let path = &self.entries[&id].path;
            let port = if path.labels.is_empty() { SINGLE_HOP_PORT } else { MULTI_HOP_PORT };
            out.extend(self.by(path, ends(path), control(packet, port)));
            self.packets += 1;
            if everywhere {
                out.extend(self.second(path, packet));
            }
        }
    }

    /// A packet of a path's session by another way to the same node.
    fn second(&self, path: &WatchedPath, packet: Packet) -> Option<Sending> {
        if let Some((source, destination)) = path.nodes {
            return Some(Sending::Routed { source, destination, packet });
        }
        let all = PathId { rank: 0, ..path.id }..=PathId { rank: u32::MAX, ..path.id };
        let others = self.entries.range(all).map(|(_, other)| other).filter(|other| {
            other.path.id != path.id
                && !other.verdict.is_broken()
                && self.interfaces.contains_key(&other.path.interface)
        });
        // By another NIC where there is one.
        let other = others.max_by_key(|other| other.path.interface != path.interface)?;
        self.by(&other.path, ends(path), control(packet, MULTI_HOP_PORT))
    }

    /// A packet in the encapsulation of a path; none while its interface is not there.
    fn by(
        &self,
        path: &WatchedPath,
        ends: (IpAddr, IpAddr),
        content: PacketContent,
    ) -> Option<Sending> {
        let SendingInterface { ifindex, mac: from } = *self.interfaces.get(&path.interface)?;
        let (source, destination) = ends;
        let labels = path.labels.clone();
        let way = Encapsulation { ifindex, from, to: path.mac, labels, source, destination };
        Some(Sending::Planned(way, content))
    }
}

impl Entry {
    /// The interface that its packets come in by is gone, or without carrier: the other end's way here is
    /// broken, and it hears so by another one. Of our own way there this says nothing.
    fn deaf(&mut self, now: Duration) {
        if let Some(session) = &mut self.session {
            let was_up = session.state() == SessionState::Up;
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
    packet.state == SessionState::Down && packet.diagnostic == Diagnostic::TIME_EXPIRED
}

/// What the packets of a path show of it. One that stays the same through a change of plans is the same path.
type Trail = ([IpAddr; 2], String, Mac, Vec<Label>, Option<String>, u8);

fn trail(path: &WatchedPath) -> Trail {
    let WatchedPath { interface, mac, labels, arrival, transits, .. } = path.clone();
    ([path.source, path.destination], interface, mac, labels, arrival, transits)
}

const fn ends(path: &WatchedPath) -> (IpAddr, IpAddr) {
    (path.source, path.destination)
}

fn control(packet: Packet, to: u16) -> PacketContent {
    let from = FIRST_PORT + packet.mine % (u32::from(u16::MAX) + 1 - FIRST_PORT);
    PacketContent::Control { ports: (from as u16, to), packet }
}

fn line(entry: &Entry) -> Option<SessionLine> {
    let session = entry.session.as_ref()?;
    Some(SessionLine {
        path: entry.path.id,
        interface: entry.path.interface.clone(),
        state: session.state(),
        diagnostic: session.diagnostic(),
        broken: entry.verdict.is_broken(),
    })
}

#[cfg(test)]
mod tests;
