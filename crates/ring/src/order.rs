//! Finds the order of a ring in which links between switches are crossed as seldom as possible and,
//! if the fabric allows it, no directed link carries more than one stage. If nodes have several
//! NICs, finds several rings that share no directed link.

mod candidates;
mod disjoint;
mod ring;
#[cfg(test)]
mod tests;

pub use ring::Ring;
