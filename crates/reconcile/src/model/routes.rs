//! The nexthops, routes of all tables, label routes and MPTCP endpoints of the fake kernel.

use std::net::IpAddr;

use tresse_base::id::Label;
use tresse_base::units::Prefix;

use super::state::{KernelModel, Outcome};
use crate::{
    ENDPOINTS_MAX, ObservedEndpoint, ObservedLabel, ObservedNexthop, ObservedRoute,
    ObservedTableRoute, PLATFORM_LABELS, PROTOCOL, TableRouteKey, WantedLabel,
};

impl KernelModel {
    pub(super) fn add_label(
        &mut self,
        label: Label,
        nexthop: &WantedLabel,
        replace: bool,
    ) -> Outcome {
        self.link(&nexthop.interface)?;
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
        let (interface, via) = (Some(nexthop.interface.clone()), Some(nexthop.via));
        let route = ObservedLabel { protocol: PROTOCOL, interface, via, swap: Vec::new() };
        self.observed.labels.insert(label, route);
        Ok(())
    }

    pub(super) fn add_endpoint(&mut self, id: u8, address: IpAddr) -> Outcome {
        let endpoints = &mut self.observed.mptcp.as_mut().ok_or("ENOENT")?.endpoints;
        if endpoints.len() == ENDPOINTS_MAX || endpoints.values().any(|e| e.address == address) {
            return Err("ERANGE");
        }
        match endpoints.insert(id, ObservedEndpoint { address, plain: true }) {
            None => Ok(()),
            Some(_) => Err("EEXIST"),
        }
    }

    pub(super) fn add_table_route(
        &mut self,
        key: TableRouteKey,
        table_route: ObservedTableRoute,
        replace: bool,
    ) -> Outcome {
        let link = self.link(table_route.interface.as_deref().unwrap_or_default())?;
        if !link.up {
            return Err("ENETDOWN");
        }
        match self.observed.table_routes.get(&key) {
            Some(_) if !replace => return Err("EEXIST"),
            None if replace => return Err("ENOENT"),
            Some(old) if old.protocol != PROTOCOL => {
                self.damage.push(format!("route {} table {}", key.1, key.0));
            }
            _ => {}
        }
        self.observed.table_routes.insert(key, table_route);
        Ok(())
    }

    pub(super) fn add_group(&mut self, id: u32, group: Vec<(u32, u16)>, replace: bool) -> Outcome {
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

    pub(super) fn add_route(
        &mut self,
        key: (Prefix, u32),
        route: ObservedRoute,
        replace: bool,
    ) -> Outcome {
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

    /// Deletes a nexthop or group: groups shrink; emptied groups and their routes are deleted too.
    pub(super) fn remove_nexthop(&mut self, id: u32) {
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

    pub(super) fn flush_nexthops(&mut self, interface: &str) {
        let on = |n: &ObservedNexthop| n.interface.as_deref() == Some(interface);
        let nexthops = self.observed.nexthops.iter();
        let ids: Vec<u32> = nexthops.filter(|(_, n)| on(n)).map(|(id, _)| *id).collect();
        for id in ids {
            self.remove_nexthop(id);
        }
    }

    pub(super) fn flush_routes(&mut self, interface: &str, family: impl Fn(&Prefix) -> bool) {
        let on = |dst: &Prefix, r: &ObservedRoute| {
            family(dst) && r.interface.as_deref() == Some(interface)
        };
        let damage = &mut self.damage;
        self.observed.table_routes.retain(|(table, dst, _), table_route| {
            let goes = family(dst) && table_route.interface.as_deref() == Some(interface);
            if goes && table_route.protocol != PROTOCOL {
                damage.push(format!("route {dst} table {table}: its interface was flushed"));
            }
            !goes
        });
        self.drop_routes(on, "its interface was flushed");
    }

    pub(super) fn drop_routes(
        &mut self,
        which: impl Fn(&Prefix, &ObservedRoute) -> bool,
        why: &str,
    ) {
        let damage = &mut self.damage;
        self.observed.routes.retain(|(dst, metric), route| {
            let goes = which(dst, route);
            if goes && route.protocol != PROTOCOL {
                damage.push(format!("route {dst} metric {metric}: {why}"));
            }
            !goes
        });
    }
}
