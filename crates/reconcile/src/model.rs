//! A fake kernel for tests: an [`Observed`](crate::Observed) that follows the rules of Linux which a wrong order of
//! operations would violate. Never part of the daemon.
//!
//! Source: K1, K2, K15, K16, and experiments on Linux 6.18: routes through nexthop objects survive
//! the last IPv4 address of their device, permanent neighbours do not; deleting an IPv4 address
//! deletes the routes with that source, deleting an IPv6 address does not.

mod links;
mod routes;
mod state;

pub use state::KernelModel;

use tresse_base::id::Label;

use self::state::Outcome;
use super::{
    ENDPOINTS_MAX, GuardRule, METRIC_PRIMARY, ObservedIngress, ObservedMptcp, ObservedNexthop,
    ObservedRoute, ObservedTableRoute, Operation, PLATFORM_LABELS, PROTOCOL,
};

/// Error: the fake kernel refuses an operation, as Linux would.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{operation}: {errno}")]
pub struct ModelError {
    /// The operation.
    pub operation: String,
    /// Name of the errno.
    pub errno: &'static str,
}

impl KernelModel {
    /// Executes one operation as the kernel would.
    ///
    /// # Errors
    /// The errno that the kernel would return.
    pub fn apply(&mut self, operation: &Operation) -> Result<(), ModelError> {
        self.act(operation).map_err(|errno| ModelError { operation: operation.to_string(), errno })
    }

    fn act(&mut self, operation: &Operation) -> Outcome {
        match operation {
            Operation::AddLink { name, link, mtu, alias, mac } => {
                self.add_link(name, link, *mtu, alias, *mac)
            }
            Operation::ChangeLink { name, mtu, alias, mac } => {
                let link = self.link(name)?;
                link.mac = mac.or(link.mac);
                link.mtu = *mtu;
                link.alias = Some(alias.clone());
                Ok(())
            }
            Operation::SetLinkState { name, up } => self.set_up(name, *up),
            Operation::DeleteLink { name } => {
                if !self.link(name)?.is_ours() {
                    self.damage.push(format!("{operation}"));
                }
                self.remove_link(name);
                Ok(())
            }
            Operation::WriteSysctl { key, value, .. } => {
                let now = self.observed.sysctls.get_mut(key).ok_or("ENOENT")?;
                now.clone_from(value);
                if key == PLATFORM_LABELS {
                    let limit = Label(value.parse().map_err(|_| "EINVAL")?);
                    for (_, lost) in self.observed.labels.split_off(&limit) {
                        self.note(lost.protocol, operation);
                    }
                }
                Ok(())
            }
            Operation::AddAddress { interface, address } => self.add_address(interface, *address),
            Operation::DeleteAddress { interface, address } => {
                self.delete_address(interface, *address)
            }
            Operation::AddNeighbour { interface, address, mac, replace } => {
                self.add_neighbour(interface, *address, *mac, *replace)
            }
            Operation::DeleteNeighbour { interface, address } => {
                let key = (interface.clone(), *address);
                let old = self.observed.neighbours.remove(&key).ok_or("ENOENT")?;
                self.note(old.protocol, operation);
                Ok(())
            }
            Operation::AddFdb { interface, mac, at, replace } => {
                self.add_fdb(interface, *mac, *at, *replace)
            }
            Operation::DeleteFdb { interface, mac } => {
                let there = self.observed.fdb.remove(&(interface.clone(), *mac)).is_some();
                if there { Ok(()) } else { Err("ENOENT") }
            }
            Operation::AddNexthop { id, interface, via, labels } => {
                if self.observed.nexthops.contains_key(id) {
                    return Err("EEXIST");
                }
                let link = self.link(interface)?;
                if !link.up || !link.carrier {
                    return Err("ENETDOWN");
                }
                let nexthop = ObservedNexthop {
                    protocol: PROTOCOL,
                    interface: Some(interface.clone()),
                    via: Some(*via),
                    labels: labels.clone(),
                    group: Vec::new(),
                };
                self.observed.nexthops.insert(*id, nexthop);
                Ok(())
            }
            Operation::AddGroup { id, members, replace } => {
                let members = members.iter().map(|(m, w)| (*m, u16::from(*w))).collect();
                self.add_group(*id, members, *replace)
            }
            Operation::DeleteNexthop { id } => {
                let old = self.observed.nexthops.get(id).ok_or("ENOENT")?;
                self.note(old.protocol, operation);
                self.remove_nexthop(*id);
                Ok(())
            }
            Operation::AddRoute { dst, metric, group, src, mtu, advmss, replace } => {
                let route = ObservedRoute {
                    protocol: PROTOCOL,
                    nexthop: Some(*group),
                    interface: None,
                    src: *src,
                    mtu: *mtu,
                    advmss: *advmss,
                };
                self.add_route((*dst, *metric), route, *replace)
            }
            Operation::DeleteRoute { dst, metric } => {
                let old = self.observed.routes.remove(&(*dst, *metric)).ok_or("ESRCH")?;
                self.note(old.protocol, operation);
                Ok(())
            }
            Operation::AddUnreachable { dst } => {
                match self.observed.unreachable.insert(*dst, PROTOCOL) {
                    None => Ok(()),
                    Some(_) => Err("EEXIST"),
                }
            }
            Operation::DeleteUnreachable { dst } => {
                let old = self.observed.unreachable.remove(dst).ok_or("ESRCH")?;
                self.note(old, operation);
                Ok(())
            }
            Operation::AddTableRoute { table, dst, interface, via, replace } => {
                let (interface, via) = (Some(interface.clone()), Some(*via));
                let table_route = ObservedTableRoute { protocol: PROTOCOL, interface, via };
                self.add_table_route((*table, *dst, METRIC_PRIMARY), table_route, *replace)
            }
            Operation::DeleteTableRoute { table, dst } => {
                let key = (*table, *dst, METRIC_PRIMARY);
                let old = self.observed.table_routes.remove(&key).ok_or("ESRCH")?;
                self.note(old.protocol, operation);
                Ok(())
            }
            Operation::AddRule { rule } => {
                if self.observed.rules.insert(rule.clone()) {
                    Ok(())
                } else {
                    Err("EEXIST")
                }
            }
            Operation::DeleteRule { rule } => {
                if self.observed.rules.remove(rule) {
                    Ok(())
                } else {
                    Err("ENOENT")
                }
            }
            Operation::AddSourceRule { rule } => {
                let new = self.observed.source_rules.insert(rule.clone());
                if new { Ok(()) } else { Err("EEXIST") }
            }
            Operation::DeleteSourceRule { rule } => {
                let there = self.observed.source_rules.remove(rule);
                if there { Ok(()) } else { Err("ENOENT") }
            }
            Operation::AddGuardRule { rule } => {
                let new = self.observed.guard.insert(rule.clone());
                if new { Ok(()) } else { Err("EEXIST") }
            }
            Operation::DeleteGuardRule { rule } => {
                let there = self.observed.guard.remove(rule);
                if there { Ok(()) } else { Err("ENOENT") }
            }
            Operation::AddLocalRule { ipv4 } => {
                let new = self.observed.local_rules.insert(*ipv4);
                if new { Ok(()) } else { Err("EEXIST") }
            }
            Operation::DeleteLocalRule { ipv4 } => {
                let instead = GuardRule::Local { ipv4: *ipv4 };
                if !self.observed.guard.contains(&instead) {
                    self.damage.push(operation.to_string());
                }
                let there = self.observed.local_rules.remove(ipv4);
                if there { Ok(()) } else { Err("ENOENT") }
            }
            Operation::AddEndpoint { id, address } => self.add_endpoint(*id, *address),
            Operation::DeleteEndpoint { id, .. } => {
                let mptcp = self.observed.mptcp.as_mut().ok_or("ENOENT")?;
                let old = mptcp.endpoints.remove(id).ok_or("EINVAL")?;
                if !ObservedMptcp::is_ours(*id, &old) {
                    self.damage.push(operation.to_string());
                }
                Ok(())
            }
            Operation::LimitSubflows { limit, .. } => {
                self.observed.mptcp.as_mut().ok_or("ENOENT")?.subflows = *limit;
                if *limit as usize > ENDPOINTS_MAX { Err("EINVAL") } else { Ok(()) }
            }
            Operation::AddLabel { label, nexthop, replace } => {
                self.add_label(*label, nexthop, *replace)
            }
            Operation::DeleteLabel { label, .. } => {
                let old = self.observed.labels.remove(label).ok_or("ESRCH")?;
                self.note(old.protocol, operation);
                Ok(())
            }
            Operation::AddIngress { interface } => {
                self.link(interface)?;
                let new = ObservedIngress::default();
                match self.observed.ingress.insert(interface.clone(), new) {
                    None => Ok(()),
                    Some(_) => Err("EEXIST"),
                }
            }
            Operation::DeleteIngress { interface } => {
                let old = self.observed.ingress.remove(interface).ok_or("EINVAL")?;
                if old.foreign {
                    self.damage.push(operation.to_string());
                }
                Ok(())
            }
            Operation::AddFilter { interface, handle, source } => {
                let ingress = self.observed.ingress.get_mut(interface).ok_or("EINVAL")?;
                let new = match source {
                    Some(mac) => ingress.passed.insert(*handle, *mac).is_none(),
                    None => ingress.dropped.insert(*handle),
                };
                if new { Ok(()) } else { Err("EEXIST") }
            }
            Operation::DeleteFilter { interface, handle, source } => {
                let ingress = self.observed.ingress.get_mut(interface).ok_or("EINVAL")?;
                let there = match source {
                    Some(_) => ingress.passed.remove(handle).is_some(),
                    None => ingress.dropped.remove(handle),
                };
                if there { Ok(()) } else { Err("ENOENT") }
            }
        }
    }
}
