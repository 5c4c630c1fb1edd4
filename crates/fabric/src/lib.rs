//! The pure planner: from a cluster file to a plan, from a plan to one node's slice, from a slice
//! and what the kernel holds to the operations between them, and the proofs about all of these.
//!
//! Owns no socket, file, clock, environment, log or thread of its own. Values in, values out.
#![forbid(unsafe_code)]

pub mod address;
pub mod cables;
pub mod cluster;
pub mod cost;
pub mod design;
pub mod discover;
pub mod export;
pub mod forward;
pub mod id;
pub mod label;
pub mod lock;
pub mod path;
pub mod plan;
pub mod random;
pub mod reconcile;
pub mod routing;
pub mod slice;
pub mod topology;
pub mod units;
pub mod verify;
pub mod vlan;
pub mod watch;
pub mod wire;
