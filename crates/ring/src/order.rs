//! The order of a ring: each inter-switch link is crossed as seldom as possible, and no directed link carries more
//! stages than one where the fabric allows that. Where nodes have several NICs, several rings that share no directed
//! link.

mod candidates;
mod disjoint;
mod ring;
#[cfg(test)]
mod tests;

pub use ring::Ring;
