//! The verbs that study a plan: a simulator, and proposals for reflectors.

mod reflect;
mod simulate;

pub use reflect::Reflect;
pub use simulate::Simulate;
