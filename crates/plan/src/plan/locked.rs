//! Computes the lock (`tresse.lock`) that belongs to a plan: the VIDs, addresses, labels, node counts and numbers of
//! ports that later plans must keep.

use super::{Plan, base_vlan};
use crate::label::{self, Numbers};
use crate::lock::{self, Lock, LockedBalance};
use crate::vids::{borrowed, named_texts};

impl Plan {
    /// The lock to keep beside the cluster file after this plan, which was built with `lock`.
    #[must_use]
    pub fn lock(&self, lock: &Lock) -> Lock {
        let (named, vids) = (named_texts(self), self.vids.all());
        let base = base_vlan(self).map(|(_, links)| lock::place::cables(&self.cluster, &links));
        let labels = label::to_lock(
            &self.transits,
            Numbers { addresses: &self.addresses, vids: &self.vids },
        );
        let next = lock.next(&self.cluster, &self.addresses, &borrowed(&named), &vids, labels);
        let ports = self.ports_in_use().map(|all| all.to_lock(&self.cluster, &self.balance));
        let balance = lock::balance::to_lock(&self.balance, &self.cluster)
            .map(|balance| LockedBalance { ports: ports.unwrap_or_default(), ..balance });
        Lock { base, balance, ..next }
    }

    /// Whether `lock` holds the VIDs of this plan.
    #[must_use]
    pub fn is_held_by(&self, lock: &Lock) -> bool {
        lock.holds(&borrowed(&named_texts(self)), &self.vids.all())
    }
}
