//! A plan in other programs' words: switch configurations, node scripts, host lists, drawings.
//!
//! Pure text out of a [`Plan`], deterministic; one file per dialect over one intermediate form
//! ([`SwitchConfig`] for switches, [`Wanted`](crate::reconcile::Wanted) for nodes). The order within
//! a switch configuration is K3's: the default VLAN pruned, then ports, VLANs and forwarding
//! entries, and only as the last block spanning tree off.

/// One line into a `String`.
macro_rules! line {
    ($out:expr) => { $out.push('\n') };
    ($out:expr, $($text:tt)*) => {{
        use std::fmt::Write as _;
        writeln!($out, $($text)*).expect("writing to a string cannot fail");
    }};
}

mod bridge;
mod iproute2;
mod spell;
mod switch;
#[cfg(test)]
mod tests;

use std::str::FromStr;

use rayon::prelude::*;

use crate::id::NodeId;
use crate::plan::Plan;

pub use switch::{
    FdbEntry, PortConfig, PortRole, SwitchConfig, VlanConfig, base_vlan, configs as switch_configs,
};

/// What to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// Switch: Linux bridge with VLAN filtering, a shell script over `ip` and `bridge`.
    Bridge,
    /// Node: VLAN interfaces, addresses, neighbours, routes, a shell script over `ip`.
    Iproute2,
}

/// Kinds of object that a format speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subject {
    Switch,
    Node,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportFile {
    /// File name, without a directory.
    pub name: String,
    /// Its content.
    pub text: String,
}

/// What the plan itself does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Is the channel dependency graph cyclic? Then flow control is switched off (K18).
    pub cyclic: bool,
    /// Write static forwarding entries where the dialect has them.
    pub static_fdb: bool,
}

impl Default for Options {
    /// Flow control off, which is safe with any graph, and static forwarding entries.
    fn default() -> Self {
        Self { cyclic: true, static_fdb: true }
    }
}

/// Why nothing was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExportError {
    /// No such format.
    #[error("`{name}` is not an export format: use one of {}", Format::names())]
    UnknownFormat {
        /// The name given.
        name: String,
    },
    /// No such switch, node or VLAN.
    #[error("the plan has no {kind} `{name}`")]
    UnknownObject {
        /// `switch`, `node` or `VLAN`.
        kind: &'static str,
        /// The name given.
        name: String,
    },
}

/// Every format with its names; the first is the one to show.
const FORMATS: &[(Format, Subject, &[&str])] = &[
    (Format::Bridge, Subject::Switch, &["bridge", "linux"]),
    (Format::Iproute2, Subject::Node, &["iproute2", "node"]),
];

impl Format {
    /// Every format, in the order of help texts.
    pub fn all() -> impl Iterator<Item = Self> {
        FORMATS.iter().map(|f| f.0)
    }

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.entry().2[0]
    }

    fn entry(self) -> &'static (Self, Subject, &'static [&'static str]) {
        FORMATS.iter().find(|f| f.0 == self).expect("every format is in the table")
    }

    fn names() -> String {
        FORMATS.iter().map(|f| f.2[0]).collect::<Vec<_>>().join(", ")
    }
}

impl FromStr for Format {
    type Err = ExportError;

    fn from_str(name: &str) -> Result<Self, ExportError> {
        FORMATS
            .iter()
            .find(|f| f.2.contains(&name))
            .map(|f| f.0)
            .ok_or_else(|| ExportError::UnknownFormat { name: name.into() })
    }
}

/// Writes `what` for every switch or node, or for the one named `object`. Files are in index order.
///
/// # Errors
/// [`ExportError::UnknownObject`] where `object` names nothing of the format's kind.
pub fn render(
    plan: &Plan,
    what: Format,
    object: Option<&str>,
    options: Options,
) -> Result<Vec<ExportFile>, ExportError> {
    let cluster = plan.cluster();
    let unknown = |kind, name: &str| ExportError::UnknownObject { kind, name: name.into() };
    match what.entry().1 {
        Subject::Switch => {
            let one = match object {
                Some(name) => {
                    Some(cluster.switch_named(name).ok_or_else(|| unknown("switch", name))?)
                }
                None => None,
            };
            let configs = switch::configs(plan, options);
            let wanted = configs.iter().filter(|c| one.is_none_or(|id| id == c.switch));
            Ok(wanted.flat_map(|c| of_switch(what, c)).collect())
        }
        Subject::Node => {
            let nodes: Vec<_> = match object {
                Some(name) => {
                    vec![cluster.node_named(name).ok_or_else(|| unknown("node", name))?]
                }
                None => (0..cluster.nodes.len()).map(NodeId::from).collect(),
            };
            let files: Vec<_> = nodes.into_par_iter().map(|id| of_node(plan, what, id)).collect();
            Ok(files.into_iter().flatten().collect())
        }
    }
}

fn of_switch(what: Format, config: &SwitchConfig) -> Vec<ExportFile> {
    match what {
        Format::Bridge => bridge::render(config),
        _ => unreachable!("a format of nodes or fabrics"),
    }
}

fn of_node(plan: &Plan, what: Format, id: NodeId) -> Vec<ExportFile> {
    match what {
        Format::Iproute2 => iproute2::render(plan, &plan.slice(id)),
        _ => unreachable!("a format of switches or fabrics"),
    }
}
