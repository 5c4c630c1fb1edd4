//! How much data fills a ring: what its links could carry while the first bytes pass all members.

use tresse_base::id::NodeId;
use tresse_plan::Plan;

use crate::links::{links, stages};

/// Microseconds that a member takes to pass on what it receives. 40 were measured for each rank of four in a lab
/// (`tests/mpi-rings.sh long`), 400 are published (big-fat-switches, section 6).
const PASS_US: u128 = 50;

/// Returns the bytes that the slowest link of a ring of nodes carries while a message passes `members` members on them.
/// With less data, a collective over the ring waits longer than it sends.
#[must_use]
pub fn filling(plan: &Plan, nodes: &[NodeId], members: usize) -> u64 {
    let crossings = stages(nodes).flat_map(|(from, to)| links(plan, from, to));
    let bits = crossings.map(|crossing| plan.rate(crossing).0).min().unwrap_or(0);
    (u128::from(bits) * PASS_US * members as u128 / 8_000_000) as u64
}
