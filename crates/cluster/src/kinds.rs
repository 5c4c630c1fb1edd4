//! The kinds of topology (`mesh`, `torus`, ...), the keys that each requires or allows in the cluster file, and the
//! rules for these keys in the JSON Schema.

use serde_json::{Value, json};
use tresse_topology::cluster::TopologyShape;

use crate::limits;
use crate::read::choice;

choice! {
    /// Kinds of topology.
    TopologyKind, "a kind of topology" {
        /// A mesh of switches.
        Mesh = "mesh",
        /// A torus of switches.
        Torus = "torus",
        /// Every switch cabled to every other.
        Clique = "clique",
        /// Everything is listed in the file.
        Explicit = "explicit",
        /// A random regular graph of switches.
        Irregular = "irregular",
        /// A flat neighbourhood: switches without paths between them, by a wiring table.
        Fnn = "fnn",
        /// A P-Mesh: a switch per line of nodes, which route.
        Pmesh = "pmesh",
        /// A ring of nodes, without switches.
        Ring = "ring",
        /// A mesh of nodes, without switches.
        DirectMesh = "direct-mesh",
        /// A torus of nodes, without switches.
        DirectTorus = "direct-torus",
        /// Every node cabled to every other, without switches.
        FullMesh = "full-mesh",
        /// Leaf and spine: every leaf cabled to every spine.
        Clos = "clos",
        /// A fat tree of switches with k ports.
        FatTree = "fat-tree",
        /// A binary hypercube of switches.
        Hypercube = "hypercube",
        /// A grid of switches in which every line is a clique.
        Hyperx = "hyperx",
        /// Groups of switches, with cables between any two groups.
        Dragonfly = "dragonfly",
        /// A Slim Fly of 2 q^2 switches.
        SlimFly = "slim-fly",
    }
}

impl TopologyKind {
    /// Returns the kind of a shape.
    pub(super) const fn of(shape: &TopologyShape) -> Self {
        match shape {
            TopologyShape::Mesh { .. } => Self::Mesh,
            TopologyShape::Torus { .. } => Self::Torus,
            TopologyShape::Clique { .. } => Self::Clique,
            TopologyShape::Explicit | TopologyShape::Cabled { .. } => Self::Explicit,
            TopologyShape::Irregular { .. } => Self::Irregular,
            TopologyShape::Fnn { .. } => Self::Fnn,
            TopologyShape::Pmesh { .. } => Self::Pmesh,
            TopologyShape::Ring { .. } => Self::Ring,
            TopologyShape::DirectMesh { .. } => Self::DirectMesh,
            TopologyShape::DirectTorus { .. } => Self::DirectTorus,
            TopologyShape::FullMesh { .. } => Self::FullMesh,
            TopologyShape::Clos { .. } => Self::Clos,
            TopologyShape::FatTree { .. } => Self::FatTree,
            TopologyShape::Hypercube { .. } => Self::Hypercube,
            TopologyShape::Hyperx { .. } => Self::Hyperx,
            TopologyShape::Dragonfly { .. } => Self::Dragonfly,
            TopologyShape::SlimFly { .. } => Self::SlimFly,
        }
    }

    /// Whether `dor` is defined on the kind: its switches have dimensions.
    pub(super) const fn has_dor(self) -> bool {
        self.has_pdor() || matches!(self, Self::Hyperx)
    }

    /// Whether `pdor` is defined on the kind.
    pub(super) const fn has_pdor(self) -> bool {
        matches!(self, Self::Mesh | Self::Torus | Self::Hypercube)
    }

    /// Whether nodes route.
    pub(super) fn is_routed(self) -> bool {
        matches!(
            self,
            Self::Pmesh | Self::Ring | Self::DirectMesh | Self::DirectTorus | Self::FullMesh
        )
    }

    /// Returns the keys of `topology` beside `kind` for the kind with this word: the required ones and the
    /// optional ones.
    pub(super) fn keys(word: &str) -> (&'static [&'static str], &'static [&'static str]) {
        match word {
            "mesh" | "torus" => (&["dims"], &["nodes_per_switch", "nics_per_node"]),
            "clique" => (&["ports"], &["nodes_per_switch", "nics_per_node"]),
            "irregular" => (&["switches", "ports"], &["nodes_per_switch", "nics_per_node", "seed"]),
            "fnn" => (&["wiring"], &["uplink", "spares"]),
            "pmesh" => (&["dims"], &["grow_to", "lines_per_switch"]),
            "ring" | "full-mesh" => (&["nodes"], &[]),
            "direct-mesh" | "direct-torus" => (&["dims"], &[]),
            "clos" => (&["spines", "leaves"], &["cables", "nodes_per_switch", "nics_per_node"]),
            "fat-tree" => (&["k"], &["nodes_per_switch", "nics_per_node"]),
            "hypercube" => (&["dimensions"], &["nodes_per_switch", "nics_per_node"]),
            "hyperx" => (&["dims"], &["nodes_per_switch", "nics_per_node"]),
            "dragonfly" => {
                (&["groups", "routers", "global"], &["nodes_per_switch", "nics_per_node"])
            }
            "slim-fly" => (&["q"], &["nodes_per_switch", "nics_per_node"]),
            _ => (&[], &[]),
        }
    }
}

/// Kinds with cables between switches.
const SWITCHED: [TopologyKind; 11] = [
    TopologyKind::Mesh,
    TopologyKind::Torus,
    TopologyKind::Clique,
    TopologyKind::Irregular,
    TopologyKind::Clos,
    TopologyKind::FatTree,
    TopologyKind::Hypercube,
    TopologyKind::Hyperx,
    TopologyKind::Dragonfly,
    TopologyKind::SlimFly,
    TopologyKind::Explicit,
];
/// Kinds whose nodes route.
const ROUTED: [&str; 5] = ["pmesh", "ring", "direct-mesh", "direct-torus", "full-mesh"];

/// Returns the JSON Schema rules for the keys of `topology`, which depend on its kind.
pub(super) fn keys_of_kinds() -> Value {
    let rule = |word: &&str| {
        let (required, others) = TopologyKind::keys(word);
        let keys = [&["kind"], required, others].concat();
        let mut then = json!({ "propertyNames": { "enum": keys }, "required": required });
        match *word {
            "clique" => {
                then["properties"] = json!({ "ports": { "maximum": limits::CLIQUE_PORTS } });
            }
            "irregular" => {
                then["properties"] = json!({ "ports": { "maximum": limits::IRREGULAR_PORTS } });
            }
            _ if ROUTED.contains(word) && required.contains(&"dims") => {
                then["properties"] = json!({ "dims": { "items": { "minimum": 2 } } });
            }
            _ => {}
        }
        json!({ "if": of_kind(&[word]), "then": then })
    };
    TopologyKind::WORDS.iter().map(rule).collect()
}

/// Returns the JSON Schema rules by which the kind of topology restricts the other tables: an explicit fabric
/// lists everything; dimension-order strategies need dimensions.
pub(super) fn rules_of_kinds() -> Value {
    let topology = |rule: Value| {
        json!({
            "properties": { "fabric": {
                "properties": { "topology": rule },
                "required": ["topology"],
            }},
            "required": ["fabric"],
        })
    };
    let strategy = |rule: Value| json!({ "properties": { "routing": { "properties": { "strategy": rule } } } });
    let cabled = json!({ "items": { "required": ["switch", "port"] } });
    let plain = json!({ "items": { "not": { "anyOf": [
        { "required": ["switch"] }, { "required": ["port"] },
    ] } } });
    let mut switched = strategy(json!({ "not": { "const": "shortest" } }));
    switched["properties"]["switch"] = json!({ "minItems": 1 });
    switched["properties"]["node"] = json!({
        "minItems": 1,
        "items": { "properties": { "nics": cabled }, "required": ["nics"] },
    });
    switched["required"] = json!(["switch", "node"]);
    let mut direct = strategy(json!({ "const": "shortest" }));
    direct["properties"]["node"] = json!({ "items": { "properties": { "nics": plain } } });
    direct["properties"]["link"] = json!({ "minItems": 1 });
    direct["required"] = json!(["link"]);
    direct["not"] = json!({ "required": ["switch"] });
    json!([
        {
            "if": topology(of_kind(&["explicit"])),
            "then": { "anyOf": [switched, direct] },
        },
        {
            "if": topology(json!({ "not": of_kind(&["explicit"]) })),
            "then": strategy(json!({ "not": { "const": "shortest" } })),
        },
        {
            "if": topology(of_kind(&ROUTED)),
            "then": strategy(json!({ "const": "xy" })),
        },
        {
            "if": topology(of_kind(&words(|_| true))),
            "then": strategy(json!({ "not": { "const": "xy" } })),
        },
        {
            "if": topology(of_kind(&words(|kind| !kind.has_dor()))),
            "then": strategy(json!({ "not": { "const": "dor" } })),
        },
        {
            "if": topology(of_kind(&words(|kind| !kind.has_pdor()))),
            "then": strategy(json!({ "not": { "const": "pdor" } })),
        },
    ])
}

/// Returns the words of those kinds with cables between switches for which `holds`.
fn words(holds: impl Fn(TopologyKind) -> bool) -> Vec<&'static str> {
    SWITCHED.into_iter().filter(|kind| holds(*kind)).map(TopologyKind::word).collect()
}

/// Returns the sizes that a Slim Fly may have: odd primes, ascending.
pub(super) fn slim_flies() -> Vec<u32> {
    let prime = |q: &u32| (2..*q).all(|divisor| !q.is_multiple_of(divisor));
    (3..=limits::SLIM_FLY).filter(prime).collect()
}

fn of_kind(words: &[&str]) -> Value {
    json!({ "properties": { "kind": { "enum": words } }, "required": ["kind"] })
}
