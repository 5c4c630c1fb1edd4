//! Assigns the kernel ids of the nexthop objects and nexthop groups that an export writes for a node.

use std::collections::BTreeMap;

use tresse_reconcile::{NEXTHOP_BASE, Nexthop, Wanted};

/// The nexthops of a node's routes, each with its number; those on the link need none. A weight belongs to a group: here each
/// is 1.
pub(super) struct Nexthops(BTreeMap<Nexthop, u32>);

impl Nexthops {
    /// Numbers the nexthops of all routes.
    pub(super) fn of(wanted: &Wanted) -> Self {
        let nexthops = wanted.routes.values().flat_map(|route| &route.nexthops);
        let nexthops = nexthops.filter(|nexthop| !nexthop.is_on_link());
        let mut numbers: BTreeMap<Nexthop, u32> =
            nexthops.map(|nexthop| (alone(nexthop), 0)).collect();
        for (number, next) in numbers.values_mut().zip(NEXTHOP_BASE..) {
            *number = next;
        }
        Self(numbers)
    }

    /// Returns the number of a nexthop, whatever its weight.
    pub(super) fn number(&self, nexthop: &Nexthop) -> u32 {
        self.0[&alone(nexthop)]
    }

    /// Returns all of them in ascending order of their numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Nexthop, u32)> {
        self.0.iter().map(|(nexthop, number)| (nexthop, *number))
    }
}

fn alone(nexthop: &Nexthop) -> Nexthop {
    Nexthop { weight: 1, ..nexthop.clone() }
}

/// The number of the first group.
pub(super) const FIRST_GROUP: u32 = NEXTHOP_BASE + 0x80_0000;
