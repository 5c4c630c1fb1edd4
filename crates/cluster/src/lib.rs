//! The cluster file: parses it into a resolved [`Cluster`](tresse_topology::cluster::Cluster) or reports all of its
//! problems (DESIGN section 3), describes it by a JSON Schema, formats it and checks the cables of a node against it
//! ([`cables`]).
#![forbid(unsafe_code)]

pub mod cables;
mod file;
mod format;
mod forms;
mod guess;
mod kinds;
mod limits;
mod parse;
mod pattern;
mod read;
mod replaced;
mod resolve;
mod schema;
mod syntax;
#[cfg(test)]
mod tests;
mod wiring;

pub use format::format;
pub use limits::NAME as NAME_BYTES;
pub use parse::{parse, text_of};
pub use replaced::{mended, replaced};
pub use resolve::{name_fault, strategy_name};
pub use schema::schema;
pub use wiring::{WIRING_HELP, with_wiring};
