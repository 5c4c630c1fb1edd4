//! A blocking client: one call per method, an iterator for the stream of events.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::bridge::Bridge;
use crate::{
    Applied, ApplyRequest, Call, Counters, Difference, Event, Introduced, MonitorReply,
    NeighbourList, NodeError, PathList, Status, Steered, Withdrawn,
};

/// How long to wait for the daemon's answer to a method that only reads.
const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// Octets of the longest answer: what is longer comes from no daemon.
const LONGEST: u64 = 256 << 20;

/// A connection to one daemon.
#[derive(Debug)]
pub struct Client {
    stream: BufReader<UnixStream>,
    path: PathBuf,
    /// How long to wait for answers of any kind.
    patience: Option<Duration>,
    bridge: Option<Bridge>,
}

/// Why a call gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nobody listens on the socket.
    #[error("cannot reach tressed at {}: is it running?", path.display())]
    Unreachable {
        /// The socket's path.
        path: PathBuf,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
    /// The connection broke, or what came was not Varlink.
    #[error("{}: {message}", path.display())]
    Protocol {
        /// The socket's path.
        path: PathBuf,
        /// In words.
        message: String,
    },
    /// No answer in time.
    #[error("{}: no answer to {method} within {seconds} s", path.display())]
    TimedOut {
        /// The socket's path.
        path: PathBuf,
        /// The method called.
        method: &'static str,
        /// How long it was waited for.
        seconds: u64,
    },
    /// The daemon refused or failed.
    #[error(transparent)]
    Node(NodeError),
}

#[derive(Debug, Serialize)]
struct Message<'a> {
    method: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<&'a Call>,
    more: bool,
}

#[derive(Debug, Deserialize)]
struct Answer {
    error: Option<String>,
    parameters: Option<serde_json::Value>,
    continues: Option<bool>,
}

/// Parameters of Drain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drain<'a> {
    /// What is to be drained.
    pub object: &'a str,
    /// Answer what it would do.
    pub dry_run: bool,
    /// Even where no other way is left.
    pub force: bool,
}

/// Parameters of Pin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pin<'a> {
    /// The other end.
    pub to: &'a str,
    /// The path.
    pub rank: u32,
    /// Answer what it would do.
    pub dry_run: bool,
}

#[derive(Debug, Deserialize)]
struct Empty {}

impl Client {
    /// Connects to the socket at `path`.
    ///
    /// # Errors
    /// [`ClientError::Unreachable`] where nobody listens.
    pub fn connect(path: impl AsRef<Path>) -> Result<Self, ClientError> {
        let path = path.as_ref().to_path_buf();
        match UnixStream::connect(&path) {
            Ok(stream) => {
                Ok(Self { stream: BufReader::new(stream), path, patience: None, bridge: None })
            }
            Err(source) => Err(ClientError::Unreachable { path, source }),
        }
    }

    /// Speaks through a program whose standard input and output lead to a daemon's socket, as
    /// `ssh n3 tresse bridge` does, and waits no longer than `patience` for any answer. What the program
    /// says on standard error goes into errors.
    ///
    /// # Errors
    /// [`ClientError::Unreachable`] where it cannot be started.
    pub fn through(command: Command, patience: Duration) -> Result<Self, ClientError> {
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
        let path = PathBuf::from(words.join(" "));
        match Bridge::start(command) {
            Ok((stream, bridge)) => Ok(Self {
                stream: BufReader::new(stream),
                path,
                patience: Some(patience),
                bridge: Some(bridge),
            }),
            Err(source) => Err(ClientError::Unreachable { path, source }),
        }
    }

    /// The connection itself, for what passes it on.
    #[must_use]
    pub fn into_stream(self) -> UnixStream {
        self.stream.into_inner()
    }

    /// What the node holds and does.
    ///
    /// # Errors
    /// As every method: [`ClientError`].
    pub fn status(&mut self) -> Result<Status, ClientError> {
        self.call(&Call::GetStatus, Some(READ_TIMEOUT))
    }

    /// Paths from this node, to one destination or to all.
    ///
    /// # Errors
    /// As every method: [`ClientError`].
    pub fn paths(&mut self, to: Option<&str>) -> Result<PathList, ClientError> {
        self.call(&Call::ListPaths { to: to.map(Into::into) }, Some(READ_TIMEOUT))
    }

    /// Who is heard on each NIC of the host.
    ///
    /// # Errors
    /// As every method: [`ClientError`].
    pub fn neighbours(&mut self) -> Result<NeighbourList, ClientError> {
        self.call(&Call::ListNeighbours, Some(READ_TIMEOUT))
    }

    /// Tells on every NIC of the host which one it is, by LLDP.
    ///
    /// # Errors
    /// As every method: [`ClientError`].
    pub fn introduce(&mut self) -> Result<Introduced, ClientError> {
        self.call(&Call::Introduce, Some(READ_TIMEOUT))
    }

    /// What separates the kernel from the slice.
    ///
    /// # Errors
    /// As every method: [`ClientError`].
    pub fn diff(&mut self) -> Result<Difference, ClientError> {
        self.call(&Call::Diff, Some(READ_TIMEOUT))
    }

    /// Installs (or, as a dry run, lists) what a cluster file asks for.
    ///
    /// # Errors
    /// As every method: [`ClientError`].
    pub fn apply(&mut self, request: &ApplyRequest) -> Result<Applied, ClientError> {
        self.call(&request.clone().into(), None)
    }

    /// Keeps what the last apply installed.
    ///
    /// # Errors
    /// As every method: [`ClientError`].
    pub fn confirm(&mut self) -> Result<(), ClientError> {
        self.done(&Call::Confirm)
    }

    /// Returns to the previous plan.
    ///
    /// # Errors
    /// As every method: [`ClientError`].
    pub fn rollback(&mut self) -> Result<Applied, ClientError> {
        self.call(&Call::Rollback, None)
    }

    /// Leaves the kernel as it was found and forgets the plan.
    ///
    /// # Errors
    /// As every method: [`ClientError`].
    pub fn withdraw(&mut self, force: bool) -> Result<Withdrawn, ClientError> {
        self.call(&Call::Withdraw { force: Some(force) }, None)
    }

    /// Reads the configured cluster file again and applies it.
    ///
    /// # Errors
    /// As every method: [`ClientError`].
    pub fn reload(&mut self) -> Result<Applied, ClientError> {
        self.call(&Call::Reload, None)
    }

    /// Takes a fused VLAN into use again, after a new canary.
    ///
    /// # Errors
    /// As every method: [`ClientError`].
    pub fn unfuse(&mut self, vid: u16) -> Result<(), ClientError> {
        self.done(&Call::Unfuse { vid })
    }

    /// Keeps this node's paths off a switch, a node, a link, a port or a NIC.
    ///
    /// # Errors
    /// As every method: [`ClientError`].
    pub fn drain(&mut self, how: &Drain<'_>) -> Result<Steered, ClientError> {
        let Drain { object, dry_run, force } = *how;
        let (dry_run, force) = (Some(dry_run), Some(force));
        self.call(&Call::Drain { object: object.into(), dry_run, force }, None)
    }

    /// Uses again what was drained.
    ///
    /// # Errors
    /// As every method: [`ClientError`].
    pub fn undrain(&mut self, object: &str) -> Result<Steered, ClientError> {
        self.call(&Call::Undrain { object: object.into() }, None)
    }

    /// Uses one path to a node, by its rank.
    ///
    /// # Errors
    /// As every method: [`ClientError`].
    pub fn pin(&mut self, how: &Pin<'_>) -> Result<Steered, ClientError> {
        let Pin { to, rank, dry_run } = *how;
        self.call(&Call::Pin { to: to.into(), rank, dry_run: Some(dry_run) }, None)
    }

    /// Uses all paths to a node again.
    ///
    /// # Errors
    /// As every method: [`ClientError`].
    pub fn unpin(&mut self, to: &str) -> Result<Steered, ClientError> {
        self.call(&Call::Unpin { to: to.into() }, None)
    }

    /// Counters since the daemon started.
    ///
    /// # Errors
    /// As every method: [`ClientError`].
    pub fn counters(&mut self) -> Result<Counters, ClientError> {
        self.call(&Call::GetCounters, Some(READ_TIMEOUT))
    }

    /// Events from now on. The daemon is listening once the first one, `hello`, has come.
    ///
    /// # Errors
    /// As every method: [`ClientError`].
    pub fn monitor(mut self) -> Result<Events, ClientError> {
        let patient = self.stream.get_ref().set_read_timeout(None);
        patient.map_err(|error| self.lost(&error.to_string()))?;
        self.send(&Call::Monitor, true)?;
        Ok(Events { client: self, ended: false })
    }

    fn done(&mut self, call: &Call) -> Result<(), ClientError> {
        self.call::<Empty>(call, None).map(drop)
    }

    fn call<R: DeserializeOwned>(
        &mut self,
        call: &Call,
        timeout: Option<Duration>,
    ) -> Result<R, ClientError> {
        let timeout = self.patience.or(timeout);
        let stream = self.stream.get_ref();
        let limited =
            stream.set_read_timeout(timeout).and_then(|()| stream.set_write_timeout(timeout));
        limited.map_err(|error| self.lost(&error.to_string()))?;
        self.send(call, false)?;
        match self.receive::<R>() {
            Ok((reply, _)) => reply.map_err(ClientError::Node),
            Err(Lost::TimedOut) => Err(ClientError::TimedOut {
                path: self.path.clone(),
                method: call.method(),
                seconds: timeout.unwrap_or_default().as_secs(),
            }),
            Err(Lost::Broken(message)) => Err(self.lost(&message)),
        }
    }

    fn send(&mut self, call: &Call, more: bool) -> Result<(), ClientError> {
        let (method, parameters) = (call.method(), call.has_parameters().then_some(call));
        let sent = serde_json::to_vec(&Message { method, parameters, more })
            .map_err(io::Error::from)
            .and_then(|mut bytes| {
                bytes.push(0);
                self.stream.get_mut().write_all(&bytes)
            });
        sent.map_err(|error| self.lost(&error.to_string()))
    }

    /// The next answer, and whether more of them follow.
    fn receive<R: DeserializeOwned>(&mut self) -> Result<(Result<R, NodeError>, bool), Lost> {
        let mut bytes = Vec::new();
        match self.stream.by_ref().take(LONGEST).read_until(0, &mut bytes) {
            Err(error)
                if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) =>
            {
                return Err(Lost::TimedOut);
            }
            Err(error) => return Err(Lost::Broken(error.to_string())),
            Ok(_) => {}
        }
        if bytes.pop() != Some(0) {
            return Err(Lost::Broken("the daemon closed the connection".into()));
        }
        let broken = |error: serde_json::Error| Lost::Broken(format!("not understood: {error}"));
        let answer: Answer = serde_json::from_slice(&bytes).map_err(broken)?;
        if let Some(error) = answer.error {
            let known = serde_json::from_slice::<NodeError>(&bytes);
            let node = known.unwrap_or_else(|_| NodeError::Internal {
                message: match answer.parameters {
                    Some(parameters) => format!("{error} {parameters}"),
                    None => error,
                },
            });
            return Ok((Err(node), false));
        }
        let parameters = answer.parameters.unwrap_or_else(|| serde_json::json!({}));
        let parameters = serde_json::from_value(parameters).map_err(broken)?;
        Ok((Ok(parameters), answer.continues == Some(true)))
    }

    fn lost(&mut self, message: &str) -> ClientError {
        if self.bridge.is_some() {
            let _ = self.stream.get_ref().shutdown(Shutdown::Both);
        }
        let said = self.bridge.as_mut().map(Bridge::last_words).unwrap_or_default();
        let message = if said.is_empty() { message.into() } else { said };
        ClientError::Protocol { path: self.path.clone(), message }
    }
}

enum Lost {
    TimedOut,
    Broken(String),
}

/// The stream of events; ends when the daemon does, after one error.
#[derive(Debug)]
pub struct Events {
    client: Client,
    ended: bool,
}

impl Iterator for Events {
    type Item = Result<Event, ClientError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let received = self.client.receive::<MonitorReply>();
        self.ended = !matches!(received, Ok((Ok(_), true)));
        Some(match received {
            Ok((reply, _)) => reply.map(|r| r.event).map_err(ClientError::Node),
            Err(Lost::Broken(message)) => Err(self.client.lost(&message)),
            Err(Lost::TimedOut) => Err(self.client.lost("no answer")),
        })
    }
}
