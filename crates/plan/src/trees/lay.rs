//! Lays the VLAN trees of a cluster: those of its strategy, then backup trees.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use tresse_routing::{Assignment, Assignments, Balance, OfPlanes, RoutingError};
use tresse_topology::cluster::{Cluster, ReflectMode};
use tresse_topology::vlan::{Role, TreeLinks, TreeSpec};
use tresse_topology::{Graph, Grid, Planes};

use super::Trees;
use super::planes::PlaneTurns;
use crate::lock::ports::NodePorts;
use crate::lock::{self, Lock};

impl Trees {
    /// Lays the trees of `cluster`'s strategy, and backup trees if its pairs have several paths. Each plane has its own.
    pub(crate) fn new(cluster: Cluster, lock: &Lock) -> Result<Self, RoutingError> {
        let balance = lock::balance::of(&cluster, lock);
        let node_ports = NodePorts::of(&cluster, lock);
        let trees = match Planes::of(&cluster) {
            Some(planes) => Self::of_planes(cluster, planes, balance),
            None => Self::of_one_plane(cluster, balance),
        }?;
        Ok(Self { node_ports, ..trees })
    }

    /// Lays the trees where cables join all switches, or none.
    fn of_one_plane(cluster: Cluster, balance: Balance) -> Result<Self, RoutingError> {
        let graph = Graph::new(&cluster);
        let (specs, assignment) = Assignment::new(&cluster, &graph, &balance)?;
        let built = specs.iter().map(|_| OnceLock::new()).collect();
        let grid = Grid::of(&cluster.kind);
        let (turns, planes, given_up) = (None, None, BTreeMap::new());
        let mut trees = Self {
            cluster,
            graph,
            grid,
            assignment: Assignments::One(assignment),
            balance,
            node_ports: NodePorts::default(),
            specs,
            turns,
            planes,
            given_up,
            built,
        };
        if trees.cluster.routing.paths > 1 && !trees.cluster.is_untagged() {
            trees.add_backup_trees();
        }
        Ok(trees)
    }

    /// Lays the trees of each plane.
    ///
    /// # Errors
    /// [`RoutingError`] as for each plane alone, and where `reflect` is asked for.
    fn of_planes(cluster: Cluster, planes: Planes, balance: Balance) -> Result<Self, RoutingError> {
        if cluster.routing.reflect != ReflectMode::Off {
            return Err(RoutingError::ReflectOverPlanes);
        }
        let count = planes.count();
        let each = (0..count).map(|plane| {
            let here =
                |counts: &[u64]| planes.switches(plane).iter().map(|s| counts[s.index()]).collect();
            let (nodes, transit) = (here(&balance.nodes), here(&balance.transit));
            Self::of_one_plane(planes.cluster(&cluster, plane), Balance { nodes, transit })
        });
        let each: Vec<Self> = each.collect::<Result<_, _>>()?;
        let of_role = |role: Role| {
            each.iter().enumerate().flat_map(move |(plane, trees)| {
                trees
                    .specs
                    .iter()
                    .filter(move |spec| spec.role == role)
                    .map(move |spec| (plane, spec))
            })
        };
        let specs: Vec<TreeSpec> = of_role(Role::Primary)
            .chain(of_role(Role::Backup))
            .enumerate()
            .map(|(k, (plane, spec))| spec_of(&planes, plane, spec, k))
            .collect();
        let graph = Graph::new(&cluster);
        let (mut turns, mut parts) = (Vec::new(), Vec::new());
        for trees in each {
            let primaries = trees.count(Role::Primary);
            let Assignments::One(assignment) = trees.assignment else {
                unreachable!("a plane has no planes")
            };
            turns.push(trees.turns);
            parts.push((trees.graph, assignment, primaries));
        }
        let assignment = OfPlanes::new(planes.clone(), parts);
        Ok(Self {
            cluster,
            grid: None,
            assignment: Assignments::Planes(assignment),
            balance,
            node_ports: NodePorts::default(),
            built: specs.iter().map(|_| OnceLock::new()).collect(),
            specs,
            turns: None,
            planes: Some(PlaneTurns::new(planes, turns, &graph)),
            graph,
            given_up: BTreeMap::new(),
        })
    }
}

/// A plane's tree as one of the whole fabric, number `k`.
fn spec_of(planes: &Planes, plane: usize, spec: &TreeSpec, k: usize) -> TreeSpec {
    let TreeLinks::Links(links) = &spec.links else {
        unreachable!("lines exist on grids only, and those have one plane")
    };
    let links = links.iter().map(|link| planes.links(plane)[link.index()]).collect();
    TreeSpec {
        name: format!("T{k}"),
        role: spec.role,
        links: TreeLinks::Links(links),
        at: planes.switches(plane)[0],
    }
}
