//! Allocates the VIDs of VLAN trees. A tree keeps its VID as long as no mixture of switches with the old and the new
//! configuration can have a loop; otherwise it gets another VID, if possible one that no other tree had (K4).

use std::collections::BTreeSet;

use tresse_base::id::Vid;

use super::content::{Lock, LockedVid};
use super::tree;

/// The error for `[vlans] range` with fewer VIDs than the VLANs of the plan need.
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

/// The error for a base VLAN whose VID is that of a present or earlier VLAN tree, according to the lock. While
/// switches are reconfigured one by one, some would still have that tree on the VID (K4).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`[vlans] base` = {vid} was the VID of a VLAN tree, according to the lock: use another VID, \
     or leave `base` out"
)]
pub struct BaseWasTree {
    /// The VID.
    pub vid: Vid,
}

/// Checks that the lock does not hold `vid`, the VID of the base VLAN (untagged between switches), for a VLAN tree.
///
/// # Errors
/// [`BaseWasTree`] if the lock holds it, even as retired.
pub fn accept_base(vid: Vid, lock: &Lock) -> Result<(), BaseWasTree> {
    let mut trees = lock.vids.values().chain(&lock.retired.vids);
    if trees.any(|tree| tree.vid == vid) { Err(BaseWasTree { vid }) } else { Ok(()) }
}

/// Returns a VID for every VLAN tree of `trees`, in their order. Each tree is given by its name and its text in the
/// lock. A tree keeps the VID that the lock holds for its name if that VID is in `ranges` and the old and the new
/// links together form no loop (K4). Any other tree gets a VID by the first of these rules that gives one:
///
/// 1. the retired VID of an identical tree;
/// 2. the lowest VID that the lock holds neither for a tree nor as retired;
/// 3. the VID that was retired first.
///
/// # Errors
/// The ranges have too few VIDs.
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
