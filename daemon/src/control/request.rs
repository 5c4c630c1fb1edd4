//! Control calls on their way from a connection to the main loop.

use tokio::sync::{mpsc, oneshot};
use tresse_control::{Call, NodeError, Reply};

/// A control call for the main loop, with the channel for its reply.
#[derive(Debug)]
pub struct Request {
    /// The call. Never Monitor, which each connection answers itself.
    pub call: Call,
    /// Channel for the reply.
    pub answer: oneshot::Sender<Result<Reply, NodeError>>,
}

/// Sends a call to the main loop and waits for the reply.
///
/// # Errors
/// The main loop's error, or that the daemon is stopping.
pub async fn ask(requests: &mpsc::Sender<Request>, call: Call) -> Result<Reply, NodeError> {
    let stopping = || NodeError::Internal { message: "the daemon is stopping".into() };
    let (answer, answered) = oneshot::channel();
    requests.send(Request { call, answer }).await.map_err(|_| stopping())?;
    answered.await.map_err(|_| stopping())?
}
