//! The cluster file: from text to a resolved [`Cluster`] or to all of its problems (DESIGN section
//! 3), its JSON Schema and its canonical form; and the fabrics that tests and benchmarks ask for by
//! kind and size.
#![forbid(unsafe_code)]

pub mod cables;
pub mod discover;
mod file;
mod format;
mod guess;
mod kinds;
mod limits;
mod parse;
mod pattern;
mod read;
mod resolve;
mod schema;
mod syntax;
#[cfg(test)]
mod tests;
mod wiring;

pub use format::format;
pub use parse::{parse, text_of};
pub use schema::schema;
pub use wiring::with_wiring;
