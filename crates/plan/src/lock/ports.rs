//! Numbers the ports of each switch that lead to nodes: 0, 1, 2 and so on, whatever ports they are. The numbers of two
//! ports say which of several paths side by side their nodes use ([`Trees::lane`](crate::trees::Trees::lane)), and
//! strategies spread pairs over these paths for numbers that have no gaps.
//!
//! Ports are numbered in their order. As long as the lock's node counts apply ([`super::balance`]), a port keeps its number:
//! one that has a node for the first time gets the lowest number whose port has none any more, or the next.

use std::collections::{BTreeMap, BTreeSet};

use tresse_routing::Balance;
use tresse_topology::cluster::{Cluster, Nic};

use super::balance;
use super::content::Lock;
use super::place;

/// The numbers of the ports that lead to nodes.
#[derive(Debug, Default)]
pub struct NodePorts {
    /// By switch, then number: the port. Some may have lost their node.
    ports: Vec<Vec<u32>>,
    /// By switch, then port: its number, if that is not the port less 1.
    others: Vec<BTreeMap<u32, u32>>,
}

impl NodePorts {
    /// Numbers the ports of `cluster`, with the numbers that the lock keeps. O(ports x log ports) on each switch.
    #[must_use]
    pub fn of(cluster: &Cluster, lock: &Lock) -> Self {
        let mut used = vec![BTreeSet::new(); cluster.switches.len()];
        for nic in cluster.nodes.iter().flat_map(|node| &node.nics) {
            if let Some(used) = used.get_mut(nic.switch.index()) {
                used.insert(nic.port);
            }
        }
        let kept = balance::kept(cluster, lock);
        let ports = used.iter().enumerate().map(|(s, used)| {
            let before = kept.as_ref().map(|(locked, counts)| {
                let listed = locked.ports.get(&place::switch(cluster, s.into())).cloned();
                listed.unwrap_or_else(|| in_order(cluster, s, counts.nodes[s]))
            });
            numbered(before.unwrap_or_default(), used)
        });
        let ports: Vec<Vec<u32>> = ports.collect();
        let others = |ports: &Vec<u32>| {
            let all = ports.iter().zip(0..).filter(|(port, number)| **port != number + 1);
            all.map(|(port, number)| (*port, number)).collect()
        };
        Self { others: ports.iter().map(others).collect(), ports }
    }

    /// The number of the port that a NIC is on; 0 without a switch.
    #[must_use]
    pub fn number(&self, nic: &Nic) -> u32 {
        let others = self.others.get(nic.switch.index());
        let other = others.and_then(|others| others.get(&nic.port)).copied();
        other.unwrap_or(nic.port.saturating_sub(1))
    }

    /// The ports in the form in which the lock stores them beside these node counts.
    #[must_use]
    pub fn to_lock(&self, cluster: &Cluster, counts: &Balance) -> BTreeMap<String, Vec<u32>> {
        let all = self.ports.iter().zip(&counts.nodes).enumerate();
        all.filter(|(s, (ports, nodes))| **ports != in_order(cluster, *s, **nodes))
            .map(|(s, (ports, _))| (place::switch(cluster, s.into()), ports.clone()))
            .collect()
    }

    /// The ports by switch and number, of switches where some port's number is not the port less 1.
    pub fn out_of_order(&self) -> impl Iterator<Item = (usize, &[u32])> {
        let all = self.ports.iter().enumerate().filter(|(s, _)| !self.others[*s].is_empty());
        all.map(|(s, ports)| (s, &ports[..]))
    }
}

/// The numbers of a switch with so many nodes that the lock does not list: those of ports 1, 2, 3 and so on.
fn in_order(cluster: &Cluster, s: usize, nodes: u64) -> Vec<u32> {
    (1..=u64::from(cluster.switches[s].ports).min(nodes) as u32).collect()
}

/// The ports by number: as before, and those of `used` that had none.
fn numbered(mut ports: Vec<u32>, used: &BTreeSet<u32>) -> Vec<u32> {
    let known: BTreeSet<u32> = ports.iter().copied().collect();
    let mut fresh = used.difference(&known);
    for port in ports.iter_mut().filter(|port| !used.contains(port)) {
        let Some(new) = fresh.next() else { break };
        *port = *new;
    }
    ports.extend(fresh);
    ports
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(before: &[u32], used: &[u32]) -> Vec<u32> {
        numbered(before.into(), &used.iter().copied().collect())
    }

    #[test]
    fn ports_keep_their_numbers_and_gaps_are_filled_first() {
        assert_eq!(add(&[], &[9, 1, 5]), [1, 5, 9]);
        assert_eq!(add(&[1, 5, 9], &[1, 3, 5, 9]), [1, 5, 9, 3], "a node more");
        assert_eq!(add(&[1, 5, 9], &[1, 9]), [1, 5, 9], "a node less");
        assert_eq!(add(&[1, 5, 9], &[1, 2, 3, 9]), [1, 2, 9, 3], "another in its place");
    }
}
