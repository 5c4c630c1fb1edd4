//! Planes: switches that cables join, where the cables of a fabric do not join all of its switches. Nodes with NICs on
//! several planes join them: two rails of a cluster, each with switches of its own.

use std::collections::BTreeMap;

use tresse_base::id::{LinkId, SwitchId};

use crate::Components;
use crate::cluster::{Cluster, Port, Strategy, TopologyShape};

/// The planes of a fabric, in the order of their first switches. Each has switches and links of its own, which are
/// numbered in the order of the whole fabric.
#[derive(Debug, Clone)]
pub struct Planes {
    /// By switch: its plane, and its number there.
    places: Vec<(usize, SwitchId)>,
    /// By plane: its switches.
    switches: Vec<Vec<SwitchId>>,
    /// By plane: its links.
    links: Vec<Vec<LinkId>>,
}

impl Planes {
    /// The planes of a fabric with VLANs that has several; else `None`. O(switches + links).
    #[must_use]
    pub fn of(cluster: &Cluster) -> Option<Self> {
        if cluster.kind != TopologyShape::Explicit || cluster.routing.strategy == Strategy::Direct {
            return None;
        }
        let mut parts = Components::new(cluster.switches.len());
        for link in &cluster.links {
            parts.join(link.a.switch.index(), link.b.switch.index());
        }
        let (mut numbers, mut switches) = (BTreeMap::new(), Vec::<Vec<SwitchId>>::new());
        let mut places = Vec::with_capacity(cluster.switches.len());
        for at in 0..cluster.switches.len() {
            let plane = *numbers.entry(parts.root(at)).or_insert(switches.len());
            if plane == switches.len() {
                switches.push(Vec::new());
            }
            places.push((plane, switches[plane].len().into()));
            switches[plane].push(at.into());
        }
        let mut links = vec![Vec::new(); switches.len()];
        for (at, link) in cluster.links.iter().enumerate() {
            links[places[link.a.switch.index()].0].push(at.into());
        }
        (switches.len() > 1).then_some(Self { places, switches, links })
    }

    /// How many there are; at least 2.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.switches.len()
    }

    /// The plane of a switch.
    #[must_use]
    pub fn plane(&self, switch: SwitchId) -> usize {
        self.places[switch.index()].0
    }

    /// The number that a switch has in its plane.
    #[must_use]
    pub fn local(&self, switch: SwitchId) -> SwitchId {
        self.places[switch.index()].1
    }

    /// The switches of a plane, by their numbers there.
    #[must_use]
    pub fn switches(&self, plane: usize) -> &[SwitchId] {
        &self.switches[plane]
    }

    /// The links of a plane, by their numbers there.
    #[must_use]
    pub fn links(&self, plane: usize) -> &[LinkId] {
        &self.links[plane]
    }

    /// A plane as a fabric of its own, to plan it: its switches and links, and the nodes that are on it, with their NICs
    /// there. Links that are several cables are one each.
    #[must_use]
    pub fn cluster(&self, of: &Cluster, plane: usize) -> Cluster {
        let local = |switch: SwitchId| {
            let place = self.places.get(switch.index());
            place.filter(|(on, _)| *on == plane).map(|(_, local)| *local)
        };
        let port = |port: Port| Port { switch: self.local(port.switch), ..port };
        let mut cluster = Cluster { demand: Vec::new(), lags: Vec::new(), ..of.clone() };
        cluster.switches = self.switches(plane).iter().map(|s| of.switch(*s).clone()).collect();
        let links = self.links(plane).iter().map(|link| *of.link(*link));
        cluster.links = links
            .map(|link| crate::cluster::Link { a: port(link.a), b: port(link.b), ..link })
            .collect();
        for node in &mut cluster.nodes {
            node.nics.retain_mut(|nic| {
                let here = local(nic.switch);
                nic.switch = here.unwrap_or(nic.switch);
                here.is_some()
            });
        }
        cluster.nodes.retain(|node| !node.nics.is_empty());
        cluster.vlans.ranges = self.share(&of.vlans.free_ranges());
        if let Strategy::Updown { root } | Strategy::Transit { root } =
            &mut cluster.routing.strategy
        {
            *root = root.and_then(local);
        }
        cluster
    }

    /// The part of the VIDs that each plane may use: as many as the others, which are others where VIDs are given.
    fn share(&self, ranges: &[(u16, u16)]) -> Vec<(u16, u16)> {
        let room: usize = ranges.iter().map(|(low, high)| usize::from(high - low) + 1).sum();
        let mut left = (room / self.count()).max(1);
        let mut share = Vec::new();
        for &(low, high) in ranges {
            let taken = left.min(usize::from(high - low) + 1);
            if taken > 0 {
                share.push((low, low + (taken - 1) as u16));
            }
            left -= taken;
        }
        share
    }
}
