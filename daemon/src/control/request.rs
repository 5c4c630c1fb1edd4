//! What connections ask of the main loop.

use tokio::sync::{mpsc, oneshot};
use tresse_control::{Call, NodeError, Reply};

/// One call, with the place for its answer.
#[derive(Debug)]
pub struct Request {
    /// The call; never Monitor, which every connection answers itself.
    pub call: Call,
    /// Where its answer goes.
    pub answer: oneshot::Sender<Result<Reply, NodeError>>,
}

/// Asks the main loop, and waits for its answer.
///
/// # Errors
/// What the main loop answers, or that the daemon is stopping.
pub async fn ask(requests: &mpsc::Sender<Request>, call: Call) -> Result<Reply, NodeError> {
    let stopping = || NodeError::Internal { message: "the daemon is stopping".into() };
    let (answer, answered) = oneshot::channel();
    requests.send(Request { call, answer }).await.map_err(|_| stopping())?;
    answered.await.map_err(|_| stopping())?
}
