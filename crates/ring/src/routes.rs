//! Who sends to whom while members go, or are bypassed: what each has to be told.

use std::collections::{BTreeMap, BTreeSet};

use crate::shape::{Flow, stages};

/// The flows of a run, as they are now. Members by number; streams are part x stripes + stripe.
#[derive(Debug, Clone)]
pub struct Routes {
    flows: Vec<Flow>,
    stripes: usize,
    lives: Vec<bool>,
    slow: Vec<bool>,
    /// By part and member: is it to have it, has it all octets, and are these checked and where they belong?
    wants: Vec<Vec<bool>>,
    complete: Vec<Vec<bool>>,
    whole: Vec<Vec<bool>>,
    told: BTreeMap<(usize, usize), Vec<u32>>,
}

/// What one member is to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stage {
    /// To whom.
    pub from: usize,
    /// Whom it is to send to.
    pub to: usize,
    /// What, the first ones first; none: nothing any more.
    pub streams: Vec<u32>,
}

impl Routes {
    /// Of flows, `stripes` for each part; who has no parent in the first one of a part is where it comes from, or
    /// has nothing to do with it.
    #[must_use]
    pub fn new(flows: Vec<Flow>, stripes: usize) -> Self {
        let members = flows.first().map_or(0, |flow| flow.parents.len());
        let first = flows.iter().step_by(stripes);
        let wants: Vec<Vec<bool>> =
            first.map(|flow| flow.parents.iter().map(Option::is_some).collect()).collect();
        let whole = vec![vec![false; members]; wants.len()];
        let (lives, slow) = (vec![true; members], vec![false; members]);
        let complete = whole.clone();
        Self { flows, stripes, lives, slow, wants, complete, whole, told: BTreeMap::new() }
    }

    /// Is it still there?
    #[must_use]
    pub fn lives(&self, member: usize) -> bool {
        self.lives[member]
    }

    /// Has it all that it is to have?
    #[must_use]
    pub fn is_whole(&self, member: usize) -> bool {
        let parts = self.wants.iter().zip(&self.whole);
        parts.into_iter().all(|(wants, whole)| !wants[member] || whole[member])
    }

    /// Has it all octets of a part that it is to have?
    #[must_use]
    pub fn has(&self, part: usize, member: usize) -> bool {
        self.complete[part][member]
    }

    /// From whom it gets a stream.
    #[must_use]
    pub fn parent(&self, stream: usize, member: usize) -> Option<usize> {
        self.flows.get(stream)?.parents[member]
    }

    /// Is it to have a part?
    #[must_use]
    pub fn wants(&self, part: usize, member: usize) -> bool {
        self.wants[part][member]
    }

    /// Does it get something from that one that it has not all octets of?
    #[must_use]
    pub fn needs(&self, member: usize, from: usize) -> bool {
        self.flows.iter().enumerate().any(|(stream, flow)| {
            flow.parents[member] == Some(from) && !self.complete[stream / self.stripes][member]
        })
    }

    /// From whom it gets something.
    #[must_use]
    pub fn parents(&self, member: usize) -> BTreeSet<usize> {
        self.flows.iter().filter_map(|flow| flow.parents[member]).collect()
    }

    /// Does somebody get something from it that is not whole yet?
    #[must_use]
    pub fn has_behind(&self, member: usize) -> bool {
        self.flows.iter().enumerate().any(|(stream, flow)| {
            let complete = &self.complete[stream / self.stripes];
            let mut all = flow.parents.iter().zip(complete);
            all.any(|(from, complete)| *from == Some(member) && !complete)
        })
    }

    /// A member has all octets of a part, and needs nobody any more: they are being checked. Is that new?
    pub fn complete(&mut self, part: usize, member: usize) -> bool {
        let complete = self.complete.get_mut(part);
        complete.is_some_and(|complete| !std::mem::replace(&mut complete[member], true))
    }

    /// A member has all of a part.
    pub fn done(&mut self, part: usize, member: usize) {
        self.complete[part][member] = true;
        self.whole[part][member] = true;
    }

    /// What was told of a stage has come to nothing: it is to be told again.
    pub fn lost(&mut self, from: usize, to: usize) {
        self.told.remove(&(from, to));
    }

    /// A member is gone: those behind it get what it has not sent from the one in front of it, or, where it had the
    /// part, from one that has all of it. Given are parts and the members that cannot get them any more.
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
                // Who has all gets it from nobody.
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
            // Nothing is waited for any more.
            self.wants[*part][*orphan] = false;
        }
        orphans.into_iter().collect()
    }

    /// One that is slow: those behind it get all from the one in front of it, and it itself from the last one that is
    /// not slow.
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

    /// A member gets what it gets from one from another one: from the one in front of that, or else the last one. Only
    /// where it sends it to nobody, as after [`bypass`](Self::bypass).
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

    /// The last one that is not slow.
    fn last(&self, stream: usize) -> Option<usize> {
        let part = stream / self.stripes;
        let can = |m: &usize| self.lives[*m] && !self.slow[*m] && self.wants[part][*m];
        (0..self.lives.len()).filter(can).max_by_key(|m| self.flows[stream].depth(*m))
    }

    /// What is to be told now, and was not.
    pub fn changes(&mut self) -> Vec<Stage> {
        let mut wanted = stages(&self.flows);
        wanted.retain(|(_, to), streams| {
            streams.retain(|stream| !self.complete[*stream as usize / self.stripes][*to]);
            !streams.is_empty()
        });
        let mut changes = Vec::new();
        for ((from, to), before) in &self.told {
            // What is complete meanwhile is no reason to say anything.
            let open = |stream: &&u32| !self.complete[**stream as usize / self.stripes][*to];
            let goes = !wanted.contains_key(&(*from, *to)) && before.iter().any(|it| open(&it));
            if goes && self.lives[*from] {
                changes.push(Stage { from: *from, to: *to, streams: Vec::new() });
            }
        }
        for ((from, to), streams) in &wanted {
            let before: BTreeSet<u32> =
                self.told.get(&(*from, *to)).into_iter().flatten().copied().collect();
            let now: BTreeSet<u32> = streams.iter().copied().collect();
            let open = |stream: &&u32| !self.complete[**stream as usize / self.stripes][*to];
            let before: BTreeSet<u32> = before.iter().filter(open).copied().collect();
            if now != before {
                changes.push(Stage { from: *from, to: *to, streams: streams.clone() });
            }
        }
        for change in &changes {
            self.told.insert((change.from, change.to), change.streams.clone());
        }
        changes
    }

    fn children(&self, stream: usize, member: usize) -> Vec<usize> {
        let parents = self.flows[stream].parents.iter().enumerate();
        parents.filter(|(_, from)| **from == Some(member)).map(|(child, _)| child).collect()
    }

    /// One that lives and has all of a part.
    fn heir(&self, part: usize) -> Option<usize> {
        (0..self.lives.len())
            .find(|m| self.lives[*m] && self.wants[part][*m] && self.complete[part][*m])
    }
}

#[cfg(test)]
mod tests;
