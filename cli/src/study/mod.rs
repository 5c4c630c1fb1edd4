//! The verbs that study a plan: what it would carry, and what would relieve it.

mod reflect;
mod simulate;

pub use reflect::Reflect;
pub use simulate::Simulate;
