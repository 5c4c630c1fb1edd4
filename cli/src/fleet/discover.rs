//! `tresse discover`: drafts a cluster file from the LLDP frames that the nodes receive from
//! switches and from each other.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde::Serialize;
use tresse_cluster::discover::{Discovered, DiscoveredHost, DiscoveredNic, LldpSender};
use tresse_control::{Client, FORMAT, LldpLine, NeighbourList};

use super::nodes::{Fleet, FleetArgs};
use crate::fail::{Code, Failure};
use crate::output;

/// How often nodes introduce themselves, as a frame may be lost.
const ROUNDS: usize = 2;
/// How long to wait until the last frame has arrived.
const WAIT: Duration = Duration::from_secs(1);

/// Arguments of `tresse discover`, which drafts a cluster file from the LLDP frames that the nodes
/// receive.
#[derive(Debug, Args)]
pub struct Discover {
    /// The nodes, by the names that the launcher knows: n[00-15] or several.
    #[arg(required = true, value_name = "NODES")]
    nodes: Vec<String>,
    /// Use only these interfaces: eth[1-4],enp5s0. Default: all Ethernet NICs.
    #[arg(long, value_name = "NICS")]
    nics: Option<String>,
    /// Leave out these interfaces, such as those of the management network.
    #[arg(long, value_name = "NICS")]
    without: Option<String>,
    /// Write the draft to this file, which must not exist yet.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    fleet: FleetArgs,
}

#[derive(Serialize)]
struct Answer<'a> {
    format: u32,
    cluster: &'a str,
}

impl Discover {
    /// Asks every node, and prints or writes the draft of the cluster file.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        let mut names = Vec::new();
        for text in &self.nodes {
            let more = expand(text)?;
            names.extend(more.into_iter().filter(|name| !names.contains(name)).collect::<Vec<_>>());
        }
        let only = self.nics.as_deref().map(set).transpose()?;
        let without = self.without.as_deref().map_or_else(|| Ok(BTreeSet::new()), set)?;
        let mut fleet = self.fleet.fleet(self.fleet.without(names)?, None);
        for _ in 0..ROUNDS {
            all(&mut fleet, Client::introduce)?;
        }
        std::thread::sleep(WAIT);
        let lists = all(&mut fleet, Client::neighbours)?;
        let wanted = |name: &str| {
            only.as_ref().is_none_or(|only| only.contains(name)) && !without.contains(name)
        };
        let hosts: Vec<DiscoveredHost> =
            lists.iter().map(|(name, list)| host(name, list, &wanted)).collect();
        let draft = Discovered::of(&hosts).draft();
        let draft = draft.map_err(|e| Failure::new(Code::Fault, e.to_string()))?;
        if let Some(path) = &self.output {
            let file = std::fs::File::options().write(true).create_new(true).open(path);
            let wrong = |e| Failure::new(Code::Usage, format!("{}: {e}", path.display()));
            file.and_then(|mut file| file.write_all(draft.as_bytes())).map_err(wrong)?;
        }
        let mut out = output::stdout();
        if json {
            output::json_line(&mut out, &Answer { format: FORMAT, cluster: &draft })?;
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

fn expand(text: &str) -> Result<Vec<String>, Failure> {
    tresse_base::hostlist::expand_all(text)
        .map_err(|e| Failure::new(Code::Usage, format!("`{text}`: {e}")))
}

fn set(text: &str) -> Result<BTreeSet<String>, Failure> {
    expand(text).map(|names| names.into_iter().collect())
}

/// The answers of all nodes. If one fails, all fail, because the draft would lack the cables of that node.
fn all<T: Send>(
    fleet: &mut Fleet,
    ask: impl Fn(&mut Client) -> Result<T, tresse_control::ClientError> + Sync,
) -> Result<Vec<(String, T)>, Failure> {
    let answers = fleet.each(|_| true, ask).into_iter();
    let named = |(name, answer): (String, Result<T, Failure>)| match answer {
        Ok(answer) => Ok((name, answer)),
        Err(failure) => Err(Failure::new(failure.code, format!("{name}: {}", failure.message))),
    };
    answers.map(named).collect()
}

fn host(name: &str, list: &NeighbourList, wanted: &impl Fn(&str) -> bool) -> DiscoveredHost {
    let nics = list.nics.iter().filter(|nic| wanted(&nic.name)).filter_map(|nic| {
        Some(DiscoveredNic {
            name: nic.name.clone(),
            mac: nic.mac.as_ref()?.parse().ok()?,
            carrier: nic.carrier,
            heard: nic.lldp.iter().filter_map(heard).collect(),
        })
    });
    DiscoveredHost { name: name.to_owned(), nics: nics.collect() }
}

fn heard(line: &LldpLine) -> Option<LldpSender> {
    let described = || line.description.clone().unwrap_or_default();
    Some(LldpSender {
        device: line.system.clone().unwrap_or_else(|| line.chassis.clone()),
        port: if line.port_mac.is_some() { described() } else { line.port.clone() },
        mac: line.port_mac.as_ref().unwrap_or(&line.source).parse().ok()?,
        flooded: line.flooded,
    })
}
