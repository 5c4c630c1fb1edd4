//! `tresse.lock`: what must not change when the cluster grows (DESIGN section 3, rule K4): the VID of
//! each VLAN tree, the addresses of nodes and NICs. Owns the text, and the allocation of VIDs and addresses;
//! the caller reads and writes the file itself.
//!
//! What a plan no longer uses is `retired`: given out again only for the same tree, or when nothing
//! else is left, so that nodes and switches that still run an older plan never meet an old number with
//! a new meaning. Retired addresses are forgotten when the lock changes next.

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
