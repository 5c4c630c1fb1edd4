//! The processes on nodes that measure, and asking them.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use tresse_base::id::NodeId;

use crate::talk::{Answer, Job};

/// No answer is longer, in bytes.
const LONGEST: u64 = 256 * 1024;

/// Why a node does not measure.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AgentError {
    /// Its process cannot be started.
    #[error("cannot start `{program}`: {error}")]
    Start {
        /// The launcher's program.
        program: String,
        /// The error.
        error: String,
        /// Whether there is no such program.
        absent: bool,
    },
    /// Its process ended, or the connection to it.
    #[error("{0}")]
    Ended(String),
    /// It did not answer in time.
    #[error("no answer within {} s", .0.as_secs())]
    Late(Duration),
    /// It cannot do what it is asked.
    #[error("{0}")]
    Failed(String),
}

struct Agent {
    child: Child,
    requests: Option<ChildStdin>,
    answers: Receiver<io::Result<Answer>>,
}

/// One process for each node, started by a launcher; ended when dropped.
#[derive(Default)]
pub struct Agents(BTreeMap<NodeId, Mutex<Agent>>);

impl Agents {
    /// Starts the process of a node.
    ///
    /// # Errors
    /// [`AgentError::Start`].
    pub fn start(&mut self, node: NodeId, mut command: Command) -> Result<(), AgentError> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| AgentError::Start {
            program: command.get_program().to_string_lossy().into_owned(),
            absent: error.kind() == io::ErrorKind::NotFound,
            error: error.to_string(),
        })?;
        let (send, answers) = mpsc::channel();
        if let Some(output) = child.stdout.take() {
            std::thread::spawn(move || {
                let mut output = BufReader::new(output);
                loop {
                    let mut line = Vec::new();
                    let read = (&mut output).take(LONGEST).read_until(b'\n', &mut line);
                    let answer = match read {
                        Ok(0) => return,
                        Ok(_) => serde_json::from_slice(&line).map_err(io::Error::from),
                        Err(error) => Err(error),
                    };
                    let ends = answer.is_err();
                    if send.send(answer).is_err() || ends {
                        return;
                    }
                }
            });
        }
        let requests = child.stdin.take();
        self.0.insert(node, Mutex::new(Agent { child, requests, answers }));
        Ok(())
    }

    /// The nodes.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.0.keys().copied()
    }

    /// Has a node do a job that takes no longer than `patience`.
    ///
    /// # Errors
    /// All but [`AgentError::Start`]. A node without a process has ended.
    pub fn ask(&self, node: NodeId, job: &Job, patience: Duration) -> Result<Answer, AgentError> {
        let ended = || AgentError::Ended("it has no process".into());
        let agent = self.0.get(&node).ok_or_else(ended)?;
        let mut agent = agent.lock().map_err(|_| ended())?;
        agent.ask(job, patience)
    }

    /// Has several nodes do a job each at the same time. The answers are in the order of the jobs.
    pub fn ask_all<'a>(
        &'a self,
        jobs: &'a [(NodeId, Job)],
        patience: Duration,
    ) -> Vec<Result<Answer, AgentError>> {
        std::thread::scope(|scope| {
            let ask = |(node, job): &'a (NodeId, Job)| {
                scope.spawn(move || self.ask(*node, job, patience))
            };
            let asked: Vec<_> = jobs.iter().map(ask).collect();
            let died = || Err(AgentError::Ended("asking it has failed".into()));
            asked.into_iter().map(|thread| thread.join().unwrap_or_else(|_| died())).collect()
        })
    }
}

impl Agent {
    fn ask(&mut self, job: &Job, patience: Duration) -> Result<Answer, AgentError> {
        let mut line =
            serde_json::to_vec(job).map_err(|error| AgentError::Ended(error.to_string()))?;
        line.push(b'\n');
        let written = match &mut self.requests {
            Some(requests) => requests.write_all(&line).and_then(|()| requests.flush()),
            None => return Err(AgentError::Ended("it did not answer before".into())),
        };
        if written.is_err() {
            return Err(self.ended());
        }
        match self.answers.recv_timeout(patience) {
            Ok(Ok(Answer::Failed { why })) => Err(AgentError::Failed(why)),
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => {
                self.requests = None;
                Err(AgentError::Ended(format!("its answer cannot be read: {error}")))
            }
            Err(RecvTimeoutError::Timeout) => {
                // A late answer would be taken for that to the next job.
                self.requests = None;
                Err(AgentError::Late(patience))
            }
            Err(RecvTimeoutError::Disconnected) => Err(self.ended()),
        }
    }

    /// Why its process has ended: the last line that it wrote to standard error.
    fn ended(&mut self) -> AgentError {
        self.requests = None;
        let _ = self.child.kill();
        let mut text = String::new();
        if let Some(errors) = self.child.stderr.take() {
            // What cannot be read is not said.
            let _ = errors.take(64 * 1024).read_to_string(&mut text);
        }
        let last = text.lines().rfind(|line| !line.trim().is_empty());
        AgentError::Ended(last.unwrap_or("its process has ended").trim().to_owned())
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // The end of its input ends it; what hangs is killed.
        self.requests = None;
        for _ in 0..100 {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agents(program: &str) -> Agents {
        let mut agents = Agents::default();
        let mut command = Command::new("sh");
        command.args(["-c", program]);
        agents.start(NodeId(0), command).unwrap();
        agents
    }

    #[test]
    fn answers_are_read_and_an_end_is_told() {
        let job = Job::Look { nics: Vec::new() };
        let ask = |agents: &Agents| agents.ask(NodeId(0), &job, Duration::from_millis(500));
        let one = agents("read job; echo '{\"did\":\"serving\"}'; echo broken >&2");
        assert_eq!(ask(&one), Ok(Answer::Serving));
        assert_eq!(ask(&one), Err(AgentError::Ended("broken".into())));
        let failed = agents("read job; echo '{\"did\":\"failed\",\"why\":\"no\"}'; sleep 5");
        assert_eq!(ask(&failed), Err(AgentError::Failed("no".into())));
        let silent = agents("sleep 5");
        assert_eq!(ask(&silent), Err(AgentError::Late(Duration::from_millis(500))));
        assert!(matches!(ask(&silent), Err(AgentError::Ended(_))));
        assert!(matches!(ask(&agents("read job; echo no json")), Err(AgentError::Ended(_))));
        let mut none = Agents::default();
        let error = none.start(NodeId(0), Command::new("/no/such/program")).unwrap_err();
        assert!(matches!(error, AgentError::Start { absent: true, .. }));
    }
}
