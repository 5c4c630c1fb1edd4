//! The verbs that study a plan: `simulate` simulates it, and `reflect` proposes reflectors (nodes
//! that relay frames) for its busy links.

mod reflect;
mod simulate;

pub use reflect::Reflect;
pub use simulate::Simulate;
