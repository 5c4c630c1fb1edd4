//! Pipelined ring collectives (big-fat-switches, section 3): every node sends to the next one what it gets from the
//! one before, while it still arrives, so that a copy to all nodes takes the time of one.
//!
//! [`order`] owns no file, socket or clock; [`member`] is what runs on each node, told what to do by [`talk`].
#![forbid(unsafe_code)]

pub mod member;
pub mod order;
mod search;
pub mod talk;
