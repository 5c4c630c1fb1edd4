//! Which cables a fabric has, as its switches and nodes see them. Switches tell by their LLDP tables, else by their
//! forwarding tables ([`pasted`]); nodes by what their NICs hear ([`host`]). All of it together are the [`wires`],
//! from which a cluster file is drafted ([`draft`]). What could not be seen is named, never left out.
//!
//! Everything here computes values from text and replies of others, which may say anything.
#![forbid(unsafe_code)]

pub mod cable;
pub mod draft;
pub mod host;
pub mod mib;
pub mod pasted;
mod port;
pub mod remap;
pub mod table;
pub mod wires;
pub mod without;
