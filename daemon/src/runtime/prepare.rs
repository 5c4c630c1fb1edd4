//! From the texts of cluster file and lock to this node's slice, and which node this is (K21).

use std::collections::BTreeSet;

use tresse_control::{NodeError, PathLine, PathList, Problem, SegmentLine};
use tresse_fabric::cluster::{self, Cluster};
use tresse_fabric::id::{NodeId, SwitchId};
use tresse_fabric::lock::Lock;
use tresse_fabric::plan::Plan;
use tresse_fabric::slice::interface_name;
use tresse_fabric::topology::Channel;
use tresse_fabric::units::Mac;

use crate::engine::{Engine, Prepared};

/// How this host is found in a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Identity {
    /// By name, as configured.
    Named(String),
    /// By the MACs of its NICs.
    Macs(BTreeSet<Mac>),
}

/// Plans and takes this node's slice.
///
/// # Errors
/// [`NodeError::BadCluster`] with all problems, [`NodeError::WrongNode`].
pub fn prepare(
    cluster: &str,
    lock: Option<&str>,
    identity: &Identity,
) -> Result<Prepared, NodeError> {
    let plan = plan(cluster, lock)?;
    let node = which(plan.cluster(), identity)?;
    Ok(Prepared::new(&plan, node, cluster.into(), lock.map(Into::into)))
}

/// The paths of one node, with their state as the engine sees it.
///
/// # Errors
/// [`NodeError::NoPlan`]; an unknown destination has no paths.
pub fn paths(engine: &Engine, to: Option<&str>) -> Result<PathList, NodeError> {
    let current = engine.current().ok_or(NodeError::NoPlan)?;
    let plan = plan(&current.cluster, current.lock.as_deref())?;
    let model = plan.cluster();
    let name = |node: NodeId| model.node(node).name.clone();
    let src = current.id;
    let mut lines = Vec::new();
    let shortest = shortest(&plan, src);
    let peers = (0..model.nodes.len()).map(NodeId::from).filter(|n| *n != src);
    for dst in peers.filter(|n| to.is_none_or(|to| model.node(*n).name == to)) {
        let paths = plan.paths(src, dst);
        let hops = |p: &tresse_fabric::path::Path| -> u32 {
            p.segments.iter().map(|s| plan.hops(s)).sum()
        };
        for path in &paths {
            let first = &path.segments[0];
            let vid = plan.vid(first.tree);
            let interface = interface_name(plan.sender(first), first.nic, vid);
            let address = plan.addresses().of_node(dst, true);
            let address = address.or_else(|| plan.addresses().of_node(dst, false));
            let segments = path.segments.iter().map(|s| {
                let mut channels = Vec::new();
                plan.walk(s, &mut channels);
                let sender = plan.sender(s);
                SegmentLine {
                    from: name(s.from),
                    nic: sender.name.clone(),
                    vlan: (!channels.is_empty()).then(|| plan.vid(s.tree).0),
                    switches: switches(&plan, sender.switch, &channels),
                    to: name(s.to),
                    to_nic: plan.receiver(s).name.clone(),
                }
            });
            lines.push(PathLine {
                src: name(src),
                dst: name(dst),
                rank: path.rank,
                weight: path.weight,
                minimal: hops(path) == shortest(dst),
                hops: hops(path),
                segments: segments.collect(),
                state: address
                    .map_or("pending", |a| engine.path_state(&interface, a, path.rank))
                    .into(),
            });
        }
    }
    Ok(PathList { paths: lines })
}

/// The fewest links between any NIC of `src` and any NIC of another node.
fn shortest(plan: &Plan, src: NodeId) -> impl Fn(NodeId) -> u32 + '_ {
    let nics = &plan.cluster().node(src).nics;
    let from: Vec<Vec<u32>> = nics
        .iter()
        .map(|nic| {
            let (mut distance, mut queue) = (Vec::new(), Vec::new());
            plan.graph().distances(nic.switch.0, &mut distance, &mut queue);
            distance
        })
        .collect();
    move |dst| {
        let to = &plan.cluster().node(dst).nics;
        let all = to.iter().flat_map(|nic| from.iter().map(|d| d[nic.switch.index()]));
        all.min().unwrap_or(0)
    }
}

/// The switches that a segment crosses, in order.
fn switches(plan: &Plan, first: SwitchId, channels: &[Channel]) -> Vec<String> {
    let rest = channels.iter().map(|channel| plan.graph().head(*channel));
    let name = |switch: u32| plan.cluster().switch(SwitchId(switch)).name.clone();
    std::iter::once(first.0).chain(rest).map(name).collect()
}

fn plan(cluster: &str, lock: Option<&str>) -> Result<Plan, NodeError> {
    let model = cluster::parse(cluster, "cluster file").map_err(|found| {
        let problem = |p: &cluster::Problem| Problem {
            line: u32::try_from(p.line).unwrap_or(0),
            column: u32::try_from(p.column).unwrap_or(0),
            message: match &p.help {
                Some(help) => format!("{}; {help}", p.message),
                None => p.message.clone(),
            },
        };
        NodeError::BadCluster { problems: found.problems.iter().map(problem).collect() }
    })?;
    let whole = |message: String| NodeError::BadCluster {
        problems: vec![Problem { line: 0, column: 0, message }],
    };
    let lock = match lock {
        Some(text) => Lock::parse(text).map_err(|e| whole(format!("tresse.lock: {e}")))?,
        None => Lock::default(),
    };
    Plan::build_with(model, &lock).map_err(|e| whole(e.to_string()))
}

fn which(cluster: &Cluster, identity: &Identity) -> Result<NodeId, NodeError> {
    match identity {
        Identity::Named(name) => cluster.node_named(name).ok_or_else(|| NodeError::WrongNode {
            message: format!("the plan has no node `{name}`: correct `node` in tressed.toml"),
        }),
        Identity::Macs(macs) => {
            let has = |node: &cluster::Node| {
                node.nics.iter().any(|nic| !nic.mac_derived && macs.contains(&nic.mac))
            };
            let mut found = cluster.nodes.iter().enumerate().filter(|(_, node)| has(node));
            match (found.next(), found.next()) {
                (Some((index, _)), None) => Ok(NodeId::from(index)),
                (Some((_, a)), Some((_, b))) => Err(NodeError::WrongNode {
                    message: format!(
                        "NICs of this host belong to {} and to {}: run `tresse macs`",
                        a.name, b.name
                    ),
                }),
                (None, _) => Err(NodeError::WrongNode {
                    message: format!(
                        "no node of the plan has a NIC of this host ({}): run `tresse macs`, or \
                         set `node` in tressed.toml",
                        macs.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
                    ),
                }),
            }
        }
    }
}
