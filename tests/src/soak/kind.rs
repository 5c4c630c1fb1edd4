//! The fabrics of the soak test.

use tresse_plan::lock::Lock;

use crate::lab::Planned;

/// A fabric, and the plans between which it changes.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// Its name, as an argument.
    pub name: &'static str,
    /// The name of its lab.
    pub lab: &'static str,
    topology: &'static str,
    /// The ends of its cluster files, from the keys of `[routing]` on.
    pub routings: &'static [&'static str],
    /// Does it need a kernel with VLANs?
    pub vlans: bool,
}

/// The fabrics of the soak test; the first one is that of `make test`.
pub const KINDS: &[Kind] = &[
    Kind {
        name: "torus",
        lab: "soak-torus",
        topology: "kind = \"torus\", dims = [3, 2], nics_per_node = 2",
        routings: &[
            "strategy = \"dor\"\npaths = 2",
            "strategy = \"pdor\"\npaths = 2",
            "strategy = \"stp\"\npaths = 2",
        ],
        vlans: true,
    },
    Kind {
        name: "irregular",
        lab: "soak-irregular",
        topology: "kind = \"irregular\", switches = 8, ports = 6, nodes_per_switch = 1, seed = 1",
        routings: &["strategy = \"transit\"\npaths = 2", "strategy = \"updown\"\npaths = 2"],
        vlans: true,
    },
    Kind {
        name: "pmesh",
        lab: "soak-pmesh",
        topology: "kind = \"pmesh\", dims = [4, 4]",
        routings: &[
            "paths = 2",
            "paths = 2\n[[node]]\nname = \"n04\"\n\
             nics = [{ name = \"eth0\", rate = \"100M\" }, { name = \"eth1\" }]",
        ],
        vlans: false,
    },
    Kind {
        name: "direct-torus",
        lab: "soak-direct-torus",
        topology: "kind = \"direct-torus\", dims = [3, 3]",
        routings: &[
            "paths = 2",
            "paths = 2\n[[node]]\nname = \"n4\"\nnics = [{ name = \"eth0\", rate = \"100M\" }, \
             { name = \"eth1\" }, { name = \"eth2\" }, { name = \"eth3\" }]",
        ],
        vlans: false,
    },
];

impl Kind {
    /// The kind of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        KINDS.iter().find(|kind| kind.name == name).copied()
    }

    /// The plan with one of its ways to route.
    ///
    /// # Errors
    /// Why there is none.
    pub fn planned(&self, routing: &str, lock: &Lock) -> Result<Planned, String> {
        let vlans = if self.vlans { "[vlans]\nrange = \"100-199\"\n" } else { "" };
        let text = format!(
            "[fabric]\nname = \"soak\"\ntopology = {{ {} }}\n{vlans}\
             [addressing]\nnodes = \"10.77.0.0/16\"\nnics = \"10.78.0.0/16\"\n\
             [routing]\n{routing}\n",
            self.topology
        );
        Planned::new(&text, lock)
    }
}
