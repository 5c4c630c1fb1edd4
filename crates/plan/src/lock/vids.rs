//! Allocates the VIDs of VLAN trees. A tree keeps its VID as long as no mixture of old and new
//! switches can have a loop; otherwise it gets a fresh one (K4).

use std::collections::BTreeSet;

use tresse_base::id::Vid;

use super::content::{Lock, LockedVid};
use super::tree;

/// Error: the range of VIDs has too few VIDs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`[vlans] range` holds {room} VIDs and {needed} are needed: {trees} VLANs, and VIDs of those that \
     changed stay taken until the next plan; enlarge the range by {}", .needed - .room
)]
pub struct VidsExhausted {
    /// VIDs in the range.
    pub room: usize,
    /// VIDs needed, those in the lock included.
    pub needed: usize,
    /// Trees, or lines on shared switches, of this plan.
    pub trees: usize,
}

/// Error: the VID of the base VLAN belonged to a tree before. While switches change one by one,
/// some would still have the old tree on it (K4).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`[vlans] base` = {vid} was the VID of a VLAN tree, according to the lock: use another VID, \
     or leave `base` out"
)]
pub struct BaseWasTree {
    /// The VID.
    pub vid: Vid,
}

/// Refuses a VID for the base VLAN that the lock holds for a tree.
///
/// # Errors
/// [`BaseWasTree`].
pub fn accept_base(vid: Vid, lock: &Lock) -> Result<(), BaseWasTree> {
    let mut trees = lock.vids.values().chain(&lock.retired.vids);
    if trees.any(|tree| tree.vid == vid) { Err(BaseWasTree { vid }) } else { Ok(()) }
}

/// Returns a VID for every tree `(name, text)`, in order. A tree keeps the VID in the lock if the
/// name is the same, old and new links together have no loop (K4), and the VID is in `ranges`. Any
/// other tree gets the VID that the very same tree had before, else the lowest that the lock does
/// not hold, or, when there are none left, the one that was retired first.
///
/// # Errors
/// Ranges with too few VIDs.
pub fn allocate(
    trees: &[(&str, &str)],
    ranges: &[(u16, u16)],
    lock: &Lock,
) -> Result<Vec<Vid>, VidsExhausted> {
    let in_ranges = |vid: Vid| ranges.iter().any(|(low, high)| (*low..=*high).contains(&vid.0));
    let kept = |(name, text): &(&str, &str)| {
        let locked = lock.vids.get(*name)?;
        (in_ranges(locked.vid) && tree::compatible(&locked.tree, text)).then_some(locked.vid)
    };
    let held: BTreeSet<Vid> = lock.vids.values().map(|v| v.vid).collect();
    let retired: Vec<&LockedVid> =
        lock.retired.vids.iter().filter(|v| in_ranges(v.vid) && !held.contains(&v.vid)).collect();
    let mut given: BTreeSet<Vid> = trees.iter().filter_map(kept).collect();
    let again = |(_, text): &(&str, &str), given: &BTreeSet<Vid>| {
        let same = |v: &&&LockedVid| v.tree == *text && !given.contains(&v.vid);
        retired.iter().find(same).map(|v| v.vid)
    };
    let back: Vec<Option<Vid>> = trees
        .iter()
        .map(|tree| {
            kept(tree).or_else(|| again(tree, &given).inspect(|vid| _ = given.insert(*vid)))
        })
        .collect();
    let used_before: BTreeSet<Vid> = retired.iter().map(|v| v.vid).collect();
    let all = || ranges.iter().flat_map(|(low, high)| *low..=*high).map(Vid);
    let fresh = all().filter(|vid| !held.contains(vid) && !used_before.contains(vid));
    let oldest = retired.iter().map(|v| v.vid).filter(|vid| !given.contains(vid));
    let mut free = fresh.chain(oldest);
    let vids: Vec<_> = back.into_iter().map_while(|vid| vid.or_else(|| free.next())).collect();
    if vids.len() == trees.len() {
        return Ok(vids);
    }
    let fresh_trees = trees.iter().filter(|tree| kept(tree).is_none()).count();
    let held = held.into_iter().filter(|vid| in_ranges(*vid)).count();
    Err(VidsExhausted { room: all().count(), needed: held + fresh_trees, trees: trees.len() })
}
