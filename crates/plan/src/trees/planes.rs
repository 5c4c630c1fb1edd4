//! The planes of a fabric, beside its trees.

use tresse_base::id::SwitchId;
use tresse_topology::{Channel, Graph, Planes};

use super::turns::Turns;

/// The planes of a fabric, and the turns that backups may take in each.
#[derive(Debug)]
pub(super) struct PlaneTurns {
    planes: Planes,
    /// By plane.
    turns: Vec<Option<Turns>>,
    /// By channel: its number in its plane.
    channels: Vec<Channel>,
}

impl PlaneTurns {
    /// `turns`: those that backups may take, by plane. O(channels).
    pub(super) fn new(planes: Planes, turns: Vec<Option<Turns>>, graph: &Graph) -> Self {
        let mut next = vec![0; planes.count()];
        let mut number = |c: Channel| {
            let next = &mut next[planes.plane(SwitchId(graph.tail(c)))];
            *next += 1;
            *next - 1
        };
        // Channels are in the order of switches and links, which is that of the whole fabric in each plane.
        let channels = (0..graph.channels() as u32).map(&mut number).collect();
        Self { planes, turns, channels }
    }

    pub(super) const fn planes(&self) -> &Planes {
        &self.planes
    }

    /// Whether a backup may take a path, which lies in one plane.
    pub(super) fn allow(&self, graph: &Graph, path: &[Channel]) -> bool {
        let Some(first) = path.first() else { return true };
        let turns = &self.turns[self.planes.plane(SwitchId(graph.tail(*first)))];
        turns.as_ref().is_none_or(|turns| {
            let own: Vec<Channel> = path.iter().map(|c| self.channels[*c as usize]).collect();
            turns.allow(&own)
        })
    }
}
