//! Writes the draft of a cluster file as text, with comments where something is unknown.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::shape::{Shape, one_sided, recognise};
use super::{At, Discovered, End};
use crate::limits;

/// Why no draft of a cluster file can be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DraftError {
    /// No node heard another.
    #[error(
        "no NIC of {hosts} nodes hears a switch or another node: are the NICs up (`ip link set eth1 up`), and does \
         an untagged frame get from one to the other, or do the switches send LLDP?"
    )]
    Nothing {
        /// Number of nodes asked.
        hosts: usize,
    },
    /// The cables between nodes match no kind of fabric.
    #[error(
        "the cables between nodes are no ring, full mesh, direct mesh or direct torus of {hosts} nodes; one may \
         be missing or swapped:\n{cables}"
    )]
    Shape {
        /// Number of nodes asked.
        hosts: usize,
        /// A line for each cable.
        cables: String,
    },
}

impl Discovered<'_> {
    /// Returns the text of a cluster file.
    ///
    /// # Errors
    /// As [`DraftError`] lists.
    pub fn draft(&self) -> Result<String, DraftError> {
        let hosts = self.hosts.len();
        if self.ends.values().all(|end| matches!(end, End::Unknown | End::Unplugged)) {
            return Err(DraftError::Nothing { hosts });
        }
        if let Some(shape) = recognise(self) {
            return Ok(self.head() + &self.of_shape(&shape));
        }
        let switched =
            self.ends.values().any(|end| matches!(end, End::Switch { .. } | End::Silent(_)));
        if !switched {
            return Err(DraftError::Shape { hosts, cables: self.cables().join("\n") });
        }
        Ok(self.head() + &self.of_switches())
    }

    fn head(&self) -> String {
        let mut text =
            "# A draft by `tresse discover`: look through it before it is used.\n".to_owned();
        for (at, end) in &self.ends {
            let why = match end {
                End::Unknown => "has carrier but receives no LLDP: left out",
                End::Unplugged => "has no carrier: left out",
                _ => continue,
            };
            let _ = writeln!(text, "# {} {why}", self.name(*at));
        }
        for (at, peer) in one_sided(self) {
            let (at, peer) = (self.name(at), self.name(peer));
            let _ = writeln!(text, "# {at} hears {peer} alone, which does not hear it");
        }
        text
    }

    /// Returns `n03:eth1`, with characters that are safe in a comment.
    fn name(&self, at: At) -> String {
        format!("{}:{}", plain(&self.hosts[at.0].name), plain(&self.nic(at).name))
    }

    fn cables(&self) -> Vec<String> {
        let line = |(at, end): (&At, &End)| match end {
            End::Peer(peer) => Some(format!("  {} - {}", self.name(*at), self.name(*peer))),
            _ => None,
        };
        self.ends
            .iter()
            .filter(|(at, end)| !matches!(end, End::Peer(p) if p < at))
            .filter_map(line)
            .collect()
    }

    /// Nodes of a generated fabric have its names; which host each is stands beside it.
    fn of_shape(&self, shape: &Shape) -> String {
        let mut text = format!("[fabric]\ntopology = {{ {} }}\n", shape.topology);
        let digits = (shape.nodes.len() - 1).to_string().len();
        for (node, (host, nics)) in shape.nodes.iter().enumerate() {
            let of = &self.hosts[*host];
            let _ = write!(
                text,
                "\n# {}\n[[node]]\nname = \"n{node:0digits$}\"\nnics = [\n",
                plain(&of.name)
            );
            for nic in nics {
                let nic = &of.nics[*nic];
                let _ = writeln!(text, "    {{ name = {:?}, mac = \"{}\" }},", nic.name, nic.mac);
            }
            text += "]\n";
        }
        text
    }

    fn of_switches(&self) -> String {
        let switches = self.switches();
        let mut text = "[fabric]\ntopology = { kind = \"explicit\" }\n".to_owned();
        if self.joined.is_empty() && switches.ports.len() > 1 {
            // No frame crossed from one switch to another.
            text += "\n[routing]\nstrategy = \"direct\"\n";
        }
        let mut spare: BTreeMap<&String, u32> = BTreeMap::new();
        for (a, b) in &self.joined {
            let [a, b] = [a, b].map(|device| {
                let name = &switches.named[device];
                let port = spare.entry(name).or_insert_with(|| switches.last_port(name));
                *port += 1;
                format!("{name}:{port}")
            });
            let _ = writeln!(
                text,
                "\n# These switches are connected, perhaps by others; add their cables, with their ports:\n\
                 # [[link]]\n# a = \"{a}\"\n# b = \"{b}\""
            );
        }
        for name in switches.ports.keys() {
            let _ = writeln!(text, "\n[[switch]]\nname = \"{name}\"");
            if switches.silent.contains(name) {
                text += "# It does not tell its name and ports: they are numbered here in the nodes' order.\n";
            }
        }
        let mut names: BTreeSet<String> = switches.ports.keys().cloned().collect();
        for (host, of) in self.hosts.iter().enumerate() {
            let nics: Vec<_> = (0..of.nics.len())
                .filter_map(|nic| Some((nic, switches.at.get(&(host, nic))?)))
                .collect();
            let name = fresh(&plain(&of.name), &names);
            if nics.is_empty() {
                let _ = writeln!(text, "\n# {name} receives no LLDP: left out");
                continue;
            }
            let _ = writeln!(text, "\n[[node]]\nname = \"{name}\"\nnics = [");
            names.insert(name);
            for (nic, (switch, port)) in nics {
                let nic = &of.nics[nic];
                let _ = writeln!(
                    text,
                    "    {{ name = {:?}, mac = \"{}\", switch = \"{switch}\", port = {port} }},",
                    nic.name, nic.mac
                );
            }
            text += "]\n";
        }
        for cable in self.cables() {
            let _ = writeln!(text, "# a cable between nodes, left out:{cable}");
        }
        text
    }

    /// Names for the switches, and a port for each NIC: that which the switch names, if it does and no other
    /// NIC has it.
    fn switches(&self) -> Switches {
        let mut switches = Switches::default();
        let hosts: BTreeSet<String> = self.hosts.iter().map(|host| plain(&host.name)).collect();
        // Named ports are assigned first; other NICs get the ports that are left.
        let mut ends: Vec<(&At, &End)> = self.ends.iter().collect();
        let named = |end: &End| matches!(end, End::Switch { port, .. } if number(port).is_some());
        ends.sort_by_key(|(_, end)| !named(end));
        for (at, end) in ends {
            let (name, wanted) = match end {
                End::Switch { device, port } => {
                    let known = switches.named.get(device).cloned();
                    let name = known.unwrap_or_else(|| {
                        let taken = switches.ports.keys().chain(&hosts).cloned().collect();
                        fresh(&plain(device), &taken)
                    });
                    switches.named.insert(device.clone(), name.clone());
                    (name, number(port))
                }
                End::Silent(first) => {
                    let known = switches.of_first.get(first).cloned();
                    let name = known.unwrap_or_else(|| {
                        let taken = switches.ports.keys().chain(&hosts).cloned().collect();
                        fresh(&format!("s{}", switches.of_first.len()), &taken)
                    });
                    switches.of_first.insert(*first, name.clone());
                    switches.silent.insert(name.clone());
                    (name, None)
                }
                _ => continue,
            };
            let ports = switches.ports.entry(name.clone()).or_default();
            let port = wanted.filter(|port| !ports.contains(port)).unwrap_or_else(|| {
                (1..).find(|port| !ports.contains(port)).expect("numbers do not end")
            });
            ports.insert(port);
            switches.at.insert(*at, (name, port));
        }
        switches
    }
}

#[derive(Debug, Default)]
struct Switches {
    /// By what they call themselves.
    named: BTreeMap<String, String>,
    /// Of those that do not, by their first NIC.
    of_first: BTreeMap<At, String>,
    silent: BTreeSet<String>,
    /// Ports in use.
    ports: BTreeMap<String, BTreeSet<u32>>,
    at: BTreeMap<At, (String, u32)>,
}

impl Switches {
    fn last_port(&self, name: &str) -> u32 {
        self.ports.get(name).and_then(|ports| ports.last()).copied().unwrap_or(0)
    }
}

/// Returns the last number in the name of a port: `Gi1/0/3`, `swp3`, `3`.
fn number(port: &str) -> Option<u32> {
    let end = port.trim_end_matches(|c: char| !c.is_ascii_digit());
    let digits = end.len() - end.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let number = end[end.len() - digits..].parse().ok()?;
    (1..=limits::PORTS).contains(&number).then_some(number)
}

/// Returns the text as a name that is valid in the cluster file.
fn plain(name: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    let name: String =
        name.chars().map(|c| if fits(c) { c } else { '-' }).take(limits::NAME).collect();
    match name.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        true => name,
        false => format!("x{}", &name[..name.len().min(limits::NAME - 1)]),
    }
}

/// Returns the name, with a number appended if the name is taken.
fn fresh(name: &str, taken: &BTreeSet<String>) -> String {
    if !taken.contains(name) {
        return name.to_owned();
    }
    let numbered = (2..).map(|k| {
        let end = format!("-{k}");
        format!("{}{end}", &name[..name.len().min(limits::NAME - end.len())])
    });
    numbered.into_iter().find(|name| !taken.contains(name)).expect("numbers do not end")
}
