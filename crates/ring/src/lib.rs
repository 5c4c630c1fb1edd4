//! Pipelined ring collectives (big-fat-switches, section 3): every node sends to the next one what it gets from the
//! one before, while it still arrives, so that a copy to all nodes takes the time of one.
//!
//! Owns no file, socket or clock. Values in, values out.
#![forbid(unsafe_code)]

pub mod order;
mod search;
