//! Plans the base VLAN: chooses the cables between switches on which frames without a VLAN tag are passed (switch
//! management, DHCP, PXE and broadcast). They form a spanning tree, because a broadcast in a loop of switches would
//! circle for ever (rule K3). No planned path uses this VLAN.

use tresse_base::id::{LinkId, Vid};
use tresse_routing::{Balance, SwitchDemand, least_hops_tree};
use tresse_topology::cluster::Cluster;
use tresse_topology::vlan::TreeLinks;
use tresse_topology::{Components, Graph, Grid};

use super::Plan;
use crate::lock::place;

/// Returns the VID of the base VLAN (the untagged VLAN between switches) and the cables of its tree (K3). The cables
/// that the lock has for this tree are kept; if they do not span the fabric, cables of the tree that the strategy
/// `stp` would choose are added. `None` if the file has no `[vlans] base`, if nodes route, with the strategy `direct`,
/// or if the switches are not connected.
#[must_use]
pub fn base_vlan(plan: &Plan) -> Option<(Vid, Vec<LinkId>)> {
    if plan.cluster().is_untagged() {
        return None;
    }
    let vid = Vid(plan.cluster().vlans.base?);
    let best = best_base(plan)?;
    let cluster = plan.cluster();
    let mut parts = Components::new(cluster.switches.len());
    let mut joins = |id: &LinkId| {
        let link = cluster.link(*id);
        parts.join(link.a.switch.index(), link.b.switch.index())
    };
    let all = base_before(plan).into_iter().chain(best);
    let mut links: Vec<_> = all.filter(|id| joins(id)).collect();
    links.sort_unstable();
    Some((vid, links))
}

/// The cables of the base VLAN's tree before this plan, those that are still there.
fn base_before(plan: &Plan) -> Vec<LinkId> {
    let before = plan.base_before.as_deref();
    before.map_or_else(Vec::new, |text| place::links(&plan.cluster, text))
}

/// The tree with the fewest average hops; of several planes that of each.
fn best_base(plan: &Plan) -> Option<Vec<LinkId>> {
    if let [single] = plan.specs()
        && let TreeLinks::Links(links) = &single.links
        && single.name == "stp"
    {
        return Some(links.clone());
    }
    let cluster = plan.cluster();
    let Some(planes) = plan.planes() else { return best_tree(cluster, plan.graph()) };
    let mut all = Vec::new();
    for plane in 0..planes.count() {
        let of = planes.cluster(cluster, plane);
        let links = best_tree(&of, &Graph::new(&of))?;
        all.extend(links.into_iter().map(|link| planes.links(plane)[link.index()]));
    }
    Some(all)
}

fn best_tree(cluster: &Cluster, graph: &Graph) -> Option<Vec<LinkId>> {
    let mut weights = vec![0u64; cluster.switches.len()];
    for node in &cluster.nodes {
        if let Some(nic) = node.nics.first() {
            weights[nic.switch.index()] += 1;
        }
    }
    let grid = Grid::of(&cluster.kind);
    let slowness = SwitchDemand::of_cluster(cluster, graph, &Balance::of(cluster)).slowness;
    let (links, _) = least_hops_tree(graph, grid.as_ref(), &weights, &slowness).ok()?;
    Some(links)
}
