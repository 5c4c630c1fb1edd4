//! What the paths of a flat neighbourhood use, and how much each of it carries: NICs, and for paths across the uplink the
//! cables of the uplink, each as it sends and as it receives. The switches forward at the rate of all their ports.

use tresse_topology::cluster::{Cluster, Link};
use tresse_topology::path::Segment;

use crate::reflect::Uses;

/// NICs and cables of the uplink, each direction with a number.
pub(super) struct Resources {
    /// By node: the number of its first NIC as it sends. As it receives, a NIC has the same number behind all of these.
    first: Vec<usize>,
    /// By NIC: its switch.
    on: Vec<u32>,
    /// By switch: the number of its cable to the uplink, if it has one. From the uplink the cable has the next number.
    cables: Vec<Option<usize>>,
    /// By number: what it carries.
    pub(super) capacity: Vec<f64>,
}

/// A NIC, by its node and its place among the node's NICs.
type Nic = (usize, usize);

impl Resources {
    /// Of NICs with a switch and a rate each, by node, and of the cable to the uplink that each switch has, by its rate.
    pub(super) fn new(rows: &[Vec<u32>], rates: &[Vec<f64>], uplinks: &[Option<f64>]) -> Self {
        let count =
            |next: &mut usize, row: &Vec<u32>| Some(std::mem::replace(next, *next + row.len()));
        let nics = || rates.iter().flatten().copied();
        let mut capacity: Vec<f64> = nics().chain(nics()).collect();
        let mut cable = |rate: &Option<f64>| {
            rate.map(|rate| {
                capacity.extend([rate, rate]);
                capacity.len() - 2
            })
        };
        let cables = uplinks.iter().map(&mut cable).collect();
        Self {
            first: rows.iter().scan(0, count).collect(),
            on: rows.iter().flatten().copied().collect(),
            cables,
            capacity,
        }
    }

    /// Of a cluster, by rates in units of `unit` bits per second.
    pub(super) fn of(cluster: &Cluster, unit: f64) -> Self {
        let nics = || cluster.nodes.iter().map(|node| node.nics.iter());
        let rows: Vec<Vec<u32>> = nics().map(|of| of.map(|nic| nic.switch.0).collect()).collect();
        let rates: Vec<Vec<f64>> =
            nics().map(|of| of.map(|nic| nic.rate.0 as f64 / unit).collect()).collect();
        let mut uplinks = vec![None; cluster.switches.len()];
        let uplink = cluster.uplink();
        let leads_up = |link: &&Link| [link.a, link.b].iter().any(|end| Some(end.switch) == uplink);
        for link in cluster.links.iter().filter(leads_up) {
            let ends = [link.a.switch, link.b.switch].into_iter();
            let below = ends.filter(|switch| Some(*switch) != uplink);
            below.for_each(|switch| uplinks[switch.index()] = Some(link.rate.0 as f64 / unit));
        }
        Self::new(&rows, &rates, &uplinks)
    }

    /// Whether there is an uplink.
    pub(super) fn has_uplink(&self) -> bool {
        self.cables.iter().any(Option::is_some)
    }

    /// The numbers of what a frame uses from one NIC to another, over one switch or across the uplink.
    pub(super) fn hop(&self, from: Nic, to: Nic) -> Vec<u32> {
        let [from, to] = [from, to].map(|(node, nic)| self.first[node] + nic);
        let (s, d) = (self.on[from] as usize, self.on[to] as usize);
        let up = self.cables[s].filter(|_| s != d);
        let down = self.cables[d].filter(|_| s != d).map(|up| up + 1);
        let nics = [from, self.on.len() + to].into_iter();
        nics.chain(up).chain(down).map(|number| number as u32).collect()
    }

    /// What this share of a pair's traffic uses on these segments.
    pub(super) fn uses(&self, segments: &[Segment], share: f64) -> Uses {
        let hop = |s: &Segment| self.hop((s.from.index(), s.nic), (s.to.index(), s.to_nic));
        segments.iter().flat_map(hop).map(|number| (number, share)).collect()
    }
}
