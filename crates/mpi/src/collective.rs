//! The flows of each collective: what one rank sends and receives in each ring.
//!
//! With n ranks, k rings that share no link, X bytes and links of rate L, they take about X/kL for a broadcast,
//! (n-1)X/kL for an allgather, a gather and a scatter of X bytes a rank, and 2(n-1)X/nkL for an allreduce
//! (big-fat-switches, section 3: all are bound by the links of a node).

use std::sync::Arc;

use crate::area::Area;
use crate::flow::{Combine, CopyFlow, Flow, PASSING, PassFlow, ReduceFlow, Round, Step, stripe};
use crate::order::Order;

/// The flows of a rank, one for each ring.
pub type Flows = Vec<Box<dyn Flow + Send>>;

/// Copies `buffer` from the root to all ranks.
#[must_use]
pub fn bcast(rings: &[Order], root: usize, buffer: Area) -> Flows {
    each(rings, |ring, order| {
        let part = buffer.part(stripe(buffer.len(), ring, rings.len(), 1));
        match order.since(root) {
            0 => CopyFlow::new(vec![part], Vec::new(), 0),
            last if last + 1 == order.len() => CopyFlow::new(Vec::new(), vec![part], 0),
            _ => CopyFlow::new(Vec::new(), vec![part], 1),
        }
    })
}

/// Copies `buffer` from the root to all ranks over pairs of rings in opposite directions, each to the nearer half of the
/// ranks: the last one has it after half as many members, and each link carries twice as much. Best for little data.
#[must_use]
pub fn bcast_both_ways(rings: &[Order], root: usize, buffer: Area) -> Flows {
    each(rings, |ring, order| {
        let part = buffer.part(stripe(buffer.len(), ring / 2, rings.len() / 2, 1));
        let reach = (order.len() - ring % 2) / 2;
        match order.since(root) {
            since if since > reach || reach == 0 => CopyFlow::default(),
            0 => CopyFlow::new(vec![part], Vec::new(), 0),
            since => CopyFlow::new(Vec::new(), vec![part], usize::from(since < reach)),
        }
    })
}

/// Copies the block of each rank to all: `blocks` by rank, of which the own one is there.
#[must_use]
pub fn allgather(rings: &[Order], blocks: &[Area]) -> Flows {
    each(rings, |ring, order| {
        let part = |places| {
            let block = blocks[order.before(places)];
            block.part(stripe(block.len(), ring, rings.len(), 1))
        };
        let others: Vec<Area> = (1..order.len()).map(part).collect();
        // The last one started at the rank that this one sends to.
        let forward = others.len().saturating_sub(1);
        CopyFlow::new(vec![part(0)], others, forward)
    })
}

/// Copies the block of each rank to the root: `own`, and at the root where all go, by rank, of which the own one is
/// there. All blocks have the same length.
#[must_use]
pub fn gather(rings: &[Order], root: usize, own: Area, blocks: &[Area]) -> Flows {
    boxed(rings, |ring, order| {
        let part = |block: Area| block.part(stripe(block.len(), ring, rings.len(), 1));
        match order.since(root) {
            0 => {
                let others = (1..order.len()).map(|places| part(blocks[order.before(places)]));
                Box::new(CopyFlow::new(Vec::new(), others.collect(), 0))
            }
            since => {
                let own = part(own);
                Box::new(PassFlow::gather(own, own.len() as u64 * (since as u64 - 1)))
            }
        }
    })
}

/// Copies a block of the root to each rank: `own` where it goes, and at the root all blocks, by rank. All have the
/// same length.
#[must_use]
pub fn scatter(rings: &[Order], root: usize, own: Area, blocks: &[Area]) -> Flows {
    boxed(rings, |ring, order| {
        let part = |block: Area| block.part(stripe(block.len(), ring, rings.len(), 1));
        match order.since(root) {
            0 => {
                // The farthest first.
                let others = (1..order.len()).map(|places| part(blocks[order.before(places)]));
                Box::new(CopyFlow::new(others.collect(), Vec::new(), 0))
            }
            since => {
                let own = part(own);
                let behind = (order.len() - 1 - since) as u64;
                Box::new(PassFlow::scatter(own, own.len() as u64 * behind))
            }
        }
    })
}

/// Combines the `input` of all ranks, at each rank into its `result`, which may be the same buffer.
#[must_use]
pub fn allreduce(rings: &[Order], combine: &Arc<dyn Combine>, input: Area, result: Area) -> Flows {
    boxed(rings, |ring, order| {
        let n = order.len();
        let own = stripe(input.len(), ring, rings.len(), combine.unit());
        let (input, result) = (input.part(own.clone()), result.part(own));
        // Each rank starts with the chunk of its place. So it first receives the one of the place before.
        let chunk = |area: Area, back: usize| {
            area.part(stripe(area.len(), (order.place() + 2 * n - back) % n, n, combine.unit()))
        };
        let reduce = (1..n).map(|back| Step {
            own: Some(chunk(input, back)),
            result: Some(chunk(result, back)),
            len: chunk(input, back).len(),
        });
        let copy = (0..n - 1).map(|back| Step {
            own: None,
            result: Some(chunk(result, back)),
            len: chunk(result, back).len(),
        });
        let round = Round { first: chunk(input, 0), steps: reduce.chain(copy).collect() };
        Box::new(ReduceFlow::new(combine.clone(), vec![round]))
    })
}

/// Combines the blocks of all ranks, by rank, and leaves at each rank the result of its own block in `result`.
#[must_use]
pub fn reduce_scatter(
    rings: &[Order],
    combine: &Arc<dyn Combine>,
    blocks: &[Area],
    result: Area,
) -> Flows {
    boxed(rings, |ring, order| {
        let n = order.len();
        let part = |area: Area| area.part(stripe(area.len(), ring, rings.len(), combine.unit()));
        // The block of the rank before starts here, and ends there when it has come round. Long blocks go round in pieces.
        let piece = (PASSING / combine.unit()).max(1) * combine.unit();
        let longest = blocks.iter().map(|block| part(*block).len()).max().unwrap_or(0);
        let rounds = (0..longest).step_by(piece).map(|start| {
            let cut =
                |area: Area| area.part(start.min(area.len())..(start + piece).min(area.len()));
            let block = |back| cut(part(blocks[order.before(back)]));
            let steps = (2..=n).map(|back| {
                let result = (back == n).then(|| cut(part(result)));
                Step { own: Some(block(back)), result, len: block(back).len() }
            });
            Round { first: block(1), steps: steps.collect() }
        });
        Box::new(ReduceFlow::new(combine.clone(), rounds.collect()))
    })
}

fn each(rings: &[Order], flow: impl Fn(usize, &Order) -> CopyFlow) -> Flows {
    boxed(rings, |ring, order| Box::new(flow(ring, order)))
}

fn boxed(rings: &[Order], flow: impl Fn(usize, &Order) -> Box<dyn Flow + Send>) -> Flows {
    rings.iter().enumerate().map(|(ring, order)| flow(ring, order)).collect()
}
