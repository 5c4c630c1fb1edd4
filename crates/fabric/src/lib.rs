//! The pure planner: from a cluster file to a plan, from a plan to one node's slice, from a slice
//! and what the kernel holds to the operations between them, and the proofs about all of these.
//!
//! Owns no socket, file, clock, environment, log or thread of its own. Values in, values out.
#![forbid(unsafe_code)]

pub use tresse_base::{id, random, units};
pub use tresse_design::cost;
pub use tresse_frame::{self as wire, forward};
pub use tresse_reconcile as reconcile;
pub use tresse_topology::{self as topology, path, vlan};

/// The search for wirings, with what it shares with the planner.
pub mod design {
    pub use tresse_base::wiring::{self, Wiring};
    pub use tresse_design::*;

    pub use crate::routing::basic;
}

pub mod address;
pub mod cables;
pub mod cluster;
pub mod discover;
pub mod export;
pub mod label;
pub mod lock;
pub mod plan;
pub mod routing;
pub mod slice;
pub mod verify;
pub mod watch;
