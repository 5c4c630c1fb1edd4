//! Fuzz tests: functions that feed the daemon's parsers with arbitrary bytes. The crate in `fuzz/`
//! calls them with mutated bytes, with its seeds, and with the findings of earlier runs. They are
//! no part of the library's interface.

use std::collections::VecDeque;
use std::path::Path;

use tresse_control::{NodeError, Reply};

mod control;
mod engine;

pub use self::control::control;
pub use self::engine::engine;
pub use tresse_linux::kernel::fuzz::netlink;
pub use tresse_liveness::fuzz::bfd;

use crate::config::Config;
use crate::state::StateFile;
use tresse_engine::{
    Effect, Engine, Engines, Execution, Input, LabelEngine, Settings, SourceEngine, Stored, View,
};

/// Fuzz test of the state file: parses `bytes` as a state file. If they are accepted, checks that
/// writing and parsing them again gives the same state, and that an engine starts from it and
/// replies to calls.
///
/// # Panics
/// If a check fails, or if the parser or the engine has a fault.
pub fn state(bytes: &[u8]) {
    let file = StateFile::new(Path::new("/nonexistent"));
    let Ok(stored) = file.parse(bytes) else { return };
    let written = serde_json::to_vec(&stored).expect("what was read can be written");
    assert_eq!(file.parse(&written).ok().as_ref(), Some(&stored));
    let mut engine = new_engine(stored);
    drive(&mut engine, Input::Start { configured: None });
    let _ = engine.status(0);
    let _ = engine.paths(None);
    drive(&mut engine, Input::Tick);
}

/// Fuzz test of the parser of `tressed.toml`: parses `text`, and checks that the message of an
/// error names the file.
///
/// # Panics
/// If the message does not, or if the parser has a fault.
pub fn config(text: &str) {
    match Config::parse(text, Path::new("tressed.toml")) {
        Ok(config) => drop(config.lock_path()),
        Err(error) => assert!(error.to_string().starts_with("tressed.toml: ")),
    }
}

/// An engine with the daemon's settings.
pub(crate) fn new_engine(stored: Stored) -> Engine {
    Engine::new(
        Settings {
            canary: true,
            announce_ms: None,
            sequence: 0,
            engines: Engines { labels: LabelEngine::Kernel, sources: SourceEngine::Kernel },
            bfd: true,
            forward_to: Vec::new(),
            isolate: false,
        },
        stored,
    )
}

/// Feeds one input to the engine and plays the kernel: empty, and accepting every operation.
/// Returns the replies to calls.
pub(crate) fn drive(engine: &mut Engine, input: Input) -> Vec<Result<Reply, NodeError>> {
    /// Iterations after which to stop; the engine may retry for ever.
    const TURNS: usize = 256;
    let mut replies = Vec::new();
    let mut effects = VecDeque::from(engine.step(0, input));
    for _ in 0..TURNS {
        let Some(effect) = effects.pop_front() else { break };
        let answer = match effect {
            Effect::Observe { .. } => Input::Observed(Ok(Box::new(View::default()))),
            Effect::Persist(_) => Input::Persisted(Ok(())),
            Effect::Execute(operations) => Input::Executed(Execution {
                done: (0..operations.len()).collect(),
                errors: Vec::new(),
            }),
            Effect::Reply(_, reply) => {
                replies.push(reply);
                continue;
            }
            _ => continue,
        };
        effects.extend(engine.step(0, answer));
    }
    replies
}

#[cfg(test)]
mod tests;
