//! VLAN trees: 802.1Q VLANs whose switch-to-switch links form a spanning tree (vlan-minimal-paths, sections 2 and 3).
//!
//! A [`TreeSpec`] describes a tree by name, role and links. A [`Tree`] is built from it when it is first needed: the
//! tree with its root, from which paths are read. Specs are small and are all kept.

use serde::Serialize;
use tresse_base::id::{LinkId, SwitchId};

use crate::{Channel, Coordinates, Graph, Grid};

/// The purpose of a VLAN: a tree for primary paths, a tree for backups alone, the base VLAN (untagged between
/// switches), or a line. A line is a row or column of the nodes of a P-Mesh, a grid of nodes in which a switch joins
/// the nodes of each line. Lines need VLANs only where one switch serves several of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Carries primary paths, and perhaps backups too.
    Primary,
    /// Carries backups only.
    Backup,
    /// The tree of the untagged VLAN (K3); carries no planned path.
    Base,
    /// Not a tree, but the untagged VLAN of one line (row or column of a P-Mesh) on a switch that serves several
    /// lines.
    Line,
}

/// The description of one VLAN tree: its name, its role and its links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeSpec {
    /// The name: `VL(-:1,0)`, `VL(-,1)`, `VL(-:1,0,2|(0,1,2))`, `stp` or `T<k>`.
    pub name: String,
    /// What it is for.
    pub role: Role,
    /// Which links it has.
    pub links: TreeLinks,
    /// A switch that it reaches, where the switches form several planes ([`crate::Planes`]): it spans the plane of that.
    /// The first one elsewhere.
    pub at: SwitchId,
}

/// How the links of a VLAN tree are given: by a list of cables, or by a rule on a [`Grid`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TreeLinks {
    /// The tree VL(x | order) of vlan-minimal-paths, sections 2.4 and 3.4: one line through `center` parallel to
    /// dimension `order[0]`, then lines parallel to `order[1]` through all of these, and so on. On a torus every
    /// line of N switches lacks the link between coordinate `center + floor(N/2)` and the next. On a HyperX every
    /// line is a star about the coordinate of `center`.
    Lines {
        /// The vertex in which every line is centred.
        center: Coordinates,
        /// A permutation of the dimensions.
        order: Vec<usize>,
    },
    /// The links are these cables.
    Links(Vec<LinkId>),
}

/// A rooted spanning tree of the switches, or of those of one plane. The vectors `parent`, `up` and `depth` are indexed by
/// switch; `parent` is `u32::MAX` for switches of other planes.
#[derive(Debug, Clone)]
pub struct Tree {
    /// The root switch.
    pub root: u32,
    /// Parent of each switch; the root's is itself.
    pub parent: Vec<u32>,
    /// Channel from each switch up to its parent; the root's is `u32::MAX`.
    pub up: Vec<Channel>,
    /// Distance to the root in links.
    pub depth: Vec<u32>,
    /// All switches, parents before children.
    pub order: Vec<u32>,
}

/// Why a set of links is not a spanning tree of the switches, with the link or switch that shows it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    /// The links form a loop.
    #[error("link {} closes a loop", link.0)]
    Loop {
        /// The cable that closes the loop.
        link: LinkId,
    },
    /// The links do not reach a switch.
    #[error("switch {} is not reached", switch.0)]
    Unreached {
        /// The unreached switch.
        switch: SwitchId,
    },
}

impl Tree {
    /// Builds the tree VL(x | order) of [`TreeLinks::Lines`]. O(switches).
    ///
    /// A switch's parent is one step towards the centre in the last dimension of `order` in
    /// which it differs from the centre.
    #[must_use]
    pub fn of_lines(grid: &Grid, graph: &Graph, center: &Coordinates, order: &[usize]) -> Self {
        let n = grid.len();
        let root = grid.switch(center);
        let mut tree = Self::with_capacity(root.0, n);
        let mut deepest = 0;
        for v in (0..n).map(SwitchId::from) {
            let mut x = grid.coordinates(v);
            let mut depth = 0;
            let mut towards = None;
            for &dim in order.iter().rev() {
                let offset = grid.plus(center[dim], x[dim], dim);
                let size = grid.dims()[dim];
                if offset == 0 {
                    continue;
                }
                if grid.is_hyperx() {
                    depth += 1;
                    towards.get_or_insert((dim, center[dim]));
                    continue;
                }
                let (steps, plus) = if grid.is_torus() {
                    if offset <= size / 2 { (offset, false) } else { (size - offset, true) }
                } else if x[dim] > center[dim] {
                    (offset, false)
                } else {
                    (size - offset, true)
                };
                depth += steps;
                towards.get_or_insert((dim, grid.step(x[dim], dim, plus)));
            }
            let (parent, up) = match towards {
                None => (v.0, u32::MAX),
                Some((dim, next)) => {
                    x[dim] = next;
                    let p = grid.switch(&x);
                    let up = graph.between(v, p).expect("neighbours on a grid are cabled");
                    (p.0, up)
                }
            };
            tree.parent.push(parent);
            tree.up.push(up);
            tree.depth.push(depth);
            deepest = deepest.max(depth);
        }
        tree.order = by_depth(&tree.depth, deepest);
        tree
    }

    /// Builds the tree of these cables, rooted at `root`. Two parallel cables are a loop.
    ///
    /// # Errors
    /// [`TreeError`] with a witness if the cables form a loop or miss a switch that cables of the fabric join with the root.
    pub fn of_links(
        graph: &Graph,
        root: SwitchId,
        ends: &[(LinkId, u32, u32)],
    ) -> Result<Self, TreeError> {
        let n = graph.switches();
        let mut near: Vec<Vec<(u32, LinkId)>> = vec![Vec::new(); n];
        for &(link, a, b) in ends {
            near[a as usize].push((b, link));
            near[b as usize].push((a, link));
        }
        let mut tree = Self::with_capacity(root.0, n);
        tree.parent = vec![u32::MAX; n];
        tree.up = vec![u32::MAX; n];
        tree.depth = vec![0; n];
        tree.parent[root.index()] = root.0;
        tree.order.push(root.0);
        let mut via = vec![None; n];
        let mut next = 0;
        while let Some(&u) = tree.order.get(next) {
            next += 1;
            for &(v, link) in &near[u as usize] {
                if via[u as usize] == Some(link) {
                    continue;
                }
                if tree.parent[v as usize] != u32::MAX {
                    return Err(TreeError::Loop { link });
                }
                tree.parent[v as usize] = u;
                tree.depth[v as usize] = tree.depth[u as usize] + 1;
                tree.up[v as usize] = graph
                    .out(v)
                    .find(|c| graph.link(*c) == link)
                    .expect("a cable of the graph has a channel");
                via[v as usize] = Some(link);
                tree.order.push(v);
            }
        }
        match tree.missing(graph, ends) {
            Some(switch) => Err(TreeError::Unreached { switch }),
            None => Ok(tree),
        }
    }

    /// A switch that is not reached though cables of the fabric, or some that should be of the tree, lead on to it.
    fn missing(&self, graph: &Graph, ends: &[(LinkId, u32, u32)]) -> Option<SwitchId> {
        if self.order.len() == graph.switches() {
            return None;
        }
        let beyond = self.order.iter().flat_map(|s| graph.out(*s)).map(|c| graph.head(c));
        let astray = ends.iter().map(|(_, a, _)| *a);
        beyond.chain(astray).map(SwitchId).filter(|s| !self.reaches(*s)).min()
    }

    /// Whether it reaches a switch: those of other planes are not reached.
    #[must_use]
    pub fn reaches(&self, switch: SwitchId) -> bool {
        self.parent[switch.index()] != u32::MAX
    }

    fn with_capacity(root: u32, n: usize) -> Self {
        Self {
            root,
            parent: Vec::with_capacity(n),
            up: Vec::with_capacity(n),
            depth: Vec::with_capacity(n),
            order: Vec::with_capacity(n),
        }
    }

    /// Appends the channels from `s` to `d` to `path`, in order. O(length).
    pub fn walk(&self, graph: &Graph, s: SwitchId, d: SwitchId, path: &mut Vec<Channel>) {
        let (mut a, mut b) = (s.index(), d.index());
        let start = path.len();
        let mut down = 0;
        while self.depth[b] > self.depth[a] {
            b = self.parent[b] as usize;
            down += 1;
        }
        while self.depth[a] > self.depth[b] {
            path.push(self.up[a]);
            a = self.parent[a] as usize;
        }
        while a != b {
            path.push(self.up[a]);
            a = self.parent[a] as usize;
            b = self.parent[b] as usize;
            down += 1;
        }
        let climbed = path.len();
        b = d.index();
        for _ in 0..down {
            path.push(graph.reverse(self.up[b]));
            b = self.parent[b] as usize;
        }
        path[climbed..].reverse();
        debug_assert!(path.len() >= start);
    }

    /// Returns the number of links between `s` and `d` on this tree.
    #[must_use]
    pub fn distance(&self, s: SwitchId, d: SwitchId) -> u32 {
        let (mut a, mut b, mut hops) = (s.index(), d.index(), 0);
        while a != b {
            if self.depth[a] >= self.depth[b] {
                a = self.parent[a] as usize;
            } else {
                b = self.parent[b] as usize;
            }
            hops += 1;
        }
        hops
    }

    /// Returns the cables of the tree, ascending.
    #[must_use]
    pub fn links(&self, graph: &Graph) -> Vec<LinkId> {
        let mut links: Vec<_> =
            self.up.iter().filter(|c| **c != u32::MAX).map(|c| graph.link(*c)).collect();
        links.sort_unstable();
        links
    }
}

/// Returns the switches ordered by depth (stable counting sort).
fn by_depth(depth: &[u32], deepest: u32) -> Vec<u32> {
    let mut start = vec![0u32; deepest as usize + 2];
    for d in depth {
        start[*d as usize + 1] += 1;
    }
    for i in 1..start.len() {
        start[i] += start[i - 1];
    }
    let mut order = vec![0; depth.len()];
    for (v, d) in (0u32..).zip(depth) {
        let at = &mut start[*d as usize];
        order[*at as usize] = v;
        *at += 1;
    }
    order
}
