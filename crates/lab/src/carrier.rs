//! Waits until the kernel reports that the NICs of a lab's nodes have carrier.
//!
//! A NIC of a lab has carrier as soon as the other end of its cable is up. The kernel updates the
//! routes through it up to a second later, and much later on a busy machine (`linkwatch`). Until
//! then those routes are not used, because fabric NICs ignore routes whose link is down
//! (`ignore_routes_with_linkdown`).

use std::time::{Duration, Instant};

use serde::Deserialize;

use crate::blueprint::Blueprint;
use crate::run::{self, RunError};
use crate::signals::{Interrupted, Signals};
use crate::state::Directory;

/// A busy machine may take this long.
const LIMIT: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);

/// Why [`wait`] ended before all NICs were up: one had no carrier after a minute, `ip` failed or was not
/// understood, or a signal arrived.
#[derive(Debug, thiserror::Error)]
pub enum CarrierError {
    /// A NIC has no carrier after a minute.
    #[error(
        "{nic} of {node} has no carrier a minute after its cable was laid: is the machine overloaded? \
         Try again"
    )]
    Late {
        /// The node.
        node: String,
        /// Its NIC.
        nic: String,
    },
    /// `ip` failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// `ip` answered something else than a list of links.
    #[error("in {node}: `ip -j link` answered no list of links: {source} (is iproute2 too old?)")]
    Output {
        /// The node.
        node: String,
        /// What is wrong with the answer.
        source: serde_json::Error,
    },
    /// Ctrl-C.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

#[derive(Deserialize)]
struct Link {
    ifname: String,
    operstate: String,
}

/// Waits until every node NIC at the end of a cable is operationally up (`operstate` is `UP`), at
/// most 60 seconds.
///
/// # Errors
/// [`CarrierError`]
pub fn wait(
    blueprint: &Blueprint,
    directory: &Directory,
    signals: &Signals,
) -> Result<(), CarrierError> {
    let began = Instant::now();
    let mut waiting: Vec<&str> = blueprint.nodes.iter().map(|node| node.name.as_str()).collect();
    loop {
        signals.check()?;
        let seen = run::parallel(&waiting, run::workers(), |node| down(blueprint, directory, node));
        let mut late = Vec::new();
        for (node, nic) in waiting.iter().zip(seen) {
            late.extend(nic?.map(|nic| (*node, nic)));
        }
        let Some((node, nic)) = late.first() else { return Ok(()) };
        if began.elapsed() > LIMIT {
            return Err(CarrierError::Late { node: (*node).to_owned(), nic: nic.clone() });
        }
        waiting = late.into_iter().map(|(node, _)| node).collect();
        std::thread::sleep(PAUSE);
    }
}

/// The first NIC of a node that has a cable and is not operationally up.
fn down(
    blueprint: &Blueprint,
    directory: &Directory,
    node: &str,
) -> Result<Option<String>, CarrierError> {
    let text = run::read(&directory.netns(node), "ip", &["-j", "link"], "")?;
    let links: Vec<Link> = serde_json::from_slice(&text)
        .map_err(|source| CarrierError::Output { node: node.to_owned(), source })?;
    let up = |nic: &str| links.iter().any(|link| link.ifname == nic && link.operstate == "UP");
    let ends = blueprint.cables.iter().flat_map(|cable| [&cable.a, &cable.b]);
    let mut nics = ends.filter(|end| end.place == node).map(|end| &end.interface);
    Ok(nics.find(|nic| !up(nic)).cloned())
}
