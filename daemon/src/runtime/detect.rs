//! The main loop's handle of failure detection: starts the BFD thread as configured, sends it the
//! list of paths to watch, and receives path events, which say what paths are broken or sound.

use std::fs::File;
use std::io::Read as _;

use tokio::sync::watch;
use tresse_base::random::Random;
use tresse_control::CounterLine;
use tresse_frame::keys::Keys;
use tresse_linux::bfd::{Bfd, BfdError};
use tresse_liveness::{PathEvent, Secrets, SessionState, Watching};

use super::chain;
use crate::config::BfdChoice;

/// Random numbers of the kernel, so that nobody can guess the discriminators of sessions: not from those that were used
/// before either.
fn secrets() -> Result<Secrets, BfdError> {
    let mut file = File::open("/dev/urandom").map_err(refused)?;
    let mut number = move || {
        let mut bytes = [0; 8];
        file.read_exact(&mut bytes).map(|()| u64::from_ne_bytes(bytes))
    };
    // If it is ever refused, what it gave before leads on.
    let mut spare = Random::new(number().map_err(refused)?);
    Ok(Box::new(move || number().unwrap_or_else(|_| spare.number())))
}

fn refused(source: std::io::Error) -> BfdError {
    BfdError::Refused { step: "read /dev/urandom", source }
}

/// Handle of the thread that runs the BFD sessions. It is empty if BFD is switched off or could not
/// start.
#[derive(Default)]
pub struct Detector {
    running: Option<(Bfd, watch::Receiver<PathEvent>)>,
    /// Why it could not start.
    fault: Option<String>,
}

impl Detector {
    /// Starts the thread as configured. If that fails, no path is watched.
    pub fn start(&mut self, choice: BfdChoice, keys: &Keys) {
        if !choice.enabled {
            return;
        }
        let secrets = secrets().and_then(|first| Ok([first, secrets()?]));
        match secrets.and_then(|secrets| Bfd::start(choice.timing(), secrets)) {
            Ok(bfd) => {
                bfd.set_keys(keys.clone());
                let seen = bfd.path_events();
                self.running = Some((bfd, seen));
            }
            Err(error) => {
                let error = chain(&error);
                let fault = "BFD does not run, and no path is watched: failures without carrier loss are not detected";
                tracing::error!(error, "{fault}");
                self.fault = Some(format!("{fault}: {error}"));
            }
        }
    }

    /// Ends all sessions, and tells the peers that this is not a failure (AdminDown).
    pub fn stop(&mut self) {
        self.running = None;
    }

    /// Signs by these keys from now on.
    pub fn set_keys(&self, keys: &Keys) {
        if let Some((bfd, _)) = &self.running {
            bfd.set_keys(keys.clone());
        }
    }

    /// Why no path is watched although they should be.
    pub fn fault(&self) -> Option<String> {
        let deaf = self.running.as_ref().is_some_and(|(bfd, _)| bfd.is_deaf());
        let deaf = deaf
            .then(|| "BFD does not hear its peers: restart tressed, and see its log".to_owned());
        self.fault.clone().or(deaf)
    }

    /// Watches exactly the paths of `watching`.
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

    /// The number of sessions, and of those that are up.
    pub fn sessions(&self) -> (u32, u32) {
        let Some((_, seen)) = &self.running else { return (0, 0) };
        let seen = seen.borrow();
        let up = seen.sessions.iter().filter(|session| session.state == SessionState::Up).count();
        (seen.sessions.len() as u32, up as u32)
    }

    /// Counters of the BFD thread.
    pub fn counters(&self) -> Vec<CounterLine> {
        let counters = self.running.iter().flat_map(|(bfd, _)| bfd.counters());
        counters
            .map(|(name, value)| CounterLine { name: name.into(), object: String::new(), value })
            .collect()
    }
}
