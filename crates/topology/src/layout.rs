//! The geometry of fabrics whose nodes route (DESIGN section 3): where nodes, NICs and cables are on a P-Mesh, direct
//! mesh, direct torus, ring and full mesh. On a P-Mesh all nodes that differ only in one coordinate are a line and
//! share a switch; the module `lines` finds it. The strategy `xy` of the routing crate chooses the paths.
//!
//! With the sizes N0, N1, ... per dimension, node k has the coordinates (x0, x1, ...), k = x0 + N0 x1 + N0 N1 x2 ...
//! On a P-Mesh NIC `eth<i>` serves dimension i. With cables between nodes `eth<2i>` leads to the lower neighbour in
//! dimension i and `eth<2i+1>` to the higher one; a NIC that would lead outside the grid does not exist. In a full
//! mesh NIC i leads to the i-th of the other nodes. Where the file lists the cables ([`TopologyShape::Cabled`]), node k
//! has the one coordinate k, and its NICs are those of the cables.

mod lines;
mod listed;

pub use lines::lines;

use serde::{Deserialize, Serialize};
use tresse_base::id::NodeId;

use listed::Listed;

use crate::cluster::TopologyShape;
use crate::grid::strides;
use crate::hop::Hop;

/// The geometry of a fabric whose nodes route: the coordinates of each node, and which NICs a cable or a switch joins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    dims: Vec<u32>,
    strides: Vec<u32>,
    wires: Wires,
    /// Number of lines on one switch; the last switch may hold fewer.
    lines_per_switch: usize,
    /// The coordinates of all nodes; those of node k begin at `at[k * rank]`.
    at: Vec<u32>,
    /// The cables, where the file lists them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    listed: Option<Listed>,
}

/// How the nodes of a line in one dimension are cabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Wires {
    /// By a switch per line, or a part of a switch: every node of the line is one hop away.
    Switch,
    /// By cables to the neighbours, open at the ends.
    Chain,
    /// By cables to the neighbours, closed to a ring; two nodes have one cable.
    Cycle,
    /// By a cable to every other node.
    All,
    /// As the file lists it.
    Listed,
}

impl Layout {
    /// Returns the layout of a kind; `None` for kinds whose nodes do not route.
    #[must_use]
    pub fn of(kind: &TopologyShape) -> Option<Self> {
        let (mut lines_per_switch, mut listed) = (1, None);
        let (dims, wires) = match kind {
            TopologyShape::Pmesh { dims, lines_per_switch: lines, .. } => {
                lines_per_switch = (*lines).max(1) as usize;
                (dims.clone(), Wires::Switch)
            }
            TopologyShape::DirectMesh { dims } => (dims.clone(), Wires::Chain),
            TopologyShape::DirectTorus { dims } => (dims.clone(), Wires::Cycle),
            TopologyShape::Ring { nodes } => (vec![*nodes], Wires::Cycle),
            TopologyShape::FullMesh { nodes } => (vec![*nodes], Wires::All),
            TopologyShape::Cabled { nodes, cables } => {
                listed = Some(Listed::new(*nodes as usize, cables));
                (vec![*nodes], Wires::Listed)
            }
            TopologyShape::Mesh { .. }
            | TopologyShape::Torus { .. }
            | TopologyShape::Clique { .. }
            | TopologyShape::Fnn { .. }
            | TopologyShape::Explicit
            | TopologyShape::Irregular { .. }
            | TopologyShape::Clos { .. }
            | TopologyShape::FatTree { .. }
            | TopologyShape::Hypercube { .. }
            | TopologyShape::Hyperx { .. }
            | TopologyShape::Dragonfly { .. }
            | TopologyShape::SlimFly { .. } => return None,
        };
        let strides = strides(&dims);
        let nodes = dims.iter().product();
        let coordinate = |k: u32| dims.iter().zip(&strides).map(move |(n, s)| k / s % n);
        let at = (0..nodes).flat_map(coordinate).collect();
        Some(Self { dims, strides, wires, lines_per_switch, at, listed })
    }

    /// Returns the number of dimensions.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.dims.len()
    }

    /// Returns the sizes N0, N1, ...
    #[must_use]
    pub fn dims(&self) -> &[u32] {
        &self.dims
    }

    /// Returns the number of nodes.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.at.len() / self.rank()
    }

    /// Whether a switch joins each line of nodes.
    #[must_use]
    pub fn has_switches(&self) -> bool {
        self.wires == Wires::Switch
    }

    /// Whether each line of nodes is closed to a ring.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.wires == Wires::Cycle
    }

    /// Whether every node is cabled to every other.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.wires == Wires::All
    }

    /// Returns the coordinates of a node.
    #[must_use]
    pub fn coordinates(&self, node: NodeId) -> &[u32] {
        &self.at[node.index() * self.rank()..][..self.rank()]
    }

    /// Returns the coordinates of all nodes, one node after the other.
    #[must_use]
    pub fn all_coordinates(&self) -> &[u32] {
        &self.at
    }

    /// Returns the node on the line of `node` in `dim` whose coordinate there is `x`.
    #[must_use]
    pub fn moved(&self, node: NodeId, dim: usize, x: u32) -> NodeId {
        self.shifted(node.0, dim, self.coordinates(node)[dim], x)
    }

    /// Returns the index of the node with coordinate `to` on the line of `node` in `dim`; `from` is the
    /// coordinate of `node`.
    #[must_use]
    pub fn shifted(&self, node: u32, dim: usize, from: u32, to: u32) -> NodeId {
        NodeId((node + to * self.strides[dim]) - from * self.strides[dim])
    }

    /// Returns the index of the line of `node` in `dim`. Lines of lower dimensions come first; the lines of one
    /// dimension are in the order of their node numbers without that dimension. On a P-Mesh the nodes of a
    /// line share one broadcast domain.
    #[must_use]
    pub fn line(&self, node: NodeId, dim: usize) -> usize {
        let before: usize = self.dims[..dim].iter().map(|n| self.nodes() / *n as usize).sum();
        let (stride, size) = (self.strides[dim] as usize, self.dims[dim] as usize);
        before + node.index() % stride + node.index() / (stride * size) * stride
    }

    /// Returns the number of lines in all dimensions.
    #[must_use]
    pub fn lines(&self) -> usize {
        self.dims.iter().map(|n| self.nodes() / *n as usize).sum()
    }

    /// Whether the node at coordinate `x` has a cable of its own to its higher neighbour.
    fn has_plus(&self, x: u32, dim: usize) -> bool {
        let n = self.dims[dim];
        x + 1 < n || self.wires == Wires::Cycle && n > 2
    }

    fn has_minus(&self, x: u32, dim: usize) -> bool {
        x > 0 || self.wires == Wires::Cycle && self.dims[dim] > 2
    }

    /// Returns the NIC of `node` towards its lower (`plus` is false) or higher neighbour in `dim`.
    fn side(&self, node: NodeId, dim: usize, plus: bool) -> Option<usize> {
        let x = self.coordinates(node);
        let both =
            |d: usize| usize::from(self.has_minus(x[d], d)) + usize::from(self.has_plus(x[d], d));
        let here = if plus { self.has_plus(x[dim], dim) } else { self.has_minus(x[dim], dim) };
        let before: usize = match self.wires {
            Wires::Cycle if self.dims[..dim].iter().all(|n| *n > 2) => 2 * dim,
            _ => (0..dim).map(both).sum(),
        };
        here.then(|| before + usize::from(plus && self.has_minus(x[dim], dim)))
    }

    /// Returns the hop from `node` towards coordinate `x` of `dim`, which differs from its own. It leads
    /// straight to `x` if a switch or a cable does, else one step in the direction of `plus`; where the file lists the cables
    /// there is no such step.
    #[must_use]
    pub fn towards(&self, node: NodeId, dim: usize, x: u32, plus: bool) -> Option<Hop> {
        let own = self.coordinates(node)[dim];
        match self.wires {
            Wires::Switch => Some(Hop { nic: dim, to: self.moved(node, dim, x), to_nic: dim }),
            Wires::All => {
                let nic = |a: u32, b: u32| (b - u32::from(b > a)) as usize;
                Some(Hop { nic: nic(own, x), to: NodeId(x), to_nic: nic(x, own) })
            }
            Wires::Chain | Wires::Cycle => self.step(node, dim, plus),
            Wires::Listed => self.listed_hops(node).iter().find(|hop| hop.to.0 == x).copied(),
        }
    }

    /// Returns the hops of a node by NIC, where the file lists the cables; else none.
    #[must_use]
    pub fn listed_hops(&self, node: NodeId) -> &[Hop] {
        self.listed.as_ref().map(|listed| listed.hops(node)).unwrap_or_default()
    }

    /// Returns the number of hops from every node to one, where the file lists the cables; else nothing. [`u16::MAX`]: none
    /// lead there. O(cables).
    #[must_use]
    pub fn listed_distances(&self, to: NodeId) -> Vec<u16> {
        self.listed.as_ref().map(|listed| listed.distances(to)).unwrap_or_default()
    }

    /// Returns the hop of a node by a NIC, where the file lists the cables.
    #[must_use]
    pub fn by_nic(&self, node: NodeId, nic: usize) -> Option<Hop> {
        self.listed_hops(node).get(nic).copied()
    }

    /// Returns the number of the cable of a NIC, where the file lists the cables: several NICs may be in one.
    #[must_use]
    pub fn listed_cable(&self, node: NodeId, nic: usize) -> Option<usize> {
        self.listed.as_ref()?.cable(node, nic)
    }

    /// Returns the hop to the lower or higher neighbour.
    #[must_use]
    pub fn step(&self, node: NodeId, dim: usize, plus: bool) -> Option<Hop> {
        let (own, n) = (self.coordinates(node)[dim], self.dims[dim]);
        let nic = self.side(node, dim, plus)?;
        let x = if plus { (own + 1) % n } else { (own + n - 1) % n };
        let to = self.moved(node, dim, x);
        Some(Hop { nic, to, to_nic: self.side(to, dim, !plus)? })
    }

    /// Returns all hops from `node`, sorted by NIC, then by coordinate.
    #[must_use]
    pub fn neighbours(&self, node: NodeId) -> Vec<Hop> {
        let x = self.coordinates(node);
        let mut hops = self.listed_hops(node).to_vec();
        for (dim, own) in x.iter().enumerate() {
            match self.wires {
                Wires::Switch | Wires::All => {
                    let others = (0..self.dims[dim]).filter(|y| y != own);
                    hops.extend(others.filter_map(|y| self.towards(node, dim, y, true)));
                }
                Wires::Chain | Wires::Cycle => {
                    hops.extend([false, true].into_iter().filter_map(|p| self.step(node, dim, p)));
                }
                Wires::Listed => {}
            }
        }
        hops
    }

    /// Returns the names of the NICs of a node.
    #[must_use]
    pub fn nic_names(&self, node: NodeId) -> Vec<String> {
        let x = self.coordinates(node);
        let numbers: Vec<usize> = match self.wires {
            Wires::Switch => (0..self.rank()).collect(),
            Wires::All => (0..self.nodes() - 1).collect(),
            Wires::Listed => (0..self.listed_hops(node).len()).collect(),
            Wires::Chain | Wires::Cycle => (0..self.rank())
                .flat_map(|d| {
                    [(2 * d, self.has_minus(x[d], d)), (2 * d + 1, self.has_plus(x[d], d))]
                })
                .filter_map(|(number, there)| there.then_some(number))
                .collect(),
        };
        numbers.into_iter().map(|n| format!("eth{n}")).collect()
    }

    /// Returns the smallest number of hops between two nodes. O(dimensions), where the file lists the cables O(cables).
    #[must_use]
    pub fn distance(&self, a: NodeId, b: NodeId) -> u32 {
        if let Some(listed) = &self.listed {
            return listed.distances(b)[a.index()].into();
        }
        let pairs = self.coordinates(a).iter().zip(self.coordinates(b)).zip(&self.dims);
        pairs
            .map(|((a, b), n)| match self.wires {
                Wires::Switch | Wires::All => u32::from(a != b),
                Wires::Chain => a.abs_diff(*b),
                Wires::Cycle => a.abs_diff(*b).min(n - a.abs_diff(*b)),
                Wires::Listed => 0,
            })
            .sum()
    }
}
