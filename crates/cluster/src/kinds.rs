//! The kinds of topology (`mesh`, `torus`, ...), the keys that each requires or allows in the cluster file, and the
//! rules for these keys in the JSON Schema.

use serde_json::{Value, json};

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
    }
}

impl TopologyKind {
    /// Whether the kind has switches but no dimensions.
    pub(super) fn has_no_dimensions(self) -> bool {
        matches!(self, Self::Explicit | Self::Clique | Self::Irregular)
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
            _ => (&[], &[]),
        }
    }
}

/// Kinds whose nodes route.
const ROUTED: [&str; 5] = ["pmesh", "ring", "direct-mesh", "direct-torus", "full-mesh"];

/// Returns the JSON Schema rules for the keys of `topology`, which depend on its kind.
pub(super) fn keys_of_kinds() -> Value {
    let rule = |word: &&str| {
        let (required, others) = TopologyKind::keys(word);
        let keys = [&["kind"], required, others].concat();
        let mut then = json!({ "propertyNames": { "enum": keys }, "required": required });
        let ports = match *word {
            "clique" => Some(limits::CLIQUE_PORTS),
            "irregular" => Some(limits::IRREGULAR_PORTS),
            _ => None,
        };
        if let Some(most) = ports {
            then["properties"] = json!({ "ports": { "maximum": most } });
        }
        if ROUTED.contains(word) && required.contains(&"dims") {
            then["properties"] = json!({ "dims": { "items": { "minimum": 2 } } });
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
    json!([
        {
            "if": topology(of_kind(&["explicit"])),
            "then": {
                "properties": {
                    "switch": { "minItems": 1 },
                    "node": {
                        "minItems": 1,
                        "items": { "properties": { "nics": cabled }, "required": ["nics"] },
                    },
                },
                "required": ["switch", "node"],
            },
        },
        {
            "if": topology(of_kind(&ROUTED)),
            "then": strategy(json!({ "const": "xy" })),
        },
        {
            "if": topology(of_kind(&["mesh", "torus", "clique", "irregular", "explicit"])),
            "then": strategy(json!({ "not": { "const": "xy" } })),
        },
        {
            "if": topology(of_kind(&["explicit", "clique", "irregular"])),
            "then": strategy(json!({ "not": { "enum": ["dor", "pdor"] } })),
        },
    ])
}

fn of_kind(words: &[&str]) -> Value {
    json!({ "properties": { "kind": { "enum": words } }, "required": ["kind"] })
}
