//! The lock, `tresse.lock`, which stores the numbers that must not change when the cluster grows (DESIGN section 3,
//! rule K4): the VID of each VLAN tree, the addresses of nodes and NICs, the labels, how many nodes each switch
//! had when the paths were balanced, and the numbers of its node ports. This module defines the text and allocates VIDs and
//! addresses; the caller reads and writes the file.
//!
//! A number that a plan no longer uses is *retired*, so that nodes and switches that still run an older plan do not
//! meet it with a new meaning. A retired VID is used again only for the same tree, or when no other VID is left.
//! Retired addresses and labels are forgotten at the next change of the lock.

pub mod addresses;
pub mod balance;
mod content;
mod emit;
mod error;
mod judge;
mod next;
mod parse;
pub mod place;
pub mod ports;
#[cfg(test)]
mod tests;
pub mod tree;
mod vids;

pub use addresses::{AddressError, assign, renumbered};
pub use content::{FORMAT, Labels, Lock, LockedBalance, LockedVid, Retired};
pub use emit::quoted;
pub use error::LockError;
pub use vids::{BaseWasTree, VidsExhausted, accept_base, allocate};
