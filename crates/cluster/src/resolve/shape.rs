//! Resolves the key `topology` of `[fabric]`: the kind of topology and its sizes. Checks that a fabric of these sizes
//! can be built.

use tresse_base::problem::{Found, ProblemKind};
use tresse_topology::cluster::TopologyShape;
use tresse_topology::generate::clique_nodes_per_switch;

use super::names::missing;
use super::values::within;
use crate::file::{Fabric, Topology};
use crate::kinds::TopologyKind;
use crate::limits;
use crate::read::{At, Keys};

mod dims;
mod families;
mod flat;
mod known;
mod routed;

pub(super) use known::Shape;
use known::fits;

const EXAMPLE: &str = "topology = { kind = \"torus\", dims = [4, 4] }";

pub(super) fn shape(fabric: Option<&At<Fabric>>, absent: bool, found: &mut Found) -> Shape {
    let Some(fabric) = fabric else {
        if absent {
            missing("[fabric]", "the file", &(0..0), &format!("[fabric] with {EXAMPLE}"), found);
        }
        return Shape::Unknown(None);
    };
    let Some(topology) = &fabric.value.topology else {
        if fabric.value.lacks("topology") {
            missing("topology", "[fabric]", &fabric.key, EXAMPLE, found);
        }
        return Shape::Unknown(None);
    };
    let Some(kind) = &topology.value.kind else {
        if topology.value.lacks("kind") {
            missing("kind", "`topology`", &topology.span, EXAMPLE, found);
        }
        return Shape::Unknown(None);
    };
    refuse_foreign_keys(&topology.value, kind.value, found);
    let unknown = Shape::Unknown(Some(kind.value));
    let shape = match kind.value {
        TopologyKind::Explicit => Some(Shape::Explicit),
        TopologyKind::Mesh => grid(topology, |dims| TopologyShape::Mesh { dims }, found),
        TopologyKind::Torus => grid(topology, |dims| TopologyShape::Torus { dims }, found),
        TopologyKind::Clique => clique(topology, found),
        TopologyKind::Irregular => irregular(topology, found),
        TopologyKind::Pmesh
        | TopologyKind::DirectMesh
        | TopologyKind::DirectTorus
        | TopologyKind::Ring
        | TopologyKind::FullMesh => routed::shape(topology, kind.value, found),
        TopologyKind::Fnn => flat::shape(topology, found),
        TopologyKind::Clos
        | TopologyKind::FatTree
        | TopologyKind::Hypercube
        | TopologyKind::Hyperx
        | TopologyKind::Dragonfly
        | TopologyKind::SlimFly => families::shape(topology, kind.value, found),
    };
    // A key that could not be read may be the one that gives the size.
    shape.filter(|_| topology.whole).unwrap_or(unknown)
}

fn refuse_foreign_keys(topology: &Topology, kind: TopologyKind, found: &mut Found) {
    let given = [
        ("dims", topology.dims.as_ref().map(|k| &k.key)),
        ("nodes_per_switch", topology.nodes_per_switch.as_ref().map(|k| &k.key)),
        ("nics_per_node", topology.nics_per_node.as_ref().map(|k| &k.key)),
        ("ports", topology.ports.as_ref().map(|k| &k.key)),
        ("switches", topology.switches.as_ref().map(|k| &k.key)),
        ("nodes", topology.nodes.as_ref().map(|k| &k.key)),
        ("seed", topology.seed.as_ref().map(|k| &k.key)),
        ("grow_to", topology.grow_to.as_ref().map(|k| &k.key)),
        ("lines_per_switch", topology.lines_per_switch.as_ref().map(|k| &k.key)),
        ("wiring", topology.wiring.as_ref().map(|k| &k.key)),
        ("uplink", topology.uplink.as_ref().map(|k| &k.key)),
        ("spines", topology.spines.as_ref().map(|k| &k.key)),
        ("leaves", topology.leaves.as_ref().map(|k| &k.key)),
        ("cables", topology.cables.as_ref().map(|k| &k.key)),
        ("k", topology.k.as_ref().map(|k| &k.key)),
        ("dimensions", topology.dimensions.as_ref().map(|k| &k.key)),
        ("groups", topology.groups.as_ref().map(|k| &k.key)),
        ("routers", topology.routers.as_ref().map(|k| &k.key)),
        ("global", topology.global.as_ref().map(|k| &k.key)),
        ("q", topology.q.as_ref().map(|k| &k.key)),
    ];
    let (required, others) = TopologyKind::keys(kind.word());
    let keys = [required, others].concat();
    for (name, span) in given.into_iter().filter_map(|(name, span)| Some((name, span?))) {
        if !keys.contains(&name) {
            let message = format!("`{name}` is not a key of topology `{}`", kind.word());
            let help = if keys.is_empty() {
                "list switches, nodes and links in [[switch]], [[node]] and [[link]]".to_owned()
            } else {
                format!("its keys: {}", keys.join(", "))
            };
            found.add(ProblemKind::UnknownKey, span, message, help);
        }
    }
}

fn nics_per_node(topology: &Topology, found: &mut Found) -> u32 {
    let nics = topology.nics_per_node.as_ref();
    within(nics, "nics_per_node", 1..=limits::NICS_PER_NODE, 1, found)
}

fn grid(
    topology: &At<Topology>,
    kind: fn(Vec<u32>) -> TopologyShape,
    found: &mut Found,
) -> Option<Shape> {
    let before = found.len();
    let nodes = topology.value.nodes_per_switch.as_ref();
    let nodes = within(nodes, "nodes_per_switch", 1..=limits::NODES_PER_SWITCH, 1, found);
    let nics = nics_per_node(&topology.value, found);
    let sizes = dims::sizes(topology, "a mesh or torus has", 1, found)?;
    let dims = topology.value.dims.as_ref()?;
    let switches = sizes.iter().fold(1_u64, |p, &n| p.saturating_mul(n.into()));
    if found.len() > before || !fits(switches, nodes, nics, dims, found) {
        return None;
    }
    Some(Shape::Generated { kind: kind(sizes), nodes_per_switch: nodes, nics_per_node: nics })
}

fn clique(topology: &At<Topology>, found: &mut Found) -> Option<Shape> {
    let nics = nics_per_node(&topology.value, found);
    let Some(ports) = &topology.value.ports else {
        if topology.value.lacks("ports") {
            missing("ports", "`topology`", &topology.span, "such as ports = 8", found);
        }
        return None;
    };
    let before = found.len();
    let count = within(Some(ports), "ports", 2..=limits::CLIQUE_PORTS, 2, found);
    let nodes = topology.value.nodes_per_switch.as_ref();
    let usual = clique_nodes_per_switch(count, nics);
    let nodes_per_switch =
        within(nodes, "nodes_per_switch", 1..=limits::NODES_PER_SWITCH, usual, found);
    let for_nics = count - count / 2;
    if found.len() > before {
        return None;
    }
    if nodes_per_switch == 0 || nodes_per_switch * nics > for_nics {
        let span = nodes.or(topology.value.nics_per_node.as_ref()).map_or(&ports.span, |n| &n.span);
        let message = format!(
            "{} NICs on each switch: a clique of {count}-port switches has {for_nics} ports for them",
            nodes_per_switch.max(1) * nics
        );
        let help = match for_nics / nics {
            0 => format!("the nearest valid value is nics_per_node = {for_nics}"),
            most => format!("the nearest valid value is nodes_per_switch = {most}"),
        };
        found.add(ProblemKind::TooFewPorts, span, message, help);
        return None;
    }
    if !fits(u64::from(count / 2 + 1), nodes_per_switch, nics, ports, found) {
        return None;
    }
    Some(Shape::Generated {
        kind: TopologyShape::Clique { ports: count },
        nodes_per_switch,
        nics_per_node: nics,
    })
}

fn irregular(topology: &At<Topology>, found: &mut Found) -> Option<Shape> {
    let before = found.len();
    let keys = &topology.value;
    let nodes = keys.nodes_per_switch.as_ref();
    let nodes_per_switch =
        within(nodes, "nodes_per_switch", 1..=limits::NODES_PER_SWITCH, 1, found);
    let nics = nics_per_node(keys, found);
    let seed = within(keys.seed.as_ref(), "seed", 0..=u32::MAX, 1, found);
    for (absent, key, help) in [
        (keys.lacks("switches"), "switches", "such as switches = 16"),
        (keys.lacks("ports"), "ports", "such as ports = 8"),
    ] {
        if absent {
            missing(key, "`topology`", &topology.span, help, found);
        }
    }
    let (Some(switches), Some(ports)) = (&keys.switches, &keys.ports) else { return None };
    let count = within(Some(switches), "switches", 1..=limits::SWITCHES, 1, found);
    let most = limits::IRREGULAR_PORTS;
    let number = within(Some(ports), "ports", 1..=most, most, found);
    if found.len() > before {
        return None;
    }
    let for_nics = nodes_per_switch * nics;
    // With two cables per switch any number of switches can be connected, with one cable only two.
    let cables = count.saturating_sub(1).min(2);
    if for_nics + cables > number {
        let message = format!(
            "switches of {number} ports with {for_nics} NICs each have fewer than the {cables} ports \
             that connect {count} switches"
        );
        let help = match number.saturating_sub(cables) / nics {
            0 => format!("the nearest valid value is ports = {}", for_nics + cables),
            most => format!("the nearest valid value is nodes_per_switch = {most}"),
        };
        let span = nodes.map_or(&ports.span, |n| &n.span);
        found.add(ProblemKind::TooFewPorts, span, message, help);
        return None;
    }
    let kind = TopologyShape::Irregular { switches: count, ports: number, seed };
    fits(count.into(), nodes_per_switch, nics, switches, found).then_some(Shape::Generated {
        kind,
        nodes_per_switch,
        nics_per_node: nics,
    })
}
