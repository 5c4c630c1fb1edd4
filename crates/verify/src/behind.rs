//! What is behind nodes. The routes to it are those to the address of a node ([`Plan::behind`]), so what is proven of nodes
//! holds for networks; what is lost with a node is not.

use tresse_plan::Plan;
use tresse_topology::cluster::Node;

use crate::Finding;

/// Returns notes on networks behind nodes and on gateways.
pub(super) fn notes(plan: &Plan) -> Vec<Finding> {
    let nodes = &plan.cluster().nodes;
    let owners: Vec<&Node> = nodes.iter().filter(|node| !node.prefixes.is_empty()).collect();
    let mut gateways: Vec<&Node> = nodes.iter().filter(|node| node.gateway).collect();
    gateways.sort_by_key(|node| node.gateway_order);
    let owned = owners.first().map(|first| {
        let networks: usize = owners.iter().map(|node| node.prefixes.len()).sum();
        let message = format!(
            "networks behind nodes: {networks}, nodes: {}, this one first. All others reach them as they reach these, and lose them \
             with these",
            owners.len()
        );
        Finding { kind: "networks", object: first.name.clone(), message }
    });
    let led = gateways.first().map(|first| {
        let order: Vec<&str> = gateways.iter().map(|node| node.name.as_str()).collect();
        let by = match plan.node_routes() {
            Some(_) => " by a tunnel (VXLAN), with less room in each packet",
            None => "",
        };
        let message = format!(
            "nodes without a default route of their own use the first of these gateways that they can reach{by}: {}",
            order.join(", ")
        );
        Finding { kind: "gateways", object: first.name.clone(), message }
    });
    [owned, led].into_iter().flatten().collect()
}
