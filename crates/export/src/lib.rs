//! A plan in other programs' words: switch configurations, node scripts, host lists, drawings.
//!
//! Pure text out of a [`Plan`], deterministic; one file per dialect over one intermediate form
//! ([`SwitchConfig`] for switches, [`Wanted`](tresse_reconcile::Wanted) for nodes). The order within
//! a switch configuration is K3's: the default VLAN pruned, then ports, VLANs and forwarding
//! entries, and only as the last block spanning tree off.
#![forbid(unsafe_code)]

/// One line into a `String`.
macro_rules! line {
    ($out:expr) => { $out.push('\n') };
    ($out:expr, $($text:tt)*) => {{
        use std::fmt::Write as _;
        writeln!($out, $($text)*).expect("writing to a string cannot fail");
    }};
}

mod bridge;
mod containerlab;
mod dot;
mod eos;
mod hosts;
mod ios;
mod iproute2;
mod junos;
mod keep;
mod networkd;
mod openvswitch;
mod preamble;
mod routeros;
mod sonic;
mod spell;
mod switch;
#[cfg(test)]
mod tests;

use std::str::FromStr;

use rayon::prelude::*;
use tresse_base::id::{NodeId, TreeId, Vid};
use tresse_plan::Plan;
use tresse_slice::Slice;

pub use switch::{
    FdbEntry, PortConfig, PortRole, SwitchConfig, VlanConfig, configs as switch_configs,
};

/// What to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// Switch: Linux bridge with VLAN filtering, a shell script over `ip` and `bridge`.
    Bridge,
    /// Switch: Open vSwitch, a shell script over `ovs-vsctl`.
    OpenVswitch,
    /// Switch: SONiC, a part of `config_db.json`.
    Sonic,
    /// Switch: Cisco IOS and IOS XE.
    Ios,
    /// Switch: Arista EOS.
    Eos,
    /// Switch: Juniper Junos with Enhanced Layer 2 Software.
    Junos,
    /// Switch: MikroTik RouterOS 7.
    RouterOs,
    /// Node: VLAN interfaces, addresses, neighbours, routes, a shell script over `ip`.
    Iproute2,
    /// Node: the same as systemd-networkd units.
    Networkd,
    /// Fabric: `/etc/hosts`.
    Hosts,
    /// Fabric: an MPI hostfile.
    Hostfile,
    /// Fabric: Slurm's `topology.conf`.
    Slurm,
    /// Fabric: a Graphviz drawing; an object is a VID or a tree's name to bring out.
    Dot,
    /// Fabric: a containerlab topology.
    Containerlab,
}

/// Kinds of object that a format speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subject {
    Switch,
    Node,
    Fabric,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportFile {
    /// File name; networkd's are below a directory named after the node.
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
    /// Switches of a fabric without VLANs need nothing set.
    #[error(
        "this fabric has no VLANs: its switches carry one untagged network each and need no configuration"
    )]
    NothingToSet,
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
    /// The format describes the fabric as a whole.
    #[error("`{format}` describes the whole fabric and takes no object: leave `{name}` out")]
    NoObject {
        /// The format.
        format: &'static str,
        /// The name given.
        name: String,
    },
    /// A VLAN that the switches keep for themselves.
    #[error(
        "{system} keeps VLAN {vid} for itself and the plan has it: leave it out of `[vlans] range`, \
         as in \"{range}\""
    )]
    Reserved {
        /// The switches' system.
        system: &'static str,
        /// The VID.
        vid: Vid,
        /// What may be used.
        range: &'static str,
    },
    /// More VLANs than a switch holds, while it has those of two plans.
    #[error(
        "switch `{switch}` would have {vlans} VLANs with those of the plan before, and max_vlans = \
         {limit}: change in two steps, by way of a plan with `strategy = \"stp\"`"
    )]
    TooManyKept {
        /// The switch.
        switch: String,
        /// VLANs of both plans.
        vlans: usize,
        /// What it holds.
        limit: u32,
    },
    /// Only switches keep the VLANs of a plan before.
    #[error("`{format}` is no switch configuration: leave the plan to keep out")]
    NoKeep {
        /// The format.
        format: &'static str,
    },
    /// The VLANs of two plans side by side, at ports that carry one.
    #[error(
        "`--keep`: every port of these switches is in one VLAN, untagged, and cannot be in an older one too: \
         configure each switch in one go, and move the cables that `tresse plan --against` counts with it"
    )]
    OneVlanEach,
    /// Paths with transit nodes in a format without labels.
    #[error("`{format}` knows no labels and node `{node}` needs them: use iproute2")]
    Labels {
        /// The format.
        format: &'static str,
        /// The node.
        node: String,
    },
}

/// Every format with its names; the first is the one to show.
const FORMATS: &[(Format, Subject, &[&str])] = &[
    (Format::Bridge, Subject::Switch, &["bridge", "linux"]),
    (Format::OpenVswitch, Subject::Switch, &["openvswitch", "ovs"]),
    (Format::Sonic, Subject::Switch, &["sonic"]),
    (Format::Ios, Subject::Switch, &["ios", "cisco"]),
    (Format::Eos, Subject::Switch, &["eos", "arista"]),
    (Format::Junos, Subject::Switch, &["junos", "juniper"]),
    (Format::RouterOs, Subject::Switch, &["routeros", "mikrotik"]),
    (Format::Iproute2, Subject::Node, &["iproute2", "node"]),
    (Format::Networkd, Subject::Node, &["networkd"]),
    (Format::Hosts, Subject::Fabric, &["hosts"]),
    (Format::Hostfile, Subject::Fabric, &["hostfile", "mpi"]),
    (Format::Slurm, Subject::Fabric, &["slurm", "topology.conf"]),
    (Format::Dot, Subject::Fabric, &["dot", "graphviz"]),
    (Format::Containerlab, Subject::Fabric, &["containerlab", "clab"]),
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

/// What every switch does while the plan changes from `old` to `plan`: the VLANs of both (the export's
/// `--keep`). Both are planned with the same lock.
///
/// # Errors
/// A switch that cannot hold both.
pub fn switch_configs_keeping(
    plan: &Plan,
    old: &Plan,
    options: Options,
) -> Result<Vec<SwitchConfig>, ExportError> {
    keep::configs(plan, old, options)
}

/// The iproute2 script of the node whose slice this is, with whatever state that wants.
#[must_use]
pub fn node_script(plan: &Plan, slice: &Slice) -> String {
    iproute2::render(plan, slice).into_iter().map(|file| file.text).collect()
}

/// Writes `what` for every switch or node, or for the one named `object`. Files are in index order.
///
/// # Errors
/// [`ExportError`] where `object` names nothing of the format's kind or the format cannot say it.
pub fn render(
    plan: &Plan,
    what: Format,
    object: Option<&str>,
    options: Options,
) -> Result<Vec<ExportFile>, ExportError> {
    render_keeping(plan, None, what, object, options)
}

/// [`render`], for switches with the VLANs of the plan `keep` beside those of `plan`: for the time of
/// a change. Both are planned with the same lock.
///
/// # Errors
/// As [`render`]; a format that is not for switches; a switch that cannot hold both.
pub fn render_keeping(
    plan: &Plan,
    keep: Option<&Plan>,
    what: Format,
    object: Option<&str>,
    options: Options,
) -> Result<Vec<ExportFile>, ExportError> {
    let cluster = plan.cluster();
    let sets_nothing = cluster.is_untagged() && !cluster.kind.shares_switches();
    if sets_nothing && matches!(what.entry().1, Subject::Switch) {
        return Err(ExportError::NothingToSet);
    }
    let unknown = |kind, name: &str| ExportError::UnknownObject { kind, name: name.into() };
    if keep.is_some() && !matches!(what.entry().1, Subject::Switch) {
        return Err(ExportError::NoKeep { format: what.name() });
    }
    if keep.is_some() && cluster.kind.shares_switches() {
        return Err(ExportError::OneVlanEach);
    }
    match what.entry().1 {
        Subject::Switch => {
            let one = match object {
                Some(name) => {
                    Some(cluster.switch_named(name).ok_or_else(|| unknown("switch", name))?)
                }
                None => None,
            };
            refuse_reserved(plan, what)?;
            let configs = match keep {
                Some(old) => keep::configs(plan, old, options)?,
                None => switch::configs(plan, options),
            };
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
            let files: Vec<_> = nodes
                .into_par_iter()
                .map(|id| {
                    let slice = Slice::of(plan, id);
                    match what {
                        Format::Networkd => networkd::render(plan, &slice),
                        _ => Ok(iproute2::render(plan, &slice)),
                    }
                })
                .collect::<Result<_, _>>()?;
            Ok(files.into_iter().flatten().collect())
        }
        Subject::Fabric => {
            let options = Options { static_fdb: false, ..options };
            match (what, object) {
                (Format::Dot, None) => Ok(dot::render(plan, &switch::configs(plan, options), None)),
                (Format::Dot, Some(name)) => {
                    let vid = vlan_named(plan, name).ok_or_else(|| unknown("VLAN", name))?;
                    Ok(dot::render(plan, &switch::configs(plan, options), Some(vid)))
                }
                (_, Some(name)) => {
                    Err(ExportError::NoObject { format: what.name(), name: name.into() })
                }
                (Format::Hosts, None) => Ok(hosts::hosts(plan)),
                (Format::Hostfile, None) => Ok(hosts::hostfile(plan)),
                (Format::Slurm, None) => Ok(hosts::slurm(plan)),
                (_, None) => Ok(containerlab::render(plan)),
            }
        }
    }
}

/// The default VLAN is no tagged tree on switches that treat it apart, and Catalyst switches keep the
/// default VLANs of FDDI and Token Ring.
fn refuse_reserved(plan: &Plan, what: Format) -> Result<(), ExportError> {
    let lines: Vec<Vid> = plan.lines().iter().map(|line| line.vid).collect();
    let trees = || (0..plan.specs().len()).map(|tree| plan.vid(tree.into())).chain(lines.clone());
    let base = plan.cluster().vlans.base.map(Vid);
    let ring = |vid: &Vid| (1002..=1005).contains(&vid.0);
    let (system, range, vid) = match what {
        Format::Ios => {
            let vid = trees().find(|vid| vid.0 == 1 || ring(vid));
            ("IOS", "2-1001,1006-4094", vid.or(base.filter(ring)))
        }
        Format::Sonic => ("SONiC", "2-4094", trees().find(|vid| vid.0 == 1)),
        _ => return Ok(()),
    };
    vid.map_or(Ok(()), |vid| Err(ExportError::Reserved { system, vid, range }))
}

fn of_switch(what: Format, config: &SwitchConfig) -> Vec<ExportFile> {
    match what {
        Format::OpenVswitch => openvswitch::render(config),
        Format::Sonic => sonic::render(config),
        Format::Ios => ios::render(config),
        Format::Eos => eos::render(config),
        Format::Junos => junos::render(config),
        Format::RouterOs => routeros::render(config),
        _ => bridge::render(config),
    }
}

/// A VLAN by VID, or by the name of its tree or line.
fn vlan_named(plan: &Plan, name: &str) -> Option<Vid> {
    let trees = plan.specs().iter().enumerate();
    let trees = trees.map(|(tree, spec)| (spec.name.clone(), plan.vid(TreeId::from(tree))));
    let lines = plan.lines().into_iter().map(|line| (line.name, line.vid));
    let vid: Option<u16> = name.parse().ok();
    let mut all = trees.chain(lines);
    let known = all.find(|(own, of)| own == name || Some(of.0) == vid).map(|(_, vid)| vid);
    known.or(vid.filter(|vid| plan.cluster().vlans.base == Some(*vid)).map(Vid))
}
