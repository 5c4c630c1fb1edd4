//! Assigns the kernel ids of the nexthop objects and nexthop groups that an export writes for a node.

use std::collections::BTreeMap;

use tresse_reconcile::{Leg, NEXTHOP_BASE, Wanted};

/// The nexthops of a node's routes, each with its number. A weight belongs to a group: here each
/// is 1.
pub(super) struct Nexthops(BTreeMap<Leg, u32>);

impl Nexthops {
    /// Numbers the nexthops of all routes.
    pub(super) fn of(wanted: &Wanted) -> Self {
        let legs = wanted.routes.values().flat_map(|route| &route.legs);
        let mut numbers: BTreeMap<Leg, u32> = legs.map(|leg| (alone(leg), 0)).collect();
        for (number, next) in numbers.values_mut().zip(NEXTHOP_BASE..) {
            *number = next;
        }
        Self(numbers)
    }

    /// Returns the number of a nexthop, whatever its weight.
    pub(super) fn number(&self, leg: &Leg) -> u32 {
        self.0[&alone(leg)]
    }

    /// Returns all of them in ascending order of their numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Leg, u32)> {
        self.0.iter().map(|(leg, number)| (leg, *number))
    }
}

fn alone(leg: &Leg) -> Leg {
    Leg { weight: 1, ..leg.clone() }
}

/// The number of the first group.
pub(super) const FIRST_GROUP: u32 = NEXTHOP_BASE + 0x80_0000;
