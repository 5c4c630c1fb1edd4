//! Writes the draft of a cluster file as text, with comments where something is unknown.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use tresse_topology::Components;

use super::names::{comment, fresh, plain};
use super::shape::{Shape, mutual, one_sided, recognise};
use super::switches::Switches;
use super::{At, Discovered, End};
use crate::cable::SeenBy;

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
    /// The cables between nodes do not join all of them.
    #[error(
        "the cables between {hosts} nodes do not join all of them; one may be missing:\n{cables}"
    )]
    Parts {
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
        let is_none = |end: &End| {
            matches!(end, End::Unknown | End::Stranger(_) | End::Unplugged | End::LeftOut(_))
        };
        let nothing = self.ends.values().all(is_none);
        if nothing && self.wires.cables.is_empty() {
            return Err(DraftError::Nothing { hosts });
        }
        if let Some(shape) = recognise(self) {
            return Ok(self.head() + &self.of_shape(&shape));
        }
        let switched = !self.wires.is_empty()
            || self.ends.values().any(|end| matches!(end, End::Switch { .. } | End::Silent(_)));
        if !switched {
            let cables = mutual(self);
            let mut parts = Components::new(hosts);
            cables.iter().for_each(|(a, b)| {
                parts.join(a.0, b.0);
            });
            let is_apart = |host| parts.root(host) != parts.root(0);
            if cables.is_empty() || (1..hosts).any(is_apart) {
                return Err(DraftError::Parts { hosts, cables: self.cables().join("\n") });
            }
            return Ok(self.head() + &self.of_cables(&cables));
        }
        Ok(self.head() + &self.of_switches())
    }

    /// In words, the NICs with carrier whose cables end at none of the hosts that were asked and at no switch that is known,
    /// as where a host was forgotten.
    #[must_use]
    pub fn loose(&self) -> Vec<String> {
        let words = |(at, end): (&At, &End)| match end {
            End::Unknown => Some(format!(
                "{} has carrier, and nothing says where its cable ends",
                self.name(*at)
            )),
            End::Stranger(host) => {
                let host = comment(host);
                Some(format!("{} ends at the host {host}, which was not asked", self.name(*at)))
            }
            _ => None,
        };
        self.ends.iter().filter_map(words).collect()
    }

    fn head(&self) -> String {
        let mut text =
            "# A draft by `tresse discover`: look through it before it is used.\n".to_owned();
        for words in &self.wires.left_out {
            let _ = writeln!(text, "# left out: {}", comment(words));
        }
        for (at, end) in &self.ends {
            if let End::LeftOut(port) = end {
                let (nic, port) = (self.name(*at), comment(&port.words()));
                let _ = writeln!(text, "# left out: {nic}, which is at {port} or behind it");
            }
            if *end == End::Unplugged {
                let _ = writeln!(text, "# {} has no carrier: left out", self.name(*at));
            }
        }
        for words in self.loose() {
            let _ = writeln!(text, "# {words}: left out");
        }
        for (at, peer) in one_sided(self) {
            let (at, peer) = (self.name(at), self.name(peer));
            let _ = writeln!(text, "# {at} hears {peer} alone, which does not hear it");
        }
        for unseen in &self.wires.unseen {
            let _ = writeln!(text, "# not seen: {}", comment(unseen));
        }
        let nics: BTreeSet<_> =
            self.hosts.iter().flat_map(|h| &h.nics).map(|nic| nic.mac).collect();
        let strangers = self.wires.stations.iter().filter(|(mac, _)| !nics.contains(mac));
        for (mac, port) in strangers {
            let words = comment(&port.words());
            let _ = writeln!(text, "# at {words} is {mac}, which no node that was asked has");
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

    /// Nodes of a generated fabric have the names of their hosts, and their places.
    fn of_shape(&self, shape: &Shape) -> String {
        let mut text = format!("[fabric]\ntopology = {{ {} }}\n", shape.topology);
        let mut names = BTreeSet::new();
        for (place, (host, nics)) in shape.nodes.iter().enumerate() {
            let of = &self.hosts[*host];
            let name = fresh(&plain(&of.name), &names);
            let _ = write!(text, "\n[[node]]\nname = \"{name}\"\nplace = {place}\nnics = [\n");
            names.insert(name);
            for nic in nics {
                let nic = &of.nics[*nic];
                let _ = writeln!(text, "    {{ name = {:?}, mac = \"{}\" }},", nic.name, nic.mac);
            }
            text += "]\n";
        }
        text
    }

    /// Cables between nodes that form none of the kinds are listed.
    fn of_cables(&self, cables: &[(At, At)]) -> String {
        let mut text = "# The cables form no ring, full mesh, direct mesh or direct torus; in one of these one may be missing or \
                        swapped.\n[fabric]\ntopology = { kind = \"explicit\" }\n"
            .to_owned();
        let mut names: Vec<String> = Vec::new();
        for (host, of) in self.hosts.iter().enumerate() {
            let name = fresh(&plain(&of.name), &names.iter().cloned().collect());
            let _ = writeln!(text, "\n[[node]]\nname = \"{name}\"\nnics = [");
            names.push(name);
            let ends = cables.iter().flat_map(|(a, b)| [a, b]);
            let nics: BTreeSet<usize> = ends.filter(|at| at.0 == host).map(|at| at.1).collect();
            for nic in nics {
                let nic = &of.nics[nic];
                let _ = writeln!(text, "    {{ name = {:?}, mac = \"{}\" }},", nic.name, nic.mac);
            }
            text += "]\n";
        }
        for cable in cables {
            let [a, b] =
                [cable.0, cable.1].map(|at| format!("{}:{}", names[at.0], self.nic(at).name));
            let _ = writeln!(text, "\n[[link]]\na = {a:?}\nb = {b:?}");
        }
        text
    }

    fn of_switches(&self) -> String {
        let switches = Switches::of(self);
        let mut text = "[fabric]\ntopology = { kind = \"explicit\" }\n".to_owned();
        if self.joined.is_empty() && self.wires.cables.is_empty() && switches.ports.len() > 1 {
            // No frame crossed from one switch to another.
            text += "\n[routing]\nstrategy = \"direct\"\n";
        }
        for (cable, [a, b]) in self.wires.cables.iter().zip(&switches.links) {
            let by = match cable.by {
                SeenBy::BothEnds => "by LLDP from both ends",
                SeenBy::OneEnd => "by LLDP from one end alone",
                SeenBy::ForwardingTables => "by forwarding tables",
            };
            let names = [&cable.a, &cable.b].map(|end| comment(&end.words())).join(", ");
            let _ = writeln!(text, "\n# {by}: {names}\n[[link]]\na = \"{a}\"\nb = \"{b}\"");
        }
        let mut spare: BTreeMap<&String, u32> = BTreeMap::new();
        for (a, b) in &self.joined {
            let names = [a, b].map(|device| &switches.named[device]);
            if switches.are_joined(names) {
                continue;
            }
            let [a, b] = names.map(|name| {
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
                let _ = writeln!(text, "\n# {name} is at no switch that is seen: left out");
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
}
