//! Computes the lock to store after a new plan: the numbers that the plan uses, and as retired the numbers that only
//! earlier plans used.

use std::collections::{BTreeMap, BTreeSet};

use tresse_base::id::Vid;
use tresse_topology::cluster::{AddressLayout, Cluster};

use super::content::{Labels, Lock, LockedVid, Retired};
use super::place;
use crate::address::Addresses;

impl Lock {
    /// The lock after a plan: what the plan uses, and as retired what only this lock used. Where the
    /// plan uses exactly what this lock holds, the lock stays as it is.
    #[must_use]
    pub fn next(
        &self,
        cluster: &Cluster,
        addresses: &Addresses,
        trees: &[(&str, &str)],
        vids: &[Vid],
        labels: Labels,
    ) -> Self {
        let layout = self.layout(cluster);
        let layout = Some(layout).filter(|layout| *layout == AddressLayout::Coordinates);
        let mut next = Self { labels, layout, ..Self::default() };
        for ((name, tree), vid) in trees.iter().zip(vids) {
            let entry = LockedVid { vid: *vid, tree: (*tree).to_owned() };
            next.vids.insert((*name).to_owned(), entry);
        }
        for (k, node) in cluster.nodes.iter().enumerate() {
            let own = addresses.node.get(k).cloned().unwrap_or_default();
            next.nodes.insert(node.name.clone(), own);
            if let Some(place) = place::node(cluster, k.into()) {
                next.places.insert(node.name.clone(), place);
            }
            for (i, nic) in node.nics.iter().enumerate() {
                let own = addresses.nic.get(k).and_then(|nics| nics.get(i)).cloned();
                next.nics.insert(
                    format!("{}/{}", cluster.machine(k.into()), nic.name),
                    own.unwrap_or_default(),
                );
            }
        }
        for node in &cluster.nodes {
            let Some(machine) = &node.machine else { continue };
            // What both machines have had waits for their return.
            let own = self.nodes.get_key_value(machine);
            next.nodes.extend(own.map(|(name, own)| (name.clone(), own.clone())));
            let nics = self.nics.iter().filter(|(nic, _)| {
                nic.strip_prefix(node.name.as_str()).is_some_and(|rest| rest.starts_with('/'))
            });
            next.nics.extend(nics.map(|(nic, own)| (nic.clone(), own.clone())));
        }
        next.retired =
            if next.same_use(self) { self.retired.clone() } else { self.retired_by(&next) };
        next
    }

    fn same_use(&self, other: &Self) -> bool {
        (&self.vids, &self.nodes, &self.nics, &self.labels, &self.places)
            == (&other.vids, &other.nodes, &other.nics, &other.labels, &other.places)
    }

    fn retired_by(&self, next: &Self) -> Retired {
        let used: BTreeSet<Vid> = next.vids.values().map(|v| v.vid).collect();
        let before = self.retired.vids.iter().chain(self.vids.values());
        let addresses = |lock: &Self| {
            let all = lock.nodes.values().chain(lock.nics.values()).flatten();
            all.copied().collect::<BTreeSet<_>>()
        };
        Retired {
            vids: before.filter(|v| !used.contains(&v.vid)).cloned().collect(),
            addresses: addresses(self).difference(&addresses(next)).copied().collect(),
            labels: self.unused_labels(next),
        }
    }

    fn unused_labels(&self, next: &Self) -> BTreeMap<String, BTreeSet<u32>> {
        let unused = |(node, labels): (&String, &BTreeMap<u32, String>)| {
            let used = next.labels.get(node);
            let unused = labels.keys().filter(|l| used.is_none_or(|used| !used.contains_key(l)));
            let unused: BTreeSet<u32> = unused.copied().collect();
            (!unused.is_empty()).then(|| (node.clone(), unused))
        };
        self.labels.iter().filter_map(unused).collect()
    }
}
