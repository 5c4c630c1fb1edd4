//! Packs routes into as few VLAN trees as a search finds: first fit in several orders, then iterated (Culberson 1992,
//! for the colouring of graphs).
//!
//! First fit takes one route after the other and puts each into the first tree that can hold it. If the routes of each
//! tree of a packing stay together in the next order, it needs no more trees than before, and often fewer: routes of later
//! trees find room in earlier ones.

use tresse_base::random::Random;
use tresse_topology::Channel;

/// How much work packing may be, in routes placed.
const WORK: usize = 1 << 19;
/// How often routes are placed anew at most, and how often without a tree less.
const PASSES: usize = 256;
const IN_VAIN: usize = 48;
/// Of so many routes at most, those of 64 switches, so many more orders are tried first: those of few trees soon come again.
pub(crate) const FEW: usize = 1 << 12;
const MORE_ORDERS: usize = 16;
/// The seed of the random orders, fixed because every node must plan the same trees.
const SEED: u64 = 1;

/// Trees that are being filled.
pub(crate) trait FirstFit {
    /// The first tree that can hold a route, a new one where it fits into none; `None` where there may be no more.
    fn place(&mut self, channels: &[Channel]) -> Option<usize>;
    /// Trees so far.
    fn trees(&self) -> usize;
}

/// Routes, by number.
#[derive(Debug, Default)]
pub(crate) struct RouteList {
    channels: Vec<Channel>,
    /// Where each begins and, of the next, ends.
    first: Vec<u32>,
    /// The ends of the whole route that it is of, by which routes are put in order.
    ends: Vec<(u32, u32)>,
}

impl RouteList {
    /// Adds a route from `s` to `d`, or a part of one.
    pub fn add(&mut self, (s, d): (u32, u32), channels: &[Channel]) {
        self.first.push(self.channels.len() as u32);
        self.channels.extend_from_slice(channels);
        self.ends.push((s, d));
    }

    fn len(&self) -> usize {
        self.ends.len()
    }

    fn get(&self, route: usize) -> &[Channel] {
        let end = self.first.get(route + 1).map_or(self.channels.len(), |end| *end as usize);
        &self.channels[self.first[route] as usize..end]
    }

    /// Orders to begin with. Long routes come first, since short ones fit in beside them: as they are, those with the
    /// same channel in the middle together, by the sum of both ends, which makes paths of the cables of a clique, and of few
    /// routes at random.
    fn orders(&self, switches: u32) -> Vec<Vec<u32>> {
        let length = |route: &u32| std::cmp::Reverse(self.get(*route as usize).len());
        let by = |key: &dyn Fn(usize) -> u32| {
            let mut order: Vec<u32> = (0..self.len() as u32).collect();
            order.sort_by_cached_key(|route| (length(route), key(*route as usize)));
            order
        };
        let middle = |route: usize| {
            let channels = self.get(route);
            channels.get(channels.len() / 2).copied().unwrap_or(0)
        };
        let sum = |route: usize| (self.ends[route].0 + self.ends[route].1) % switches.max(1);
        let mut orders = vec![by(&|_| 0), by(&middle), by(&sum)];
        let mut random = Random::new(SEED);
        let more = if self.len() > FEW { 0 } else { MORE_ORDERS };
        orders.extend((0..more).map(|_| {
            let mut order: Vec<u32> = (0..self.len() as u32).collect();
            random.shuffle(&mut order);
            order.sort_by_key(length);
            order
        }));
        orders
    }

    /// Packs all routes; `new`: no trees yet. `begun`: a packing to begin with. Returns the trees, and by route which it is
    /// in.
    pub fn pack<P: FirstFit>(
        &self,
        switches: u32,
        new: impl Fn() -> P,
        begun: Option<(P, Vec<Option<usize>>)>,
    ) -> (P, Vec<Option<usize>>) {
        let pass = |order: &[u32]| {
            let (mut trees, mut at) = (new(), vec![None; self.len()]);
            for route in order {
                at[*route as usize] = trees.place(self.get(*route as usize));
            }
            (trees, at)
        };
        // Routes that fit nowhere count before trees.
        let rank = |(trees, at): &(P, Vec<Option<usize>>)| {
            (at.iter().filter(|tree| tree.is_none()).count(), trees.trees())
        };
        let passes = (WORK / self.len().max(1)).clamp(1, PASSES);
        let mut best = begun.unwrap_or_else(|| {
            let orders = self.orders(switches);
            let begun = orders.iter().take(passes).map(|order| pass(order));
            begun.min_by_key(&rank).expect("there is an order")
        });
        let (mut random, mut in_vain) = (Random::new(SEED), 0);
        for turn in 0..passes {
            let packing = pass(&again(&best.1, best.0.trees(), Next::of(turn), &mut random));
            in_vain = if rank(&packing) < rank(&best) { 0 } else { in_vain + 1 };
            if rank(&packing) <= rank(&best) {
                best = packing;
            }
            if in_vain == IN_VAIN {
                break;
            }
        }
        // From another packing of as few trees the search goes on; it does not replace the best.
        let (mut now, shuffles) = (best.1.clone(), if self.len() > FEW { 0 } else { passes });
        for _ in 0..shuffles {
            let packing = pass(&again(&now, best.0.trees(), Next::Shuffled, &mut random));
            if rank(&packing) <= rank(&best) {
                now.clone_from(&packing.1);
            }
            if rank(&packing) < rank(&best) {
                best = packing;
            }
        }
        best
    }
}

/// How the trees of a packing follow each other in the next order.
#[derive(Debug, Clone, Copy)]
enum Next {
    LastFirst,
    FewestLast,
    Shuffled,
}

impl Next {
    const fn of(turn: usize) -> Self {
        match turn % 3 {
            0 => Self::LastFirst,
            1 => Self::FewestLast,
            _ => Self::Shuffled,
        }
    }
}

/// The next order, by trees. Routes without a tree come first.
fn again(at: &[Option<usize>], trees: usize, next: Next, random: &mut Random) -> Vec<u32> {
    let mut members: Vec<Vec<u32>> = vec![Vec::new(); trees + 1];
    for (route, tree) in (0..).zip(at) {
        members[tree.map_or(0, |tree| tree + 1)].push(route);
    }
    match next {
        Next::LastFirst => members[1..].reverse(),
        Next::FewestLast => members[1..].sort_by_key(|members| std::cmp::Reverse(members.len())),
        Next::Shuffled => random.shuffle(&mut members[1..]),
    }
    members.concat()
}
