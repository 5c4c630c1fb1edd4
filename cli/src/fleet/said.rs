//! Asks a node for all that is needed to judge a fabric.

use tresse_control::{Client, ClientError, NodeError};
use tresse_health::Said;

/// Its state, its NICs and its paths; no paths of a daemon without a plan.
pub fn ask(client: &mut Client) -> Result<Said, ClientError> {
    let (status, nics) = (client.status()?, client.neighbours()?);
    let paths = match client.paths(None) {
        Ok(list) => list.paths,
        Err(ClientError::Node(NodeError::NoPlan)) => Vec::new(),
        Err(error) => return Err(error),
    };
    Ok(Said { status, nics, paths })
}
