//! Pipelined ring collectives (big-fat-switches, section 3): every node sends to the next one what it gets from the
//! one before, while it still arrives, so that a copy to all nodes takes the time of one.
//!
//! [`order`], [`shape`], [`routes`] and [`pace`] own no file, socket or clock; [`member`] is what runs on each node,
//! told what to do by [`talk`]. Members say to each other what [`frame`] has.
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

/// An error with the path that it is about.
pub(crate) fn named(path: &std::path::Path, error: &std::io::Error) -> std::io::Error {
    std::io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// What somebody sent, or asked for, and cannot be.
pub(crate) fn wrong(words: impl Into<String>) -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::InvalidData, words.into())
}
