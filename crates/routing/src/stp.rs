//! The strategy `stp`: one spanning tree, the one with the fewest average hops between nodes (vlan-minimal-paths,
//! section 4.1: "only one VLAN providing the minimum average path hops").
//!
//! This is the minimum routing cost spanning tree, NP-hard in general. The result is exact if the fabric has at most
//! 16 switches and [`EXACT_TREES`] spanning trees (Kirchhoff's count). Otherwise it is the best of the breadth-first
//! trees and, on a grid, of the combs VL(x | order): a line through switch x, lines in the next dimension through all
//! its switches, and so on. With at most [`SWAP_SWITCHES`] switches it is improved by edge swaps (one link is replaced
//! by another) until none helps.

use serde::Serialize;
use tresse_base::id::{LinkId, SwitchId};
use tresse_topology::vlan::Tree;
use tresse_topology::{Graph, Grid};

/// The largest number of spanning trees of a fabric for which the strategy `stp` compares all of them, in fabrics of
/// at most 16 switches.
pub const EXACT_TREES: f64 = 150_000.0;
/// The largest number of switches for which the strategy `stp` improves the best tree found by edge swaps: one link of
/// the tree is replaced by another.
pub const SWAP_SWITCHES: usize = 256;
/// Up to so many switches every root of breadth-first trees and combs is tried.
const ALL_ROOTS: usize = 1024;

/// How the spanning tree of `stp` was found: exactly or by heuristics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StpMethod {
    /// All spanning trees were compared.
    Exact,
    /// Best of breadth-first trees and combs, improved by edge swaps.
    Heuristic,
}

/// Returns the cables of the spanning tree with the fewest hops, summed over all node pairs, and whether it was found
/// exactly or by heuristics ([`StpMethod`]). `weights[s]` is the number of nodes on switch `s`. A hop counts as often as
/// its cable is slower than the fastest one (`slowness` by channel, see [`SwitchDemand`](crate::SwitchDemand)). Of equal
/// trees the first one found is taken, so the result is deterministic.
///
/// # Errors
/// A switch that cannot be reached.
pub fn least_hops_tree(
    graph: &Graph,
    grid: Option<&Grid>,
    weights: &[u64],
    slowness: &[u64],
) -> Result<(Vec<LinkId>, StpMethod), SwitchId> {
    let mut edges = simple_edges(graph);
    let mut slow = vec![1; graph.channels() / 2];
    (0..).zip(slowness).for_each(|(c, slowness)| slow[graph.link(c).index()] = *slowness);
    let first = breadth_first(graph, 0);
    if let Some(missing) = first.parent.iter().position(|p| *p == u32::MAX) {
        return Err(missing.into());
    }
    let n = graph.switches();
    // Switches without nodes still have to be spanned; weights all zero would make any tree best.
    let uniform = vec![1; n];
    let weights = if weights.iter().any(|w| *w > 0) { weights } else { &uniform };
    if n <= 16 && tree_count(n, &edges) <= EXACT_TREES {
        edges.sort_unstable();
        return Ok((exact(n, &edges, weights, &slow), StpMethod::Exact));
    }
    let mut best = (cost(graph, &first, weights, &slow), first);
    let mut consider = |tree: Tree| {
        let c = cost(graph, &tree, weights, &slow);
        if c < best.0 {
            best = (c, tree);
        }
    };
    let roots: Vec<u32> = if n <= ALL_ROOTS {
        (0..n as u32).collect()
    } else {
        (0..n as u32).step_by(n / ALL_ROOTS.min(64)).collect()
    };
    for &root in &roots {
        consider(breadth_first(graph, root));
        if let Some(grid) = grid {
            let center = grid.coordinates(SwitchId(root));
            for rotation in 0..grid.rank() {
                let order: Vec<_> =
                    (0..grid.rank()).map(|i| (i + rotation) % grid.rank()).collect();
                consider(Tree::of_lines(grid, graph, &center, &order));
            }
        }
    }
    let mut links = best.1.links(graph);
    if n <= SWAP_SWITCHES {
        improve(graph, &edges, weights, &slow, &mut links);
    }
    Ok((links, StpMethod::Heuristic))
}

/// Sum over links of (weight below) x (weight above), each as often as it is slow: half the sum of hops over ordered pairs.
fn cost(graph: &Graph, tree: &Tree, weights: &[u64], slow: &[u64]) -> u64 {
    let mut below = weights.to_vec();
    let total: u64 = weights.iter().sum();
    let mut sum = 0;
    for &v in tree.order.iter().rev() {
        let p = tree.parent[v as usize];
        if p != v {
            let w = below[v as usize];
            sum += w * (total - w) * slow[graph.link(tree.up[v as usize]).index()];
            below[p as usize] += w;
        }
    }
    sum
}

/// One edge per adjacent pair (the fastest cable, of equal ones the lowest).
fn simple_edges(graph: &Graph) -> Vec<(LinkId, u32, u32)> {
    let mut edges = Vec::new();
    for s in 0..graph.switches() as u32 {
        let mut last = None;
        for c in graph.out(s) {
            let head = graph.head(c);
            if head > s && last != Some(head) {
                edges.push((graph.link(c), s, head));
            }
            last = Some(head);
        }
    }
    edges
}

fn breadth_first(graph: &Graph, root: u32) -> Tree {
    let n = graph.switches();
    let mut tree = Tree {
        root,
        parent: vec![u32::MAX; n],
        up: vec![u32::MAX; n],
        depth: vec![0; n],
        order: vec![root],
    };
    tree.parent[root as usize] = root;
    let mut next = 0;
    while let Some(&u) = tree.order.get(next) {
        next += 1;
        for c in graph.out(u) {
            let v = graph.head(c) as usize;
            if tree.parent[v] == u32::MAX {
                tree.parent[v] = u;
                tree.up[v] = graph.reverse(c);
                tree.depth[v] = tree.depth[u as usize] + 1;
                tree.order.push(v as u32);
            }
        }
    }
    tree
}

/// Kirchhoff: the determinant of the reduced Laplacian.
fn tree_count(n: usize, edges: &[(LinkId, u32, u32)]) -> f64 {
    let mut a = vec![vec![0.0f64; n]; n];
    for &(_, u, v) in edges {
        let (u, v) = (u as usize, v as usize);
        a[u][u] += 1.0;
        a[v][v] += 1.0;
        a[u][v] -= 1.0;
        a[v][u] -= 1.0;
    }
    let mut determinant = 1.0;
    for i in 1..n {
        let pivot = a[i][i];
        if pivot.abs() < 1e-9 {
            return 0.0;
        }
        determinant *= pivot;
        for r in i + 1..n {
            let factor = a[r][i] / pivot;
            if factor != 0.0 {
                let (above, below) = a.split_at_mut(r);
                for (x, y) in below[0][i..].iter_mut().zip(&above[i][i..]) {
                    *x -= factor * y;
                }
            }
        }
    }
    determinant
}

/// All spanning trees by inclusion and exclusion of edges; at most 16 switches.
fn exact(n: usize, edges: &[(LinkId, u32, u32)], weights: &[u64], slow: &[u64]) -> Vec<LinkId> {
    struct Search<'a> {
        n: usize,
        edges: &'a [(LinkId, u32, u32)],
        weights: &'a [u64],
        slow: &'a [u64],
        best: (u64, Vec<usize>),
    }
    fn joined(component: [u8; 16], n: usize, u: u32, v: u32) -> Option<[u8; 16]> {
        let (a, b) = (component[u as usize], component[v as usize]);
        (a != b).then(|| {
            let mut merged = component;
            merged[..n].iter_mut().filter(|c| **c == b).for_each(|c| *c = a);
            merged
        })
    }
    impl Search<'_> {
        fn connects(&self, mut component: [u8; 16], from: usize) -> bool {
            for &(_, u, v) in &self.edges[from..] {
                if let Some(merged) = joined(component, self.n, u, v) {
                    component = merged;
                }
            }
            component[..self.n].iter().all(|c| *c == component[0])
        }

        fn cost(&self, chosen: &[usize]) -> u64 {
            let total: u64 = self.weights.iter().sum();
            let mut below = [0u64; 16];
            let mut degree = [0u8; 16];
            below[..self.n].copy_from_slice(self.weights);
            for &e in chosen {
                degree[self.edges[e].1 as usize] += 1;
                degree[self.edges[e].2 as usize] += 1;
            }
            let mut left = chosen.to_vec();
            let mut sum = 0;
            // Peel leaves: a leaf's only remaining edge carries everything behind it.
            while !left.is_empty() {
                left.retain(|&e| {
                    let (link, u, v) = self.edges[e];
                    let (leaf, inner) = match (degree[u as usize], degree[v as usize]) {
                        (1, _) => (u as usize, v as usize),
                        (_, 1) => (v as usize, u as usize),
                        _ => return true,
                    };
                    sum += below[leaf] * (total - below[leaf]) * self.slow[link.index()];
                    below[inner] += below[leaf];
                    degree[leaf] -= 1;
                    degree[inner] -= 1;
                    false
                });
            }
            sum
        }

        fn visit(&mut self, component: [u8; 16], next: usize, chosen: &mut Vec<usize>) {
            if chosen.len() == self.n - 1 {
                let cost = self.cost(chosen);
                if cost < self.best.0 {
                    self.best = (cost, chosen.clone());
                }
                return;
            }
            let (_, u, v) = self.edges[next];
            if let Some(merged) = joined(component, self.n, u, v) {
                chosen.push(next);
                self.visit(merged, next + 1, chosen);
                chosen.pop();
            }
            if self.connects(component, next + 1) {
                self.visit(component, next + 1, chosen);
            }
        }
    }
    let mut component = [0u8; 16];
    component.iter_mut().zip(0..).for_each(|(c, i)| *c = i);
    let mut search = Search { n, edges, weights, slow, best: (u64::MAX, Vec::new()) };
    search.visit(component, 0, &mut Vec::new());
    let mut links: Vec<_> = search.best.1.iter().map(|&e| edges[e].0).collect();
    links.sort_unstable();
    links
}

/// Swaps one tree link for one other as long as that lowers the cost. Within the cycle that the
/// other link closes, removing link j leaves a path whose costs are sums over prefixes of the
/// weights that hang off the cycle, so a swap costs O(cycle length) and not O(switches).
fn improve(
    graph: &Graph,
    edges: &[(LinkId, u32, u32)],
    weights: &[u64],
    slow: &[u64],
    links: &mut Vec<LinkId>,
) {
    let total: i64 = weights.iter().sum::<u64>() as i64;
    let ends_of = |links: &[LinkId]| -> Vec<(LinkId, u32, u32)> {
        edges.iter().filter(|e| links.binary_search(&e.0).is_ok()).copied().collect()
    };
    let mut improved = true;
    while improved {
        improved = false;
        for &(link, u, v) in edges {
            if links.binary_search(&link).is_ok() {
                continue;
            }
            let tree = Tree::of_links(graph, SwitchId(0), &ends_of(links))
                .expect("swaps keep a spanning tree");
            let below = subtree_weights(&tree, weights);
            let mut path = Vec::new();
            tree.walk(graph, SwitchId(u), SwitchId(v), &mut path);
            let mut vertices = vec![u];
            vertices.extend(path.iter().map(|c| graph.head(*c)));
            // Weight on u's side of each path link, with the cycle open at the new link.
            let side: Vec<i64> = path
                .iter()
                .map(|&c| {
                    let (tail, head) = (graph.tail(c), graph.head(c));
                    if tree.parent[tail as usize] == head {
                        below[tail as usize] as i64
                    } else {
                        total - below[head as usize] as i64
                    }
                })
                .collect();
            let price = |w: i64, link: LinkId| w * (total - w) * slow[link.index()] as i64;
            let on = |j: usize| graph.link(path[j]);
            let now: i64 = side.iter().enumerate().map(|(j, w)| price(*w, on(j))).sum();
            // Without link j the new link carries what is on u's side of j.
            let best = (0..side.len())
                .map(|j| {
                    let cut = side[j];
                    let rest: i64 = (0..side.len())
                        .filter(|i| *i != j)
                        .map(|i| price((side[i] - cut).abs(), on(i)))
                        .sum::<i64>();
                    (rest + price(cut, link), j)
                })
                .min();
            if let Some((cost, j)) = best
                && cost < now
            {
                let removed = graph.link(path[j]);
                links.retain(|l| *l != removed);
                let at = links.partition_point(|l| *l < link);
                links.insert(at, link);
                improved = true;
            }
        }
    }
}

fn subtree_weights(tree: &Tree, weights: &[u64]) -> Vec<u64> {
    let mut below = weights.to_vec();
    for &v in tree.order.iter().rev() {
        let p = tree.parent[v as usize];
        if p != v {
            below[p as usize] += below[v as usize];
        }
    }
    below
}
