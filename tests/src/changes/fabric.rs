//! The fabrics of the trial of changes, and their cluster files.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use tresse_base::random::Random;
use tresse_plan::lock::Lock;

use crate::lab::Planned;

/// A kind of fabric, and what can be changed while it runs.
#[derive(Debug)]
pub struct Kind {
    /// Its name in the table of results.
    pub name: &'static str,
    /// Whether its switches need VLANs, so that it may run in the virtual machine only.
    pub vlans: bool,
    /// The topology in each size, the smallest first. A smaller one has nodes and switches of a larger
    /// one only; cables may move.
    sizes: &'static [&'static str],
    /// Whether cables move where its size changes.
    recabled: bool,
    /// The ends of one more cable between switches, wherever it may be moved to.
    cable: &'static [[&'static str; 2]],
    /// The strategies that fit; none: the usual one of the topology.
    strategies: &'static [&'static str],
    /// Whether connections of Multipath TCP may use several NICs.
    mptcp: bool,
    /// Whether detours through reflectors can be planned.
    reflect: bool,
}

/// What a change of plan changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Paths,
    Size,
    Strategy,
    Mptcp,
    Reflect,
    Rate,
    Cable,
    Behind,
}

/// The present state of a fabric of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fabric {
    kind: &'static Kind,
    size: usize,
    strategy: Option<&'static str>,
    paths: u32,
    mptcp: bool,
    reflect: bool,
    /// The node whose first NIC has a tenth of the rate.
    slow: Option<usize>,
    /// The node that is a gateway, and that with a network behind it.
    behind: Option<[usize; 2]>,
    /// The place of the cable that can be moved; one more than the last: the plan has no such cable.
    cable: usize,
}

impl PartialEq for Kind {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Kind {}

impl Kind {
    /// Whether cables of its lab move in some of its changes.
    pub(super) const fn moves_cables(&self) -> bool {
        self.recabled || self.cable.len() > 1
    }
}

impl Fabric {
    /// The largest fabric of a kind, as a lab is built for it.
    #[must_use]
    pub fn largest(kind: &'static Kind) -> Self {
        let size = kind.sizes.len() - 1;
        let strategy = kind.strategies.first().copied();
        let (mptcp, reflect, slow, behind) = (false, false, None, None);
        Self { kind, size, strategy, paths: 2, mptcp, reflect, slow, behind, cable: 0 }
    }

    /// The number of different changes that its kind allows.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.possible().len() as u64
    }

    /// The changes in turn. Cables are moved while every pair has two paths.
    fn possible(&self) -> Vec<Change> {
        let kind = self.kind;
        let all = [
            (Change::Cable, kind.cable.len() > 1),
            (Change::Size, kind.recabled),
            (Change::Paths, true),
            (Change::Size, kind.sizes.len() > 1 && !kind.recabled),
            (Change::Strategy, kind.strategies.len() > 1),
            (Change::Mptcp, kind.mptcp),
            (Change::Reflect, kind.reflect),
            (Change::Rate, true),
            (Change::Behind, true),
            (Change::Paths, kind.moves_cables()),
            // Grown again, too.
            (Change::Size, kind.recabled),
        ];
        all.into_iter().filter_map(|(change, can)| can.then_some(change)).collect()
    }

    /// Another state, one change away: all changes that the kind allows take turns from `round` to
    /// round. Returns it with the change in words.
    #[must_use]
    pub fn next(&self, round: u64, random: &mut Random) -> (Self, String) {
        let kind = self.kind;
        let possible = self.possible();
        let mut next = *self;
        let words = match possible[(round % possible.len() as u64) as usize] {
            Change::Paths => {
                next.paths = 3 - self.paths;
                format!("paths {} to {}", self.paths, next.paths)
            }
            Change::Size => {
                next.size = other(self.size, kind.sizes.len(), random);
                // The node may be gone.
                (next.slow, next.behind) = (None, None);
                format!("size {} to {}", self.size, next.size)
            }
            Change::Strategy => {
                let now = kind.strategies.iter().position(|it| Some(*it) == self.strategy);
                let at = other(now.unwrap_or(0), kind.strategies.len(), random);
                next.strategy = Some(kind.strategies[at]);
                format!("{} to {}", self.strategy.unwrap_or_default(), kind.strategies[at])
            }
            Change::Mptcp => {
                next.mptcp = !self.mptcp;
                format!("mptcp {} to {}", self.mptcp, next.mptcp)
            }
            Change::Reflect => {
                next.reflect = !self.reflect;
                format!("reflect {} to {}", self.reflect, next.reflect)
            }
            Change::Cable => {
                let places = kind.cable.len();
                next.cable = match self.cable {
                    now if now == places => random.below(places),
                    // Both paths of some pairs cross it, so it cannot be drained: a plan without it comes first.
                    _ if self.strategy == Some("updown") => places,
                    now => other(now, places, random),
                };
                match kind.cable.get(next.cable) {
                    Some([a, b]) => format!("cable moved to {a}, {b}"),
                    None => "cable not planned any more".into(),
                }
            }
            Change::Behind => {
                next.behind = match self.behind {
                    Some(_) if random.below(2) == 0 => None,
                    Some([gateway, owner]) => Some([other(gateway, 3, random), owner]),
                    None => Some([random.below(3), random.below(3)]),
                };
                format!("gateway and owner {:?} to {:?}", self.behind, next.behind)
            }
            Change::Rate => {
                next.slow = match self.slow {
                    Some(_) => None,
                    None => Some(random.below(3)),
                };
                format!("slow NIC {:?} to {:?}", self.slow, next.slow)
            }
        };
        (next, words)
    }

    /// Plans it beside a lock.
    ///
    /// # Errors
    /// Why there is no plan.
    pub fn plan(&self, lock: &Lock) -> Result<Planned, String> {
        let text = self.text();
        let plain = Planned::new(&text, lock)?;
        let nodes = &plain.plan.cluster().nodes;
        let mut changed = BTreeMap::<usize, String>::new();
        if let Some(slow) = self.slow {
            // An override names all NICs of the node.
            let nics = nodes[slow].nics.iter().enumerate().map(|(k, nic)| match k {
                0 => format!("{{ name = \"{}\", rate = \"100M\" }}", nic.name),
                _ => format!("{{ name = \"{}\" }}", nic.name),
            });
            let nics: Vec<String> = nics.collect();
            *changed.entry(slow).or_default() += &format!("nics = [{}]\n", nics.join(", "));
        }
        if let Some([gateway, owner]) = self.behind {
            *changed.entry(gateway).or_default() += "gateway = true\n";
            *changed.entry(owner).or_default() += "prefixes = \"192.168.7.0/24\"\n";
        }
        if changed.is_empty() {
            return Ok(plain);
        }
        let entry = |(node, lines): (usize, String)| {
            format!("[[node]]\nname = \"{}\"\n{lines}", nodes[node].name)
        };
        let entries: String = changed.into_iter().map(entry).collect();
        Planned::new(&(text + &entries), lock)
    }

    fn text(&self) -> String {
        let Self { kind, size, paths, mptcp, reflect, .. } = self;
        let topology = kind.sizes[*size].replace("FLAT24", FLAT24);
        let mut text = format!(
            "[fabric]\nname = \"changes\"\n[fabric.topology]\n{topology}\n[routing]\npaths = {paths}\n"
        );
        if let Some(strategy) = self.strategy {
            let _ = writeln!(text, "strategy = \"{strategy}\"");
        }
        if *mptcp {
            text += "mptcp = true\n";
        }
        if *reflect {
            text += "reflect = true\n";
        }
        if kind.vlans {
            text += "[vlans]\nrange = \"100-399\"\n";
        }
        if let Some([a, b]) = kind.cable.get(self.cable) {
            let _ = writeln!(text, "[[link]]\na = \"{a}\"\nb = \"{b}\"");
        }
        text
    }
}

/// A number below `count` other than `now`.
fn other(now: usize, count: usize, random: &mut Random) -> usize {
    (now + 1 + random.below(count - 1)) % count
}

const FLAT24: &str = include_str!("../../../configs/flat24.fnn");

/// A ring of four nodes of which two have two cables.
const CABLED_4: &str = "kind = \"explicit\"\n[[node]]\nname = \"n[0-3]\"\n\
    [[link]]\na = \"n[0-3]:eth0\"\nb = \"n[1,2,3,0]:eth1\"\n\
    [[link]]\na = \"n0:eth2\"\nb = \"n1:eth2\"\n";
/// The same with one node more, at two of them.
const CABLED_5: &str = "kind = \"explicit\"\n[[node]]\nname = \"n[0-4]\"\n\
    [[link]]\na = \"n[0-3]:eth0\"\nb = \"n[1,2,3,0]:eth1\"\n\
    [[link]]\na = \"n0:eth2\"\nb = \"n1:eth2\"\n\
    [[link]]\na = \"n4:eth[0-1]\"\nb = [\"n[2-3]:eth2\"]\n";

/// All kinds of fabrics of the trial.
pub const KINDS: &[Kind] = &[
    routed("ring-4", &["kind = \"ring\"\nnodes = 4"]),
    Kind {
        recabled: true,
        ..routed("ring-grown", &["kind = \"ring\"\nnodes = 4", "kind = \"ring\"\nnodes = 5"])
    },
    routed("ring-6", &["kind = \"ring\"\nnodes = 6"]),
    routed("full-mesh", &["kind = \"full-mesh\"\nnodes = 4", "kind = \"full-mesh\"\nnodes = 5"]),
    routed("cabled", &[CABLED_4, CABLED_5]),
    routed("direct-torus", &["kind = \"direct-torus\"\ndims = [3, 3]"]),
    routed("direct-mesh", &["kind = \"direct-mesh\"\ndims = [3, 3]"]),
    // Addresses that carry coordinates would be other ones after such growth, and a rollout refuses that.
    routed(
        "sequential",
        &[
            "kind = \"direct-mesh\"\ndims = [3, 2]\n[addressing]\nlayout = \"sequential\"",
            "kind = \"direct-mesh\"\ndims = [3, 3]\n[addressing]\nlayout = \"sequential\"",
        ],
    ),
    routed(
        "pmesh-3x3",
        &[
            "kind = \"pmesh\"\ndims = [3, 2]\ngrow_to = [4, 4]",
            "kind = \"pmesh\"\ndims = [3, 3]\ngrow_to = [4, 4]",
        ],
    ),
    routed("pmesh-4x4", &["kind = \"pmesh\"\ndims = [4, 4]"]),
    Kind {
        name: "flat24",
        vlans: false,
        sizes: &["kind = \"fnn\"\nwiring = \"\"\"\nFLAT24\"\"\""],
        recabled: false,
        cable: &[],
        strategies: &[],
        mptcp: true,
        reflect: false,
    },
    switched(
        "torus",
        &["kind = \"torus\"\ndims = [3, 2]\nnics_per_node = 2"],
        &["dor", "pdor", "minimal", "stp"],
    ),
    switched(
        "mesh",
        &["kind = \"mesh\"\ndims = [3, 2]", "kind = \"mesh\"\ndims = [3, 3]"],
        &["dor", "pdor", "updown"],
    ),
    Kind {
        cable: &[["s0:9", "s5:9"], ["s0:9", "s4:9"], ["s2:9", "s3:9"]],
        ..switched("mesh-cable", &["kind = \"mesh\"\ndims = [3, 2]"], &["minimal", "updown"])
    },
    Kind { reflect: true, ..switched("clique", &["kind = \"clique\"\nports = 6"], &["minimal"]) },
    switched(
        "irregular",
        &["kind = \"irregular\"\nswitches = 6\nnodes_per_switch = 1\nports = 4\nseed = 3"],
        &["transit", "updown", "minimal"],
    ),
];

const fn routed(name: &'static str, sizes: &'static [&'static str]) -> Kind {
    Kind {
        name,
        vlans: false,
        sizes,
        recabled: false,
        cable: &[],
        strategies: &[],
        mptcp: false,
        reflect: false,
    }
}

const fn switched(
    name: &'static str,
    sizes: &'static [&'static str],
    strategies: &'static [&'static str],
) -> Kind {
    Kind {
        name,
        vlans: true,
        sizes,
        recabled: false,
        cable: &[],
        strategies,
        mptcp: false,
        reflect: false,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use tresse_topology::cluster::Node;

    use super::*;

    /// A lab is built for the largest fabric: the nodes and switches of a smaller one are there.
    #[test]
    fn every_state_of_every_kind_has_a_plan_and_fits_the_largest_fabric() {
        for kind in KINDS {
            let mut fabric = Fabric::largest(kind);
            let mut lock = Lock::default();
            let largest = fabric.plan(&lock).unwrap_or_else(|e| panic!("{}: {e}", kind.name));
            let mut random = Random::new(1);
            for round in 0..12 {
                let (next, words) = fabric.next(round, &mut random);
                assert_ne!(next, fabric, "{}: {words}", kind.name);
                let planned =
                    next.plan(&lock).unwrap_or_else(|e| panic!("{} {words}: {e}", kind.name));
                let (small, large) = (parts(&planned), parts(&largest));
                assert!(small.is_subset(&large), "{}: {words}", kind.name);
                (fabric, lock) = (next, planned.lock);
            }
        }
    }

    /// Names of switches; names of nodes and NICs with MACs.
    fn parts(planned: &Planned) -> BTreeSet<String> {
        let cluster = planned.plan.cluster();
        let nic = |node: &Node| {
            let name = node.name.clone();
            let nics = node.nics.iter();
            nics.map(move |nic| format!("{name}:{} {}", nic.name, nic.mac)).collect::<Vec<_>>()
        };
        let switches = cluster.switches.iter().map(|switch| switch.name.clone());
        switches.chain(cluster.nodes.iter().flat_map(nic)).collect()
    }
}
