//! The management guard (K19): refuses changes to an interface that an administrator may be logged
//! in over, and checks that the route to each management peer is unchanged.

use std::collections::BTreeMap;

use tresse_control::NodeError;
use tresse_reconcile::{
    ALL_FORWARDING, Operation, is_accept_ra, is_force_forwarding, sysctl_interface,
};

/// Refuses operations that could cut off an administrator: changes of the state, MTU, addresses or
/// sysctls of a guarded interface (one that carries management traffic), sysctls that act on all
/// interfaces, and routes that cover the address of a management peer. Interfaces on top of a
/// guarded one, such as VLAN interfaces, may be added, and the sysctls of IPv6 forwarding may be
/// written (K7).
///
/// `guarded` has the reason for each interface; the keys of `management` are the peers.
///
/// # Errors
/// [`NodeError::WouldLockOut`] naming the first refused operation.
pub fn permits<'a>(
    operations: impl IntoIterator<Item = &'a Operation>,
    guarded: &BTreeMap<String, String>,
    management: &BTreeMap<String, String>,
) -> Result<(), NodeError> {
    for operation in operations {
        let touched = match operation {
            Operation::ChangeLink { name, .. }
            | Operation::SetLinkState { name, .. }
            | Operation::DeleteLink { name } => Some(name.as_str()),
            Operation::AddAddress { interface, .. }
            | Operation::DeleteAddress { interface, .. } => Some(interface.as_str()),
            // Nothing changes for a peer: router advertisements are accepted before and after (K7), and what
            // an interface forwards is not for this node.
            Operation::WriteSysctl { key, .. }
                if key == ALL_FORWARDING || is_accept_ra(key) || forwards(key) =>
            {
                None
            }
            Operation::WriteSysctl { key, .. } => {
                if key.split('/').any(|part| part == "all") {
                    return Err(lockout("all", operation, "the sysctl acts on every interface"));
                }
                sysctl_interface(key)
            }
            // A default route of ours comes after all others: whether it changes anything is seen afterwards.
            Operation::AddRoute { dst, .. } if dst.len > 0 => {
                let taken = management
                    .keys()
                    .find(|peer| peer.parse().is_ok_and(|address| dst.contains(address)));
                if let Some(peer) = taken {
                    let why = format!("management peer {peer} would be reached through the fabric");
                    return Err(lockout(peer, operation, &why));
                }
                None
            }
            _ => None,
        };
        if let Some((interface, why)) = touched.and_then(|t| guarded.get_key_value(t)) {
            return Err(lockout(interface, operation, why));
        }
    }
    Ok(())
}

/// Does a sysctl decide whether one interface forwards?
fn forwards(key: &str) -> bool {
    sysctl_interface(key).is_some() && (key.ends_with("/forwarding") || is_force_forwarding(key))
}

/// Checks that a change of the kernel has not changed the route to any management peer. The maps
/// have the route to each peer before and after the change, as text. A peer that is missing in
/// `after` is ignored.
///
/// # Errors
/// [`NodeError::WouldLockOut`] naming the first peer whose route differs.
pub fn unchanged(
    before: &BTreeMap<String, String>,
    after: &BTreeMap<String, String>,
) -> Result<(), NodeError> {
    for (peer, was) in before {
        if let Some(is) = after.get(peer).filter(|is| *is != was) {
            return Err(NodeError::WouldLockOut {
                interface: peer.clone(),
                message: format!("the route to this management peer was `{was}` and became `{is}`"),
            });
        }
    }
    Ok(())
}

fn lockout(interface: &str, operation: &Operation, why: &str) -> NodeError {
    NodeError::WouldLockOut {
        interface: interface.into(),
        message: format!(
            "refused to {}: {why}; --force does it nevertheless",
            operation.describe()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_additive_acts_pass_on_a_guarded_interface() {
        let guarded = BTreeMap::from([("eth0".to_owned(), "the default route".to_owned())]);
        let management = BTreeMap::from([("192.0.2.9".to_owned(), "dev eth0".to_owned())]);
        let permits = |operation: &Operation| permits([operation], &guarded, &management);
        let address = "10.78.0.1".parse().unwrap();
        let sysctl = |key: &str| Operation::WriteSysctl {
            key: key.into(),
            value: "1".into(),
            before: Some("0".into()),
        };
        for refused in [
            Operation::SetLinkState { name: "eth0".into(), up: true },
            Operation::ChangeLink {
                name: "eth0".into(),
                mtu: 9000,
                alias: String::new(),
                mac: None,
            },
            Operation::DeleteLink { name: "eth0".into() },
            Operation::AddAddress { interface: "eth0".into(), address },
            Operation::DeleteAddress { interface: "eth0".into(), address },
            sysctl("net/ipv4/conf/eth0/rp_filter"),
            sysctl("net/ipv4/conf/all/forwarding"),
        ] {
            assert!(permits(&refused).is_err(), "{refused:?}");
        }
        for allowed in [
            Operation::SetLinkState { name: "eth0.100".into(), up: true },
            Operation::AddAddress { interface: "eth0.100".into(), address },
            sysctl("net/ipv4/conf/eth0.100/rp_filter"),
            sysctl("net/ipv4/fib_multipath_hash_policy"),
            sysctl("net/ipv6/conf/all/forwarding"),
            sysctl("net/ipv6/conf/eth0/accept_ra"),
            sysctl("net/ipv4/conf/eth0/forwarding"),
            sysctl("net/ipv6/conf/eth0/force_forwarding"),
        ] {
            assert_eq!(permits(&allowed), Ok(()));
        }
    }

    #[test]
    fn a_changed_way_to_a_peer_is_found() {
        let route = |text: &str| BTreeMap::from([("192.0.2.9".to_owned(), text.to_owned())]);
        assert_eq!(unchanged(&route("dev eth0"), &route("dev eth0")), Ok(()));
        assert_eq!(unchanged(&route("dev eth0"), &BTreeMap::new()), Ok(()));
        assert!(unchanged(&route("dev eth0"), &route("dev eth0.100")).is_err());
    }
}
