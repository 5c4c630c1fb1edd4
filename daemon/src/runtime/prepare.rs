//! Computes this node's part of a plan from the texts of cluster file and lock file, and finds out
//! which node of the plan this host is (K21).

use std::collections::BTreeSet;
use std::sync::Arc;

use tresse_base::id::NodeId;
use tresse_base::units::Mac;
use tresse_control::{NodeError, Problem};
use tresse_engine::{Index, Prepared, Stored};
use tresse_plan::Plan;
use tresse_plan::lock::Lock;
use tresse_reconcile::{LinkKind, Wanted};
use tresse_slice::Slice;
use tresse_slice::watch::Watches;
use tresse_topology::cluster::Cluster;
use tresse_verify as verify;

/// By what this host finds its own node in a plan: its name or the MAC addresses of its NICs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Identity {
    /// By the configured name.
    Named(String),
    /// By the MAC addresses of its NICs.
    Macs(BTreeSet<Mac>),
}

/// Computes the plan from the texts of cluster file and lock file, checks it, and returns the part
/// of the node that `identity` names.
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
    prepared.index = Index::new(&plan, node).into();
    Ok(prepared)
}

/// Adds to stored plans what is not stored, the index, and chooses the paths to watch anew: an older version may have
/// chosen fewer. A plan whose texts cannot be read is left as it is.
pub(super) fn complete(stored: &mut Stored) {
    for prepared in [&mut stored.current, &mut stored.previous].into_iter().flatten() {
        let Ok(plan) = plan(&prepared.cluster, prepared.lock.as_deref()) else { continue };
        // By name, because a damaged state file may hold an index that its plan does not have.
        let Some(node) = plan.cluster().node_named(&prepared.node) else { continue };
        let prepared = Arc::make_mut(prepared);
        prepared.index = Index::new(&plan, node).into();
        prepared.watches = Watches::new(&plan, node).into();
        // Nor had an older version the rules that keep packets of the fabric inside it, all sysctls, and the tunnel to gateways.
        let Wanted { guard, sysctls, mut links, mut addresses, behind, ends, back, .. } =
            Slice::of(&plan, node).wanted;
        links.retain(|_, link| matches!(link.kind, LinkKind::Vxlan { .. }));
        addresses.retain(|(interface, _)| links.contains_key(interface));
        let wanted = &mut prepared.wanted;
        (wanted.guard, wanted.behind, wanted.ends, wanted.back) = (guard, behind, ends, back);
        wanted.links.extend(links);
        wanted.addresses.extend(addresses);
        for (key, value) in sysctls {
            wanted.sysctls.entry(key).or_insert(value);
        }
    }
}

/// Refuses a plan with a violation that [`verify::accept_quickly`] finds, which checks less than
/// `tresse check`: whether each switch can hold its VLANs and pass large enough frames. Only if a plan
/// with VLANs must be lossless are all paths checked too.
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
    let model = tresse_cluster::parse(cluster, "cluster file").map_err(|found| {
        let problem = |p: &tresse_base::problem::Problem| Problem {
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
        Identity::Named(name) => cluster.node_on(name).ok_or_else(|| NodeError::WrongNode {
            message: match cluster.node_named(name) {
                Some(node) => format!(
                    "node `{name}` is the machine `{}` now, which replaces this one",
                    cluster.machine(node)
                ),
                None => format!("the plan has no node `{name}`: correct `node` in tressed.toml"),
            },
        }),
        Identity::Macs(macs) => {
            let has = |node: &tresse_topology::cluster::Node| {
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
