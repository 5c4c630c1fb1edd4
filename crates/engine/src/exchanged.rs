//! Addresses that nodes exchange between two plans. While plans change a node holds the addresses of both, and the
//! kernel refuses a gateway that is an address of its own; and programs that know such an address would reach another
//! node than before. So a plan of this kind is refused.

use std::collections::BTreeMap;
use std::net::IpAddr;

use tresse_control::NodeError;

use super::prepared::Prepared;

/// Refuses a plan in which an address of this node is what another node has in the plan in force, or the other way
/// round. A machine that takes another's place as a node has that node's address from then on.
pub(super) fn refuse(current: &Prepared, new: &Prepared) -> Result<(), NodeError> {
    let given = |old: &Prepared, of: &Prepared| {
        let others = others(old);
        let mut own = of.wanted.addresses.iter().map(|(_, address)| *address);
        own.find_map(|address| {
            let other = others.get(&address).filter(|other| **other != of.node)?;
            Some((address, (*other).to_owned()))
        })
    };
    let (address, whose) = if let Some((address, node)) = given(current, new) {
        (address, format!("this node's in the new plan and {node}'s in the plan in force"))
    } else if let Some((address, node)) = given(new, current) {
        (address, format!("{node}'s in the new plan and this node's in the plan in force"))
    } else {
        return Ok(());
    };
    let message = format!(
        "it is {whose}: whoever knows the address would reach another node. Plan with the tresse.lock of the \
         plan in force beside the cluster file, which keeps addresses as long as `[addressing] layout`, `grow_to` and the sizes \
         of direct tori and meshes stay. If one of these has changed, no lock keeps them: give `[addressing] nodes` and `nics` \
         prefixes apart from those in force, so that no address changes its owner; or run `tresse withdraw` on every node first"
    );
    Err(NodeError::Refused { object: address.to_string(), message })
}

/// The addresses of other nodes that this node sends to, with their names.
fn others(plan: &Prepared) -> BTreeMap<IpAddr, &str> {
    let gateways = plan.wanted.neighbours.iter().filter_map(|((_, via), neighbour)| {
        plan.index.nic(neighbour.mac).map(|(node, _)| (*via, node))
    });
    let destinations = plan.index.pairs().flat_map(|pair| {
        let node = plan.index.node(pair[0].id.dst);
        pair[0].nexthops.iter().map(move |(to, _)| (to.address, node))
    });
    gateways.chain(destinations).collect()
}
