//! The cluster as a value, and the graphs, coordinates and paths that planning derives from it.
//!
//! [`cluster`] is the resolved content of a cluster file; [`generate`] makes the fabrics that a file
//! names by kind and size. [`demand`] reads how much nodes send to each other. [`Graph`] is the graph of switches, [`Grid`] and [`Layout`] give
//! coordinates to switches and to nodes, [`Planes`] tells switches apart that no cables join, [`vlan`] holds VLAN trees, [`path`] the paths of node pairs,
//! [`Dependencies`] the channel dependency graph, [`pmesh`] the NIC addresses of a P-Mesh, and [`coordinates`] node
//! addresses.
//!
//! This crate chooses no paths: the routing crate decides which trees and paths are used.
#![forbid(unsafe_code)]

pub mod cluster;
pub mod coordinates;
pub mod demand;
mod dependencies;
pub mod families;
pub mod generate;
mod generated;
mod graph;
mod grid;
mod hop;
mod layout;
mod parts;
pub mod path;
mod planes;
pub mod pmesh;
pub mod random;
pub mod vlan;

pub use dependencies::Dependencies;
pub use generated::default_name;
pub use graph::{Channel, Graph};
pub use grid::{Coordinates, Grid};
pub use hop::Hop;
pub use layout::{Layout, lines};
pub use parts::Components;
pub use planes::Planes;
