//! `tresse discover`: drafts a cluster file from the LLDP frames that the nodes receive from switches and from each
//! other, and from the tables of the switches.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use tresse_control::{Client, FORMAT, NeighbourList};
use tresse_mapping::draft::{Discovered, Drafted};
use tresse_mapping::host::{self, DiscoveredHost};
use tresse_mapping::wires::Wires;
use tresse_mapping::without::Without;
use tresse_switches::{Source, SourceError};

use super::nodes::{Fleet, FleetArgs};
use crate::fail::{self, Code, Failure};
use crate::output;

/// How often nodes introduce themselves, as a frame may be lost.
const ROUNDS: usize = 2;
/// How long to wait until the last frame has arrived.
const WAIT: Duration = Duration::from_secs(1);

/// Where the cables are to be seen: nodes and switches to ask.
#[derive(Debug, Clone, Args)]
pub struct Sources {
    /// A directory with a file for each switch, of its name, with what its command for LLDP neighbours printed, that for
    /// its MAC table, or both.
    #[arg(long, value_name = "DIR")]
    switches: Option<PathBuf>,
    /// A file that lists switches to ask by SNMP, with what gives access to them.
    #[arg(long, value_name = "FILE", conflicts_with = "switches")]
    snmp: Option<PathBuf>,
    /// Use only these interfaces: eth[1-4],enp5s0. Default: all Ethernet NICs.
    #[arg(long, value_name = "NICS")]
    nics: Option<String>,
    /// Leave out what is of other networks, such as that of management: NICs of all nodes (eth0) or one (n3:eth2), switches
    /// (core) and ports of switches (s0:Gi1/0/48, s[0-3]:48).
    #[arg(long, value_name = "NAMES")]
    without: Option<String>,
}

/// Arguments of `tresse discover`, which drafts a cluster file.
#[derive(Debug, Args)]
pub struct Discover {
    /// The nodes, by the names that the launcher knows: n[00-15] or several.
    #[arg(required_unless_present_any = ["switches", "snmp"], value_name = "NODES")]
    nodes: Vec<String>,
    #[command(flatten)]
    sources: Sources,
    /// Write the draft to this file, which must not exist yet.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    fleet: FleetArgs,
}

impl Discover {
    /// Asks every node, and prints or writes the draft of the cluster file.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        let names = expand_each(&self.nodes)?;
        let names = if names.is_empty() { names } else { self.fleet.without(names)? };
        let hosts = self.sources.hosts(self.fleet.fleet(names, None))?;
        let wires = self.sources.wires(&hosts, Vec::new())?;
        let draft = draft(&hosts, &wires)?;
        if let Some(path) = &self.output {
            create(path, &draft)?;
        }
        let mut out = output::stdout();
        if json {
            output::json_line(&mut out, &Drafted::of(FORMAT, &draft, &wires))?;
        } else if let Some(path) = &self.output {
            let next = format!("tresse check {0}", path.display());
            writeln!(
                out,
                "{} nodes in {}: read it, correct it, then run {next}",
                hosts.len(),
                path.display()
            )?;
        } else {
            out.write_all(draft.as_bytes())?;
        }
        out.flush()?;
        Ok(Code::Fine)
    }
}

/// Writes a file that must not exist yet.
pub fn create(path: &Path, text: &str) -> Result<(), Failure> {
    let file = std::fs::File::options().write(true).create_new(true).open(path);
    let wrong = |e| Failure::new(Code::Usage, format!("{}: {e}", path.display()));
    file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(wrong)
}

/// The draft of a cluster file for these hosts and wires.
pub fn draft(hosts: &[DiscoveredHost], wires: &Wires) -> Result<String, Failure> {
    let draft = Discovered::of(hosts, wires).draft();
    draft.map_err(|e| Failure::new(Code::Fault, e.to_string()))
}

/// The names of several texts, each once.
pub fn expand_each(texts: &[String]) -> Result<Vec<String>, Failure> {
    let mut names: Vec<String> = Vec::new();
    for text in texts {
        let more = expand(text)?.into_iter().filter(|name| !names.contains(name));
        names.extend(more.collect::<Vec<_>>());
    }
    Ok(names)
}

pub fn expand(text: &str) -> Result<Vec<String>, Failure> {
    tresse_base::hostlist::expand_all(text)
        .map_err(|e| Failure::new(Code::Usage, format!("`{text}`: {e}")))
}

fn set(text: &str) -> Result<BTreeSet<String>, Failure> {
    expand(text).map(|names| names.into_iter().collect())
}

/// What a node hears, or why it does not say.
type Heard = Result<DiscoveredHost, Failure>;

impl Sources {
    /// Lets every node introduce itself, and returns what each hears.
    pub fn hear(&self, mut fleet: Fleet) -> Result<Vec<(String, Heard)>, Failure> {
        let only = self.nics.as_deref().map(set).transpose()?;
        let without = self.without()?;
        let wanted = |node: &str, nic: &str| {
            only.as_ref().is_none_or(|only| only.contains(nic)) && !without.has_nic(node, nic)
        };
        for _ in 0..ROUNDS {
            fleet.each(|_| true, Client::introduce);
        }
        std::thread::sleep(WAIT);
        let lists = fleet.each(|_| true, Client::neighbours).into_iter();
        let mut alone: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
        let heard = |(name, list): (String, Result<NeighbourList, Failure>)| {
            let host = list.and_then(|mut list| {
                let nics: Vec<&str> = list.nics.iter().map(|nic| nic.name.as_str()).collect();
                let unknown = |e| Failure::new(Code::Usage, format!("--without {e}"));
                without.check(&name, &nics).map_err(unknown)?;
                // A NIC that is named is used, whatever it carries.
                for nic in list.nics.extract_if(.., |n| only.is_none() && n.management.is_some()) {
                    let why = nic.management.unwrap_or_default();
                    alone.entry((nic.name, why)).or_default().push(name.clone());
                }
                Ok(host::host(&name, &list, &|nic| wanted(&name, nic)))
            });
            (name, host)
        };
        let hosts = lists.map(heard).collect();
        for ((nic, why), hosts) in alone {
            let hosts = output::hostlist(&hosts);
            fail::say(&format!("{nic} of {hosts} is left alone: {why} (--nics names NICs to use)"));
        }
        Ok(hosts)
    }

    /// What all nodes hear. If one fails, all fail, because a draft would lack the cables of that node.
    pub fn hosts(&self, fleet: Fleet) -> Result<Vec<DiscoveredHost>, Failure> {
        let host = |(name, answer): (String, Heard)| {
            answer.map_err(|f| Failure::new(f.code, format!("{name}: {}", f.message)))
        };
        self.hear(fleet)?.into_iter().map(host).collect()
    }

    /// The same, but for these NICs.
    pub fn leave_out(&mut self, nics: &[String]) {
        let names: Vec<String> = self.without.iter().chain(nics).cloned().collect();
        self.without = Some(names.join(",")).filter(|names| !names.is_empty());
    }

    fn without(&self) -> Result<Without, Failure> {
        Ok(Without::new(self.without.as_deref().map_or_else(|| Ok(Vec::new()), expand)?))
    }

    /// What the tables of the switches show.
    pub fn wires(&self, hosts: &[DiscoveredHost], known: Vec<String>) -> Result<Wires, Failure> {
        let source = match (&self.switches, &self.snmp) {
            (Some(directory), _) => Source::Pasted(directory),
            (None, Some(file)) => Source::Snmp(file),
            (None, None) => Source::None,
        };
        source.wires(hosts, known, &self.without()?).map_err(|error| {
            let code = match error {
                SourceError::Silent { .. } => Code::Unreachable,
                SourceError::Without(_) => Code::Usage,
                _ => Code::BadFile,
            };
            Failure::new(code, error)
        })
    }
}
