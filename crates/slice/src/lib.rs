//! The part of a plan that concerns one node: the kernel state that it asks for ([`Slice`]), and
//! which of the node's paths BFD sessions watch ([`watch`]).
//!
//! Pure: no socket, file, clock, environment, log or thread.
#![forbid(unsafe_code)]

mod slice;
mod text;
pub mod watch;

pub use slice::{Slice, SliceInterface, first_hop};
pub use text::text;
