//! One node's part of a plan ([`Slice`]): the kernel state that it asks for, and which paths of the node
//! are watched ([`watch`]).
//!
//! Imports the plan and the kernel objects. No socket, file, clock, environment, log or thread.
#![forbid(unsafe_code)]

mod slice;
pub mod watch;

pub use slice::{Slice, SliceInterface, first_hop};
