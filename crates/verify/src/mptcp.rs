//! Reports nodes that have more NIC addresses than the kernel can hold MPTCP endpoints, if the plan has
//! `[routing] mptcp = true`.

use tresse_base::kernel::ENDPOINTS_MAX;
use tresse_plan::Plan;

use super::Finding;

/// Returns a finding on nodes with more NIC addresses than a kernel holds endpoints.
pub(super) fn beyond_the_kernel(plan: &Plan) -> Option<Finding> {
    if !plan.cluster().routing.mptcp {
        return None;
    }
    let addresses = |nics: &Vec<Vec<_>>| nics.iter().map(Vec::len).sum::<usize>();
    let of_nodes = plan.addresses().nic.iter().map(addresses).enumerate();
    let beyond: Vec<_> = of_nodes.filter(|(_, addresses)| *addresses > ENDPOINTS_MAX).collect();
    let (first, addresses) = *beyond.first()?;
    Some(Finding {
        kind: "mptcp-endpoints",
        object: plan.cluster().nodes[first].name.clone(),
        message: format!(
            "{} nodes, this one first, have more NIC addresses ({addresses} here) than the \
             {ENDPOINTS_MAX} MPTCP endpoints that a kernel holds: no subflow starts from those after \
             them",
            beyond.len()
        ),
    })
}
