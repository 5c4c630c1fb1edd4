//! Computes plans on a thread of its own, so that the main loop goes on meanwhile: one after the other, in
//! the order in which they were asked for. Calls that change something wait for the plans asked for before.
//!
//! The plan of a dry run is kept for the apply that follows it: a rollout lets every node compute the plan
//! twice, and computing it is most of what a node does then.

use std::collections::VecDeque;
use std::future;
use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;
use tresse_control::{Call, NodeError, Reply};
use tresse_engine::Prepared;
use tresse_frame::keys::Keys;

use super::prepare::{Identity, prepare};
use crate::control::Request;

/// How long the plan of a dry run is kept.
const KEPT: Duration = Duration::from_secs(60);

/// Channel for the reply to a call.
pub(super) type Sender = oneshot::Sender<Result<Reply, NodeError>>;

/// The texts of a cluster file and of the lock beside it.
pub(super) type Texts = (String, Option<String>);

/// A plan that somebody wants, and what for.
pub(super) struct Asked {
    pub(super) texts: Texts,
    pub(super) identity: Identity,
    pub(super) purpose: Purpose,
}

/// What is done with a plan when it is there.
pub(super) enum Purpose {
    /// The reply to this call of `Apply`.
    Apply { call: Call, answer: Sender },
    /// The configured files are applied, with the keys that were read beside them. Nobody waits for the
    /// answer to a SIGHUP.
    Reload { keys: Keys, answer: Option<Sender> },
}

impl Purpose {
    /// Is this a dry run, after which the same plan may be asked for again?
    const fn is_dry_run(&self) -> bool {
        matches!(self, Self::Apply { call: Call::Apply { dry_run: Some(true), .. }, .. })
    }
}

/// A plan that was computed, or why there is none.
pub(super) type Computed = Result<Prepared, NodeError>;

/// What has its turn.
pub(super) enum Turn {
    /// A plan was computed, or there is none, for this purpose.
    Computed(Purpose, Box<Computed>),
    /// The plans that were asked for before this call are done.
    Call(Request),
}

/// What waits for its turn.
enum Waiting {
    Plan(Asked),
    Call(Request),
}

/// The plans that are asked for and computed, and the calls behind them.
#[derive(Default)]
pub(super) struct Planning {
    waiting: VecDeque<Waiting>,
    running: Option<Running>,
    tried: Option<Tried>,
}

/// The plan that is being computed.
struct Running {
    identity: Identity,
    purpose: Purpose,
    computed: oneshot::Receiver<Computed>,
}

/// This node's part of the plan of a dry run, and what it was computed from.
struct Tried {
    identity: Identity,
    prepared: Prepared,
    until: Instant,
}

impl Planning {
    /// Computes a plan when those asked for before are there.
    pub(super) fn ask(&mut self, asked: Asked) {
        self.waiting.push_back(Waiting::Plan(asked));
    }

    /// Is a plan asked for that is not there yet?
    pub(super) fn is_busy(&self) -> bool {
        self.running.is_some() || !self.waiting.is_empty()
    }

    /// Keeps a call until the plans asked for before are there.
    pub(super) fn follow(&mut self, call: Request) {
        self.waiting.push_back(Waiting::Call(call));
    }

    /// What has its turn next. Can be dropped and called again.
    pub(super) async fn next(&mut self) -> Turn {
        if self.running.is_none() {
            match self.waiting.pop_front() {
                Some(Waiting::Plan(asked)) => self.begin(asked),
                Some(Waiting::Call(call)) => return Turn::Call(call),
                None => {}
            }
        }
        let Some(running) = &mut self.running else { return future::pending().await };
        let computed = (&mut running.computed).await.unwrap_or_else(|_| {
            Err(NodeError::Internal { message: "planning ended by a panic".into() })
        });
        // Only now, as this may be dropped while it waits.
        let Some(Running { identity, purpose, .. }) = self.running.take() else {
            return future::pending().await;
        };
        if let (true, Ok(prepared)) = (purpose.is_dry_run(), &computed) {
            let until = Instant::now() + KEPT;
            self.tried = Some(Tried { identity, prepared: prepared.clone(), until });
        }
        Turn::Computed(purpose, Box::new(computed))
    }

    /// When the plan of a dry run is dropped.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.tried.as_ref().map(|tried| tried.until)
    }

    /// Drops the plan of a dry run whose time is over.
    pub(super) fn forget(&mut self) {
        self.tried.take_if(|tried| tried.until <= Instant::now());
    }

    fn begin(&mut self, Asked { texts, identity, purpose }: Asked) {
        let (done, computed) = oneshot::channel();
        match self.tried.take() {
            Some(tried) if tried.is_of(&texts, &identity) => {
                let _ = done.send(Ok(tried.prepared));
            }
            _ => {
                let of = identity.clone();
                let work = move || drop(done.send(prepare(&texts.0, texts.1.as_deref(), &of)));
                // Without a thread the channel is closed, which is an error of the call.
                if let Err(error) = thread::Builder::new().name("plan".into()).spawn(work) {
                    tracing::error!(%error, "no thread for planning");
                }
            }
        }
        self.running = Some(Running { identity, purpose, computed });
    }
}

impl Tried {
    /// Is it the plan of these texts on this node?
    fn is_of(&self, texts: &Texts, identity: &Identity) -> bool {
        let Prepared { cluster, lock, .. } = &self.prepared;
        (cluster, lock) == (&texts.0, &texts.1) && self.identity == *identity
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(paths: u8, lock: Option<&str>, node: &str, dry_run: bool) -> Asked {
        let cluster = format!(
            "[fabric]\ntopology = {{ kind = \"ring\", nodes = 4 }}\n[routing]\npaths = {paths}\n"
        );
        let call = Call::Apply {
            cluster: String::new(),
            lock: None,
            dry_run: Some(dry_run),
            confirm_seconds: None,
            force: None,
            force_interfaces: None,
        };
        Asked {
            texts: (cluster, lock.map(Into::into)),
            identity: Identity::Named(node.into()),
            purpose: Purpose::Apply { call, answer: oneshot::channel().0 },
        }
    }

    async fn computed(planning: &mut Planning, what: Asked) -> Prepared {
        planning.ask(what);
        match planning.next().await {
            Turn::Computed(_, computed) => computed.unwrap(),
            Turn::Call(_) => panic!("no call waits"),
        }
    }

    #[tokio::test]
    async fn the_plan_of_a_dry_run_serves_the_apply_of_the_same_texts_alone() {
        let mut planning = Planning::default();
        let first = computed(&mut planning, asked(2, None, "n0", true)).await;
        let two = asked(2, None, "n0", false).texts;
        let is_of = |planning: &Planning, other: Asked| {
            planning.tried.as_ref().is_some_and(|tried| tried.is_of(&other.texts, &other.identity))
        };
        assert!(
            is_of(&planning, asked(2, None, "n0", false))
                && two == asked(2, None, "n1", true).texts
        );
        assert!(!is_of(&planning, asked(1, None, "n0", false)));
        assert!(!is_of(&planning, asked(2, Some(""), "n0", false)));
        assert!(!is_of(&planning, asked(2, None, "n1", false)));
        assert_eq!(computed(&mut planning, asked(2, None, "n0", false)).await, first);
        assert!(planning.deadline().is_none(), "kept although nobody will ask again");
        let kept = computed(&mut planning, asked(2, None, "n0", true)).await;
        let other = computed(&mut planning, asked(1, None, "n0", false)).await;
        assert!(kept == first && other.generation != first.generation);
    }

    #[tokio::test]
    async fn plans_come_in_the_order_in_which_they_were_asked_for() {
        let mut planning = Planning::default();
        for (lock, node) in [(None, "n0"), (Some("?"), "n0"), (None, "n2"), (None, "n9")] {
            if node == "n2" {
                let answer = oneshot::channel().0;
                planning.follow(Request { call: Call::Rollback, answer });
            }
            planning.ask(asked(2, lock, node, false));
        }
        let mut plans = Vec::new();
        while plans.len() < 4 {
            // What is dropped half-way is not lost.
            match tokio::time::timeout(Duration::ZERO, planning.next()).await {
                Ok(Turn::Computed(_, plan)) => plans.push(*plan),
                Ok(Turn::Call(Request { call, .. })) => {
                    assert_eq!((call, plans.len()), (Call::Rollback, 2));
                }
                Err(_) => {}
            }
        }
        assert_eq!(plans[0].as_ref().unwrap().node, "n0");
        assert!(matches!(plans[1], Err(NodeError::BadCluster { .. })));
        assert_eq!(plans[2].as_ref().unwrap().node, "n2");
        assert!(matches!(plans[3], Err(NodeError::WrongNode { .. })));
        assert!(!planning.is_busy());
    }
}
