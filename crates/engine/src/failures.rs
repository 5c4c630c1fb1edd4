//! Answers ListFailures: what is believed broken and by whose word, which destinations are reached round it, and
//! which are not reached.

use std::collections::{BTreeMap, BTreeSet};

use tresse_base::id::NodeId;
use tresse_control::{AroundLine, BrokenLine, CutLine, FailureList, NodeError};

use super::Engine;
use super::known::Known;
use super::prepared::Prepared;

/// What is broken, by kind and name: the nodes that say so.
type Broken = BTreeMap<(&'static str, String), BTreeSet<String>>;

impl Engine {
    /// The reply to ListFailures. `unix_ms`: the present time, in milliseconds since 1 January 1970.
    ///
    /// # Errors
    /// [`NodeError::NoPlan`].
    pub fn failures(&self, now: u64, unix_ms: u64) -> Result<FailureList, NodeError> {
        let current = self.current().ok_or(NodeError::NoPlan)?;
        let dark = self.dark();
        let dark = dark.iter().map(String::as_str).collect();
        let known = self.known(current, &dark);
        let line = |((kind, object), by): ((&'static str, String), BTreeSet<String>)| {
            let since = self.healing.since.get(&object).map_or(now, |at| *at);
            let since = unix_ms.saturating_sub(now.saturating_sub(since));
            let by = by.into_iter().collect::<Vec<_>>().join(", ");
            BrokenLine { kind: kind.into(), object, by, since }
        };
        let broken = self.broken_parts(current, known.as_ref());
        let cut: BTreeSet<String> = self.cut().into_iter().collect();
        let cut_line = |dst: &String| CutLine {
            src: current.node.clone(),
            dst: dst.clone(),
            reason: "no-cable".into(),
            at: None,
        };
        Ok(FailureList {
            broken: broken.into_iter().map(line).collect(),
            around: self.around(current, known.as_ref(), &cut),
            cut: cut.iter().map(cut_line).collect(),
        })
    }

    /// Notes since when each thing has been known to be broken.
    pub(super) fn note_broken(&mut self, current: &Prepared, known: Option<&Known<'_>>) {
        let broken = self.broken_parts(current, known);
        let objects: BTreeSet<String> = broken.into_keys().map(|(_, object)| object).collect();
        let now = self.now;
        self.healing.since.retain(|object, _| objects.contains(object));
        for object in objects {
            self.healing.since.entry(object).or_insert(now);
        }
    }

    fn broken_parts(&self, current: &Prepared, known: Option<&Known<'_>>) -> Broken {
        let mut broken = Broken::new();
        let name = |node: NodeId| current.index.node(node).to_owned();
        if !current.index.goes_by_hops() {
            let words = self.broken().into_iter();
            broken.extend(words.map(|path| (("path", path), [current.node.clone()].into())));
        }
        let Some(known) = known else { return broken };
        let is_broken = |node, at| known.state(node, at).was_broken();
        let nodes = || (0..known.remaining.nodes()).map(NodeId::from);
        // No hop leads to it.
        let senders = |to: NodeId| known.remaining.arriving(to).iter();
        let off: BTreeSet<NodeId> = nodes()
            .filter(|to| *to != current.id && senders(*to).all(|(from, at)| is_broken(*from, *at)))
            .collect();
        for node in &off {
            let by = senders(*node).map(|(from, _)| *from).filter(|from| !off.contains(from));
            broken.insert(("node", name(*node)), by.map(name).collect());
        }
        let end = |node, nic: usize| match current.index.parts.nic(node, nic as u32) {
            Some((node, nic)) => format!("{node}:{nic}"),
            None => name(node),
        };
        for from in nodes().filter(|from| !off.contains(from)) {
            for (at, hop) in known.remaining.hops(from).iter().enumerate() {
                if !is_broken(from, at) || off.contains(&hop.to) {
                    continue;
                }
                if known.remaining.joins_paths() {
                    let pair = format!("{} -> {}", name(from), name(hop.to));
                    broken.entry(("pair", pair)).or_default().insert(name(from));
                } else {
                    // One name for both directions.
                    let mut ends = [(from, hop.nic), (hop.to, hop.to_nic)];
                    ends.sort_unstable();
                    let [a, b] = ends.map(|(node, nic)| end(node, nic));
                    broken
                        .entry(("hop", format!("{a}-{b}")))
                        .or_default()
                        .insert(name(if known.speaks(from) { from } else { hop.to }));
                }
            }
        }
        broken
    }

    /// The destinations that are reached otherwise than planned.
    fn around(
        &self,
        current: &Prepared,
        known: Option<&Known<'_>>,
        cut: &BTreeSet<String>,
    ) -> Vec<AroundLine> {
        let (src, name) = (&current.node, |node: NodeId| current.index.node(node).to_owned());
        let line = |dst: NodeId, path: Vec<NodeId>| AroundLine {
            src: src.clone(),
            dst: name(dst),
            path: path.into_iter().map(name).collect(),
        };
        let mut around = Vec::new();
        if let Some(known) = known {
            let state = |node, at| known.state(node, at);
            let nodes = (0..known.remaining.nodes()).map(NodeId::from);
            let others = nodes.filter(|dst| *dst != current.id);
            let others = others
                .filter(|dst| !cut.contains(&name(*dst)))
                .filter(|dst| !known.remaining.keeps(current.id, *dst, state));
            let path = |dst| {
                let ways = known.remaining.ways(dst, state, |node| known.speaks(node));
                let walked = known.remaining.walk(current.id, dst, &ways)?;
                // By its own paths, where these are joined: listed with those below.
                let own = known.remaining.joins_paths() && walked.len() == 2;
                (!own).then(|| line(dst, walked))
            };
            around.extend(others.filter_map(path));
        }
        let by_paths = !current.index.goes_by_hops();
        for pair in current.index.pairs().filter(|pair| by_paths && !self.goes_round(pair)) {
            let lines = self.pair(&current.index, pair);
            let carries = |at: &usize| lines[*at].state == "active";
            if pair.iter().zip(&lines).any(|(path, line)| path.weight > 0 && line.state == "active")
            {
                continue;
            }
            let used = (0..pair.len()).find(carries).filter(|_| !cut.contains(&lines[0].dst));
            if let Some(used) = used {
                let (src, dst) = (src.clone(), lines[used].dst.clone());
                let transits = current.index.transit_nodes(&pair[used]);
                let path = [vec![src.clone()], transits, vec![dst.clone()]].concat();
                around.push(AroundLine { src, dst, path });
            }
        }
        around
    }
}
