//! What one neighbour has not got, or has not acknowledged, and when it is sent (again).

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tresse_base::random::Random;
use tresse_frame::records::{Emitter, Item, Origin, RecordId};

use super::record::Record;

/// A neighbour that is heard.
#[derive(Debug)]
pub(super) struct Neighbour {
    /// The records that it may lack.
    owed: BTreeMap<Origin, Owed>,
    replies: BTreeSet<Reply>,
    /// Nothing is sent before this time, for the neighbour to keep up.
    pause: Duration,
}

/// A record that a neighbour may lack.
#[derive(Debug)]
struct Owed {
    /// It is only offered, as the neighbour may have it.
    offer: bool,
    /// When it is sent.
    at: Duration,
    /// How often it was sent.
    sent: u32,
}

/// An answer, which is sent once: what it answers comes again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reply {
    Acknowledgement(RecordId),
    Request(RecordId),
}

impl Neighbour {
    /// One that has come up: it is offered all records.
    pub fn new(records: impl Iterator<Item = Origin>, now: Duration) -> Self {
        let offer = |origin| (origin, Owed { offer: true, at: now, sent: 0 });
        Self { owed: records.map(offer).collect(), replies: BTreeSet::new(), pause: now }
    }

    /// It lacks this record.
    pub fn owe(&mut self, origin: Origin, now: Duration) {
        self.owed.insert(origin, Owed { offer: false, at: now, sent: 0 });
    }

    /// It says that it lacks this record. What was just sent may be on its way, and comes again anyhow.
    pub fn owe_again(&mut self, origin: Origin, now: Duration) {
        if self.owed.get(&origin).is_none_or(|owed| owed.offer || owed.sent == 0) {
            self.owe(origin, now);
        }
    }

    /// It has this record, or needs it no more.
    pub fn has(&mut self, origin: Origin) {
        self.owed.remove(&origin);
    }

    /// It has sent or, with `offer`, offered a record that this node has too. It gets no answer if the same went to it
    /// meanwhile: that serves as one.
    pub fn has_too(&mut self, id: RecordId, offer: bool) {
        let same = |owed: Owed| owed.offer == offer && owed.sent > 0;
        let crossed = self.owed.remove(&id.origin).is_some_and(same);
        if !crossed {
            self.answer(Reply::Acknowledgement(id));
        }
    }

    /// It gets this answer, unless it asks for more than there can be.
    pub fn answer(&mut self, reply: Reply) {
        if self.replies.len() < REPLIES_MOST {
            self.replies.insert(reply);
        }
    }

    /// The packets that are due.
    pub fn poll(
        &mut self,
        fabric: [u8; 8],
        records: &BTreeMap<Origin, Record>,
        random: &mut Random,
        now: Duration,
    ) -> Vec<Vec<u8>> {
        let mut packets = Vec::new();
        if self.deadline().is_none_or(|at| now < at) {
            return packets;
        }
        let mut packet = Emitter::new(fabric);
        let mut push = |item: &Item<'_>| {
            if packet.push(item) {
                return true;
            }
            let full = std::mem::replace(&mut packet, Emitter::new(fabric));
            packets.push(full.finish());
            packets.len() < PACKETS && packet.push(item)
        };
        while let Some(reply) = self.replies.first().copied() {
            let item = match reply {
                Reply::Acknowledgement(id) => Item::Acknowledgement(id),
                Reply::Request(id) => Item::Request(id),
            };
            if !push(&item) {
                break;
            }
            self.replies.pop_first();
        }
        let waits = !self.replies.is_empty();
        for (origin, owed) in self.owed.iter_mut().filter(|(_, owed)| owed.at <= now && !waits) {
            let Some(record) = records.get(origin) else { continue };
            let id = RecordId { origin: *origin, instance: record.instance };
            let whole =
                || Item::Record { id, seconds: record.seconds(now), fields: &record.fields };
            let item = if owed.offer { Item::Offer(id) } else { whole() };
            if !push(&item) {
                break;
            }
            let wait = AGAIN * (1 << owed.sent.min(DOUBLED_MOST));
            // What was sent apart goes together from the second time on.
            let at = now + wait.mul_f64(0.75 + 0.25 * random.fraction());
            owed.at = TOGETHER * at.div_duration_f64(TOGETHER).ceil() as u32;
            owed.sent += 1;
        }
        if packets.len() >= PACKETS {
            self.pause = now + PAUSE;
        } else if !packet.is_empty() {
            packets.push(packet.finish());
        }
        packets
    }

    /// When [`Self::poll`] has something to send.
    pub fn deadline(&self) -> Option<Duration> {
        let owed = self.owed.values().map(|owed| owed.at).min();
        let replies = (!self.replies.is_empty()).then_some(Duration::ZERO);
        replies.into_iter().chain(owed).min().map(|at| at.max(self.pause))
    }
}

/// When what was not acknowledged is sent again; each time that doubles.
const AGAIN: Duration = Duration::from_millis(100);
const DOUBLED_MOST: u32 = 6;
/// It is sent again at multiples of this time: a neighbour that never answers gets few packets.
const TOGETHER: Duration = Duration::from_millis(50);
/// So many packets go to a neighbour at once, and the next ones after a pause: less than the smallest
/// receive buffer of a socket holds.
const PACKETS: usize = 32;
const PAUSE: Duration = Duration::from_millis(2);
/// Two for each record that there can be.
const REPLIES_MOST: usize = 16_384;
