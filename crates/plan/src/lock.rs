//! The lock, `tresse.lock`: numbers that must not change when the cluster grows (DESIGN section 3,
//! rule K4): the VID of each VLAN tree, the addresses of nodes and NICs, labels. This module
//! defines the text and allocates VIDs and addresses; the caller reads and writes the file.
//!
//! A number that a plan no longer uses is *retired*: it is reused only for the same tree, or when
//! nothing else is left. So nodes and switches that still run an older plan never meet an old
//! number with a new meaning. Retired addresses are forgotten at the next change of the lock.

pub mod addresses;
pub mod balance;
mod content;
mod emit;
mod error;
mod judge;
mod next;
mod parse;
pub mod place;
#[cfg(test)]
mod tests;
pub mod tree;
mod vids;

pub use addresses::{AddressError, assign};
pub use content::{FORMAT, Labels, Lock, LockedBalance, LockedVid, Retired};
pub use emit::quoted;
pub use error::LockError;
pub use vids::{BaseWasTree, VidsExhausted, accept_base, allocate};
