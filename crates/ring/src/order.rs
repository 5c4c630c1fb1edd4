//! Finds the order in which the members of a ring send to each other: links between switches are
//! crossed as seldom as possible and, if the fabric allows it, each directed link carries the data
//! of one sending member at most. If nodes have several NICs, finds several rings that share no
//! directed link.

mod candidates;
mod disjoint;
mod filling;
mod ring;
#[cfg(test)]
mod tests;

pub use filling::filling;
pub use ring::RingOrder;
