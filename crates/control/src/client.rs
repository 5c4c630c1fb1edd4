//! A blocking client of the daemon's control socket, with a function per method of
//! `org.tresse.Node` and an iterator over the daemon's events.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::proxy::ProxyCommand;
use crate::{
    Applied, ApplyRequest, Call, Counters, DetourList, Difference, Event, EventList, FailureList,
    Introduced, MonitorReply, NeighbourList, NodeError, PathList, PlanFiles, Status, Steered,
    WeightLine, Withdrawn,
};

/// How long to wait for the reply of a method that changes nothing.
const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// Longest reply that is accepted, in bytes. No daemon sends a longer one.
const LONGEST: u64 = 256 << 20;

/// A client's connection to the control socket of one daemon, with a function per method of
/// `org.tresse.Node`.
#[derive(Debug)]
pub struct Client {
    stream: BufReader<UnixStream>,
    path: PathBuf,
    /// Longest wait for any reply.
    patience: Option<Duration>,
    proxy: Option<ProxyCommand>,
}

/// Error of a call to the daemon: the daemon could not be reached, the connection broke, no reply
/// came in time, or the daemon replied with an error.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nothing listens on the socket.
    #[error("cannot reach tressed at {}: is it running?", path.display())]
    Unreachable {
        /// The socket's path.
        path: PathBuf,
        /// The kernel's error.
        #[source]
        source: io::Error,
    },
    /// The connection broke, or the reply was not Varlink.
    #[error("{}: {message}", path.display())]
    Protocol {
        /// The socket's path.
        path: PathBuf,
        /// The cause in words.
        message: String,
    },
    /// No reply in time.
    #[error("{}: no reply to {method} within {seconds} s: see `journalctl -u tressed`", path.display())]
    TimedOut {
        /// The socket's path.
        path: PathBuf,
        /// The method called.
        method: &'static str,
        /// How long the client waited.
        seconds: u64,
    },
    /// The daemon answered with an error.
    #[error(transparent)]
    Node(NodeError),
}

#[derive(Debug, Serialize)]
struct Message<'a> {
    method: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<&'a serde_json::Map<String, serde_json::Value>>,
    more: bool,
}

#[derive(Debug, Deserialize)]
struct Answer<'a> {
    error: Option<String>,
    #[serde(borrow)]
    parameters: Option<&'a RawValue>,
    continues: Option<bool>,
}

/// Parameters of the method Drain, which keeps this node's paths off a part of the fabric (a
/// switch, a node, a link, a port or a NIC).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drain<'a> {
    /// The part to be drained: a switch, a node, a link, a port or a NIC.
    pub object: &'a str,
    /// Only list the effects.
    pub dry_run: bool,
    /// Drain it even if a destination has no other path.
    pub force: bool,
}

/// Parameters of the method Pin, which makes this node use only one of its paths to a destination:
/// the destination node, and the rank (place in the list) of the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pin<'a> {
    /// The destination node.
    pub to: &'a str,
    /// Rank of the path to use.
    pub rank: u32,
    /// Only list the effects.
    pub dry_run: bool,
}

/// Parameters of the method Weight, which shares the traffic to a destination among its paths: the
/// destination node, and the weights of paths by rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Weight<'a> {
    /// The destination node.
    pub to: &'a str,
    /// The weights; ranks that are not listed keep theirs.
    pub weights: &'a [WeightLine],
    /// Only list the effects.
    pub dry_run: bool,
}

#[derive(Debug, Deserialize)]
struct Empty {}

impl Client {
    /// Connects to the socket at `path`.
    ///
    /// # Errors
    /// [`ClientError::Unreachable`] if nothing listens there.
    pub fn connect(path: impl AsRef<Path>) -> Result<Self, ClientError> {
        let path = path.as_ref().to_path_buf();
        match UnixStream::connect(&path) {
            Ok(stream) => {
                Ok(Self { stream: BufReader::new(stream), path, patience: None, proxy: None })
            }
            Err(source) => Err(ClientError::Unreachable { path, source }),
        }
    }

    /// Waits for no reply longer than `patience`.
    #[must_use]
    pub fn patient(self, patience: Duration) -> Self {
        Self { patience: Some(patience), ..self }
    }

    /// Connects through a program whose standard input and output lead to a daemon's socket, such
    /// as `ssh n3 tresse bridge`. No reply is waited for longer than `patience`. Errors include
    /// what the program wrote to standard error.
    ///
    /// # Errors
    /// [`ClientError::Unreachable`] if the program cannot be started.
    pub fn through(command: Command, patience: Duration) -> Result<Self, ClientError> {
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
        let path = PathBuf::from(words.join(" "));
        match ProxyCommand::start(command) {
            Ok((stream, proxy)) => Ok(Self {
                stream: BufReader::new(stream),
                path,
                patience: Some(patience),
                proxy: Some(proxy),
            }),
            Err(source) => Err(ClientError::Unreachable { path, source }),
        }
    }

    /// The underlying socket, for a caller that passes the bytes on.
    #[must_use]
    pub fn into_stream(self) -> UnixStream {
        self.stream.into_inner()
    }

    /// State of the node: plan, drift, failures, sessions.
    ///
    /// # Errors
    /// [`ClientError`], as for every method.
    pub fn status(&mut self) -> Result<Status, ClientError> {
        self.call(&Call::GetStatus, Some(READ_TIMEOUT))
    }

    /// Paths from this node, to one destination or to all.
    ///
    /// # Errors
    /// [`ClientError`], as for every method.
    pub fn paths(&mut self, to: Option<&str>) -> Result<PathList, ClientError> {
        self.call(&Call::ListPaths { to: to.map(Into::into) }, Some(READ_TIMEOUT))
    }

    /// What is believed broken, and what that does to the paths from this node.
    ///
    /// # Errors
    /// [`ClientError`], as for every method.
    pub fn failures(&mut self) -> Result<FailureList, ClientError> {
        self.call(&Call::ListFailures, Some(READ_TIMEOUT))
    }

    /// The files of the plan in force.
    ///
    /// # Errors
    /// [`ClientError`]; a daemon of an older release does not know the method.
    pub fn plan(&mut self) -> Result<PlanFiles, ClientError> {
        self.call(&Call::GetPlan, Some(READ_TIMEOUT))
    }

    /// By which paths this node sends, where detours are used as they are needed.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn detours(&mut self) -> Result<DetourList, ClientError> {
        self.call(&Call::ListDetours, Some(READ_TIMEOUT))
    }

    /// Uses detours as they are needed, or no more.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn set_detours(&mut self, used: bool) -> Result<(), ClientError> {
        self.done(&Call::SetDetours { used })
    }

    /// The devices heard on each NIC of the host.
    ///
    /// # Errors
    /// [`ClientError`], as for every method.
    pub fn neighbours(&mut self) -> Result<NeighbourList, ClientError> {
        self.call(&Call::ListNeighbours, Some(READ_TIMEOUT))
    }

    /// Sends an LLDP frame from every NIC of the host.
    ///
    /// # Errors
    /// [`ClientError`], as for every method.
    pub fn introduce(&mut self) -> Result<Introduced, ClientError> {
        self.call(&Call::Introduce, Some(READ_TIMEOUT))
    }

    /// Operations that would make the kernel equal to the slice.
    ///
    /// # Errors
    /// [`ClientError`], as for every method.
    pub fn diff(&mut self) -> Result<Difference, ClientError> {
        self.call(&Call::Diff, Some(READ_TIMEOUT))
    }

    /// Installs the plan of a cluster file, or as a dry run lists the operations.
    ///
    /// # Errors
    /// [`ClientError`], as for every method.
    pub fn apply(&mut self, request: &ApplyRequest) -> Result<Applied, ClientError> {
        self.call(&request.clone().into(), None)
    }

    /// Keeps the plan that the last apply installed.
    ///
    /// # Errors
    /// [`ClientError`], as for every method.
    pub fn confirm(&mut self) -> Result<(), ClientError> {
        self.done(&Call::Confirm)
    }

    /// Keeps the plan that the last apply installed, if it is the one of this generation. A daemon of an older
    /// release, which cannot compare them, keeps it in any case.
    ///
    /// # Errors
    /// [`ClientError`], as for every method.
    pub fn confirm_plan(&mut self, generation: &str) -> Result<(), ClientError> {
        match self.done(&Call::ConfirmPlan { generation: generation.into() }) {
            Err(ClientError::Node(NodeError::Internal { message }))
                if message.starts_with("org.varlink.service.MethodNotFound") =>
            {
                self.confirm()
            }
            answer => answer,
        }
    }

    /// Returns to the plan before.
    ///
    /// # Errors
    /// [`ClientError`], as for every method.
    pub fn rollback(&mut self) -> Result<Applied, ClientError> {
        self.call(&Call::Rollback, None)
    }

    /// Removes everything that was installed and forgets the plan.
    ///
    /// # Errors
    /// [`ClientError`], as for every method.
    pub fn withdraw(&mut self, force: bool) -> Result<Withdrawn, ClientError> {
        self.call(&Call::Withdraw { force: Some(force) }, None)
    }

    /// Reads the configured cluster file again and applies it.
    ///
    /// # Errors
    /// [`ClientError`], as for every method.
    pub fn reload(&mut self) -> Result<Applied, ClientError> {
        self.call(&Call::Reload, None)
    }

    /// Uses a fused VLAN again, after a new canary.
    ///
    /// # Errors
    /// [`ClientError`], as for every method.
    pub fn unfuse(&mut self, vid: u16) -> Result<(), ClientError> {
        self.done(&Call::Unfuse { vid })
    }

    /// Keeps this node's paths off a switch, a node, a link, a port or a NIC.
    ///
    /// # Errors
    /// [`ClientError`], as for every method.
    pub fn drain(&mut self, how: &Drain<'_>) -> Result<Steered, ClientError> {
        let Drain { object, dry_run, force } = *how;
        let (dry_run, force) = (Some(dry_run), Some(force));
        self.call(&Call::Drain { object: object.into(), dry_run, force }, None)
    }

    /// Uses a drained part again, or as a dry run lists the effects.
    ///
    /// # Errors
    /// [`ClientError`], as for every method.
    pub fn undrain(&mut self, object: &str, dry_run: bool) -> Result<Steered, ClientError> {
        // Older daemons do not have the parameter.
        let dry_run = dry_run.then_some(true);
        self.call(&Call::Undrain { object: object.into(), dry_run }, None)
    }

    /// Uses only one path to a node, given by its rank.
    ///
    /// # Errors
    /// [`ClientError`], as for every method.
    pub fn pin(&mut self, how: &Pin<'_>) -> Result<Steered, ClientError> {
        let Pin { to, rank, dry_run } = *how;
        self.call(&Call::Pin { to: to.into(), rank, dry_run: Some(dry_run) }, None)
    }

    /// Shares the traffic to a node among its paths by weights.
    ///
    /// # Errors
    /// [`ClientError`], as for every method.
    pub fn weight(&mut self, how: &Weight<'_>) -> Result<Steered, ClientError> {
        let Weight { to, weights, dry_run } = *how;
        let weights = weights.to_vec();
        self.call(&Call::Weight { to: to.into(), weights, dry_run: Some(dry_run) }, None)
    }

    /// Uses all paths to a node again as planned, or as a dry run lists the effects.
    ///
    /// # Errors
    /// [`ClientError`], as for every method.
    pub fn unpin(&mut self, to: &str, dry_run: bool) -> Result<Steered, ClientError> {
        self.call(&Call::Unpin { to: to.into(), dry_run: dry_run.then_some(true) }, None)
    }

    /// Counters since the daemon started.
    ///
    /// # Errors
    /// [`ClientError`], as for every method.
    pub fn counters(&mut self) -> Result<Counters, ClientError> {
        self.call(&Call::GetCounters, Some(READ_TIMEOUT))
    }

    /// The last events, at most `last`.
    ///
    /// # Errors
    /// [`ClientError`], as for every method.
    pub fn events(&mut self, last: Option<u32>) -> Result<EventList, ClientError> {
        self.call(&Call::GetEvents { last }, Some(READ_TIMEOUT))
    }

    /// Events from now on. The first is `hello`: from then on no event is missed.
    ///
    /// # Errors
    /// [`ClientError`], as for every method.
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
        let method = call.method();
        let sent = parameters(call)
            .and_then(|given| {
                let parameters = call.has_parameters().then_some(&given);
                serde_json::to_vec(&Message { method, parameters, more })
            })
            .map_err(io::Error::from)
            .and_then(|mut bytes| {
                bytes.push(0);
                self.stream.get_mut().write_all(&bytes)
            });
        sent.map_err(|error| self.lost(&error.to_string()))
    }

    /// Reads the next reply; the flag says whether more replies to the same call follow.
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
        let broken =
            |error: serde_json::Error| Lost::Broken(format!("the reply is not valid: {error}"));
        let answer: Answer<'_> = serde_json::from_slice(&bytes).map_err(broken)?;
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
        let parameters = answer.parameters.map_or("{}", RawValue::get);
        let parameters = serde_json::from_str(parameters).map_err(broken)?;
        Ok((Ok(parameters), answer.continues == Some(true)))
    }

    fn lost(&mut self, message: &str) -> ClientError {
        if self.proxy.is_some() {
            let _ = self.stream.get_ref().shutdown(Shutdown::Both);
        }
        let said = self.proxy.as_mut().map(ProxyCommand::last_words).unwrap_or_default();
        let message = if said.is_empty() { message.into() } else { said };
        ClientError::Protocol { path: self.path.clone(), message }
    }
}

/// The parameters of a call that have a value. A daemon that does not know a parameter refuses the call,
/// also if the parameter is null.
fn parameters(call: &Call) -> serde_json::Result<serde_json::Map<String, serde_json::Value>> {
    let mut given = match serde_json::to_value(call)? {
        serde_json::Value::Object(given) => given,
        _ => serde_json::Map::new(),
    };
    given.retain(|_, value| !value.is_null());
    Ok(given)
}

enum Lost {
    TimedOut,
    Broken(String),
}

/// Iterator over the events that the daemon sends to this client. When the connection ends, the
/// iterator returns one error and then ends too.
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
