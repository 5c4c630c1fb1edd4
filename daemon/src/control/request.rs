//! Passes control calls from a client's connection to the main loop, and the replies back.

use tokio::sync::{mpsc, oneshot};
use tresse_control::{Call, NodeError, Reply};

/// A control call on its way from a client's connection to the main loop, with the channel for its
/// reply.
#[derive(Debug)]
pub struct Request {
    /// The call. Never Monitor, which each connection answers itself.
    pub call: Call,
    /// Channel for the reply.
    pub answer: oneshot::Sender<Result<Reply, NodeError>>,
}

/// Sends a control call to the main loop and waits for the reply.
///
/// # Errors
/// The error with which the main loop replies, or [`NodeError::Internal`] if the daemon is
/// stopping.
pub async fn ask(requests: &mpsc::Sender<Request>, call: Call) -> Result<Reply, NodeError> {
    let stopping = || NodeError::Internal { message: "the daemon is stopping".into() };
    let (answer, answered) = oneshot::channel();
    requests.send(Request { call, answer }).await.map_err(|_| stopping())?;
    answered.await.map_err(|_| stopping())?
}
