//! Routes to what is behind nodes: they are those to the address of a node that leads there, whatever these are now. Where nodes
//! route, those to gateways lead into a tunnel (VXLAN, RFC 7348) whose ends are nodes: so the sender alone chooses the gateway,
//! and nodes between forward from one address of the fabric to another, as ever.

use std::collections::BTreeMap;
use std::net::IpAddr;

use tresse_base::units::Prefix;

use super::{
    LinkKind, METRIC_BACKUP, METRIC_PRIMARY, Nexthop, Wanted, WantedNeighbour, WantedRoute,
};

impl Wanted {
    /// Name and MTU of the tunnel to gateways, if this node is an end of it.
    fn tunnel(&self) -> Option<(String, u32)> {
        let mut links = self.links.iter();
        let (name, link) = links.find(|(_, link)| matches!(link.kind, LinkKind::Vxlan { .. }))?;
        Some((name.clone(), link.mtu))
    }

    /// For each network behind nodes ([`Wanted::behind`]) the address of the first of its nodes that a route leads to now.
    #[must_use]
    pub fn led(&self) -> BTreeMap<Prefix, IpAddr> {
        let is_reached = |address: &&IpAddr| {
            let dst = Prefix::host(**address);
            let metrics = [METRIC_PRIMARY, METRIC_BACKUP];
            metrics.iter().any(|metric| self.routes.contains_key(&(dst, *metric)))
                || self.xy.backups.contains_key(&dst)
        };
        let first = |nodes: &Vec<IpAddr>| nodes.iter().find(is_reached).copied();
        self.behind.iter().filter_map(|(prefix, nodes)| Some((*prefix, first(nodes)?))).collect()
    }

    /// The same kernel state with routes to the networks behind nodes, and with what the other ends of the tunnel to gateways
    /// need. To everything, behind a gateway without a tunnel, no route leads that
    /// needs table routes: the table of a NIC would take all that arrives by it away from the main table.
    #[must_use]
    pub fn followed(mut self) -> Self {
        let tunnel = self.tunnel();
        if let Some((interface, _)) = &tunnel {
            for (address, end) in &self.ends {
                let neighbour = WantedNeighbour { mac: end.mac };
                self.neighbours.insert((interface.clone(), end.via(*address)), neighbour);
                self.fdb.insert((interface.clone(), end.mac), end.at);
            }
        }
        for (prefix, node) in self.led() {
            let dst = Prefix::host(node);
            if let Some((interface, mtu)) = tunnel.as_ref().filter(|_| prefix.len == 0) {
                let route = self.route_by_tunnel(node, interface, *mtu);
                self.routes.extend(route.map(|route| ((prefix, METRIC_PRIMARY), route)));
                continue;
            }
            for metric in [METRIC_PRIMARY, METRIC_BACKUP] {
                let route = self.routes.get(&(dst, metric)).cloned();
                self.routes.extend(route.map(|route| ((prefix, metric), route)));
            }
            if prefix.len == 0 {
                continue;
            }
            let backup = self.xy.backups.get(&dst).cloned();
            self.xy.backups.extend(backup.map(|backup| (prefix, backup)));
            let nics: Vec<String> = self.nics.keys().cloned().collect();
            for nic in nics {
                let nexthop = self.xy.tables.get(&(nic.clone(), dst)).cloned();
                self.xy.tables.extend(nexthop.map(|nexthop| ((nic, prefix), nexthop)));
            }
        }
        self
    }

    /// The route by the tunnel to a node: from the address by which packets go there anyway.
    fn route_by_tunnel(&self, node: IpAddr, interface: &str, mtu: u32) -> Option<WantedRoute> {
        let dst = Prefix::host(node);
        let mut metrics = [METRIC_PRIMARY, METRIC_BACKUP].into_iter();
        let planned = metrics.find_map(|metric| self.routes.get(&(dst, metric)));
        let src = planned.or_else(|| self.xy.backups.get(&dst))?.src;
        let via = self.ends.get(&node)?.via(node);
        let nexthop = Nexthop { interface: interface.into(), via, labels: Vec::new(), weight: 1 };
        Some(WantedRoute::new(src, mtu, vec![nexthop]))
    }
}

#[cfg(test)]
mod tests {
    use tresse_base::units::Mac;

    use super::*;
    use crate::{TunnelEnd, WantedLink};

    fn wanted() -> Wanted {
        let mut wanted = Wanted::default();
        for (node, via) in [("10.77.0.2", "10.78.0.2"), ("10.77.0.3", "10.78.1.2")] {
            let nexthop = Nexthop {
                interface: "eth0".into(),
                via: via.parse().unwrap(),
                labels: Vec::new(),
                weight: 1,
            };
            let src = "10.77.0.1".parse().unwrap();
            let route = WantedRoute { src, mtu: 1500, advmss: 1460, nexthops: vec![nexthop] };
            let dst = Prefix::host(node.parse().unwrap());
            wanted.routes.insert((dst, METRIC_PRIMARY), route.clone());
            wanted.xy.backups.insert(dst, route.clone());
            wanted.nics.insert("eth0".into(), ("02:00:00:00:00:01".parse().unwrap(), 1500));
            wanted.xy.tables.insert(("eth0".into(), dst), route.nexthops[0].clone());
        }
        let nodes = |all: &[&str]| all.iter().map(|node| node.parse().unwrap()).collect();
        wanted.behind = [
            ("192.168.1.0/24".parse().unwrap(), nodes(&["10.77.0.2"])),
            ("0.0.0.0/0".parse().unwrap(), nodes(&["10.77.0.3", "10.77.0.2"])),
        ]
        .into();
        wanted
    }

    fn via(wanted: &Wanted, dst: &str) -> Option<String> {
        let key = (dst.parse().unwrap(), METRIC_PRIMARY);
        wanted.routes.get(&key).map(|route| route.nexthops[0].via.to_string())
    }

    #[test]
    fn a_network_is_reached_as_its_node() {
        let all = wanted().followed();
        assert_eq!(via(&all, "192.168.1.0/24").as_deref(), Some("10.78.0.2"));
        assert_eq!(via(&all, "0.0.0.0/0").as_deref(), Some("10.78.1.2"));
        let prefix: Prefix = "192.168.1.0/24".parse().unwrap();
        assert!(all.xy.backups.contains_key(&prefix));
        assert!(all.xy.tables.contains_key(&("eth0".into(), prefix)));
        assert!(!all.xy.tables.keys().any(|(_, dst)| dst.len == 0));
    }

    #[test]
    fn where_nodes_route_a_tunnel_leads_to_the_gateway() {
        let mut all = wanted();
        let kind = LinkKind::Vxlan { ipv6: false };
        let link = WantedLink { kind, mtu: 1450, alias: "tresse:gw".into(), up: true, mac: None };
        all.links.insert("tresse-gw".into(), link);
        let mac: Mac = "02:00:00:00:00:03".parse().unwrap();
        let at = "10.77.0.3".parse().unwrap();
        all.ends.insert(at, TunnelEnd { mac, at });
        let ipv6 = all.ends[&at].via("fd77::3".parse().unwrap());
        assert_eq!(ipv6, "fe80::ff:fe00:3".parse::<IpAddr>().unwrap());
        let all = all.followed();
        let route = &all.routes[&("0.0.0.0/0".parse().unwrap(), METRIC_PRIMARY)];
        assert_eq!((route.mtu, route.advmss), (1450, 1410));
        let nexthop = &route.nexthops[0];
        assert_eq!((nexthop.interface.as_str(), nexthop.via), ("tresse-gw", at));
        assert_eq!(all.neighbours[&("tresse-gw".into(), at)].mac, mac);
        assert_eq!(all.fdb[&("tresse-gw".into(), mac)], at);
        assert_eq!(via(&all, "192.168.1.0/24").as_deref(), Some("10.78.0.2"));
    }

    #[test]
    fn the_next_gateway_leads_where_the_first_is_cut_off() {
        let mut all = wanted();
        let first = Prefix::host("10.77.0.3".parse().unwrap());
        all.routes.remove(&(first, METRIC_PRIMARY));
        all.xy.backups.remove(&first);
        let of_first = all.clone().followed();
        assert_eq!(via(&of_first, "0.0.0.0/0").as_deref(), Some("10.78.0.2"));
        all.routes.clear();
        all.xy.backups.clear();
        assert_eq!(via(&all.followed(), "0.0.0.0/0"), None);
    }
}
