//! The plan of a cluster ([`Plan`]): a pure function of the cluster file and its lock, with the addresses
//! of nodes and NICs, the VIDs of trees and the labels of transit nodes.
//!
//! No socket, file, clock, environment, log or thread of its own.
#![forbid(unsafe_code)]

pub mod address;
pub mod label;
pub mod lock;
mod plan;

pub use plan::*;
/// Which node sends where, on fabrics whose nodes route.
pub use tresse_routing::xy::Xy;
