//! A fake kernel: [`Observed`] with the rules of Linux that a wrong order of operations would
//! trip over. Support for tests; never part of the daemon.
//!
//! Source: K1, K2, K15, K16, and what was seen in a namespace on 6.18: routes through nexthop
//! objects outlive the last IPv4 address of their device, permanent neighbours do not; deleting an
//! IPv4 address deletes the routes that have it as source, deleting an IPv6 address does not.

use std::net::IpAddr;

use super::{
    ALIAS_PREFIX, ENDPOINTS_MAX, LinkKind, METRIC_PRIMARY, Observed, ObservedAddress,
    ObservedEndpoint, ObservedIngress, ObservedLabel, ObservedLink, ObservedMptcp,
    ObservedNeighbour, ObservedNexthop, ObservedRoute, ObservedTurn, Operation, PLATFORM_LABELS,
    PROTOCOL, TurnKey, WantedLabel, sysctl_interface,
};
use crate::id::Label;
use crate::units::{Mac, Prefix};

/// Why the kernel refuses an operation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{operation}: {errno}")]
pub struct ModelError {
    /// The operation.
    pub operation: String,
    /// The errno's name.
    pub errno: &'static str,
}

/// The state of one network namespace.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Model {
    /// What a dump shows.
    pub observed: Observed,
    /// Does the kernel keep IFA_PROTO (5.18 and later)?
    pub ifa_proto: bool,
    /// Sysctl files below an interface's directory, `net/ipv4/conf/*/rp_filter`, with the value
    /// that a new interface gets.
    pub sysctls: Vec<(String, String)>,
    /// Foreign objects that were harmed, in words.
    pub damage: Vec<String>,
}

type Outcome = Result<(), &'static str>;

impl Model {
    /// Executes one operation as the kernel would.
    ///
    /// # Errors
    /// The errno that the kernel would answer.
    pub fn apply(&mut self, operation: &Operation) -> Result<(), ModelError> {
        self.act(operation).map_err(|errno| ModelError { operation: operation.to_string(), errno })
    }

    fn act(&mut self, operation: &Operation) -> Outcome {
        match operation {
            Operation::AddLink { name, link, mtu, alias } => self.add_link(name, link, *mtu, alias),
            Operation::ChangeLink { name, mtu, alias } => {
                let link = self.link(name)?;
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
            Operation::AddTurn { table, dst, interface, via, replace } => {
                let (interface, via) = (Some(interface.clone()), Some(*via));
                let turn = ObservedTurn { protocol: PROTOCOL, interface, via };
                self.add_turn((*table, *dst, METRIC_PRIMARY), turn, *replace)
            }
            Operation::DeleteTurn { table, dst } => {
                let key = (*table, *dst, METRIC_PRIMARY);
                let old = self.observed.turns.remove(&key).ok_or("ESRCH")?;
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
            Operation::AddFromRule { rule } => {
                let new = self.observed.from_rules.insert(rule.clone());
                if new { Ok(()) } else { Err("EEXIST") }
            }
            Operation::DeleteFromRule { rule } => {
                let there = self.observed.from_rules.remove(rule);
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
            Operation::AddLabel { label, way, replace } => self.add_label(*label, way, *replace),
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

    fn add_label(&mut self, label: Label, way: &WantedLabel, replace: bool) -> Outcome {
        self.link(&way.interface)?;
        let limit = self.observed.sysctls.get(PLATFORM_LABELS).and_then(|v| v.parse().ok());
        if limit.is_none_or(|limit: u32| label.0 >= limit) {
            return Err("EINVAL");
        }
        match self.observed.labels.get(&label) {
            Some(_) if !replace => return Err("EEXIST"),
            None if replace => return Err("ENOENT"),
            Some(old) if old.protocol != PROTOCOL => {
                self.damage.push(format!("label {}", label.0));
            }
            _ => {}
        }
        let (interface, via) = (Some(way.interface.clone()), Some(way.via));
        let route = ObservedLabel { protocol: PROTOCOL, interface, via, swap: Vec::new() };
        self.observed.labels.insert(label, route);
        Ok(())
    }

    fn add_endpoint(&mut self, id: u8, address: IpAddr) -> Outcome {
        let endpoints = &mut self.observed.mptcp.as_mut().ok_or("ENOENT")?.endpoints;
        if endpoints.len() == ENDPOINTS_MAX || endpoints.values().any(|e| e.address == address) {
            return Err("ERANGE");
        }
        match endpoints.insert(id, ObservedEndpoint { address, plain: true }) {
            None => Ok(()),
            Some(_) => Err("EEXIST"),
        }
    }

    fn add_turn(&mut self, key: TurnKey, turn: ObservedTurn, replace: bool) -> Outcome {
        let link = self.link(turn.interface.as_deref().unwrap_or_default())?;
        if !link.up {
            return Err("ENETDOWN");
        }
        match self.observed.turns.get(&key) {
            Some(_) if !replace => return Err("EEXIST"),
            None if replace => return Err("ENOENT"),
            Some(old) if old.protocol != PROTOCOL => {
                self.damage.push(format!("route {} table {}", key.1, key.0));
            }
            _ => {}
        }
        self.observed.turns.insert(key, turn);
        Ok(())
    }

    fn note(&mut self, protocol: u8, operation: &Operation) {
        if protocol != PROTOCOL {
            self.damage.push(operation.to_string());
        }
    }

    fn link(&mut self, name: &str) -> Result<&mut ObservedLink, &'static str> {
        self.observed.links.get_mut(name).ok_or("ENODEV")
    }

    fn add_link(&mut self, name: &str, kind: &LinkKind, mtu: u32, alias: &str) -> Outcome {
        if self.observed.links.contains_key(name) {
            return Err("EEXIST");
        }
        if self
            .observed
            .links
            .values()
            .any(|l| matches!(kind, LinkKind::Vlan { .. }) && l.kind.as_ref() == Some(kind))
        {
            return Err("EEXIST");
        }
        let mac = match kind {
            LinkKind::Vlan { parent, .. } => {
                let parent = self.link(parent)?;
                if parent.mtu < mtu {
                    return Err("ERANGE");
                }
                parent.mac
            }
            LinkKind::Dummy | LinkKind::Tun => None,
        };
        let index = self.observed.links.values().map(|l| l.index).max().unwrap_or_default() + 1;
        let link = ObservedLink {
            index,
            kind: Some(kind.clone()),
            mac,
            mtu,
            up: false,
            carrier: false,
            alias: Some(alias.into()),
            master: None,
            lower: match kind {
                LinkKind::Vlan { parent, .. } => Some(parent.clone()),
                LinkKind::Dummy | LinkKind::Tun => None,
            },
        };
        self.observed.links.insert(name.into(), link);
        for (pattern, value) in &self.sysctls {
            self.observed.sysctls.insert(pattern.replace('*', name), value.clone());
        }
        Ok(())
    }

    fn set_up(&mut self, name: &str, up: bool) -> Outcome {
        let parent = match &self.link(name)?.kind {
            Some(LinkKind::Vlan { parent, .. }) => Some(parent.clone()),
            _ => None,
        };
        let carrier = match parent {
            Some(parent) => {
                let parent = self.link(&parent)?;
                if up && !parent.up {
                    return Err("ENETDOWN");
                }
                parent.carrier
            }
            None => true,
        };
        let link = self.link(name)?;
        link.up = up;
        link.carrier = up && carrier;
        if !up {
            self.flush_nexthops(name);
            self.observed.neighbours.retain(|key, _| key.0 != name);
            self.observed.addresses.retain(|key, _| key.0 != name || key.1.is_ipv4());
            self.flush_routes(name, |_| true);
        }
        Ok(())
    }

    fn add_address(&mut self, interface: &str, address: IpAddr) -> Outcome {
        self.link(interface)?;
        let key = (interface.to_owned(), address);
        if self.observed.addresses.contains_key(&key) {
            return Err("EEXIST");
        }
        let protocol = if self.ifa_proto { PROTOCOL } else { 0 };
        let len = Prefix::host(address).len;
        self.observed.addresses.insert(key, ObservedAddress { len, protocol });
        Ok(())
    }

    fn delete_address(&mut self, interface: &str, address: IpAddr) -> Outcome {
        let key = (interface.to_owned(), address);
        let old = self.observed.addresses.remove(&key).ok_or("EADDRNOTAVAIL")?;
        if old.len != Prefix::host(address).len {
            self.damage.push(format!("address {address} dev {interface}"));
        }
        if address.is_ipv4() && !self.observed.addresses.keys().any(|k| k.1 == address) {
            self.drop_routes(|_, route| route.src == Some(address), "its source was deleted");
        }
        let last = !self.observed.addresses.keys().any(|k| k.0 == interface && k.1.is_ipv4());
        if address.is_ipv4() && last {
            let flushed = |k: &(String, IpAddr)| k.0 == interface && k.1.is_ipv4();
            for (key, neighbour) in &self.observed.neighbours {
                if flushed(key) {
                    self.damage.push(format!("{neighbour:?} lost with the last address"));
                }
            }
            self.observed.neighbours.retain(|key, _| !flushed(key));
            self.flush_routes(interface, |dst| dst.address.is_ipv4());
        }
        Ok(())
    }

    fn add_neighbour(
        &mut self,
        interface: &str,
        address: IpAddr,
        mac: Mac,
        replace: bool,
    ) -> Outcome {
        if !self.link(interface)?.up {
            return Err("ENETDOWN");
        }
        let key = (interface.to_owned(), address);
        if let Some(old) = self.observed.neighbours.get(&key) {
            if !replace {
                return Err("EEXIST");
            }
            if old.protocol != PROTOCOL {
                self.damage.push(format!("neighbour {address} dev {interface}"));
            }
        }
        self.observed.neighbours.insert(key, ObservedNeighbour { mac, protocol: PROTOCOL });
        Ok(())
    }

    fn add_group(&mut self, id: u32, group: Vec<(u32, u16)>, replace: bool) -> Outcome {
        let mut seen = std::collections::BTreeSet::new();
        for (member, _) in &group {
            if !seen.insert(*member) {
                return Err("EINVAL");
            }
            if !self.observed.nexthops.get(member).is_some_and(|n| n.group.is_empty()) {
                return Err("EINVAL");
            }
        }
        if group.is_empty() {
            return Err("EINVAL");
        }
        if let Some(old) = self.observed.nexthops.get(&id) {
            if !replace {
                return Err("EEXIST");
            }
            if old.group.is_empty() {
                return Err("EINVAL");
            }
            if old.protocol != PROTOCOL || self.foreign_user(id) {
                self.damage.push(format!("group {id:#x}"));
            }
        }
        let (interface, via, labels) = (None, None, Vec::new());
        let nexthop = ObservedNexthop { protocol: PROTOCOL, interface, via, labels, group };
        self.observed.nexthops.insert(id, nexthop);
        Ok(())
    }

    fn foreign_user(&self, id: u32) -> bool {
        self.observed.routes.values().any(|r| r.nexthop == Some(id) && r.protocol != PROTOCOL)
    }

    fn add_route(&mut self, key: (Prefix, u32), route: ObservedRoute, replace: bool) -> Outcome {
        if !route.nexthop.is_some_and(|id| self.observed.nexthops.contains_key(&id)) {
            return Err("EINVAL");
        }
        if let Some(src) = route.src
            && !self.observed.addresses.keys().any(|k| k.1 == src)
        {
            return Err("EINVAL");
        }
        if let Some(old) = self.observed.routes.get(&key) {
            if !replace {
                return Err("EEXIST");
            }
            if old.protocol != PROTOCOL {
                self.damage.push(format!("route {} metric {}", key.0, key.1));
            }
        }
        self.observed.routes.insert(key, route);
        Ok(())
    }

    /// Deletes a nexthop or group: groups shrink, emptied groups and routes go with it.
    fn remove_nexthop(&mut self, id: u32) {
        self.observed.nexthops.remove(&id);
        self.drop_routes(|_, route| route.nexthop == Some(id), "its nexthop was deleted");
        let mut emptied = Vec::new();
        for (group, nexthop) in &mut self.observed.nexthops {
            if nexthop.group.iter().any(|m| m.0 == id) {
                nexthop.group.retain(|m| m.0 != id);
                if nexthop.group.is_empty() {
                    emptied.push(*group);
                }
                if nexthop.protocol != PROTOCOL {
                    self.damage.push(format!("group {group:#x} lost a member"));
                }
            }
        }
        for group in emptied {
            self.remove_nexthop(group);
        }
    }

    fn flush_nexthops(&mut self, interface: &str) {
        let on = |n: &ObservedNexthop| n.interface.as_deref() == Some(interface);
        let nexthops = self.observed.nexthops.iter();
        let ids: Vec<u32> = nexthops.filter(|(_, n)| on(n)).map(|(id, _)| *id).collect();
        for id in ids {
            self.remove_nexthop(id);
        }
    }

    fn flush_routes(&mut self, interface: &str, family: impl Fn(&Prefix) -> bool) {
        let on = |dst: &Prefix, r: &ObservedRoute| {
            family(dst) && r.interface.as_deref() == Some(interface)
        };
        let damage = &mut self.damage;
        self.observed.turns.retain(|(table, dst, _), turn| {
            let goes = family(dst) && turn.interface.as_deref() == Some(interface);
            if goes && turn.protocol != PROTOCOL {
                damage.push(format!("route {dst} table {table}: its interface was flushed"));
            }
            !goes
        });
        self.drop_routes(on, "its interface was flushed");
    }

    fn drop_routes(&mut self, which: impl Fn(&Prefix, &ObservedRoute) -> bool, why: &str) {
        let damage = &mut self.damage;
        self.observed.routes.retain(|(dst, metric), route| {
            let goes = which(dst, route);
            if goes && route.protocol != PROTOCOL {
                damage.push(format!("route {dst} metric {metric}: {why}"));
            }
            !goes
        });
    }

    /// An interface vanishes, with all that hangs on it.
    pub fn remove_link(&mut self, name: &str) {
        let stacked: Vec<String> = self
            .observed
            .links
            .iter()
            .filter(
                |(_, l)| matches!(&l.kind, Some(LinkKind::Vlan { parent, .. }) if parent == name),
            )
            .map(|(name, _)| name.clone())
            .collect();
        for name in stacked {
            self.remove_link(&name);
        }
        self.flush_nexthops(name);
        self.flush_routes(name, |_| true);
        let observed = &mut self.observed;
        observed.neighbours.retain(|key, _| key.0 != name);
        observed.ingress.remove(name);
        let damage = &mut self.damage;
        observed.labels.retain(|label, route| {
            let goes = route.interface.as_deref() == Some(name);
            if goes && route.protocol != PROTOCOL {
                damage.push(format!("label {}: its interface vanished", label.0));
            }
            !goes
        });
        let sources: Vec<IpAddr> =
            observed.addresses.keys().filter(|k| k.0 == name).map(|k| k.1).collect();
        observed.addresses.retain(|key, _| key.0 != name);
        observed.sysctls.retain(|key, _| sysctl_interface(key) != Some(name));
        observed.links.remove(name);
        self.drop_routes(
            |_, r| r.src.is_some_and(|src| src.is_ipv4() && sources.contains(&src)),
            "its source vanished",
        );
    }

    /// A cable is pulled or plugged in: the interface and the VLAN interfaces on it.
    pub fn set_carrier(&mut self, name: &str, carrier: bool) {
        let mut changed = vec![name.to_owned()];
        for (vlan, link) in &self.observed.links {
            if matches!(&link.kind, Some(LinkKind::Vlan { parent, .. }) if parent == name) {
                changed.push(vlan.clone());
            }
        }
        for name in changed {
            if let Some(link) = self.observed.links.get_mut(&name) {
                link.carrier = carrier && link.up;
            }
            if !carrier {
                self.flush_nexthops(&name);
            }
        }
    }

    /// A foreign hand sets an interface up or down.
    pub fn set_admin(&mut self, name: &str, up: bool) {
        let vlans: Vec<String> = self
            .observed
            .links
            .iter()
            .filter(
                |(_, l)| matches!(&l.kind, Some(LinkKind::Vlan { parent, .. }) if parent == name),
            )
            .map(|(name, _)| name.clone())
            .collect();
        if !up {
            for vlan in vlans {
                let _ = self.set_up(&vlan, false);
            }
        }
        let _ = self.set_up(name, up);
    }

    /// A copy of the observation without what can never be restored: ifindexes.
    #[must_use]
    pub fn comparable(&self) -> Observed {
        let mut observed = self.observed.clone();
        for link in observed.links.values_mut() {
            link.index = 0;
            if link.alias.as_deref().is_some_and(|a| a.starts_with(ALIAS_PREFIX)) {
                link.carrier &= link.up;
            }
        }
        observed
    }
}
