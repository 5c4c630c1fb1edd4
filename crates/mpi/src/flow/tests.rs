use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;

use crate::area::{Aligned, Area};
use crate::collective::{self, Flows};
use crate::flow::{Combine, stripe};
use crate::order::Order;
use crate::wire::{Header, Lane, run};

/// Sums of 32-bit numbers.
struct Sum;

impl Combine for Sum {
    fn unit(&self) -> usize {
        4
    }

    fn combine(&self, incoming: Area, mut into: Area) {
        for (to, from) in into.bytes_mut().chunks_exact_mut(4).zip(incoming.bytes().chunks_exact(4))
        {
            let sum = [0, 1, 2, 3].map(|k| to[k].wrapping_add(from[k]));
            to.copy_from_slice(&sum);
        }
    }
}

fn sums() -> Arc<dyn Combine> {
    Arc::new(Sum)
}

/// Two rings of `n` ranks, or one: in some order, and in the reverse one.
fn orders(n: usize, rings: usize) -> Vec<Vec<u32>> {
    let order: Vec<u32> = (0..n).map(|k| ((k * 7 + 3) % n) as u32).collect();
    let order = if n.is_multiple_of(7) { (0..n as u32).collect() } else { order };
    let back = order.iter().rev().copied().collect();
    [order, back].into_iter().take(rings).collect()
}

/// Runs what `member` does at each of `n` ranks, each on a thread, and returns what each has then.
fn everywhere(
    n: usize,
    rings: usize,
    member: impl Fn(&[Order], &[Lane<UnixStream>], usize) -> Vec<u8> + Sync,
) -> Vec<Vec<u8>> {
    let mut lanes: Vec<Vec<Lane<UnixStream>>> = (0..n).map(|_| Vec::new()).collect();
    for order in orders(n, rings) {
        let mut ends: Vec<(Option<UnixStream>, Option<UnixStream>)> =
            (0..n).map(|_| (None, None)).collect();
        for at in 0..n {
            let (from, to) = UnixStream::pair().unwrap();
            from.set_nonblocking(true).unwrap();
            to.set_nonblocking(true).unwrap();
            ends[order[at] as usize].1 = Some(from);
            ends[order[(at + 1) % n] as usize].0 = Some(to);
        }
        for (lanes, (before, after)) in lanes.iter_mut().zip(ends) {
            lanes.push(Lane { before: before.unwrap(), after: after.unwrap() });
        }
    }
    let member = &member;
    thread::scope(|scope| {
        let all: Vec<_> = lanes
            .iter()
            .enumerate()
            .map(|(rank, lanes)| {
                scope.spawn(move || {
                    let orders = orders(n, rings);
                    let orders: Vec<Order> =
                        orders.into_iter().map(|it| Order::new(it, rank as u32)).collect();
                    member(&orders, lanes, rank)
                })
            })
            .collect();
        all.into_iter().map(|it| it.join().unwrap()).collect()
    })
}

fn go(lanes: &[Lane<UnixStream>], mut flows: Flows) {
    let header = Header { number: 1, kind: 2, root: 3, unit: 4, bytes: 5 };
    run(lanes, &mut flows, header, None).unwrap();
}

fn block(rank: usize, len: usize) -> Vec<u8> {
    (0..len).map(|k| (k * 31 + rank * 17 + k / 251) as u8).collect()
}

fn filled(bytes: &[u8]) -> Aligned {
    let mut own = Aligned::new(bytes.len());
    own.bytes_mut().copy_from_slice(bytes);
    own
}

fn parts(area: Area, len: usize) -> Vec<Area> {
    (0..area.len() / len.max(1)).map(|k| area.part(k * len..(k + 1) * len)).collect()
}

const SIZES: [usize; 5] = [0, 4, 36, 4_000, 700_000];

fn each_size(check: impl Fn(usize, usize, usize)) {
    for n in [2, 3, 5, 8] {
        for rings in [1, 2] {
            for len in SIZES {
                check(n, rings, len);
            }
        }
    }
}

#[test]
fn all_ranks_have_what_the_root_had() {
    each_size(|n, rings, len| {
        let root = n / 2;
        let ways = [collective::bcast, collective::bcast_both_ways];
        for way in &ways[..rings] {
            let all = everywhere(n, rings, |orders, lanes, rank| {
                let mut own = filled(&if rank == root { block(root, len) } else { vec![0; len] });
                go(lanes, way(orders, root, own.area()));
                own.bytes().to_vec()
            });
            assert!(all.iter().all(|it| *it == block(root, len)), "{n} {rings} {len}");
        }
    });
}

#[test]
fn all_ranks_have_all_blocks() {
    each_size(|n, rings, len| {
        // Blocks of unequal length: that of rank k has k elements more.
        let lengths: Vec<usize> = (0..n).map(|rank| len / n + rank).collect();
        let wanted: Vec<u8> = (0..n).flat_map(|rank| block(rank, lengths[rank])).collect();
        let all = everywhere(n, rings, |orders, lanes, rank| {
            let mut own = Aligned::new(wanted.len());
            let mut start = 0;
            let mut blocks = Vec::new();
            for len in &lengths {
                blocks.push(own.area().part(start..start + len));
                start += len;
            }
            blocks[rank].bytes_mut().copy_from_slice(&block(rank, lengths[rank]));
            go(lanes, collective::allgather(orders, &blocks));
            own.bytes().to_vec()
        });
        assert!(all.iter().all(|it| *it == wanted), "{n} {rings} {len}");
    });
}

#[test]
fn the_root_gathers_what_it_scatters() {
    each_size(|n, rings, len| {
        let root = n - 1;
        let wanted: Vec<u8> = (0..n).flat_map(|rank| block(rank, len)).collect();
        let all = everywhere(n, rings, |orders, lanes, rank| {
            let mut whole = filled(&if rank == root { wanted.clone() } else { Vec::new() });
            let blocks = parts(whole.area(), len);
            let mut own = Aligned::new(len);
            if rank == root && len > 0 {
                own.area().copy_from(blocks[root]);
            }
            let nothing = vec![Area::EMPTY; n];
            let blocks = if blocks.is_empty() { &nothing } else { &blocks };
            go(lanes, collective::scatter(orders, root, own.area(), blocks));
            assert_eq!(own.bytes(), block(rank, len), "{n} {rings} {len}");
            let mut again = Aligned::new(whole.len());
            let blocks = parts(again.area(), len);
            let blocks = if blocks.is_empty() { nothing } else { blocks };
            if rank == root {
                blocks[root].copy_from(own.area());
            }
            go(lanes, collective::gather(orders, root, own.area(), &blocks));
            again.bytes().to_vec()
        });
        assert!(all[root] == wanted, "{n} {rings} {len}");
    });
}

fn sum(n: usize, len: usize) -> Vec<u8> {
    (0..n).map(|rank| block(rank, len)).fold(vec![0; len], |sum, it| {
        sum.iter().zip(&it).map(|(a, b)| a.wrapping_add(*b)).collect()
    })
}

#[test]
fn all_ranks_have_the_sum() {
    each_size(|n, rings, len| {
        for in_place in [false, true] {
            let all = everywhere(n, rings, |orders, lanes, rank| {
                let mut own = filled(&block(rank, len));
                let mut result = Aligned::new(len);
                let into = if in_place { own.area() } else { result.area() };
                go(lanes, collective::allreduce(orders, &sums(), own.area(), into));
                assert!(in_place || own.bytes() == block(rank, len));
                into.bytes().to_vec()
            });
            assert!(all.iter().all(|it| *it == sum(n, len)), "{n} {rings} {len} {in_place}");
        }
    });
}

#[test]
fn each_rank_has_its_part_of_the_sum() {
    each_size(|n, rings, len| {
        let wanted = sum(n, n * len);
        let all = everywhere(n, rings, |orders, lanes, rank| {
            let mut own = filled(&block(rank, n * len));
            let mut blocks = parts(own.area(), len);
            blocks.resize(n, Area::EMPTY);
            let mut result = Aligned::new(len);
            go(lanes, collective::reduce_scatter(orders, &sums(), &blocks, result.area()));
            result.bytes().to_vec()
        });
        for (rank, it) in all.iter().enumerate() {
            assert!(*it == wanted[rank * len..(rank + 1) * len], "{n} {rings} {len}");
        }
    });
}

#[test]
fn stripes_are_whole_units_and_cover_everything() {
    for (len, rings, unit) in [(0, 2, 4), (4, 3, 4), (100, 3, 4), (101, 3, 1), (96, 4, 16)] {
        let mut next = 0;
        for ring in 0..rings {
            let part = stripe(len, ring, rings, unit);
            assert_eq!(part.start, next);
            assert_eq!(part.len() % unit, 0, "{len} {rings} {unit}");
            next = part.end;
        }
        assert_eq!(next, len);
    }
}
