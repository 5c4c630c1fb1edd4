//! All BFD sessions of this node, at most one per watched path: finds the session of a received
//! packet, decides what to send and when, and which paths are broken. No socket and no clock.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use tresse_base::id::PathId;
use tresse_base::random::Random;

use crate::lateness::Lateness;
use crate::ports::{control, is_along};
use crate::verdict::Verdict;
use crate::watching::Trail;
use crate::{
    Datagram, Diagnostic, Dropped, Echo, Encapsulation, MULTI_HOP_PORT, Outgoing, Packet,
    PacketContent, PathEvent, SINGLE_HOP_PORT, Sending, SendingInterface, Session, SessionLine,
    SessionState, Timing, WatchedPath, Watching,
};

/// The largest number of routers that a packet which ends a session may have crossed.
const HOPS_MOST: u8 = 64;
/// Where a packet has the receiver's discriminator (RFC 5880, section 4.1).
const YOURS_AT: usize = 8;

/// How a packet of a path's session arrived.
enum Arrived {
    /// Along the other end's path of the same rank.
    ByPath,
    /// By another path between the two nodes.
    ByOther,
}

struct Entry {
    path: WatchedPath,
    session: Option<Session>,
    verdict: Verdict,
    /// Watched like an active path, as it may cross what broke others.
    probed: bool,
    /// When the session heard something last.
    heard: Duration,
    sequence: u16,
    due: Option<Duration>,
}

/// Gives a number that nobody can guess at each call.
pub type Secrets = Box<dyn FnMut() -> u64 + Send>;

/// All BFD sessions of this node, at most one per watched path.
pub struct SessionTable {
    /// As it was asked for, but for the interval of a host that is too slow for it.
    timing: Timing,
    /// The interval that was asked for.
    configured: Duration,
    lateness: Lateness,
    secrets: Secrets,
    identifier: u16,
    generation: [u8; 8],
    entries: BTreeMap<PathId, Entry>,
    interfaces: BTreeMap<String, SendingInterface>,
    /// By the discriminator of this end.
    mine: HashMap<NonZeroU32, PathId>,
    /// By source address and interface of arrival: the paths of one peer, by rank.
    arrivals: HashMap<(IpAddr, u32), Vec<PathId>>,
    schedule: BTreeSet<(Duration, PathId)>,
    changed: bool,
    /// Wake-ups that came too late for anything to be judged.
    pub late: u64,
    /// Control packets that went out.
    pub packets: u64,
    /// Echo requests that went out.
    pub echoes: u64,
}

impl SessionTable {
    /// A table without sessions, whose numbers follow from a seed: for tests.
    #[must_use]
    pub fn new(timing: Timing, seed: u64) -> Self {
        let mut random = Random::new(seed);
        Self::with(timing, Box::new(move || random.number()))
    }

    /// A table without sessions. `secrets`: whoever can guess one can end a session.
    #[must_use]
    pub fn with(timing: Timing, mut secrets: Secrets) -> Self {
        let identifier = secrets() as u16;
        Self {
            timing,
            configured: timing.interval,
            lateness: Lateness::default(),
            secrets,
            identifier,
            generation: [0; 8],
            entries: BTreeMap::new(),
            interfaces: BTreeMap::new(),
            mine: HashMap::new(),
            arrivals: HashMap::new(),
            schedule: BTreeSet::new(),
            changed: false,
            late: 0,
            packets: 0,
            echoes: 0,
        }
    }

    /// By how much the interval that this host asks for is longer than configured, as it is too slow: 1 to 4.
    #[must_use]
    pub const fn slowdown(&self) -> u32 {
        self.lateness.factor()
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
            before.map(|(id, entry)| (entry.path.trail(), (id, entry))).collect();
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
                probed: false,
                heard: now,
                sequence: 0,
                due: None,
            };
            let old = before.remove(&path.trail());
            let old = old.map(|(_, old)| Entry { path: path.clone(), due: None, ..old });
            let mut entry = old.unwrap_or_else(new);
            if path.arrival.as_ref().is_some_and(is_lost) {
                entry.deaf(now);
            }
            let watched = entry.session.is_some() || entry.verdict.is_known();
            if watched && is_lost(&path.interface) {
                entry.verdict.lost(now);
            }
            let now_there = watching.interfaces.get(&path.interface);
            if now_there.is_some() && self.interfaces.get(&path.interface) != now_there {
                entry.verdict.returned(now);
            }
            let probed = watching.probed.contains(&path.id);
            let ends = entry.probed && !probed && !path.active && !entry.verdict.is_broken();
            let session = entry.session.take_if(|_| ends);
            if session.is_some() {
                let verdict = Verdict::new(self.timing.interval, self.timing.multiplier);
                let of_session = Entry { path: path.clone(), session, ..entry };
                before.insert(path.trail(), (path.id, of_session));
                entry = Entry { verdict, ..new() };
            }
            entry.probed = probed;
            if probed {
                entry.verdict.probe(now);
            }
            entries.insert(path.id, entry);
        }
        self.entries = before.into_values().collect();
        // Nothing goes by a node without a plan: its peers are to go round it.
        self.end(
            now,
            out,
            match watching.is_of_no_plan() {
                true => |session, now| session.expire(now),
                false => |session, now| session.hold(true, now),
            },
        );
        self.entries = entries;
        self.interfaces = watching.interfaces;
        let ids: Vec<PathId> = self.entries.keys().copied().collect();
        for id in ids {
            let Entry { path, session, probed, .. } = &self.entries[&id];
            let arrival = path.arrival.as_ref().and_then(|name| self.interfaces.get(name));
            if let Some(arrival) = arrival {
                self.arrivals.entry((path.destination, arrival.ifindex)).or_default().push(id);
            }
            let mine = session.as_ref().map(Session::discriminator);
            let active = path.active || *probed;
            if let Some(mine) = mine {
                self.mine.insert(mine, id);
            } else if active {
                self.begin(id, now);
            }
            self.serve(id, now, out);
        }
        self.changed = true;
    }

    /// To be called first after each sleep. If it is late by more than half an interval, this host was kept
    /// waiting: what it has not heard, and what others say that they have not heard of it, proves nothing.
    /// Then nothing is judged for a detection time. A host that is late again before that is over is too
    /// slow for the interval, and asks for a longer one.
    pub fn wake(&mut self, now: Duration) {
        let late = self.deadline().is_some_and(|due| due + self.timing.interval / 2 < now);
        if self.lateness.note(late, now) {
            self.timing.interval = self.configured * self.lateness.factor();
            for session in self.entries.values_mut().filter_map(|entry| entry.session.as_mut()) {
                session.retime(self.timing, now);
            }
        }
        if late {
            self.late += 1;
            let until = now + self.timing.interval * u32::from(self.timing.multiplier);
            self.lateness.until = until;
            let ids: Vec<PathId> = self.entries.keys().copied().collect();
            for id in ids {
                if let Some(entry) = self.entries.get_mut(&id) {
                    entry.verdict.postpone(until);
                    entry.session.iter_mut().for_each(|session| session.postpone(until));
                }
                self.schedule(id);
            }
        }
    }

    /// Handles a datagram that was received `at` this time.
    ///
    /// # Errors
    /// [`Dropped`]: why it has no effect.
    pub fn hear(
        &mut self,
        datagram: &Datagram<'_>,
        at: Duration,
        out: &mut Vec<Sending>,
    ) -> Result<(), Dropped> {
        let packet = Packet::parse(datagram.payload).map_err(|_| Dropped::Malformed)?;
        let id = self.find(datagram, packet.yours)?;
        let known = packet.yours != 0;
        let path = &self.entries[&id].path;
        match self.arrived(path, datagram)? {
            Arrived::ByPath => self.heard(id, &packet, at)?,
            Arrived::ByOther if !known => return Err(Dropped::Ttl),
            Arrived::ByOther => match packet.state {
                SessionState::Init | SessionState::Up => self.proven(id, at),
                // The end of a session. It is no word of this path otherwise.
                _ if self.is_open(id) => self.heard(id, &packet, at)?,
                _ => {}
            },
        }
        self.serve(id, at, out);
        Ok(())
    }

    /// The ends of the path that a datagram is for, this node's address first, before it is read as a whole.
    ///
    /// # Errors
    /// [`Dropped::Malformed`] if it is too short, [`Dropped::Unknown`] if it is for none.
    pub fn ends(&self, datagram: &Datagram<'_>) -> Result<(IpAddr, IpAddr), Dropped> {
        let yours = datagram.payload.get(YOURS_AT..).and_then(|rest| rest.first_chunk());
        let yours = u32::from_be_bytes(*yours.ok_or(Dropped::Malformed)?);
        self.find(datagram, yours).map(|id| self.entries[&id].path.ends())
    }

    /// Has a path with these ends a session?
    #[must_use]
    pub fn has_session(&self, of: (IpAddr, IpAddr)) -> bool {
        let mut entries = self.entries.values();
        entries.any(|entry| entry.session.is_some() && entry.path.ends() == of)
    }

    /// The path that a datagram is for, by the discriminator of this end, or by where it came from.
    fn find(&self, datagram: &Datagram<'_>, yours: u32) -> Result<PathId, Dropped> {
        let found = match NonZeroU32::new(yours) {
            None => match self.arrivals.get(&(datagram.source, datagram.ifindex)) {
                Some(paths) if paths.len() > 1 => {
                    paths.iter().find(|path| is_along(**path, datagram))
                }
                paths => paths.and_then(|paths| paths.first()),
            },
            Some(yours) => self.mine.get(&yours),
        };
        let id = *found.ok_or(Dropped::Unknown)?;
        let path = &self.entries[&id].path;
        let from = (datagram.destination, datagram.source);
        (from == path.ends() || Some(from) == path.nodes).then_some(id).ok_or(Dropped::Unknown)
    }

    /// By which way a datagram for the session of `path` came.
    fn arrived(&self, path: &WatchedPath, datagram: &Datagram<'_>) -> Result<Arrived, Dropped> {
        let Datagram { ifindex, ttl, multi_hop, .. } = *datagram;
        let planned = || self.interfaces.values().any(|other| other.ifindex == ifindex);
        let there = match &path.arrival {
            Some(name) => self.interfaces.get(name).is_none_or(|there| there.ifindex == ifindex),
            None => planned(),
        };
        let along = there && (!path.shared || is_along(path.id, datagram));
        if along && multi_hop == (path.transits > 0) && ttl >= 255 - path.transits {
            Ok(Arrived::ByPath)
        } else if multi_hop && ttl >= 255 - HOPS_MOST && planned() {
            Ok(Arrived::ByOther)
        } else {
            Err(Dropped::Ttl)
        }
    }

    /// The session of a path has received a packet. A session that only the other end wanted is over when
    /// that end says so.
    fn heard(&mut self, id: PathId, packet: &Packet, at: Duration) -> Result<(), Dropped> {
        if self.entries[&id].session.is_none() {
            if packet.state == SessionState::AdminDown {
                return Ok(());
            }
            self.begin(id, at);
        }
        let Some(entry) = self.entries.get_mut(&id) else { return Err(Dropped::Unknown) };
        let Some(session) = &mut entry.session else { return Err(Dropped::Unknown) };
        session.receive(packet, at).map_err(|_| Dropped::Unknown)?;
        entry.heard = at;
        // What came while this thread was kept waiting sets no time that has passed already.
        session.postpone(self.lateness.until);
        // Who says Init hears us, but may not have heard that we hear it: it sends slowly until then.
        let both_up = (session.state(), packet.state) == (SessionState::Up, SessionState::Up);
        let there = self.interfaces.contains_key(&entry.path.interface);
        if both_up && there && !entry.verdict.is_up() {
            entry.verdict.up(at);
            self.changed = true;
        }
        for change in session.take_changes() {
            match (change.from, change.to) {
                (_, SessionState::Up) if both_up => continue,
                (_, SessionState::Up) => entry.verdict.proven(at),
                (SessionState::Up, _) if is_fault(packet) && at < self.lateness.until => {
                    entry.verdict.doubted(at);
                    entry.verdict.postpone(self.lateness.until);
                }
                (SessionState::Up, _) if is_fault(packet) => entry.verdict.failed(true, at),
                (SessionState::Up, _) => entry.verdict.ended(),
                _ => continue,
            }
            self.changed = true;
        }
        let ended = packet.state == SessionState::AdminDown;
        if ended && !entry.path.active && !entry.probed && !entry.verdict.is_broken() {
            let session = entry.session.take();
            entry.verdict = Verdict::new(self.timing.interval, self.timing.multiplier);
            session.map(|session| self.mine.remove(&session.discriminator()));
            self.schedule(id);
        }
        Ok(())
    }

    /// The other end hears the packets of this path.
    fn proven(&mut self, id: PathId, at: Duration) {
        self.judge(id, at, |verdict| verdict.proven(at));
    }

    /// Could the session of a path be ended?
    fn is_open(&self, id: PathId) -> bool {
        let state = self.entries[&id].session.as_ref().map(Session::state);
        matches!(state, Some(SessionState::Init | SessionState::Up))
    }

    /// Handles an echo reply.
    ///
    /// # Errors
    /// [`Dropped::Unknown`] if no session of this table sent the request.
    pub fn answered(&mut self, echo: Echo, now: Duration) -> Result<(), Dropped> {
        let session = NonZeroU32::new(echo.session).filter(|_| echo.identifier == self.identifier);
        let id = session.and_then(|session| self.mine.get(&session)).copied();
        let id = id.ok_or(Dropped::Unknown)?;
        self.judge(id, now, |verdict| verdict.answer(now));
        self.schedule(id);
        Ok(())
    }

    /// Tells the verdict on a path something, and notes whether it has changed.
    fn judge(&mut self, id: PathId, now: Duration, tell: impl FnOnce(&mut Verdict)) {
        let Some(entry) = self.entries.get_mut(&id) else { return };
        let judged = |verdict: &Verdict| (verdict.is_sound(now), verdict.is_held());
        let before = judged(&entry.verdict);
        tell(&mut entry.verdict);
        self.changed |= before != judged(&entry.verdict);
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
            held: self.which(|entry| entry.verdict.is_held()),
            up: self.which(|entry| entry.verdict.is_sound(now)),
            silent: self.which(|entry| {
                entry.session.as_ref().is_none_or(|session| session.state() != SessionState::Up)
            }),
            sessions: self.entries.values().filter_map(line).collect(),
        })
    }

    /// Tells all peers that this end stops.
    pub fn stop(&mut self, now: Duration, out: &mut Vec<Sending>) {
        self.end(now, out, |session, now| session.hold(true, now));
    }

    fn end(&mut self, now: Duration, out: &mut Vec<Sending>, end: fn(&mut Session, Duration)) {
        let ids: Vec<PathId> = self.entries.keys().copied().collect();
        for id in ids {
            if let Some(session) = self.entries.get_mut(&id).and_then(|e| e.session.as_mut()) {
                end(session, now);
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
            let number = NonZeroU32::new((self.secrets)() as u32);
            if let Some(number) = number.filter(|number| !self.mine.contains_key(number)) {
                break number;
            }
        };
        let session = Session::new(mine, self.timing, (self.secrets)(), now);
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.session = Some(session);
            self.mine.insert(mine, id);
            self.changed = true;
        }
    }

    /// Have the sessions of all paths to a peer, of which there are several, fallen silent? Then it is the peer
    /// that may be at fault, and no path to it is better than another. Several cables to a neighbour that routes are lost
    /// with it.
    fn is_all_silent(&self, id: PathId, now: Duration) -> bool {
        let all = PathId { rank: 0, ..id }..=PathId { rank: u32::MAX, ..id };
        let silent = |entry: &Entry| {
            entry.path.nodes.is_none()
                && entry.session.is_some()
                && entry.verdict.is_known()
                && entry.heard + self.timing.interval * 3 / 2 <= now
        };
        let mut paths = 0;
        self.entries.range(all).all(|(_, entry)| {
            paths += 1;
            silent(entry)
        }) && paths > 1
    }

    /// What time brings to one path.
    fn serve(&mut self, id: PathId, now: Duration, out: &mut Vec<Sending>) {
        self.send(id, now, out);
        let Some(entry) = self.entries.get_mut(&id) else { return };
        let Some(session) = &mut entry.session else { return };
        let ended = session.take_changes().iter().any(|change| change.from == SessionState::Up);
        let unknown = ended && self.is_all_silent(id, now);
        let Some(entry) = self.entries.get_mut(&id) else { return };
        let Some(session) = &mut entry.session else { return };
        match (ended, unknown) {
            (true, true) => entry.verdict.unknown(now),
            (true, false) => entry.verdict.failed(false, now),
            (false, _) => {}
        }
        self.changed |= ended;
        self.changed |= entry.verdict.tick(now);
        let detection = session.detection_time();
        let session = session.discriminator().get();
        let there = self.interfaces.contains_key(&entry.path.interface);
        if there && entry.verdict.asks(entry.heard, detection, now) {
            entry.sequence = entry.sequence.wrapping_add(1);
            let sequence = entry.sequence;
            let echo = Echo { identifier: self.identifier, sequence, session };
            let path = &self.entries[&id].path;
            out.extend(self.by(path, path.ends(), PacketContent::Echo(echo)));
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
            out.extend(self.by(path, path.ends(), control(packet, port, path.id)));
            self.packets += 1;
            if everywhere {
                self.by_others(path, packet, out);
            }
        }
    }

    /// A packet of a path's session by all other ways to the same node, also those that are broken: the
    /// verdict on them is about our direction too, and may be wrong or not known yet.
    fn by_others(&self, path: &WatchedPath, packet: Packet, out: &mut Vec<Sending>) {
        if let Some((source, destination)) = path.nodes {
            let ends = path.ends();
            return out.push(Sending::Routed { source, destination, ends, packet });
        }
        let all = PathId { rank: 0, ..path.id }..=PathId { rank: u32::MAX, ..path.id };
        let others = self.entries.range(all).filter(|(id, _)| **id != path.id);
        let content = |along| control(packet, MULTI_HOP_PORT, along);
        let by = |(id, other): (&PathId, &Entry)| self.by(&other.path, path.ends(), content(*id));
        out.extend(others.filter_map(by));
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

fn line(entry: &Entry) -> Option<SessionLine> {
    let session = entry.session.as_ref()?;
    Some(SessionLine {
        path: entry.path.id,
        interface: entry.path.interface.clone(),
        state: session.state(),
        peer: session.peer_discriminator(),
        diagnostic: session.diagnostic(),
        broken: entry.verdict.is_broken(),
    })
}

#[cfg(test)]
mod tests;
