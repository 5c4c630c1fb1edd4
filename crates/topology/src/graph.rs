//! The graph of switches as a compressed adjacency list of channels (the directions of switch-to-switch cables).

use std::cmp::Reverse;

use tresse_base::id::{LinkId, SwitchId};
use tresse_base::units::Rate;

use crate::cluster::Cluster;

/// The directed graph of the switches. Every switch-to-switch link gives two channels, one in each direction. With L
/// links the channels are numbered 0..2L, sorted by the switch that they leave, the switch that they reach, their rate, the
/// fastest first, and then the link.
#[derive(Debug, Clone)]
pub struct Graph {
    /// Channels out of switch `s`: `first[s]..first[s + 1]`.
    first: Vec<u32>,
    heads: Vec<u32>,
    tails: Vec<u32>,
    links: Vec<LinkId>,
    reverse: Vec<u32>,
}

/// The number of a channel, one direction of a switch-to-switch cable: an index into vectors with one entry per
/// channel.
pub type Channel = u32;

impl Graph {
    /// Builds the graph of `cluster`. Parallel links give separate channels.
    #[must_use]
    pub fn new(cluster: &Cluster) -> Self {
        let ends = cluster.links.iter().map(|l| (l.a.switch.0, l.b.switch.0)).collect::<Vec<_>>();
        Self::of(cluster.switches.len(), &ends, |link| cluster.links[link as usize].rate)
    }

    /// Builds the graph of `switches` switches whose i-th link is `edges[i]`, all of one rate.
    #[must_use]
    pub fn from_edges(switches: usize, edges: &[(u32, u32)]) -> Self {
        Self::of(switches, edges, |_| Rate::GIGABIT)
    }

    fn of(switches: usize, edges: &[(u32, u32)], rate: impl Fn(u32) -> Rate) -> Self {
        let mut channels: Vec<(u32, u32, u32)> = edges
            .iter()
            .zip(0u32..)
            .flat_map(|(&(a, b), link)| [(a, b, link), (b, a, link)])
            .collect();
        channels
            .sort_unstable_by_key(|&(tail, head, link)| (tail, head, Reverse(rate(link)), link));
        let mut first = vec![0u32; switches + 1];
        for &(tail, ..) in &channels {
            first[tail as usize + 1] += 1;
        }
        for s in 0..switches {
            first[s + 1] += first[s];
        }
        let mut of_link = vec![[u32::MAX; 2]; edges.len()];
        for (c, &(tail, head, link)) in channels.iter().enumerate() {
            let side =
                usize::from(tail > head || (tail == head && of_link[link as usize][0] != u32::MAX));
            of_link[link as usize][side] = c as u32;
        }
        let reverse = channels
            .iter()
            .zip(0u32..)
            .map(|(&(.., link), c)| {
                let [x, y] = of_link[link as usize];
                if x == c { y } else { x }
            })
            .collect();
        Self {
            first,
            heads: channels.iter().map(|c| c.1).collect(),
            tails: channels.iter().map(|c| c.0).collect(),
            links: channels.iter().map(|c| LinkId(c.2)).collect(),
            reverse,
        }
    }

    /// Returns the number of switches.
    #[must_use]
    pub fn switches(&self) -> usize {
        self.first.len() - 1
    }

    /// Returns the number of channels: twice the number of cables.
    #[must_use]
    pub fn channels(&self) -> usize {
        self.heads.len()
    }

    /// Returns the channels that leave `switch`, ascending by head; of parallel ones the fastest first.
    #[must_use]
    pub fn out(&self, switch: u32) -> std::ops::Range<Channel> {
        self.first[switch as usize]..self.first[switch as usize + 1]
    }

    /// Returns the switch that a channel leaves.
    #[must_use]
    pub fn tail(&self, channel: Channel) -> u32 {
        self.tails[channel as usize]
    }

    /// Returns the switch that a channel enters.
    #[must_use]
    pub fn head(&self, channel: Channel) -> u32 {
        self.heads[channel as usize]
    }

    /// Returns the cable of a channel.
    #[must_use]
    pub fn link(&self, channel: Channel) -> LinkId {
        self.links[channel as usize]
    }

    /// Returns the channel in the other direction of the same cable.
    #[must_use]
    pub fn reverse(&self, channel: Channel) -> Channel {
        self.reverse[channel as usize]
    }

    /// Returns the channel from `a` to `b`, if the switches are adjacent; of parallel ones the fastest, and the first of those.
    #[must_use]
    pub fn between(&self, a: SwitchId, b: SwitchId) -> Option<Channel> {
        let out = self.out(a.0);
        let heads = &self.heads[out.start as usize..out.end as usize];
        let at = heads.partition_point(|h| *h < b.0);
        (heads.get(at) == Some(&b.0)).then(|| out.start + at as u32)
    }

    /// Writes the hop distance from `source` to every switch into `distance` (`u32::MAX` if unreachable).
    /// `queue` is scratch space. O(switches + channels).
    pub fn distances(&self, source: u32, distance: &mut Vec<u32>, queue: &mut Vec<u32>) {
        distance.clear();
        distance.resize(self.switches(), u32::MAX);
        queue.clear();
        queue.push(source);
        distance[source as usize] = 0;
        let mut next = 0;
        while let Some(&u) = queue.get(next) {
            next += 1;
            for c in self.out(u) {
                let v = self.head(c);
                if distance[v as usize] == u32::MAX {
                    distance[v as usize] = distance[u as usize] + 1;
                    queue.push(v);
                }
            }
        }
    }

    /// Returns, for each switch, the sum over all reachable switches of hops times weight. One search serves 64
    /// sources at once, one bit each, since every cable works in both directions:
    /// O(switches / 64 x diameter x channels).
    #[must_use]
    pub fn sums_of_hops(&self, weights: &[u64]) -> Vec<u64> {
        let n = self.switches();
        let mut sums = vec![0; n];
        let (mut seen, mut now, mut next) = (vec![0u64; n], vec![0u64; n], vec![0u64; n]);
        for from in (0..n).step_by(64) {
            seen.fill(0);
            for (bit, seen) in seen[from..].iter_mut().take(64).enumerate() {
                *seen = 1 << bit;
            }
            now.copy_from_slice(&seen);
            for hops in 1.. {
                let mut fresh = 0;
                for v in 0..n {
                    let heads = &self.heads[self.first[v] as usize..self.first[v + 1] as usize];
                    let reached = heads.iter().fold(0, |bits, u| bits | now[*u as usize]);
                    next[v] = reached & !seen[v];
                    fresh |= next[v];
                    let mut bits = next[v];
                    while bits != 0 {
                        sums[from + bits.trailing_zeros() as usize] += hops * weights[v];
                        bits &= bits - 1;
                    }
                }
                if fresh == 0 {
                    break;
                }
                seen.iter_mut().zip(&next).for_each(|(seen, next)| *seen |= next);
                std::mem::swap(&mut now, &mut next);
            }
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random;

    #[test]
    fn sums_of_hops_are_those_of_single_searches() {
        for (switches, edges) in [
            (100, random::regular(100, 4, 1)),
            (65, (1..65).map(|s| (s - 1, s)).collect()),
            (3, vec![(0, 1), (0, 1), (1, 2)]),
        ] {
            let graph = Graph::from_edges(switches, &edges);
            let weights: Vec<u64> = (0..switches as u64).map(|s| s * s % 5).collect();
            let (mut distance, mut queue) = (Vec::new(), Vec::new());
            let mut expected = vec![0; switches];
            for (s, sum) in (0..).zip(&mut expected) {
                graph.distances(s, &mut distance, &mut queue);
                *sum = distance.iter().zip(&weights).map(|(d, w)| u64::from(*d) * w).sum();
            }
            assert_eq!(graph.sums_of_hops(&weights), expected);
        }
    }

    #[test]
    fn channels_pair_up_with_parallel_cables() {
        let graph = Graph::from_edges(3, &[(0, 1), (1, 0), (1, 2)]);
        assert_eq!(graph.channels(), 6);
        for c in 0..6 {
            let r = graph.reverse(c);
            assert_eq!(graph.reverse(r), c);
            assert_eq!(graph.link(r), graph.link(c));
            assert_eq!((graph.tail(r), graph.head(r)), (graph.head(c), graph.tail(c)));
        }
        let c = graph.between(SwitchId(0), SwitchId(1)).unwrap();
        assert_eq!(graph.link(c), LinkId(0));
        assert_eq!(graph.between(SwitchId(0), SwitchId(2)), None);
    }
}
