//! Computes the plan of a cluster ([`Plan`]): VLAN trees and paths, with the addresses of nodes and NICs, the VIDs of
//! trees and the labels of transit nodes. The plan is a pure function of the cluster file and its lock, which stores
//! the numbers that must stay as they are while the cluster grows.
//!
//! This crate uses no socket, file, clock, environment, log or thread of its own.
#![forbid(unsafe_code)]

pub mod address;
pub mod label;
pub mod lock;
mod node_prefixes;
mod node_routes;
mod paths;
mod plan;
mod primaries;
pub mod remaining;
mod trees;
mod vids;

pub use node_prefixes::NodePrefixes;
pub use node_routes::{FoundRoutes, NodeRoutes};
pub use paths::{DetourSearch, Paths, SmallMtu};
pub use plan::*;
pub use primaries::Primaries;
pub use trees::{MOST_PATHS, Trees};
pub use vids::Vids;
