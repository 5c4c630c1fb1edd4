//! The planner under its old paths, while it is carved into crates.
#![forbid(unsafe_code)]

pub use tresse_base::{id, random, units};
pub use tresse_cluster::{cables, discover};
pub use tresse_design::cost;
pub use tresse_export as export;
pub use tresse_frame::{self as wire, forward};
pub use tresse_plan::{self as plan, address, label, lock};
pub use tresse_reconcile as reconcile;
pub use tresse_routing as routing;
pub use tresse_slice::{self as slice, watch};
pub use tresse_topology::{self as topology, path, vlan};
pub use tresse_verify as verify;

/// The search for wirings, with what it shares with the planner.
pub mod design {
    pub use tresse_base::wiring::{self, Wiring};
    pub use tresse_design::*;
    pub use tresse_routing::basic;
}

/// The cluster and its file.
pub mod cluster {
    pub use tresse_base::hostlist::{HostlistError, collapse, expand, expand_all};
    pub use tresse_base::problem::{Problem, ProblemKind, Problems};
    pub use tresse_base::text::nearest;
    pub use tresse_cluster::*;
    pub use tresse_topology::cluster::*;
}
