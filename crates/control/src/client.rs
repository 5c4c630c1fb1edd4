//! A blocking client: one call per method, an iterator for the stream of events.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::runtime::Runtime;
use zlink::Call;
use zlink::tokio::unix::{Connection, connect};

use crate::{
    Applied, ApplyRequest, Counters, Difference, Event, MonitorReply, NodeError, PathList, Status,
    Withdrawn,
};

/// How long to wait for the daemon's answer to a method that only reads.
const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// A connection to one daemon. Not for use inside an asynchronous runtime.
#[derive(Debug)]
pub struct Client {
    runtime: Runtime,
    connection: Connection,
    path: PathBuf,
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
struct Method<'a, P> {
    method: &'a str,
    parameters: P,
}

#[derive(Debug, Serialize)]
struct Nothing {}

#[derive(Debug, Serialize)]
struct Vlan {
    vid: u16,
}

#[derive(Debug, Serialize)]
struct Destination<'a> {
    to: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct Forced {
    force: Option<bool>,
}

#[derive(Debug, serde::Deserialize)]
struct Empty {}

impl Client {
    /// Connects to the socket at `path`.
    ///
    /// # Errors
    /// [`ClientError::Unreachable`] where nobody listens.
    pub fn connect(path: impl AsRef<Path>) -> Result<Self, ClientError> {
        let path = path.as_ref().to_path_buf();
        let unreachable = |source| ClientError::Unreachable { path: path.clone(), source };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(unreachable)?;
        let connection = runtime.block_on(connect(&path)).map_err(|error| {
            unreachable(match error {
                zlink::Error::Io(source) => source,
                other => io::Error::other(other.to_string()),
            })
        })?;
        Ok(Self { runtime, connection, path })
    }

    /// What the node holds and does.
    ///
    /// # Errors
    /// As every method: [`ClientError`].
    pub fn status(&mut self) -> Result<Status, ClientError> {
        self.call("org.tresse.Node.GetStatus", Nothing {}, Some(READ_TIMEOUT))
    }

    /// Paths from this node, to one destination or to all.
    ///
    /// # Errors
    /// As every method: [`ClientError`].
    pub fn paths(&mut self, to: Option<&str>) -> Result<PathList, ClientError> {
        self.call("org.tresse.Node.ListPaths", Destination { to }, Some(READ_TIMEOUT))
    }

    /// What separates the kernel from the slice.
    ///
    /// # Errors
    /// As every method: [`ClientError`].
    pub fn diff(&mut self) -> Result<Difference, ClientError> {
        self.call("org.tresse.Node.Diff", Nothing {}, Some(READ_TIMEOUT))
    }

    /// Installs (or, as a dry run, lists) what a cluster file asks for.
    ///
    /// # Errors
    /// As every method: [`ClientError`].
    pub fn apply(&mut self, request: &ApplyRequest) -> Result<Applied, ClientError> {
        self.call("org.tresse.Node.Apply", request, None)
    }

    /// Keeps what the last apply installed.
    ///
    /// # Errors
    /// As every method: [`ClientError`].
    pub fn confirm(&mut self) -> Result<(), ClientError> {
        self.done("org.tresse.Node.Confirm", Nothing {})
    }

    /// Returns to the previous plan.
    ///
    /// # Errors
    /// As every method: [`ClientError`].
    pub fn rollback(&mut self) -> Result<Applied, ClientError> {
        self.call("org.tresse.Node.Rollback", Nothing {}, None)
    }

    /// Leaves the kernel as it was found and forgets the plan.
    ///
    /// # Errors
    /// As every method: [`ClientError`].
    pub fn withdraw(&mut self, force: bool) -> Result<Withdrawn, ClientError> {
        self.call("org.tresse.Node.Withdraw", Forced { force: Some(force) }, None)
    }

    /// Reads the configured cluster file again and applies it.
    ///
    /// # Errors
    /// As every method: [`ClientError`].
    pub fn reload(&mut self) -> Result<Applied, ClientError> {
        self.call("org.tresse.Node.Reload", Nothing {}, None)
    }

    /// Takes a fused VLAN into use again, after a new canary.
    ///
    /// # Errors
    /// As every method: [`ClientError`].
    pub fn unfuse(&mut self, vid: u16) -> Result<(), ClientError> {
        self.done("org.tresse.Node.Unfuse", Vlan { vid })
    }

    /// Counters since the daemon started.
    ///
    /// # Errors
    /// As every method: [`ClientError`].
    pub fn counters(&mut self) -> Result<Counters, ClientError> {
        self.call("org.tresse.Node.GetCounters", Nothing {}, Some(READ_TIMEOUT))
    }

    /// Events from now on. The daemon is listening once the first one, `hello`, has come.
    ///
    /// # Errors
    /// As every method: [`ClientError`].
    pub fn monitor(mut self) -> Result<Events, ClientError> {
        let call = Call::new(Method { method: "org.tresse.Node.Monitor", parameters: Nothing {} })
            .set_more(true);
        let sent = self.runtime.block_on(self.connection.send_call(&call, vec![]));
        sent.map_err(|error| self.protocol(&error))?;
        Ok(Events { client: self, ended: false })
    }

    fn done<P: Serialize + std::fmt::Debug>(
        &mut self,
        method: &'static str,
        parameters: P,
    ) -> Result<(), ClientError> {
        self.call::<P, Option<Empty>>(method, parameters, None).map(|_| ())
    }

    fn call<P, R>(
        &mut self,
        method: &'static str,
        parameters: P,
        timeout: Option<Duration>,
    ) -> Result<R, ClientError>
    where
        P: Serialize + std::fmt::Debug,
        R: DeserializeOwned + std::fmt::Debug,
    {
        let call = Call::new(Method { method, parameters });
        let connection = &mut self.connection;
        let exchange = async {
            connection.send_call(&call, vec![]).await?;
            let (reply, _) = connection.receive_reply::<R, NodeError>().await?;
            Ok::<_, zlink::Error>(reply.map(zlink::Reply::into_parameters))
        };
        let answer = self.runtime.block_on(async {
            match timeout {
                Some(limit) => tokio::time::timeout(limit, exchange).await.map_err(|_| limit),
                None => Ok(exchange.await),
            }
        });
        match answer {
            Err(limit) => Err(ClientError::TimedOut {
                path: self.path.clone(),
                method,
                seconds: limit.as_secs(),
            }),
            Ok(Err(error)) => Err(self.protocol(&error)),
            Ok(Ok(Err(error))) => Err(ClientError::Node(error)),
            Ok(Ok(Ok(Some(reply)))) => Ok(reply),
            Ok(Ok(Ok(None))) => serde_json::from_value(serde_json::Value::Null)
                .map_err(|_| self.lost("an answer without parameters")),
        }
    }

    fn protocol(&self, error: &zlink::Error) -> ClientError {
        self.lost(&error.to_string())
    }

    fn lost(&self, message: &str) -> ClientError {
        ClientError::Protocol { path: self.path.clone(), message: message.into() }
    }
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
        let Client { runtime, connection, .. } = &mut self.client;
        let received = runtime.block_on(connection.receive_reply::<MonitorReply, NodeError>());
        let item = match received {
            Ok((Ok(reply), _)) => {
                self.ended = reply.continues() != Some(true);
                let parameters = reply.into_parameters();
                return Some(
                    parameters
                        .map(|p| p.event)
                        .ok_or_else(|| self.client.lost("an event without parameters")),
                );
            }
            Ok((Err(error), _)) => ClientError::Node(error),
            Err(error) => self.client.protocol(&error),
        };
        self.ended = true;
        Some(Err(item))
    }
}
