//! Counts what each NIC receives for all stations, and remembers who has sent it. Nothing of a plan needs such frames, as
//! neighbours are permanent: they come from outside, or from programs.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;
use tresse_base::units::Mac;
use tresse_control::BroadcastLine;
use tresse_engine::Index;
use tresse_frame::broadcast::{Broadcast, BroadcastKind};

/// Senders remembered per NIC; the one that has been silent longest makes room.
const MOST: usize = 32;
/// Frames that are read in a second; others are counted alone.
pub const READ_A_SECOND: u32 = 32;
const MINUTE: Duration = Duration::from_secs(60);

/// What one NIC has received for all stations.
pub struct Broadcasts {
    received: u64,
    /// Begin of the present minute; what has come in it and in the one before.
    minute: (Instant, u64, u64),
    senders: BTreeMap<Mac, Sender>,
}

struct Sender {
    kind: BroadcastKind,
    read: u64,
    at: Instant,
}

impl Broadcasts {
    pub fn new(now: Instant) -> Self {
        Self { received: 0, minute: (now, 0, 0), senders: BTreeMap::new() }
    }

    /// Counts frames, and remembers the sender of one that was read.
    pub fn hear(&mut self, frames: u32, read: Option<Broadcast>, now: Instant) {
        self.turn(now);
        self.received += u64::from(frames);
        self.minute.1 += u64::from(frames);
        let Some(Broadcast { source, kind }) = read else { return };
        if self.senders.len() >= MOST && !self.senders.contains_key(&source) {
            let oldest = self.senders.iter().min_by_key(|(_, sender)| sender.at);
            let oldest = oldest.map(|(mac, _)| *mac);
            oldest.map(|mac| self.senders.remove(&mac));
        }
        let sender = self.senders.entry(source).or_insert(Sender { kind, read: 0, at: now });
        (sender.kind, sender.read, sender.at) = (kind, sender.read + 1, now);
    }

    fn turn(&mut self, now: Instant) {
        let (begun, present, _) = self.minute;
        if now >= begun + 2 * MINUTE {
            self.minute = (now, 0, 0);
        } else if now >= begun + MINUTE {
            self.minute = (begun + MINUTE, 0, present);
        }
    }

    /// All of them so far.
    pub const fn received(&self) -> u64 {
        self.received
    }

    /// Those of the present minute, or of the one before if these were more.
    pub fn a_minute(&mut self, now: Instant) -> u64 {
        self.turn(now);
        self.minute.1.max(self.minute.2)
    }

    /// The senders, the last one first.
    pub fn lines(&self, index: &Index, now: Instant) -> Vec<BroadcastLine> {
        let mut senders: Vec<_> = self.senders.iter().collect();
        senders.sort_by_key(|(_, sender)| now - sender.at);
        let line = |(mac, sender): (&Mac, &Sender)| BroadcastLine {
            mac: mac.to_string(),
            node: index.nic(*mac).map(|(node, _)| node.into()),
            nic: index.nic(*mac).map(|(_, nic)| nic.into()),
            kind: sender.kind.to_string(),
            read: sender.read,
            age_ms: (now - sender.at).as_millis() as u64,
        };
        senders.into_iter().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_senders_are_remembered_and_all_frames_counted() {
        let begin = Instant::now();
        let at = |ms| begin + Duration::from_millis(ms);
        let mut heard = Broadcasts::new(begin);
        let from = |last: u8| {
            let kind = BroadcastKind::Other(0x88b5);
            Some(Broadcast { source: Mac([2, 0, 0, 0, 0, last]), kind })
        };
        for last in 0..40 {
            heard.hear(2, from(last), at(10 * u64::from(last)));
        }
        heard.hear(100, None, at(400));
        heard.hear(1, from(20), at(410));
        let lines = heard.lines(&Index::default(), at(410));
        let seen = (heard.received(), heard.a_minute(at(410)), lines.len());
        assert_eq!(seen, (181, 181, MOST));
        assert_eq!((&*lines[0].mac, lines[0].read), ("02:00:00:00:00:14", 2));
        assert!(!lines.iter().any(|line| line.mac.ends_with(":07")), "the oldest have gone");
        heard.hear(3, from(1), at(61_000));
        assert_eq!(heard.a_minute(at(61_000)), 181, "the minute before");
        assert_eq!((heard.a_minute(at(200_000)), heard.received()), (0, 184));
    }
}
