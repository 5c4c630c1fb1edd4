//! The last events of the daemon, also those before it was started, and since when what can be up or down is so.

mod file;
mod turns;

use std::collections::VecDeque;
use std::path::Path;

use tresse_control::{Event, EventList, Status};

use self::file::EventFile;
use self::turns::Turns;

/// Number of events that are kept.
const KEPT: usize = 1000;

/// The last events, and what they say of links, paths, VLANs and the plans of other nodes.
#[derive(Debug)]
pub struct History {
    events: VecDeque<Event>,
    turns: Turns,
    file: EventFile,
}

impl History {
    /// Reads the events of the daemons before this one from the state directory.
    #[must_use]
    pub fn open(directory: &Path) -> Self {
        let (file, events) = EventFile::open(directory, KEPT);
        let mut turns = Turns::default();
        events.iter().for_each(|event| turns.hear(event));
        Self { events, turns, file }
    }

    /// Keeps an event.
    pub fn keep(&mut self, event: &Event) {
        self.turns.hear(event);
        self.events.push_back(event.clone());
        if self.events.len() > KEPT {
            self.events.pop_front();
        }
        self.file.append(&self.events);
    }

    /// The last `n` events, or all that are kept, oldest first.
    #[must_use]
    pub fn last(&self, n: Option<u32>) -> EventList {
        let n = n.and_then(|n| usize::try_from(n).ok()).unwrap_or(KEPT);
        let skipped = self.events.len().saturating_sub(n);
        EventList { events: self.events.iter().skip(skipped).cloned().collect() }
    }

    /// Adds to what is up or down since when it is so, and what is up now but was down today.
    pub fn date(&self, status: &mut Status, now: u64) {
        self.turns.date(&mut status.states, now);
    }
}
