//! From the texts of cluster file and lock to this node's slice, and which node this is (K21).

use std::collections::BTreeSet;

use tresse_control::{NodeError, PathLine, PathList, Problem, SegmentLine};
use tresse_fabric::cluster::{self, Cluster};
use tresse_fabric::id::NodeId;
use tresse_fabric::lock::Lock;
use tresse_fabric::path::Path;
use tresse_fabric::plan::{PathView, Plan, SegmentView};
use tresse_fabric::units::Mac;
use tresse_fabric::verify;
use tresse_fabric::watch::Watches;

use crate::engine::{Engine, PathPlace, Prepared};

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
    accept(&plan)?;
    let node = which(plan.cluster(), identity)?;
    let mut prepared = Prepared::new(&plan, node, cluster.into(), lock.map(Into::into));
    prepared.watches = Watches::new(&plan, node).into();
    Ok(prepared)
}

/// The paths of a slice that was made while none were watched; none where its texts are no plan.
pub(super) fn watches(prepared: &Prepared) -> Watches {
    let plan = plan(&prepared.cluster, prepared.lock.as_deref()).ok();
    let node = plan.as_ref().and_then(|plan| plan.cluster().node_named(&prepared.node));
    plan.zip(node).map(|(plan, node)| Watches::new(&plan, node)).unwrap_or_default()
}

/// The paths of one node, with their state as the engine sees it.
///
/// # Errors
/// [`NodeError::NoPlan`], [`NodeError::WrongNode`] where the stored plan lacks this node; an unknown
/// destination has no paths.
pub fn paths(engine: &Engine, to: Option<&str>) -> Result<PathList, NodeError> {
    let current = engine.current().ok_or(NodeError::NoPlan)?;
    let plan = plan(&current.cluster, current.lock.as_deref())?;
    // By name: a damaged state file may hold an index that its plan does not have.
    let src = which(plan.cluster(), &Identity::Named(current.node.clone()))?;
    let peers = (0..plan.cluster().nodes.len()).map(NodeId::from).filter(|n| *n != src);
    let mut lines = Vec::new();
    for dst in peers.filter(|n| to.is_none_or(|to| plan.cluster().node(*n).name == to)) {
        let paths = plan.paths(src, dst);
        let addresses = plan.addresses();
        let Some(address) = addresses.of_node(dst, true).or_else(|| addresses.of_node(dst, false))
        else {
            continue;
        };
        let carriers = paths.iter().filter(|path| path.weight > 0).count();
        let hop = |path: &Path| tresse_fabric::slice::first_hop(&plan, path, address.is_ipv4());
        let unused: Vec<Option<&str>> =
            paths.iter().map(|path| engine.unused(&hop(path)?)).collect();
        // Where all that carry are not used the first that is takes their place.
        let next = unused[..carriers].iter().all(Option::is_some);
        let whole = |why: &Option<&str>| *why != Some("broken");
        let first = || unused.iter().position(Option::is_none);
        let first = || first().or_else(|| unused.iter().position(whole));
        let next = next.then(first).flatten();
        for (at, path) in paths.into_iter().enumerate() {
            let place = match at {
                _ if next == Some(at) => PathPlace::Next,
                _ if path.weight > 0 => PathPlace::Carrier,
                _ if at == carriers => PathPlace::FirstBackup,
                _ => PathPlace::Backup,
            };
            let first = &path.segments[0];
            let interface = plan.interface(src, first.nic, first.tree);
            let state = engine.path_state(&interface, address, place);
            // What is kept free is used where there is nothing else.
            let state = unused[at].filter(|_| next != Some(at)).unwrap_or(state);
            lines.push(line(plan.path_view(&path), state));
        }
    }
    Ok(PathList { paths: lines })
}

fn line(view: PathView, state: &str) -> PathLine {
    let segment = |s: SegmentView| SegmentLine {
        from: s.from,
        nic: s.nic,
        vlan: s.vlan.map(|vid| vid.0),
        switches: s.switches,
        to: s.to,
        to_nic: s.to_nic,
    };
    PathLine {
        src: view.src,
        dst: view.dst,
        rank: view.rank,
        weight: view.weight,
        minimal: view.minimal,
        hops: view.hops,
        segments: view.segments.into_iter().map(segment).collect(),
        state: state.into(),
    }
}

/// What `tresse check` calls a violation is not installed.
fn accept(plan: &Plan) -> Result<(), NodeError> {
    verify::accept_quickly(plan).map_err(|found| NodeError::BadCluster {
        problems: found
            .iter()
            .map(|f| Problem { line: 0, column: 0, message: f.to_string() })
            .collect(),
    })
}

fn whole(message: String) -> NodeError {
    NodeError::BadCluster { problems: vec![Problem { line: 0, column: 0, message }] }
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
