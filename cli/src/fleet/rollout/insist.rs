//! Asks nodes of a rollout more than once: a daemon that died is started again, a connection that broke comes
//! back. So an answer says more often what is so, and less often that it is not known.

use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};
use tresse_control::{Client, ClientError};

use super::state::Run;
use crate::fail::{Code, Failure};

/// How long nodes that do not answer are asked again: longer than systemd waits before it starts a daemon again.
const RETURN: Duration = Duration::from_secs(12);
const PAUSE: Duration = Duration::from_secs(1);

/// The moment from which on the timers of nodes may have rolled the plan back.
#[derive(Debug, Clone, Copy)]
pub struct Limit(Duration);

impl Limit {
    /// As long as this from now, also if this machine sleeps meanwhile.
    pub fn after(time: Duration) -> Self {
        Self(since_boot() + time)
    }

    /// Is it over?
    pub fn is_over(self) -> bool {
        since_boot() >= self.0
    }
}

fn since_boot() -> Duration {
    clock_gettime(ClockId::CLOCK_BOOTTIME).map_or(Duration::ZERO, Duration::from)
}

impl Run {
    /// Asks every node for which `which` is true, those that do not answer again for a while. Returns the last answers.
    pub fn insist<T: Send>(
        &mut self,
        which: impl Fn(&str) -> bool + Sync,
        ask: impl Fn(&mut Client) -> Result<T, ClientError> + Sync,
    ) -> Vec<(String, Result<T, Failure>)> {
        let until = Instant::now() + RETURN;
        let mut answers = self.fleet.each(which, &ask);
        let lost =
            |answer: &Result<T, Failure>| matches!(answer, Err(f) if f.code == Code::Unreachable);
        while answers.iter().any(|(_, answer)| lost(answer)) && Instant::now() < until {
            std::thread::sleep(PAUSE);
            let silent: Vec<String> =
                answers.iter().filter(|(_, a)| lost(a)).map(|(node, _)| node.clone()).collect();
            for (node, answer) in self.fleet.each(|node| silent.iter().any(|it| it == node), &ask) {
                if let Some(line) = answers.iter_mut().find(|(name, _)| *name == node) {
                    line.1 = answer;
                }
            }
        }
        answers
    }
}
