//! Exports a plan: checks that the named switch, node or VLAN exists and that the format can express the
//! plan, then calls the code of the format.

use rayon::prelude::*;
use tresse_base::id::{NodeId, TreeId, Vid};
use tresse_base::text::nearest;
use tresse_plan::Plan;
use tresse_slice::Slice;

use crate::format::Format;
use crate::switch::{self, SwitchConfig};
use crate::{ExportError, ExportFile, ExportOptions};
use crate::{
    bridge, containerlab, dot, eos, hosts, ios, iproute2, junos, keep, mpi, networkd, openvswitch,
    routeros, sonic,
};

/// Returns a shell script of `ip` commands that creates on a node the interfaces, addresses and routes
/// of `slice`, the part of the plan that concerns this node.
#[must_use]
pub fn node_script(plan: &Plan, slice: &Slice) -> String {
    iproute2::render(plan, slice).into_iter().map(|file| file.text).collect()
}

/// Returns the files that the export format `what` writes for `plan`: those of every switch or of every
/// node, in index order, or those of the whole fabric. `object` limits them to the switch or node of
/// this name; for the format `dot` it is the VLAN to highlight.
///
/// # Errors
/// [`ExportError`] if `object` does not exist in the plan, or if the format cannot express the plan.
pub fn render(
    plan: &Plan,
    what: Format,
    object: Option<&str>,
    options: ExportOptions,
) -> Result<Vec<ExportFile>, ExportError> {
    render_keeping(plan, None, what, object, options)
}

/// Like [`render`], for switches that must carry the VLANs of two plans while nodes change from the plan
/// `keep` to `plan`. Both plans must be made with the same lock (the file that keeps VIDs as they are).
///
/// # Errors
/// As for [`render`]. Also if `keep` is given and the format does not describe switches, or a switch
/// cannot hold the VLANs of both plans.
pub fn render_keeping(
    plan: &Plan,
    keep: Option<&Plan>,
    what: Format,
    object: Option<&str>,
    options: ExportOptions,
) -> Result<Vec<ExportFile>, ExportError> {
    let cluster = plan.cluster();
    let sets_nothing = cluster.is_untagged() && !cluster.kind.shares_switches();
    let writer = Writer::of(what);
    let of_switches = matches!(writer, Writer::Switch(_));
    if of_switches {
        if cluster.switches.is_empty() {
            return Err(ExportError::NoSwitches);
        } else if sets_nothing {
            return Err(ExportError::NothingToSet);
        }
    }
    if keep.is_some() && !of_switches {
        return Err(ExportError::NoKeep { format: what.name() });
    }
    if keep.is_some() && cluster.kind.shares_switches() {
        return Err(ExportError::OneVlanEach);
    }
    match writer {
        Writer::Switch(write) => {
            let one = match object {
                Some(name) => {
                    Some(cluster.switch_named(name).ok_or_else(|| unknown_switch(plan, name))?)
                }
                None => None,
            };
            refuse_reserved(plan, what)?;
            let configs = match keep {
                Some(old) => keep::configs(plan, old, options)?,
                None => switch::configs(plan, options),
            };
            let wanted = configs.iter().filter(|c| one.is_none_or(|id| id == c.switch));
            Ok(wanted.flat_map(write).collect())
        }
        Writer::Node(write) => {
            let nodes: Vec<_> = match object {
                Some(name) => {
                    vec![cluster.node_named(name).ok_or_else(|| unknown_node(plan, name))?]
                }
                None => (0..cluster.nodes.len()).map(NodeId::from).collect(),
            };
            let files: Vec<_> = nodes
                .into_par_iter()
                .map(|id| write(plan, &Slice::of(plan, id)))
                .collect::<Result<_, _>>()?;
            Ok(files.into_iter().flatten().collect())
        }
        Writer::Drawing => {
            let vid = match object {
                Some(name) => Some(vlan_named(plan, name).ok_or_else(|| unknown_vlan(plan, name))?),
                None => None,
            };
            let options = ExportOptions { static_fdb: false, ..options };
            Ok(dot::render(plan, &switch::configs(plan, options), vid))
        }
        Writer::Fabric(write) => match object {
            Some(name) => Err(ExportError::NoObject { format: what.name(), name: name.into() }),
            None => Ok(write(plan)),
        },
    }
}

/// The function that writes a format. The variant says what the format describes.
pub(crate) enum Writer {
    /// Configures a switch.
    Switch(fn(&SwitchConfig) -> Vec<ExportFile>),
    /// Configures a node.
    Node(fn(&Plan, &Slice) -> Result<Vec<ExportFile>, ExportError>),
    /// Draws the fabric, and may highlight a VLAN in it.
    Drawing,
    /// Describes the fabric.
    Fabric(fn(&Plan) -> Vec<ExportFile>),
}

impl Writer {
    /// Returns the writer of a format.
    pub(crate) fn of(format: Format) -> Self {
        match format {
            Format::Bridge => Self::Switch(bridge::render),
            Format::OpenVswitch => Self::Switch(openvswitch::render),
            Format::Sonic => Self::Switch(sonic::render),
            Format::Ios => Self::Switch(ios::render),
            Format::Eos => Self::Switch(eos::render),
            Format::Junos => Self::Switch(junos::render),
            Format::RouterOs => Self::Switch(routeros::render),
            Format::Iproute2 => Self::Node(|plan, slice| Ok(iproute2::render(plan, slice))),
            Format::Networkd => Self::Node(networkd::render),
            Format::Dot => Self::Drawing,
            Format::Hosts => Self::Fabric(hosts::hosts),
            Format::Hostfile => Self::Fabric(mpi::hostfile),
            Format::OpenMpiRules => Self::Fabric(mpi::openmpi_rules),
            Format::Slurm => Self::Fabric(hosts::slurm),
            Format::Containerlab => Self::Fabric(containerlab::render),
        }
    }
}

/// Refuses plans that use VLANs which the switch reserves: the default VLAN, and on Catalyst
/// switches those of FDDI and Token Ring.
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

/// Finds a VLAN by VID, or by the name of its tree or line.
fn vlan_named(plan: &Plan, name: &str) -> Option<Vid> {
    let trees = plan.specs().iter().enumerate();
    let trees = trees.map(|(tree, spec)| (spec.name.clone(), plan.vid(TreeId::from(tree))));
    let lines = plan.lines().into_iter().map(|line| (line.name, line.vid));
    let vid: Option<u16> = name.parse().ok();
    let mut all = trees.chain(lines);
    let known = all.find(|(own, of)| own == name || Some(of.0) == vid).map(|(_, vid)| vid);
    known.or(vid.filter(|vid| plan.cluster().vlans.base == Some(*vid)).map(Vid))
}

fn unknown_switch(plan: &Plan, name: &str) -> ExportError {
    let names = plan.cluster().switches.iter().map(|switch| switch.name.as_str());
    unknown("switch", name, nearest(name, names), "`tresse export FILE FORMAT` lists them")
}

fn unknown_node(plan: &Plan, name: &str) -> ExportError {
    let names = plan.cluster().nodes.iter().map(|node| node.name.as_str());
    unknown("node", name, nearest(name, names), "`tresse plan FILE` lists them")
}

fn unknown_vlan(plan: &Plan, name: &str) -> ExportError {
    let names = plan.specs().iter().map(|spec| spec.name.as_str());
    unknown("VLAN", name, nearest(name, names), "`tresse plan FILE` lists them")
}

fn unknown(kind: &'static str, name: &str, near: Option<&str>, listed: &str) -> ExportError {
    let help = near.map_or_else(|| listed.to_owned(), |near| format!("did you mean `{near}`?"));
    ExportError::UnknownObject { kind, name: name.into(), help }
}
