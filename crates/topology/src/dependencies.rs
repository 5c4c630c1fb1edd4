//! The channel dependency graph, whose vertices are the channels (directions of switch-to-switch links). It has an arc
//! from one channel to another if a frame may hold the first while it waits for the second. If the graph has no cycle,
//! back-pressure cannot cause deadlock (Dally and Seitz 1987).

use crate::{Channel, Graph};

/// The channel dependency graph of a set of paths: for each channel (a direction of a switch-to-switch link) the
/// channels that some path uses right after it. A channel into switch v stores one bit for each channel out of v.
#[derive(Debug, Clone)]
pub struct Dependencies {
    /// First word of each channel's bits.
    base: Vec<u32>,
    /// First channel out of the channel's head: what bit 0 stands for.
    origin: Vec<Channel>,
    bits: Vec<u64>,
}

impl Dependencies {
    /// Returns a graph without dependencies.
    #[must_use]
    pub fn new(graph: &Graph) -> Self {
        let channels = graph.channels() as u32;
        let mut base = Vec::with_capacity(channels as usize + 1);
        let mut words = 0;
        for c in 0..channels {
            base.push(words);
            words += (graph.out(graph.head(c)).len() as u32).div_ceil(64);
        }
        base.push(words);
        let origin = (0..channels).map(|c| graph.out(graph.head(c)).start).collect();
        Self { base, origin, bits: vec![0; words as usize] }
    }

    /// Adds a dependency: some path uses `to` right after `from`.
    pub fn add(&mut self, from: Channel, to: Channel) {
        let bit = to - self.origin[from as usize];
        self.bits[(self.base[from as usize] + bit / 64) as usize] |= 1 << (bit % 64);
    }

    /// Removes a dependency.
    pub fn remove(&mut self, from: Channel, to: Channel) {
        let bit = to - self.origin[from as usize];
        self.bits[(self.base[from as usize] + bit / 64) as usize] &= !(1 << (bit % 64));
    }

    /// Whether some path uses `to` right after `from`.
    #[must_use]
    pub fn contains(&self, from: Channel, to: Channel) -> bool {
        let bit = to - self.origin[from as usize];
        let word = self.bits[(self.base[from as usize] + bit / 64) as usize];
        word >> (bit % 64) & 1 == 1
    }

    /// Adds all dependencies of another graph over the same channels.
    pub fn merge(&mut self, other: &Self) {
        self.bits.iter_mut().zip(&other.bits).for_each(|(a, b)| *a |= b);
    }

    /// Returns the channels that some path uses right after `from`, ascending.
    pub fn after(&self, from: Channel) -> impl Iterator<Item = Channel> + '_ {
        let words = self.base[from as usize]..self.base[from as usize + 1];
        let origin = self.origin[from as usize];
        words.clone().flat_map(move |w| {
            let mut word = self.bits[w as usize];
            let first = origin + (w - words.start) * 64;
            std::iter::from_fn(move || {
                let bit = (word != 0).then(|| word.trailing_zeros())?;
                word &= word - 1;
                Some(first + bit)
            })
        })
    }

    /// Returns a cycle of channels, in which each depends on the next and the last on the first; `None` if the
    /// graph has no cycle. It is the shortest cycle through the channel at which a depth-first search finds
    /// the first cycle. O(dependencies).
    #[must_use]
    pub fn cycle(&self, graph: &Graph) -> Option<Vec<Channel>> {
        let n = graph.channels();
        let mut state = vec![0u8; n];
        let mut stack: Vec<(Channel, Vec<Channel>)> = Vec::new();
        for start in 0..n as u32 {
            if state[start as usize] != 0 {
                continue;
            }
            state[start as usize] = 1;
            stack.push((start, self.after(start).collect()));
            while let Some((c, next)) = stack.last_mut() {
                let Some(to) = next.pop() else {
                    state[*c as usize] = 2;
                    stack.pop();
                    continue;
                };
                match state[to as usize] {
                    0 => {
                        state[to as usize] = 1;
                        stack.push((to, self.after(to).collect()));
                    }
                    1 => return self.shortest_through(to, n),
                    _ => {}
                }
            }
        }
        None
    }

    fn shortest_through(&self, start: Channel, channels: usize) -> Option<Vec<Channel>> {
        let mut from = vec![u32::MAX; channels];
        let mut queue = vec![start];
        let mut next = 0;
        while let Some(&c) = queue.get(next) {
            next += 1;
            for to in self.after(c) {
                if to == start {
                    let mut cycle = vec![c];
                    while cycle[cycle.len() - 1] != start {
                        cycle.push(from[cycle[cycle.len() - 1] as usize]);
                    }
                    cycle.reverse();
                    return Some(cycle);
                }
                if from[to as usize] == u32::MAX {
                    from[to as usize] = c;
                    queue.push(to);
                }
            }
        }
        None
    }
}
