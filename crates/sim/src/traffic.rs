//! Generates the traffic of a simulation: a sequence of messages per node. A seed always gives the
//! same messages, whatever happens to them in the network.

use std::sync::Arc;

use tresse_base::random::Random;

/// How a node chooses the destinations of its messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrafficPattern {
    /// Uniform over all other nodes.
    Uniform,
    /// To the node whose number has the sender's bits in reverse. A node that this maps to itself
    /// sends nothing. The number of nodes is a power of two.
    BitReversal,
    /// By node: uniform over the listed nodes.
    Among(Arc<[Vec<u32>]>),
    /// A share to one node, the rest uniform over all others. That node itself sends uniformly to
    /// all others.
    HotSpot {
        /// The node.
        node: u32,
        /// Share in ten-thousandths.
        share: u32,
    },
    /// By node: its only destination. A node that is its own destination sends nothing.
    Permutation(Arc<[u32]>),
    /// To all others round robin, each node beginning with the next one.
    AllToAll,
    /// By node: given messages at given times. The load has no effect.
    Trace(Arc<[Vec<Traced>]>),
}

/// One message of a recorded trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Traced {
    /// Cycle of its generation.
    pub at: u64,
    /// Destination node.
    pub dst: u32,
    /// Size in bytes.
    pub bytes: u32,
}

impl TrafficPattern {
    /// Returns the destinations of a node with their shares; empty for a trace.
    #[must_use]
    pub fn shares(&self, node: u32, nodes: usize) -> Vec<(u32, f64)> {
        let others = || (0..nodes as u32).filter(move |other| *other != node);
        let part = 1.0 / (nodes.max(2) - 1) as f64;
        match self {
            Self::Uniform | Self::AllToAll => others().map(|other| (other, part)).collect(),
            Self::HotSpot { node: hot, share } => {
                let hot_part = if *hot == node { 0.0 } else { f64::from(*share) / 10_000.0 };
                let of =
                    |other| (1.0 - hot_part) * part + f64::from(u8::from(other == *hot)) * hot_part;
                others().map(|other| (other, of(other))).collect()
            }
            Self::Among(all) => {
                let all = &all[node as usize];
                all.iter().map(|other| (*other, 1.0 / all.len() as f64)).collect()
            }
            Self::BitReversal => reversed(node, nodes).into_iter().map(|to| (to, 1.0)).collect(),
            Self::Permutation(to) => Some(to[node as usize])
                .filter(|to| *to != node)
                .map(|to| (to, 1.0))
                .into_iter()
                .collect(),
            Self::Trace(_) => Vec::new(),
        }
    }
}

/// Returns the node whose number has the bits of `node` in reverse; `None` if that is the node
/// itself.
fn reversed(node: u32, nodes: usize) -> Option<u32> {
    let bits = nodes.next_power_of_two().trailing_zeros();
    let to = if bits == 0 { 0 } else { node.reverse_bits() >> (u32::BITS - bits) };
    (to != node && (to as usize) < nodes).then_some(to)
}

/// The distribution of the times between two messages of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrivals {
    /// Exponentially distributed.
    Poisson,
    /// Constant, from a random time on.
    Even,
}

/// The traffic of a simulation: how nodes choose destinations, when they send, and the size of
/// messages.
#[derive(Debug, Clone, PartialEq)]
pub struct OfferedTraffic {
    /// Destinations.
    pub pattern: TrafficPattern,
    /// Times.
    pub arrivals: Arrivals,
    /// Bytes of a message.
    pub bytes: u32,
}

impl OfferedTraffic {
    /// Returns the bytes of the largest message.
    #[must_use]
    pub fn largest(&self) -> u32 {
        let TrafficPattern::Trace(messages) = &self.pattern else { return self.bytes };
        messages.iter().flatten().map(|message| message.bytes).max().unwrap_or(self.bytes)
    }

    /// Returns the cycle of a trace's last message.
    #[must_use]
    pub fn last(&self) -> Option<u64> {
        let TrafficPattern::Trace(messages) = &self.pattern else { return None };
        messages.iter().flatten().map(|message| message.at).max()
    }

    /// Returns whether the messages are those of a trace.
    #[must_use]
    pub const fn is_traced(&self) -> bool {
        matches!(self.pattern, TrafficPattern::Trace(_))
    }
}

/// A message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Message {
    /// Ticks.
    pub born: u64,
    pub dst: u32,
    pub bytes: u32,
    /// Random number that chooses among paths.
    pub draw: u64,
}

/// Generator of the messages of one node, in order.
#[derive(Debug, Clone)]
pub(crate) struct Sequence {
    node: u32,
    nodes: u32,
    random: Random,
    /// Ticks.
    next: f64,
    count: usize,
}

impl Sequence {
    /// Starts the sequence of a node. `mean`: mean ticks between messages.
    pub fn new(traffic: &OfferedTraffic, node: u32, nodes: usize, mean: f64, seed: u64) -> Self {
        let mut random = Random::new(seed);
        // Nodes' sequences begin far from each other.
        let own = random.number() ^ u64::from(node).wrapping_mul(0xd1b5_4a32_d192_ed03);
        let mut random = Random::new(Random::new(own).number());
        let next = match traffic.arrivals {
            Arrivals::Poisson => exponential(&mut random, mean),
            Arrivals::Even => random.fraction() * mean,
        };
        Self { node, nodes: nodes as u32, random, next, count: 0 }
    }

    /// Returns the next message; `None` at the end. `tick`: ticks per cycle.
    pub fn next(&mut self, traffic: &OfferedTraffic, mean: f64, tick: u64) -> Option<Message> {
        let count = self.count;
        self.count += 1;
        if let TrafficPattern::Trace(messages) = &traffic.pattern {
            let Traced { at, dst, bytes } = *messages[self.node as usize].get(count)?;
            return Some(Message {
                born: at.saturating_mul(tick),
                dst,
                bytes,
                draw: self.random.number(),
            });
        }
        let born = self.next as u64;
        self.next += match traffic.arrivals {
            Arrivals::Poisson => exponential(&mut self.random, mean),
            Arrivals::Even => mean,
        };
        let dst = self.destination(&traffic.pattern, count)?;
        Some(Message { born, dst, bytes: traffic.bytes, draw: self.random.number() })
    }

    fn destination(&mut self, pattern: &TrafficPattern, count: usize) -> Option<u32> {
        let (node, nodes) = (self.node, self.nodes);
        let dst = match pattern {
            TrafficPattern::HotSpot { node: hot, share }
                if *hot != node && self.random.below(10_000) < *share as usize =>
            {
                *hot
            }
            TrafficPattern::Uniform | TrafficPattern::HotSpot { .. } => {
                let other = self.random.below(nodes.checked_sub(1)?.max(1) as usize) as u32;
                other + u32::from(other >= node)
            }
            TrafficPattern::BitReversal => reversed(node, nodes as usize)?,
            TrafficPattern::Among(others) => {
                let others = &others[node as usize];
                (!others.is_empty()).then(|| others[self.random.below(others.len())])?
            }
            TrafficPattern::Permutation(to) => to[node as usize],
            TrafficPattern::AllToAll => {
                let step = 1 + count as u32 % nodes.checked_sub(1)?.max(1);
                (node + step) % nodes
            }
            TrafficPattern::Trace(_) => return None,
        };
        (dst != node && dst < nodes).then_some(dst)
    }
}

fn exponential(random: &mut Random, mean: f64) -> f64 {
    -(1.0 - random.fraction()).ln() * mean
}

#[cfg(test)]
mod tests {
    use super::*;

    fn destinations(pattern: TrafficPattern, node: u32, nodes: usize, count: usize) -> Vec<u32> {
        let traffic = OfferedTraffic { pattern, arrivals: Arrivals::Even, bytes: 512 };
        let mut sequence = Sequence::new(&traffic, node, nodes, 10.0, 1);
        std::iter::from_fn(|| sequence.next(&traffic, 10.0, 1)).take(count).map(|m| m.dst).collect()
    }

    #[test]
    fn patterns_send_where_they_say() {
        let uniform = destinations(TrafficPattern::Uniform, 3, 8, 8000);
        for node in 0..8u32 {
            let count = uniform.iter().filter(|dst| **dst == node).count();
            assert_eq!(count == 0, node == 3);
            assert!(node == 3 || (1000..1290).contains(&count), "{count}");
        }
        assert_eq!(destinations(TrafficPattern::BitReversal, 3, 16, 1), [12]);
        assert_eq!(destinations(TrafficPattern::BitReversal, 6, 16, 1), [0; 0]);
        assert_eq!(destinations(TrafficPattern::AllToAll, 2, 4, 4), [3, 0, 1, 3]);
        let hot = destinations(TrafficPattern::HotSpot { node: 5, share: 3000 }, 0, 8, 10_000);
        let count = hot.iter().filter(|dst| **dst == 5).count();
        // 30 % and a seventh of the rest.
        assert!((3800..4200).contains(&count), "{count}");
    }

    #[test]
    fn messages_come_at_the_rate_that_was_asked_for() {
        for arrivals in [Arrivals::Poisson, Arrivals::Even] {
            let traffic = OfferedTraffic { pattern: TrafficPattern::Uniform, arrivals, bytes: 512 };
            let mut sequence = Sequence::new(&traffic, 0, 4, 250.0, 7);
            let last = (0..40_000).filter_map(|_| sequence.next(&traffic, 250.0, 1)).last();
            let mean = last.unwrap().born as f64 / 40_000.0;
            assert!((245.0..255.0).contains(&mean), "{mean}");
        }
    }
}
