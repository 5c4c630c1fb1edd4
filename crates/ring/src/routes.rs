//! Keeps track of which member of a copy sends which data to which other member, while members
//! leave or are bypassed, and computes the requests that each member must get.

use std::collections::{BTreeMap, BTreeSet};

use crate::shape::{StreamFlow, stages};

/// The flows of a run: for each stream (one stripe of one part of the copy), which member sends it
/// to which. Members are numbered; the number of a stream is part x number of stripes + stripe.
#[derive(Debug, Clone)]
pub struct StreamRoutes {
    flows: Vec<StreamFlow>,
    stripes: usize,
    lives: Vec<bool>,
    slow: Vec<bool>,
    /// By part and member: whether it wants the part, whether it has all bytes, and whether these
    /// are verified and in place.
    wants: Vec<Vec<bool>>,
    complete: Vec<Vec<bool>>,
    whole: Vec<Vec<bool>>,
    reported: BTreeMap<(usize, usize), Vec<u32>>,
}

/// A request to one member of a copy: which streams (stripes of the parts) to send to which other
/// member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stage {
    /// The member that sends.
    pub from: usize,
    /// The member that receives.
    pub to: usize,
    /// Streams to send, in this order; empty: stop sending.
    pub streams: Vec<u32>,
}

impl StreamRoutes {
    /// Starts from `stripes` flows for each part. A member without a parent in the first flow of a
    /// part is its source, or does not take part.
    #[must_use]
    pub fn new(flows: Vec<StreamFlow>, stripes: usize) -> Self {
        let members = flows.first().map_or(0, |flow| flow.parents.len());
        let first = flows.iter().step_by(stripes);
        let wants: Vec<Vec<bool>> =
            first.map(|flow| flow.parents.iter().map(Option::is_some).collect()).collect();
        let whole = vec![vec![false; members]; wants.len()];
        let (lives, slow) = (vec![true; members], vec![false; members]);
        let complete = whole.clone();
        Self { flows, stripes, lives, slow, wants, complete, whole, reported: BTreeMap::new() }
    }

    /// Returns whether a member is still in the run.
    #[must_use]
    pub fn lives(&self, member: usize) -> bool {
        self.lives[member]
    }

    /// Returns whether a member has all parts that it wants.
    #[must_use]
    pub fn is_whole(&self, member: usize) -> bool {
        let parts = self.wants.iter().zip(&self.whole);
        parts.into_iter().all(|(wants, whole)| !wants[member] || whole[member])
    }

    /// Returns whether a member has all bytes of a part that it wants.
    #[must_use]
    pub fn has(&self, part: usize, member: usize) -> bool {
        self.complete[part][member]
    }

    /// Returns the member from which `member` gets a stream.
    #[must_use]
    pub fn parent(&self, stream: usize, member: usize) -> Option<usize> {
        self.flows.get(stream)?.parents[member]
    }

    /// Returns whether a member wants a part.
    #[must_use]
    pub fn wants(&self, part: usize, member: usize) -> bool {
        self.wants[part][member]
    }

    /// Returns whether `member` still lacks bytes that it gets from `from`.
    #[must_use]
    pub fn needs(&self, member: usize, from: usize) -> bool {
        self.flows.iter().enumerate().any(|(stream, flow)| {
            flow.parents[member] == Some(from) && !self.complete[stream / self.stripes][member]
        })
    }

    /// Returns the members from which `member` gets streams.
    #[must_use]
    pub fn parents(&self, member: usize) -> BTreeSet<usize> {
        self.flows.iter().filter_map(|flow| flow.parents[member]).collect()
    }

    /// Returns whether some member that gets a stream from this one is not complete yet.
    #[must_use]
    pub fn has_behind(&self, member: usize) -> bool {
        self.flows.iter().enumerate().any(|(stream, flow)| {
            let complete = &self.complete[stream / self.stripes];
            let mut all = flow.parents.iter().zip(complete);
            all.any(|(from, complete)| *from == Some(member) && !complete)
        })
    }

    /// Records that a member has received all bytes of a part, which are now being verified.
    /// Returns whether that is new.
    pub fn complete(&mut self, part: usize, member: usize) -> bool {
        let complete = self.complete.get_mut(part);
        complete.is_some_and(|complete| !std::mem::replace(&mut complete[member], true))
    }

    /// Records that a member has a part complete and verified.
    pub fn done(&mut self, part: usize, member: usize) {
        self.complete[part][member] = true;
        self.whole[part][member] = true;
    }

    /// Records that a request came to nothing and must be sent again.
    pub fn lost(&mut self, from: usize, to: usize) {
        self.reported.remove(&(from, to));
    }

    /// Removes a member. The members behind it get the rest from the one in front of it or, if it
    /// was the source, from one that has the whole part. Returns the parts, and the members that
    /// can no longer get them.
    pub fn leave(&mut self, member: usize) -> Vec<(usize, usize)> {
        self.lives[member] = false;
        let mut orphans = BTreeSet::new();
        for stream in 0..self.flows.len() {
            let part = stream / self.stripes;
            let children = self.children(stream, member);
            let before = self.flows[stream].parents[member].take();
            if children.is_empty() {
                continue;
            }
            let heir = before.or_else(|| self.heir(part));
            let parents = &mut self.flows[stream].parents;
            match (before, heir) {
                // A member that has everything needs no sender.
                (None, Some(heir)) => parents[heir] = None,
                (None, None) => {
                    let open = |m: usize| self.wants[part][m] && !self.complete[part][m];
                    let lack = |m: &usize| open(*m) && self.lives[*m];
                    orphans.extend((0..self.lives.len()).filter(lack).map(|m| (part, m)));
                    parents.fill(None);
                }
                (Some(_), _) => {}
            }
            for child in children {
                if Some(child) != heir {
                    parents[child] = heir;
                }
            }
        }
        for (part, orphan) in &orphans {
            // The member no longer gets this part.
            self.wants[*part][*orphan] = false;
        }
        orphans.into_iter().collect()
    }

    /// Bypasses a slow member: the members behind it get everything from the one in front of it,
    /// and it becomes the child of the last member that is not slow.
    pub fn bypass(&mut self, member: usize) {
        self.slow[member] = true;
        for stream in 0..self.flows.len() {
            let Some(before) = self.flows[stream].parents[member] else { continue };
            let children = self.children(stream, member);
            if children.is_empty() {
                continue;
            }
            for child in children {
                self.flows[stream].parents[child] = Some(before);
            }
            self.flows[stream].parents[member] = Some(self.last(stream).unwrap_or(before));
        }
    }

    /// Moves `member` from the parent `from` to the one in front of `from`, or else to the last
    /// member. Applies only where `member` has no children, as after [`bypass`](Self::bypass).
    pub fn avoid(&mut self, from: usize, member: usize) {
        for stream in 0..self.flows.len() {
            let parents = &self.flows[stream].parents;
            if parents[member] == Some(from) && !parents.contains(&Some(member)) {
                let others = self.last(stream).filter(|it| ![from, member].contains(it));
                let other = parents[from].or(others).unwrap_or(from);
                self.flows[stream].parents[member] = Some(other);
            }
        }
    }

    /// Returns the last member that is not slow.
    fn last(&self, stream: usize) -> Option<usize> {
        let part = stream / self.stripes;
        let can = |m: &usize| self.lives[*m] && !self.slow[*m] && self.wants[part][*m];
        (0..self.lives.len()).filter(can).max_by_key(|m| self.flows[stream].depth(*m))
    }

    /// Returns the requests that have changed since the last call.
    pub fn changes(&mut self) -> Vec<Stage> {
        let mut wanted = stages(&self.flows);
        wanted.retain(|(_, to), streams| {
            streams.retain(|stream| !self.complete[*stream as usize / self.stripes][*to]);
            !streams.is_empty()
        });
        let mut changes = Vec::new();
        for ((from, to), before) in &self.reported {
            // A stream that is complete by now needs no change.
            let open = |stream: &&u32| !self.complete[**stream as usize / self.stripes][*to];
            let goes = !wanted.contains_key(&(*from, *to)) && before.iter().any(|it| open(&it));
            if goes && self.lives[*from] {
                changes.push(Stage { from: *from, to: *to, streams: Vec::new() });
            }
        }
        for ((from, to), streams) in &wanted {
            let before: BTreeSet<u32> =
                self.reported.get(&(*from, *to)).into_iter().flatten().copied().collect();
            let now: BTreeSet<u32> = streams.iter().copied().collect();
            let open = |stream: &&u32| !self.complete[**stream as usize / self.stripes][*to];
            let before: BTreeSet<u32> = before.iter().filter(open).copied().collect();
            if now != before {
                changes.push(Stage { from: *from, to: *to, streams: streams.clone() });
            }
        }
        for change in &changes {
            self.reported.insert((change.from, change.to), change.streams.clone());
        }
        changes
    }

    fn children(&self, stream: usize, member: usize) -> Vec<usize> {
        let parents = self.flows[stream].parents.iter().enumerate();
        parents.filter(|(_, from)| **from == Some(member)).map(|(child, _)| child).collect()
    }

    /// Returns a live member that has all of a part.
    fn heir(&self, part: usize) -> Option<usize> {
        (0..self.lives.len())
            .find(|m| self.lives[*m] && self.wants[part][*m] && self.complete[part][*m])
    }
}

#[cfg(test)]
mod tests;
