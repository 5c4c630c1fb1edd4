//! Resolves the sizes of the well-known families of switch fabrics: `clos`, `fat-tree`, `hypercube`, `hyperx`,
//! `dragonfly` and `slim-fly`.

use std::ops::{Range, RangeInclusive};

use tresse_base::problem::{Found, ProblemKind};
use tresse_topology::cluster::TopologyShape;
use tresse_topology::generate::usual_nodes_per_switch;

use super::super::names::missing;
use super::super::values::within;
use super::dims::sizes;
use super::known::{Shape, fit};
use crate::file::Topology;
use crate::kinds::{TopologyKind, slim_flies};
use crate::limits;
use crate::read::{At, Keys, Number};

/// Returns the fabric, or `None` where a problem was reported.
pub(super) fn shape(
    topology: &At<Topology>,
    kind: TopologyKind,
    found: &mut Found,
) -> Option<Shape> {
    let before = found.len();
    let keys = &topology.value;
    let nics = keys.nics_per_node.as_ref();
    let nics = within(nics, "nics_per_node", 1..=limits::NICS_PER_NODE, 1, found);
    // The default depends on the kind, which may be reported as bad.
    let nodes = keys.nodes_per_switch.as_ref();
    let given = within(nodes, "nodes_per_switch", 1..=limits::NODES_PER_SWITCH, 1, found);
    let (kind, at) = match kind {
        TopologyKind::Clos => clos(topology, found),
        TopologyKind::FatTree => fat_tree(topology, found),
        TopologyKind::Hypercube => hypercube(topology, found),
        TopologyKind::Hyperx => hyperx(topology, found),
        TopologyKind::Dragonfly => dragonfly(topology, found),
        _ => slim_fly(topology, found),
    }?;
    if found.len() > before {
        return None;
    }
    let nodes = if nodes.is_some() { given } else { usual_nodes_per_switch(&kind, nics) };
    let Counts { switches, homes, cables } = counts(&kind);
    let at = At { value: (), span: at.clone(), key: at, whole: true };
    let nodes_in_all = homes.saturating_mul(nodes.into());
    if !fit(switches, nodes_in_all, nodes_in_all.saturating_mul(nics.into()), &at, found) {
        return None;
    }
    if cables > limits::CABLES.into() {
        let most = limits::CABLES;
        let message =
            format!("{cables} cables between switches: this version plans at most {most}");
        found.add(ProblemKind::TooLarge, &at.span, message, "make the sizes smaller".to_owned());
        return None;
    }
    Some(Shape::Generated { kind, nodes_per_switch: nodes, nics_per_node: nics })
}

/// A shape, and where its first size is in the file.
type Sized = Option<(TopologyShape, Range<usize>)>;

fn clos(topology: &At<Topology>, found: &mut Found) -> Sized {
    let keys = &topology.value;
    let spines = size(topology, keys.spines.as_ref(), "spines", 4, 1..=limits::SWITCHES, found);
    let leaves = size(topology, keys.leaves.as_ref(), "leaves", 8, 1..=limits::SWITCHES, found);
    let cables = within(keys.cables.as_ref(), "cables", 1..=limits::PARALLEL, 1, found);
    let kind = TopologyShape::Clos { spines: spines?, leaves: leaves?, cables };
    Some((kind, keys.spines.as_ref()?.span.clone()))
}

fn fat_tree(topology: &At<Topology>, found: &mut Found) -> Sized {
    let key = topology.value.k.as_ref();
    let k = size(topology, key, "k", 6, 2..=limits::FAT_TREE_PORTS, found)?;
    let span = key?.span.clone();
    if k % 2 == 1 {
        let message = format!("k {k} is odd: half of a switch's ports lead up, half down");
        let help = format!("the nearest valid values are {} and {}", k - 1, k + 1);
        found.add(ProblemKind::OutOfRange, &span, message, help);
        return None;
    }
    Some((TopologyShape::FatTree { k }, span))
}

fn hypercube(topology: &At<Topology>, found: &mut Found) -> Sized {
    let key = topology.value.dimensions.as_ref();
    let range = 1..=limits::CUBE_DIMENSIONS;
    let dimensions = size(topology, key, "dimensions", 4, range, found)?;
    Some((TopologyShape::Hypercube { dimensions }, key?.span.clone()))
}

fn hyperx(topology: &At<Topology>, found: &mut Found) -> Sized {
    let dims = sizes(topology, "a HyperX has", 1, found)?;
    Some((TopologyShape::Hyperx { dims }, topology.value.dims.as_ref()?.span.clone()))
}

fn dragonfly(topology: &At<Topology>, found: &mut Found) -> Sized {
    let keys = &topology.value;
    let routers = size(topology, keys.routers.as_ref(), "routers", 4, 1..=limits::SWITCHES, found);
    let global = size(topology, keys.global.as_ref(), "global", 2, 1..=limits::GLOBAL, found);
    let groups = size(topology, keys.groups.as_ref(), "groups", 9, 1..=limits::SWITCHES, found);
    let (groups, routers, global) = (groups?, routers?, global?);
    let span = keys.groups.as_ref()?.span.clone();
    let most = routers.saturating_mul(global).saturating_add(1);
    if groups > most {
        let message = format!(
            "{groups} groups: {routers} switches with {global} cables to other groups each reach \
             {} of them",
            most - 1
        );
        let help = format!("the nearest valid value is groups = {most}");
        found.add(ProblemKind::TooFewPorts, &span, message, help);
        return None;
    }
    Some((TopologyShape::Dragonfly { groups, routers, global }, span))
}

fn slim_fly(topology: &At<Topology>, found: &mut Found) -> Sized {
    let key = topology.value.q.as_ref();
    let q = size(topology, key, "q", 5, 3..=limits::SLIM_FLY, found)?;
    let span = key?.span.clone();
    let primes = slim_flies();
    if let Err(at) = primes.binary_search(&q) {
        let message = format!("q {q} is not an odd prime");
        let help = format!("the nearest valid values are {} and {}", primes[at - 1], primes[at]);
        found.add(ProblemKind::OutOfRange, &span, message, help);
        return None;
    }
    Some((TopologyShape::SlimFly { q }, span))
}

/// Reads a size that must be given. `None` where a problem was reported.
fn size(
    topology: &At<Topology>,
    number: Option<&At<Number>>,
    key: &str,
    example: u32,
    range: RangeInclusive<u32>,
    found: &mut Found,
) -> Option<u32> {
    if number.is_none() {
        if topology.value.lacks(key) {
            let help = format!("such as {key} = {example}");
            missing(key, "`topology`", &topology.span, &help, found);
        }
        return None;
    }
    let before = found.len();
    let least = *range.start();
    let value = within(number, key, range, least, found);
    (found.len() == before).then_some(value)
}

/// How many switches, switches with nodes, and cables between switches a shape has.
struct Counts {
    switches: u64,
    homes: u64,
    cables: u64,
}

/// Counts without generating anything: the sizes may be too large for that.
fn counts(kind: &TopologyShape) -> Counts {
    let all = |switches: u64, cables: u64| Counts { switches, homes: switches, cables };
    let pairs = |n: u64| n.saturating_mul(n.saturating_sub(1)) / 2;
    match kind {
        TopologyShape::Clos { spines, leaves, cables } => {
            let [spines, leaves, cables] = [*spines, *leaves, *cables].map(u64::from);
            Counts { switches: spines + leaves, homes: leaves, cables: spines * leaves * cables }
        }
        TopologyShape::FatTree { k } => {
            let k = u64::from(*k);
            Counts { switches: 5 * k * k / 4, homes: k * k / 2, cables: k * k * k / 2 }
        }
        TopologyShape::Hypercube { dimensions } => {
            let switches = 1 << dimensions;
            all(switches, switches * u64::from(*dimensions) / 2)
        }
        TopologyShape::Hyperx { dims } => {
            let switches = dims.iter().fold(1_u64, |p, n| p.saturating_mul((*n).into()));
            let neighbours = dims.iter().map(|n| u64::from(n - 1)).sum();
            all(switches, switches.saturating_mul(neighbours) / 2)
        }
        TopologyShape::Dragonfly { groups, routers, global } => {
            let [groups, routers, global] = [*groups, *routers, *global].map(u64::from);
            let parallel = routers * global / groups.saturating_sub(1).max(1);
            let within = groups.saturating_mul(pairs(routers));
            all(groups * routers, within.saturating_add(pairs(groups).saturating_mul(parallel)))
        }
        TopologyShape::SlimFly { q } => {
            let q = u64::from(*q);
            let radix = if q % 4 == 1 { 3 * q / 2 } else { (3 * q).div_ceil(2) };
            all(2 * q * q, q * q * radix)
        }
        _ => all(0, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tresse_topology::families::Family;

    #[test]
    fn what_is_counted_is_what_is_generated() {
        let clos = |spines, leaves, cables| TopologyShape::Clos { spines, leaves, cables };
        let fly = |groups, routers, global| TopologyShape::Dragonfly { groups, routers, global };
        let hyperx = |dims: &[u32]| TopologyShape::Hyperx { dims: dims.into() };
        let cubes = (1..=8).map(|dimensions| TopologyShape::Hypercube { dimensions });
        let trees = (2..=16).step_by(2).map(|k| TopologyShape::FatTree { k });
        let slim = [3, 5, 7, 11, 13].map(|q| TopologyShape::SlimFly { q });
        let others = [
            clos(1, 1, 1),
            clos(4, 8, 1),
            clos(3, 5, 4),
            fly(1, 1, 1),
            fly(1, 4, 2),
            fly(2, 3, 2),
            fly(5, 4, 2),
            fly(6, 4, 3),
            fly(9, 4, 2),
            hyperx(&[1]),
            hyperx(&[12]),
            hyperx(&[4, 3, 5]),
        ];
        for kind in cubes.chain(trees).chain(slim).chain(others) {
            let Counts { switches, homes, cables } = counts(&kind);
            let family = Family::of(&kind).unwrap();
            let generated = [family.switches, family.homes, family.cables.len() as u32];
            assert_eq!([switches, homes, cables], generated.map(u64::from), "{kind:?}");
        }
    }

    /// The largest of each family are within the limit of cables, which the schema cannot know.
    #[test]
    fn sizes_within_their_ranges_have_few_cables() {
        for kind in [
            TopologyShape::FatTree { k: limits::FAT_TREE_PORTS },
            TopologyShape::Hypercube { dimensions: limits::CUBE_DIMENSIONS },
            TopologyShape::SlimFly { q: limits::SLIM_FLY },
        ] {
            let Counts { switches, cables, .. } = counts(&kind);
            assert!(switches <= limits::SWITCHES.into() && cables <= limits::CABLES.into());
        }
    }
}
