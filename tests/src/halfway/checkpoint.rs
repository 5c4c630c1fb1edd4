//! The checkpoint of the trial of broken rollouts: every request of a rollout, and every reply, waits here until
//! the trial lets it pass. So a rollout stands still at exactly one step, while the trial breaks something.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// What the checkpoint says of a request or a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// It goes on.
    Pass,
    /// The node is not reached.
    Refuse,
    /// The node gets it; the reply does not arrive.
    Lose,
    /// The node gets another file than all others.
    Alter,
}

/// What a rollout asks a node for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Its state.
    Status,
    /// Could it install the plan?
    Validate,
    /// To install the plan.
    Apply,
    /// To keep it.
    Confirm,
    /// Anything else.
    Other,
}

/// A moment of a rollout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// Before the first question.
    Begun,
    /// Every node has said that it can install the plan.
    Asked,
    /// Half of the nodes have installed it.
    SomeInstalled,
    /// All have installed it, none is known to have settled.
    Installed,
    /// All are settled.
    Settled,
    /// Half of the nodes have confirmed.
    SomeConfirmed,
    /// All have confirmed.
    Confirmed,
}

impl Step {
    /// All, in order.
    pub const ALL: [Self; 7] = [
        Self::Begun,
        Self::Asked,
        Self::SomeInstalled,
        Self::Installed,
        Self::Settled,
        Self::SomeConfirmed,
        Self::Confirmed,
    ];

    /// Its name in the table.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Begun => "begun",
            Self::Asked => "asked",
            Self::SomeInstalled => "some-installed",
            Self::Installed => "installed",
            Self::Settled => "settled",
            Self::SomeConfirmed => "some-confirmed",
            Self::Confirmed => "confirmed",
        }
    }

    /// Does a request wait here? `after` is what the node was asked for last, apart from its state, and `late`
    /// whether the node is of the second half.
    fn holds(self, kind: Kind, after: Option<Kind>, late: bool) -> bool {
        match self {
            Self::Begun => kind == Kind::Status && after.is_none(),
            Self::Asked => kind == Kind::Apply,
            Self::SomeInstalled => kind == Kind::Apply && late,
            Self::Installed => kind == Kind::Status && after == Some(Kind::Apply),
            Self::Settled => kind == Kind::Confirm,
            Self::SomeConfirmed => kind == Kind::Confirm && late,
            Self::Confirmed => kind == Kind::Status && after == Some(Kind::Confirm),
        }
    }
}

impl Kind {
    /// The kind of a message, in a word.
    #[must_use]
    pub fn of(message: &[u8]) -> String {
        let text = String::from_utf8_lossy(message);
        let method = |name: &str| text.contains(&format!("org.tresse.Node.{name}\""));
        let kind = match () {
            () if method("GetStatus") => "status",
            () if method("Apply") && text.contains("\"dry_run\":true") => "validate",
            () if method("Apply") => "apply",
            () if method("Confirm") || method("ConfirmPlan") => "confirm",
            () => "other",
        };
        kind.into()
    }

    fn parse(word: &str) -> Self {
        match word {
            "status" => Self::Status,
            "validate" => Self::Validate,
            "apply" => Self::Apply,
            "confirm" => Self::Confirm,
            _ => Self::Other,
        }
    }
}

impl Word {
    /// The word that was sent.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let all = [Self::Pass, Self::Refuse, Self::Lose, Self::Alter];
        all.into_iter().find(|word| word.text() == text)
    }

    const fn text(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Refuse => "refuse",
            Self::Lose => "lose",
            Self::Alter => "alter",
        }
    }
}

/// The checkpoint of one rollout.
#[derive(Debug)]
pub struct Checkpoint {
    state: Arc<(Mutex<State>, Condvar)>,
}

#[derive(Debug)]
struct State {
    step: Step,
    /// Nodes of the second half.
    late: BTreeSet<String>,
    nodes: usize,
    /// Does everything pass?
    open: bool,
    /// Nodes whose requests and replies get another word.
    special: BTreeMap<String, Word>,
    after: BTreeMap<String, Kind>,
    waiting: BTreeSet<String>,
    answered: BTreeSet<String>,
}

impl Checkpoint {
    /// Opens a checkpoint on a socket. `late` are the nodes of the second half.
    ///
    /// # Errors
    /// The socket's.
    pub fn open(
        socket: &Path,
        step: Step,
        nodes: &[String],
        late: &[String],
    ) -> Result<Self, String> {
        let listener =
            UnixListener::bind(socket).map_err(|e| format!("{}: {e}", socket.display()))?;
        let state = State {
            step,
            late: late.iter().cloned().collect(),
            nodes: nodes.len(),
            open: false,
            special: BTreeMap::new(),
            after: BTreeMap::new(),
            waiting: BTreeSet::new(),
            answered: BTreeSet::new(),
        };
        let state = Arc::new((Mutex::new(state), Condvar::new()));
        let shared = state.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = shared.clone();
                std::thread::spawn(move || serve(stream, &shared));
            }
        });
        Ok(Self { state })
    }

    /// From now on a node's requests get this word.
    pub fn say(&self, node: &str, word: Word) {
        lock(&self.state).special.insert(node.into(), word);
    }

    /// Waits until the rollout has come to the step; false if it has not within `patience`, or if `ended`.
    pub fn reached(&self, patience: Duration, mut ended: impl FnMut() -> bool) -> bool {
        let until = Instant::now() + patience;
        loop {
            let there = {
                let state = lock(&self.state);
                let (all, late) = (state.nodes, state.late.len());
                match state.step {
                    Step::SomeInstalled | Step::SomeConfirmed => {
                        state.waiting.len() == late && state.answered.len() == all - late
                    }
                    _ => state.waiting.len() == all,
                }
            };
            if there || ended() || Instant::now() > until {
                return there;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Lets everything pass.
    pub fn release(&self) {
        lock(&self.state).open = true;
        self.state.1.notify_all();
    }
}

fn serve(mut stream: UnixStream, shared: &(Mutex<State>, Condvar)) {
    let mut line = String::new();
    let read = stream.try_clone().map(BufReader::new).and_then(|mut r| r.read_line(&mut line));
    let Some((node, what)) = line.trim().split_once(' ').filter(|_| read.is_ok()) else { return };
    let word = match what.strip_prefix("answer-") {
        Some(kind) => answered(node, Kind::parse(kind), shared),
        None => asked(node, Kind::parse(what), shared),
    };
    // A rollout that was killed does not hear it.
    let _ = stream.write_all(word.text().as_bytes());
}

fn asked(node: &str, kind: Kind, shared: &(Mutex<State>, Condvar)) -> Word {
    let mut state = lock(shared);
    let after = state.after.get(node).copied();
    if state.step.holds(kind, after, state.late.contains(node)) {
        state.waiting.insert(node.into());
        while !state.open {
            state = shared.1.wait(state).expect("no thread panics while it holds this");
        }
    }
    if kind != Kind::Status {
        state.after.insert(node.into(), kind);
    }
    state.special.get(node).copied().unwrap_or(Word::Pass)
}

fn answered(node: &str, kind: Kind, shared: &(Mutex<State>, Condvar)) -> Word {
    let mut state = lock(shared);
    let counts = match state.step {
        Step::SomeInstalled => kind == Kind::Apply,
        Step::SomeConfirmed => kind == Kind::Confirm,
        _ => false,
    };
    if counts {
        state.answered.insert(node.into());
    }
    match state.special.get(node) {
        Some(Word::Refuse) => Word::Refuse,
        _ => Word::Pass,
    }
}

fn lock(shared: &(Mutex<State>, Condvar)) -> MutexGuard<'_, State> {
    shared.0.lock().expect("no thread panics while it holds this")
}
