//! Formats the names of node pairs, of links and of NICs for the findings of `tresse check`.

use tresse_base::id::{LinkId, NodeId};
use tresse_plan::Plan;

use super::Finding;

/// Returns a finding about a pair, if there is one.
pub(super) fn of_pair(
    plan: &Plan,
    kind: &'static str,
    found: Option<(NodeId, NodeId)>,
    message: &str,
) -> Option<Finding> {
    let (s, d) = found?;
    Some(Finding { kind, object: pair_name(plan, s, d), message: message.into() })
}

/// Returns node and name of the NIC with number `nic`, given each node's first number.
pub(super) fn nic_name(plan: &Plan, first_nic: &[usize], nic: usize) -> String {
    let node = first_nic.partition_point(|first| *first <= nic) - 1;
    let of = &plan.cluster().nodes[node];
    format!("{} {}", of.name, of.nics[nic - first_nic[node]].name)
}

/// Returns the names of the two switches that a link joins.
pub(super) fn link_name(plan: &Plan, link: LinkId) -> String {
    let cluster = plan.cluster();
    let link = cluster.link(link);
    format!("{}-{}", cluster.switch(link.a.switch).name, cluster.switch(link.b.switch).name)
}

pub(super) fn pair_name(plan: &Plan, s: NodeId, d: NodeId) -> String {
    format!("{} {}", plan.cluster().node(s).name, plan.cluster().node(d).name)
}
