//! Failure detection as the main loop holds it: started where it is configured, told what to watch, and
//! heard.

use std::fs::File;
use std::io::Read as _;

use tokio::sync::watch;
use tresse_control::CounterLine;
use tresse_engine::Watching;
use tresse_liveness::State;

use super::chain;
use crate::bfd::{Bfd, BfdError, Sight};
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
    running: Option<(Bfd, watch::Receiver<Sight>)>,
}

impl Detector {
    /// Starts them as configured; where that cannot be, no path is watched.
    pub fn start(&mut self, choice: BfdChoice) {
        if !choice.enabled {
            return;
        }
        match secret().and_then(|seed| Bfd::start(choice.timing(), seed)) {
            Ok(bfd) => {
                let sight = bfd.sight();
                self.running = Some((bfd, sight));
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

    /// What is seen, when it has changed. Cancel safe.
    pub async fn sight(&mut self) -> Sight {
        if let Some((_, sight)) = &mut self.running
            && sight.changed().await.is_ok()
        {
            return sight.borrow_and_update().clone();
        }
        std::future::pending().await
    }

    /// Sessions, and those that are up.
    pub fn sessions(&self) -> (u32, u32) {
        let Some((_, sight)) = &self.running else { return (0, 0) };
        let sight = sight.borrow();
        let up = sight.sessions.iter().filter(|session| session.state == State::Up).count();
        (sight.sessions.len() as u32, up as u32)
    }

    /// What they count.
    pub fn counters(&self) -> Vec<CounterLine> {
        let counters = self.running.iter().flat_map(|(bfd, _)| bfd.counters());
        counters
            .map(|(name, value)| CounterLine { name: name.into(), object: String::new(), value })
            .collect()
    }
}
