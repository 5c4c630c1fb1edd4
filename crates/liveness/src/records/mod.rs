//! What each node knows of its own NICs and paths, passed on to all nodes (DESIGN section 7a): every node
//! makes one record, newer ones replace older ones, and each node passes what is new to it on to its
//! neighbours. After OSPF's flooding (RFC 2328 section 13), without areas and elections.
//!
//! - A record goes to every neighbour but the one it came from, and again until that neighbour acknowledges
//!   it or sends it itself. So does the offer of each record to a neighbour that has come up; it requests
//!   those that it lacks, and sends those that it has newer.
//! - A node makes its record anew from time to time; one that was not made anew for an hour is forgotten.
//! - A node that hears a record of its own that is newer than what it has made (it was restarted, and its
//!   clock is behind) makes one that is newer still.
//! - A node that makes records wildly is held to a rate by its first neighbours.
//!
//! `report` is the content of a record, `load` what it says of wires. No socket and no clock.

mod load;
mod neighbour;
mod record;
mod report;

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tresse_base::bucket::Bucket;
use tresse_base::random::Random;
use tresse_frame::records::{
    FIELDS_MOST, Instance, Item, Origin, RecordId, RecordsError, digest, parse,
};

pub use self::load::{LoadKind, Rate, WireLoad};
use self::neighbour::{Neighbour, Reply};
pub use self::record::Record;
pub use self::report::{MalformedReport, PathState, Report};

/// The records of all nodes, as one node knows them.
#[derive(Debug)]
pub struct Records {
    fabric: [u8; 8],
    own: Origin,
    /// Records with later epochs are forged: no clock is so far ahead.
    epoch_most: u64,
    /// The least instance of the own record that is newer than every known one.
    next: Instance,
    /// What the own record is to say.
    fields: Option<Arc<[u8]>>,
    /// When the own record is to be made, or made anew.
    due: Option<Duration>,
    own_bucket: Bucket,
    random: Random,
    records: BTreeMap<Origin, Record>,
    /// When records of others are forgotten.
    expiry: BTreeSet<(Duration, Origin)>,
    neighbours: BTreeMap<u32, Neighbour>,
    changed: BTreeSet<Origin>,
    /// Records that were not taken: their node makes them too often, there are too many nodes, or no node can have
    /// made them.
    pub held: u64,
}

/// Why a packet has no effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It is no packet of records.
    #[error(transparent)]
    Malformed(#[from] RecordsError),
    /// It is of another fabric.
    #[error("packet of records of another fabric")]
    Fabric,
    /// It is from a node that is no neighbour now.
    #[error("packet of records from no neighbour")]
    Stranger,
}

/// The content of a record does not fit into a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a record of {found} bytes, expected at most {FIELDS_MOST}")]
pub struct TooLong {
    /// Bytes there are.
    pub found: usize,
}

impl Records {
    /// Without neighbours and records. `epoch`: greater than at the starts before, if the clock is right.
    /// `seed`: another one on each node.
    #[must_use]
    pub const fn new(fabric: [u8; 8], own: Origin, epoch: u64, seed: u64) -> Self {
        Self {
            fabric,
            own,
            epoch_most: epoch.saturating_add(EPOCHS_AHEAD),
            next: Instance { epoch, number: 1, digest: 0 },
            fields: None,
            due: None,
            own_bucket: Bucket::new(OWN_BURST, OWN_INTERVAL_MS),
            random: Random::new(seed),
            records: BTreeMap::new(),
            expiry: BTreeSet::new(),
            neighbours: BTreeMap::new(),
            changed: BTreeSet::new(),
            held: 0,
        }
    }

    /// A neighbour is heard, or no more; the caller numbers neighbours. One that may have begun anew, as its session
    /// has, is to be set down, and up when nothing that it sent before can be on its way: it has lost what it was
    /// sent, and an old acknowledgement would hide that.
    pub fn set_neighbour(&mut self, number: u32, is_up: bool, now: Duration) {
        if !is_up {
            self.neighbours.remove(&number);
        } else if !self.neighbours.contains_key(&number) {
            let neighbour = Neighbour::new(self.records.keys().copied(), now);
            self.neighbours.insert(number, neighbour);
        }
    }

    /// Sets what the own record says. Where that changes often, a while passes before it is sent.
    ///
    /// # Errors
    /// [`TooLong`]: then it says what it said.
    pub fn originate(&mut self, fields: Vec<u8>, now: Duration) -> Result<(), TooLong> {
        if fields.len() > FIELDS_MOST {
            return Err(TooLong { found: fields.len() });
        }
        if self.fields.as_deref() != Some(&fields) {
            self.fields = Some(fields.into());
            self.make_soon(now);
        }
        Ok(())
    }

    /// The latest record of a node.
    #[must_use]
    pub fn record(&self, of: Origin) -> Option<&Record> {
        self.records.get(&of)
    }

    /// All records, by origin.
    pub fn iter(&self) -> impl Iterator<Item = (Origin, &Record)> {
        self.records.iter().map(|(origin, record)| (*origin, record))
    }

    /// The nodes whose records have another content than at the last call, or none any more.
    pub fn changed(&mut self) -> BTreeSet<Origin> {
        std::mem::take(&mut self.changed)
    }

    /// Handles a packet from a neighbour. [`Self::poll`] has the answer.
    ///
    /// # Errors
    /// [`Refused`]: why it has no effect.
    pub fn hear(&mut self, from: u32, bytes: &[u8], now: Duration) -> Result<(), Refused> {
        let (fabric, items) = parse(bytes)?;
        if fabric != self.fabric {
            return Err(Refused::Fabric);
        }
        if !self.neighbours.contains_key(&from) {
            return Err(Refused::Stranger);
        }
        for item in items {
            match item {
                Item::Record { id, seconds, fields } => {
                    self.heard(from, id, seconds, fields, now);
                }
                Item::Offer(id) => self.offered(from, id, now),
                Item::Request(id) => self.owe(from, id.origin, now),
                Item::Acknowledgement(id) => {
                    let known = self.records.get(&id.origin);
                    let has_it = known.is_none_or(|record| record.instance <= id.instance);
                    if has_it && let Some(neighbour) = self.neighbours.get_mut(&from) {
                        neighbour.has(id.origin);
                    }
                }
            }
        }
        Ok(())
    }

    /// Sends what is due, as packets with the number of their neighbour, and forgets what is too old.
    pub fn poll(&mut self, now: Duration, out: &mut Vec<(u32, Vec<u8>)>) {
        if self.due.is_some_and(|due| due <= now) {
            self.make(now);
        }
        while let Some((at, origin)) = self.expiry.first().copied()
            && at <= now
        {
            self.expiry.remove(&(at, origin));
            self.records.remove(&origin);
            self.changed.insert(origin);
            self.neighbours.values_mut().for_each(|neighbour| neighbour.has(origin));
        }
        let (fabric, records) = (self.fabric, &self.records);
        for (number, neighbour) in &mut self.neighbours {
            let packets = neighbour.poll(fabric, records, &mut self.random, now);
            out.extend(packets.into_iter().map(|packet| (*number, packet)));
        }
    }

    /// When [`Self::poll`] will have something to do.
    #[must_use]
    pub fn deadline(&self) -> Option<Duration> {
        let neighbours = self.neighbours.values().filter_map(Neighbour::deadline);
        let expiry = self.expiry.first().map(|(at, _)| *at);
        neighbours.chain(expiry).chain(self.due).min()
    }

    /// A neighbour has sent a record.
    fn heard(&mut self, from: u32, id: RecordId, seconds: u16, fields: &[u8], now: Duration) {
        let RecordId { origin, instance } = id;
        let known = self.records.get(&origin);
        let order = known.map(|known| instance.cmp(&known.instance));
        match order {
            Some(Ordering::Equal) => {
                let Some(neighbour) = self.neighbours.get_mut(&from) else { return };
                return neighbour.has_too(id, false);
            }
            Some(Ordering::Less) => return self.owe(from, origin, now),
            _ if origin == self.own => return self.overtake(from, id, now),
            Some(Ordering::Greater) | None => {}
        }
        let expires = now + Duration::from_secs(seconds.into()).min(LIFETIME);
        // A newer record of a node holds for longer than the one before it.
        let early = known.is_some_and(|known| expires + EARLIER < known.expires);
        let other = instance.digest != digest(fields);
        let forged = seconds == 0 || early || other || instance.epoch > self.epoch_most;
        let full = known.is_none() && self.records.len() >= RECORDS_MOST;
        let new = || Bucket::new(BURST, INTERVAL_MS);
        let mut bucket = known.map_or_else(new, |known| known.bucket.clone());
        if forged || full {
            self.held += 1;
            return self.acknowledge(from, id);
        }
        if bucket.take(now.as_millis() as u64).is_err() {
            // Without an acknowledgement it comes again.
            self.held += 1;
            return;
        }
        let record = Record { instance, fields: fields.into(), expires, bucket };
        self.install(origin, record, Some(from), now);
        self.acknowledge(from, id);
    }

    /// A neighbour has this record.
    fn offered(&mut self, from: u32, id: RecordId, now: Duration) {
        let known = self.records.get(&id.origin).map(|record| record.instance);
        if known.is_some_and(|known| id.instance < known) {
            return self.owe(from, id.origin, now);
        }
        if known != Some(id.instance) && id.origin == self.own {
            return self.overtake(from, id, now);
        }
        let full = known.is_none() && self.records.len() >= RECORDS_MOST;
        if full || id.instance.epoch > self.epoch_most {
            self.held += 1;
            return self.acknowledge(from, id);
        }
        let Some(neighbour) = self.neighbours.get_mut(&from) else { return };
        if known == Some(id.instance) {
            neighbour.has_too(id, true);
        } else {
            neighbour.answer(Reply::Request(id));
        }
    }

    /// A neighbour has a record of this node that it has not made, or has forgotten.
    fn overtake(&mut self, from: u32, id: RecordId, now: Duration) {
        if id.instance.epoch <= self.epoch_most {
            if let Some(next) = id.instance.next().filter(|next| self.next < *next) {
                self.next = next;
            }
            if self.fields.is_some() {
                self.make_soon(now);
            }
        }
        self.acknowledge(from, id);
    }

    fn acknowledge(&mut self, to: u32, id: RecordId) {
        if let Some(neighbour) = self.neighbours.get_mut(&to) {
            neighbour.answer(Reply::Acknowledgement(id));
        }
    }

    /// The neighbour lacks this record.
    fn owe(&mut self, to: u32, origin: Origin, now: Duration) {
        let known = self.records.contains_key(&origin);
        if let Some(neighbour) = self.neighbours.get_mut(&to).filter(|_| known) {
            neighbour.owe_again(origin, now);
        }
    }

    /// The own record is made now, or as soon as its rate allows.
    fn make_soon(&mut self, now: Duration) {
        let soon = match self.own_bucket.take(now.as_millis() as u64) {
            Ok(()) => now,
            Err(at) => Duration::from_millis(at),
        };
        self.due = Some(self.due.map_or(soon, |due| due.min(soon)));
    }

    /// Makes the own record, and says when to make it anew.
    fn make(&mut self, now: Duration) {
        self.due = None;
        let Some(fields) = self.fields.clone() else { return };
        let instance = Instance { digest: digest(&fields), ..self.next };
        let Some(next) = instance.next() else { return };
        self.next = next;
        let bucket = Bucket::new(BURST, INTERVAL_MS);
        let record = Record { instance, fields, expires: now + LIFETIME, bucket };
        self.install(self.own, record, None, now);
        self.due = Some(now + REFRESH.mul_f64(0.75 + 0.25 * self.random.fraction()));
    }

    /// A record that is newer than the known one, and goes to all neighbours but that which sent it.
    fn install(&mut self, origin: Origin, record: Record, from: Option<u32>, now: Duration) {
        let (expires, fields) = (record.expires, record.fields.clone());
        let before = self.records.insert(origin, record);
        if origin != self.own {
            before.as_ref().map(|before| self.expiry.remove(&(before.expires, origin)));
            self.expiry.insert((expires, origin));
            if before.is_none_or(|before| before.fields != fields) {
                self.changed.insert(origin);
            }
        }
        for (number, neighbour) in &mut self.neighbours {
            match Some(*number) == from {
                true => neighbour.has(origin),
                false => neighbour.owe(origin, now),
            }
        }
    }
}

/// How long a record holds that is not made anew.
const LIFETIME: Duration = Duration::from_secs(3600);
/// The longest time after which a node makes its record anew.
const REFRESH: Duration = Duration::from_secs(1200);
/// How often a node makes its own record.
const OWN_BURST: u64 = 8;
const OWN_INTERVAL_MS: u64 = 250;
/// How often a record may be replaced: more often than a node makes one.
const BURST: u64 = 16;
const INTERVAL_MS: u64 = 100;
/// More nodes than any fabric has.
const RECORDS_MOST: usize = 8192;
/// By how much a record that crosses many nodes may hold for less than the one before it: each counts whole seconds.
const EARLIER: Duration = Duration::from_secs(60);
/// How far the epochs of others may be ahead: 34 years, where they are times in milliseconds.
const EPOCHS_AHEAD: u64 = 1 << 40;

#[cfg(test)]
mod tests;
