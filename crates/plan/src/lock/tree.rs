//! Writes a VLAN tree as one line of text for the lock: `torus 4x4 at 1,0 order 0,1` (a rule on a grid) or
//! `s00:3~s01:4 s01:2~s02:1` (a list of cables). Two such lines show whether a VID may pass from one tree to the other
//! while switches are reconfigured one by one (K4).
//!
//! A line of nodes (nodes of a P-Mesh that share a switch) that has a VLAN of its own is written `line(-,2)`. It has
//! no cable that could close a loop.

use std::collections::{BTreeMap, BTreeSet};

use tresse_topology::cluster::{Cluster, TopologyShape};
use tresse_topology::vlan::{Tree, TreeLinks};
use tresse_topology::{Components, Coordinates, Graph, Grid, generate};

/// Returns the text by which the lock stores the VLAN tree of `cluster` that has these `links`: a rule on a grid, such
/// as `torus 4x4 at 1,0 order 0,1`, or the list of its cables, `s00:3~s01:4 s01:2~s02:1`.
#[must_use]
pub fn text(cluster: &Cluster, links: &TreeLinks) -> String {
    let joined =
        |numbers: &[u32]| numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    match (links, Grid::of(&cluster.kind)) {
        (TreeLinks::Lines { center, order }, Some(grid)) => {
            let kind = match (grid.is_torus(), grid.is_hyperx()) {
                (true, _) => "torus",
                (_, true) => "hyperx",
                _ => "mesh",
            };
            let sizes: Vec<_> = grid.dims().iter().map(ToString::to_string).collect();
            let order: Vec<u32> = order.iter().map(|d| *d as u32).collect();
            let center = &center[..grid.rank()];
            format!("{kind} {} at {} order {}", sizes.join("x"), joined(center), joined(&order))
        }
        (TreeLinks::Lines { .. }, None) => String::new(),
        (TreeLinks::Links(links), _) => {
            let end = |port: tresse_topology::cluster::Port| {
                format!("{}:{}", cluster.switch(port.switch).name, port.port)
            };
            let cables: Vec<_> = links
                .iter()
                .map(|id| cluster.link(*id))
                .map(|link| format!("{}~{}", end(link.a), end(link.b)))
                .collect();
            cables.join(" ")
        }
    }
}

/// Is a text that of a tree, or of cables without a loop? A tree of lines has none, so its links are
/// not made to look: a lock of the largest torus has hundreds of trees over thousands of switches.
///
/// # Errors
/// What is wrong with it, in words.
pub(super) fn judge(text: &str) -> Result<(), String> {
    if is_of_lines(text) && lines(text).is_some() {
        return Ok(());
    }
    let edges = edges(text, Ends::Names).ok_or_else(|| format!("`{text}` is no tree"))?;
    if acyclic(&edges, &Edges::new()) {
        Ok(())
    } else {
        Err(format!("the cables of `{text}` are a loop"))
    }
}

/// Returns the links of a VLAN tree, read from its [`text`], by the names of their switches, `s00-s01`, sorted. Empty
/// if the text does not describe a tree.
#[must_use]
pub fn links(text: &str) -> Vec<String> {
    let cables = edges(text, Ends::Names).unwrap_or_default().into_iter();
    cables.map(|(a, b)| format!("{}-{}", switch(&a), switch(&b))).collect()
}

/// Returns whether a VID may pass from the tree `old` to the tree `new`, both given by their [`text`]. It may if the
/// links of both trees together form no loop: then no mixture of switches with the old and the new configuration forms
/// one.
///
/// Generated switches can get other names when the fabric grows. So the switches of both trees are matched by name
/// and, on a grid, also by coordinates, and neither match may show a loop. Returns false if the trees share no switch
/// by either match, because then nothing shows how their links lie.
#[must_use]
pub fn compatible(old: &str, new: &str) -> bool {
    if old == new {
        return true;
    }
    let both = |by| edges(old, by).zip(edges(new, by));
    let Some(names) = both(Ends::Names) else { return false };
    let views = [Some(names), both(Ends::Places)];
    let mut views = views.iter().flatten();
    views.clone().all(|(old, new)| acyclic(old, new)) && views.any(|(old, new)| meet(old, new))
}

/// Cables by their ends, `switch:port`, the lesser end first.
type Edges = BTreeSet<(String, String)>;

/// How the switches of generated fabrics are told apart.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ends {
    Names,
    /// By coordinates; other fabrics have none.
    Places,
}

/// The switch of an end.
fn switch(end: &str) -> &str {
    end.rsplit_once(':').map_or(end, |(switch, _)| switch)
}

/// Do two trees have a switch in common? One without cables meets every other.
fn meet(old: &Edges, new: &Edges) -> bool {
    let switches = |edges: &'_ Edges| -> BTreeSet<String> {
        edges.iter().flat_map(|(a, b)| [a, b]).map(|end| switch(end).to_owned()).collect()
    };
    old.is_empty() || new.is_empty() || !switches(old).is_disjoint(&switches(new))
}

fn acyclic(old: &Edges, new: &Edges) -> bool {
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    let mut parts = Components::new(2 * (old.len() + new.len()));
    old.union(new).all(|(a, b)| {
        let [a, b] = [a, b].map(|end| {
            let next = numbers.len();
            *numbers.entry(switch(end)).or_insert(next)
        });
        parts.join(a, b)
    })
}

/// Is a text that of a tree of lines, by its first word?
fn is_of_lines(text: &str) -> bool {
    matches!(text.split(' ').next(), Some("torus" | "mesh" | "hyperx"))
}

/// Sizes, centre and order of a tree of lines; `None` where it is no text of ours.
fn lines(text: &str) -> Option<(Vec<u32>, Vec<u32>, Vec<usize>)> {
    let mut words = text.split(' ').skip(1);
    let numbers = |word: Option<&str>, by: char| -> Option<Vec<u32>> {
        word?.split(by).map(|n| n.parse().ok()).collect()
    };
    let dims = numbers(words.next(), 'x')?;
    let (_, at) = (words.next(), numbers(words.next(), ',')?);
    let (_, order) = (words.next(), numbers(words.next(), ',')?);
    let order: Vec<usize> = order.into_iter().map(|d| d as usize).collect();
    let m = dims.len();
    let size = dims.iter().try_fold(1u32, |n, d| n.checked_mul(*d))?;
    let mut sorted_order = order.clone();
    sorted_order.sort_unstable();
    let sound = (1..=Grid::MAX_DIMS).contains(&m)
        && (1..=1 << 20).contains(&size)
        && at.len() == m
        && at.iter().zip(&dims).all(|(x, n)| x < n)
        && sorted_order.iter().copied().eq(0..m);
    sound.then_some((dims, at, order))
}

/// Is this the name of a line, [`Layout::line_name`](tresse_topology::Layout::line_name)'s?
fn is_line(text: &str) -> bool {
    let inner = text.strip_prefix("line(").and_then(|rest| rest.strip_suffix(')'));
    let coordinates: Vec<&str> = inner.unwrap_or_default().split(',').collect();
    let (along, others): (Vec<&str>, Vec<&str>) = coordinates.iter().partition(|x| **x == "-");
    along.len() == 1 && others.iter().all(|x| x.parse::<u32>().is_ok())
}

/// The cables of a text, ends in ascending order; `None` where it is no text of ours.
fn edges(text: &str, by: Ends) -> Option<Edges> {
    let sorted = |a: String, b: String| if a <= b { (a, b) } else { (b, a) };
    if is_line(text) {
        return (by == Ends::Names).then(Edges::new);
    }
    if !is_of_lines(text) {
        if by == Ends::Places {
            return None;
        }
        let end = |end: &str| {
            let (switch, port) = end.rsplit_once(':')?;
            (!switch.is_empty() && port.parse::<u32>().is_ok()).then(|| end.to_owned())
        };
        let cable = |cable: &str| {
            let (a, b) = cable.split_once('~')?;
            Some(sorted(end(a)?, end(b)?))
        };
        return text.split_whitespace().map(cable).collect();
    }
    let (dims, at, order) = lines(text)?;
    let m = dims.len();
    let mut center: Coordinates = [0; Grid::MAX_DIMS];
    center[..m].copy_from_slice(&at);
    let (grid, kind) = match text.split(' ').next() {
        Some("torus") => (Grid::new(&dims, true), TopologyShape::Torus { dims }),
        Some("hyperx") => (Grid::hyperx(&dims), TopologyShape::Hyperx { dims }),
        _ => (Grid::new(&dims, false), TopologyShape::Mesh { dims }),
    };
    let fabric = generate::generate(&kind, 1, 1);
    let ends: Vec<_> = fabric.links.iter().map(|l| (l.a.switch.0, l.b.switch.0)).collect();
    let graph = Graph::from_edges(fabric.switches.len(), &ends);
    let tree = Tree::of_lines(&grid, &graph, &center, &order);
    let end = |port: tresse_topology::cluster::Port| match by {
        Ends::Names => format!("{}:{}", fabric.switches[port.switch.index()].name, port.port),
        Ends::Places => format!("{:?}:{}", &grid.coordinates(port.switch)[..m], port.port),
    };
    let links = tree.links(&graph).into_iter();
    Some(
        links
            .map(|id| &fabric.links[id.index()])
            .map(|link| sorted(end(link.a), end(link.b)))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::Lock;
    use crate::plan::Plan;
    use tresse_topology::cluster::Strategy;

    /// K4's ring: ab,bc,cd and ab,cd,da together are a loop.
    #[test]
    fn k4_a_tree_is_immutable() {
        let old = "a:1~b:1 b:2~c:1 c:2~d:1";
        assert!(compatible(old, "c:2~d:1 b:1~a:1 b:2~c:1"));
        assert!(compatible(old, "a:1~b:1 b:2~c:1 c:2~d:1 d:2~e:1"));
        assert!(!compatible(old, "a:1~b:1 c:2~d:1 d:2~a:2"));
        // A second cable between the same switches is a loop too.
        assert!(!compatible("a:1~b:1", "a:2~b:2"));
        assert!(!compatible("torus 4x4 at 9,9 order 0,1", "torus 4x4 at 1,0 order 0,1"));
        assert!(!compatible("nonsense", old));
    }

    /// s00 becomes s000, and with the first dimension numbers move to other places.
    #[test]
    fn k4_names_that_growth_shifts_or_widens_hide_no_loop() {
        let torus = |dims: &str| format!("torus {dims} at 1,0 order 1,0");
        assert!(!compatible(&torus("10x10"), &torus("10x11")));
        assert!(!compatible(&torus("10x10"), &torus("11x10")));
        assert!(compatible("mesh 10x10 at 1,0 order 0,1", "mesh 10x11 at 1,0 order 0,1"));
        assert!(!compatible("a:1~b:1 b:2~c:1", "d:1~e:1"), "no name in common");
        assert!(!compatible("mesh 10 at 0 order 0", "mesh 10x10 at 1,0 order 0,1"));
        assert!(compatible("", "a:1~b:1"), "one switch alone has no cable to loop with");
    }

    #[test]
    fn a_line_is_known_by_its_coordinates() {
        for text in ["line(-,2)", "line(1,-)", "line(-)"] {
            assert_eq!(judge(text), Ok(()));
            assert!(links(text).is_empty());
        }
        for text in ["line()", "line(1,2)", "line(-,-)", "line(-,x)", "line(-,2"] {
            assert!(judge(text).is_err(), "{text}");
        }
    }

    #[test]
    fn links_are_named_by_their_switches() {
        assert_eq!(links("b:2~c:1 b:1~a:1"), ["a-b", "b-c"]);
        assert_eq!(links("torus 3 at 1 order 0"), ["s0-s1", "s1-s2"]);
        assert!(links("").is_empty());
    }

    fn grow(old: TopologyShape, new: TopologyShape) -> (usize, usize) {
        let plan = |kind, lock: &Lock| {
            Plan::build_with(Cluster::generated(kind, 1, 1, Strategy::Dor, 1), lock).unwrap()
        };
        let first = plan(old, &Lock::default());
        let lock = first.lock(&Lock::default());
        let second = plan(new, &lock);
        let kept = first.specs().iter().enumerate().filter(|(t, spec)| {
            second
                .specs()
                .iter()
                .position(|s| s.name == spec.name)
                .is_some_and(|at| second.vid(at.into()) == first.vid((*t).into()))
        });
        (kept.count(), second.specs().len())
    }

    /// A mesh that grows in its last dimension only adds links to every tree. A torus ring is cut
    /// open for the new switch: only trees whose own cut is there keep their VIDs.
    #[test]
    fn growth_keeps_vids_where_no_mixture_can_loop() {
        let mesh = |n| TopologyShape::Mesh { dims: vec![4, n] };
        let torus = |n| TopologyShape::Torus { dims: vec![4, n] };
        assert_eq!(grow(mesh(3), mesh(3)), (3, 3));
        assert_eq!(grow(torus(4), torus(4)), (8, 8));
        assert_eq!(grow(mesh(3), mesh(4)), (3, 4));
        assert_eq!(grow(torus(4), torus(5)), (2, 10));
    }
}
