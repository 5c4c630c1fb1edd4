//! Resolves the topology kinds in which nodes forward packets for each other: P-Mesh, and the kinds without switches
//! (ring, direct mesh, direct torus, full mesh).

use tresse_base::problem::{Found, ProblemKind};
use tresse_topology::cluster::TopologyShape;
use tresse_topology::lines;

use super::super::names::missing;
use super::super::values::within;
use super::dims::sizes;
use super::known::{Shape, fit};
use crate::file::Topology;
use crate::kinds::TopologyKind;
use crate::limits;
use crate::read::{At, Keys, Number};

pub(super) fn shape(
    topology: &At<Topology>,
    kind: TopologyKind,
    found: &mut Found,
) -> Option<Shape> {
    let before = found.len();
    let (kind, at) = match kind {
        TopologyKind::Ring | TopologyKind::FullMesh => nodes(topology, kind, found)?,
        TopologyKind::Pmesh => pmesh(topology, found)?,
        _ => {
            let dims = sizes(topology, "nodes are in", 2, found)?;
            let kind = match kind {
                TopologyKind::DirectMesh => TopologyShape::DirectMesh { dims },
                _ => TopologyShape::DirectTorus { dims },
            };
            (kind, topology.value.dims.as_ref()?.span.clone())
        }
    };
    let (nodes, nics, switches) = counts(&kind);
    let at = At { value: (), span: at.clone(), key: at, whole: true };
    let small = fit(switches, nodes, nodes.saturating_mul(nics), &at, found);
    (small && found.len() == before).then_some(Shape::Generated {
        kind,
        nodes_per_switch: 1,
        nics_per_node: 1,
    })
}

/// Returns the number of nodes, the largest number of NICs of a node, and the number of switches.
fn counts(kind: &TopologyShape) -> (u64, u64, u64) {
    let product = |dims: &[u32]| dims.iter().fold(1_u64, |p, n| p.saturating_mul((*n).into()));
    match kind {
        TopologyShape::Pmesh { dims, lines_per_switch, .. } => {
            let switches = lines(dims).div_ceil((*lines_per_switch).into());
            (product(dims), dims.len() as u64, switches)
        }
        TopologyShape::DirectMesh { dims } | TopologyShape::DirectTorus { dims } => {
            (product(dims), 2 * dims.len() as u64, 0)
        }
        TopologyShape::Ring { nodes } => ((*nodes).into(), 2, 0),
        TopologyShape::FullMesh { nodes } => ((*nodes).into(), u64::from(*nodes) - 1, 0),
        _ => (0, 0, 0),
    }
}

fn nodes(
    topology: &At<Topology>,
    kind: TopologyKind,
    found: &mut Found,
) -> Option<(TopologyShape, std::ops::Range<usize>)> {
    let Some(nodes) = &topology.value.nodes else {
        if topology.value.lacks("nodes") {
            missing("nodes", "`topology`", &topology.span, "such as nodes = 8", found);
        }
        return None;
    };
    let before = found.len();
    let full = kind == TopologyKind::FullMesh;
    let most = if full { limits::NICS_PER_NODE + 1 } else { limits::SWITCHES };
    let count = within(Some(nodes), "nodes", 2..=most, 2, found);
    let kind = if full {
        TopologyShape::FullMesh { nodes: count }
    } else {
        TopologyShape::Ring { nodes: count }
    };
    (found.len() == before).then(|| (kind, nodes.span.clone()))
}

fn pmesh(
    topology: &At<Topology>,
    found: &mut Found,
) -> Option<(TopologyShape, std::ops::Range<usize>)> {
    let keys = &topology.value;
    let dims = sizes(topology, "nodes are in", 2, found);
    let most = dims.as_deref().map_or(limits::SWITCHES.into(), lines);
    let most = u32::try_from(most).unwrap_or(u32::MAX);
    let per_switch = keys.lines_per_switch.as_ref();
    let lines_per_switch = within(per_switch, "lines_per_switch", 1..=most, 1, found);
    let grow_to = match &keys.grow_to {
        Some(grow_to) => grown(grow_to, dims.as_deref(), found),
        None => dims.clone(),
    };
    let span = keys.dims.as_ref()?.span.clone();
    Some((TopologyShape::Pmesh { dims: dims?, grow_to: grow_to?, lines_per_switch }, span))
}

/// Reads `grow_to`, which needs as many sizes as `dims`, none smaller.
fn grown(
    grow_to: &At<Vec<At<Number>>>,
    dims: Option<&[u32]>,
    found: &mut Found,
) -> Option<Vec<u32>> {
    let dims = dims.filter(|_| grow_to.whole)?;
    if grow_to.value.len() != dims.len() {
        let message =
            format!("`grow_to` has {} sizes, `dims` has {}", grow_to.value.len(), dims.len());
        let help = format!("one for each dimension, such as {dims:?}");
        found.add(ProblemKind::CountMismatch, &grow_to.span, message, help);
        return None;
    }
    let before = found.len();
    let size = |(at, least): (&At<Number>, &u32)| {
        within(Some(at), "size", *least..=limits::GROWN, *least, found)
    };
    let sizes: Vec<u32> = grow_to.value.iter().zip(dims).map(size).collect();
    (found.len() == before).then_some(sizes)
}
