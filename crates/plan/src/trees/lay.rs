//! Lays the VLAN trees of a cluster: those of its strategy, then backup trees.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use tresse_routing::{Assignment, RoutingError};
use tresse_topology::cluster::Cluster;
use tresse_topology::{Graph, Grid};

use super::Trees;
use crate::lock::{self, Lock};

impl Trees {
    /// Lays the trees of `cluster`'s strategy, and backup trees if its pairs have several paths.
    pub(crate) fn new(cluster: Cluster, lock: &Lock) -> Result<Self, RoutingError> {
        let graph = Graph::new(&cluster);
        let balance = lock::balance::of(&cluster, lock);
        let (specs, assignment) = Assignment::new(&cluster, &graph, &balance)?;
        let built = specs.iter().map(|_| OnceLock::new()).collect();
        let grid = Grid::of(&cluster.kind);
        let (turns, given_up) = (None, BTreeMap::new());
        let mut trees =
            Self { cluster, graph, grid, assignment, balance, specs, turns, given_up, built };
        if trees.cluster.routing.paths > 1 && !trees.cluster.is_untagged() {
            trees.add_backup_trees();
        }
        Ok(trees)
    }
}
