//! The interfaces, addresses and neighbours of the fake kernel, and what Linux deletes together
//! with them.

use std::net::IpAddr;

use tresse_base::units::{Mac, Prefix};

use super::state::{KernelModel, Outcome};
use crate::{
    LinkKind, ObservedAddress, ObservedLink, ObservedNeighbour, PROTOCOL, sysctl_interface,
};

impl KernelModel {
    pub(super) fn add_link(
        &mut self,
        name: &str,
        kind: &LinkKind,
        mtu: u32,
        alias: &str,
        mac: Option<Mac>,
    ) -> Outcome {
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
            LinkKind::Vxlan { .. } => mac,
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
                LinkKind::Dummy | LinkKind::Tun | LinkKind::Vxlan { .. } => None,
            },
        };
        self.observed.links.insert(name.into(), link);
        for (pattern, value) in &self.sysctls {
            self.observed.sysctls.insert(pattern.replace('*', name), value.clone());
        }
        Ok(())
    }

    pub(super) fn set_up(&mut self, name: &str, up: bool) -> Outcome {
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

    pub(super) fn add_address(&mut self, interface: &str, address: IpAddr) -> Outcome {
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

    pub(super) fn delete_address(&mut self, interface: &str, address: IpAddr) -> Outcome {
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

    pub(super) fn add_neighbour(
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

    pub(super) fn add_fdb(
        &mut self,
        interface: &str,
        mac: Mac,
        at: IpAddr,
        replace: bool,
    ) -> Outcome {
        let is_vxlan = matches!(self.link(interface)?.kind, Some(LinkKind::Vxlan { .. }));
        let key = (interface.to_owned(), mac);
        match self.observed.fdb.contains_key(&key) {
            _ if !is_vxlan => Err("EOPNOTSUPP"),
            true if !replace => Err("EEXIST"),
            false if replace => Err("ENOENT"),
            _ => {
                self.observed.fdb.insert(key, at);
                Ok(())
            }
        }
    }

    /// Removes an interface with everything that depends on it.
    pub fn remove_link(&mut self, name: &str) {
        for vlan in self.vlans_on(name) {
            self.remove_link(&vlan);
        }
        self.flush_nexthops(name);
        self.flush_routes(name, |_| true);
        let observed = &mut self.observed;
        observed.neighbours.retain(|key, _| key.0 != name);
        observed.fdb.retain(|key, _| key.0 != name);
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

    /// Sets the carrier of an interface and of its VLAN interfaces, as plugging a cable in or out
    /// does.
    pub fn set_carrier(&mut self, name: &str, carrier: bool) {
        for name in std::iter::once(name.to_owned()).chain(self.vlans_on(name)) {
            if let Some(link) = self.observed.links.get_mut(&name) {
                link.carrier = carrier && link.up;
            }
            if !carrier {
                self.flush_nexthops(&name);
            }
        }
    }

    /// Sets an interface up or down, as a foreign program does.
    pub fn set_admin(&mut self, name: &str, up: bool) {
        if !up {
            for vlan in self.vlans_on(name) {
                let _ = self.set_up(&vlan, false);
            }
        }
        let _ = self.set_up(name, up);
    }

    fn vlans_on(&self, name: &str) -> Vec<String> {
        let on = |link: &ObservedLink| matches!(&link.kind, Some(LinkKind::Vlan { parent, .. }) if parent == name);
        let links = self.observed.links.iter();
        links.filter(|(_, link)| on(link)).map(|(name, _)| name.clone()).collect()
    }
}
