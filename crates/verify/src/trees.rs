//! Checks that every VLAN of a plan, the base VLAN included, is a spanning tree of the switches. A tree
//! that is a list of links is checked link by link. The trees of meshes and tori are defined by a centre
//! and an order of dimensions, which give each switch one parent that is nearer to the centre; these are
//! spanning trees by construction.

use tresse_base::id::{LinkId, SwitchId, TreeId};
use tresse_plan::{Plan, base_vlan};
use tresse_topology::vlan::Tree;

use super::Finding;

pub(super) fn broken_trees(plan: &Plan) -> Vec<Finding> {
    let try_tree = |id: TreeId| {
        let error = plan.try_tree(id).err()?;
        Some(Finding {
            kind: "not-a-spanning-tree",
            object: plan.specs()[id.index()].name.clone(),
            message: error.to_string(),
        })
    };
    let planned = (0..plan.specs().len()).filter_map(|t| try_tree(t.into()));
    planned.chain(broken_base(plan)).collect()
}

/// The untagged VLAN exists on the switches too: without a tree it is the first storm (K3).
fn broken_base(plan: &Plan) -> Option<Finding> {
    let vid = plan.cluster().vlans.base?;
    let finding = |message: String| Finding {
        kind: "not-a-spanning-tree",
        object: format!("base VLAN {vid}"),
        message,
    };
    let Some((_, links)) = base_vlan(plan) else {
        return Some(finding("the switches are not connected".into()));
    };
    let ends: Vec<_> = links
        .iter()
        .map(|&id| {
            let link = plan.cluster().link(id);
            (id, link.a.switch.0, link.b.switch.0)
        })
        .collect();
    let roots: Vec<SwitchId> = match plan.planes() {
        None => vec![SwitchId(0)],
        Some(planes) => (0..planes.count()).map(|plane| planes.switches(plane)[0]).collect(),
    };
    roots.into_iter().find_map(|root| {
        let is_here = |(_, a, _): &&(LinkId, u32, u32)| plan.joins(root, SwitchId(*a));
        let here: Vec<_> = ends.iter().filter(is_here).copied().collect();
        Tree::of_links(plan.graph(), root, &here).err().map(|e| finding(e.to_string()))
    })
}
