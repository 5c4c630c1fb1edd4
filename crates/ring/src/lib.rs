//! Copies data to many nodes by pipelined ring collectives (big-fat-switches, section 3): every
//! node forwards data to the next one while it still receives it from the one before. So a copy to
//! all nodes takes about as long as a copy to one.
//!
//! [`order`], [`shape`], [`routes`] and [`pace`] are pure: no file, socket or clock. [`member`] runs on each
//! node and is controlled by the messages of [`talk`]. Members exchange the messages of [`frame`].
#![forbid(unsafe_code)]

pub mod content;
pub mod frame;
#[doc(hidden)]
pub mod fuzz;
mod links;
pub mod member;
pub mod order;
pub mod pace;
pub mod proof;
pub mod routes;
mod search;
pub mod shape;
pub mod strangers;
pub mod talk;

/// Adds a path to an error.
pub(crate) fn named(path: &std::path::Path, error: &std::io::Error) -> std::io::Error {
    std::io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Returns an error for invalid data or an invalid request.
pub(crate) fn wrong(words: impl Into<String>) -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::InvalidData, words.into())
}
