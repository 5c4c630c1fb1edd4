//! Failure detection as the main loop holds it: started where it is configured, told what to watch, and
//! heard.

use std::fs::File;
use std::io::Read as _;

use tokio::sync::watch;
use tresse_control::CounterLine;
use tresse_linux::bfd::{Bfd, BfdError};
use tresse_liveness::{PathEvent, State, Watching};

use super::chain;
use crate::config::BfdChoice;

/// What nobody guesses, so that nobody knows the numbers of sessions.
fn secret() -> Result<u64, BfdError> {
    let mut bytes = [0; 8];
    let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(|source| BfdError::Refused { step: "read /dev/urandom", source })?;
    Ok(u64::from_ne_bytes(bytes))
}

/// The sessions, where there are any.
#[derive(Default)]
pub struct Detector {
    running: Option<(Bfd, watch::Receiver<PathEvent>)>,
}

impl Detector {
    /// Starts them as configured; where that cannot be, no path is watched.
    pub fn start(&mut self, choice: BfdChoice) {
        if !choice.enabled {
            return;
        }
        match secret().and_then(|seed| Bfd::start(choice.timing(), seed)) {
            Ok(bfd) => {
                let seen = bfd.path_events();
                self.running = Some((bfd, seen));
            }
            Err(error) => {
                let error = chain(&error);
                tracing::warn!(error, "paths are not watched: silent failures are not found");
            }
        }
    }

    /// Ends them: the other ends hear that this is no fault.
    pub fn stop(&mut self) {
        self.running = None;
    }

    /// Watches exactly this.
    pub fn set(&self, watching: Watching) {
        if let Some((bfd, _)) = &self.running {
            bfd.set(watching);
        }
    }

    /// The state of the paths, when it has changed. Cancel safe.
    pub async fn path_event(&mut self) -> PathEvent {
        if let Some((_, seen)) = &mut self.running
            && seen.changed().await.is_ok()
        {
            return seen.borrow_and_update().clone();
        }
        std::future::pending().await
    }

    /// Sessions, and those that are up.
    pub fn sessions(&self) -> (u32, u32) {
        let Some((_, seen)) = &self.running else { return (0, 0) };
        let seen = seen.borrow();
        let up = seen.sessions.iter().filter(|session| session.state == State::Up).count();
        (seen.sessions.len() as u32, up as u32)
    }

    /// What they count.
    pub fn counters(&self) -> Vec<CounterLine> {
        let counters = self.running.iter().flat_map(|(bfd, _)| bfd.counters());
        counters
            .map(|(name, value)| CounterLine { name: name.into(), object: String::new(), value })
            .collect()
    }
}
