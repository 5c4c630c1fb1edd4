//! Asks a node for all that is needed to judge a fabric.

use tresse_control::{Client, ClientError, NodeError};
use tresse_health::Said;

/// Its state, its NICs, its paths and what it believes broken; neither of a daemon without a plan.
pub fn ask(client: &mut Client) -> Result<Said, ClientError> {
    let (status, nics) = (client.status()?, client.neighbours()?);
    let planned = client.paths(None).and_then(|list| Ok((list.paths, client.failures()?.broken)));
    let (paths, broken) = match planned {
        Err(ClientError::Node(NodeError::NoPlan)) => Default::default(),
        planned => planned?,
    };
    Ok(Said { status, nics, paths, broken })
}
