//! Feeds arbitrary bytes to what a rank reads from other ranks, for fuzzing.

use std::io::Write as _;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use crate::area::{Aligned, Area};
use crate::collective::{self, Flows};
use crate::flow::Combine;
use crate::order::Order;
use crate::peers::Name;
use crate::record::{RECORD, Record, objection};
use crate::settings::Kind;
use crate::wire::{HEADER, Header, Lane, run};

/// Ranks of the ring.
const RANKS: usize = 3;
/// Bytes of the block of a rank.
const BLOCK: usize = 40;
/// Most bytes that are sent: a socket takes them at once.
const MOST: usize = 16 << 10;

/// Lets the bytes be the records of all ranks, the name of a connection, and what the rank before sends in a collective:
/// the first byte selects which one, the root, and whether the right header goes ahead.
///
/// # Panics
/// If the code under test panics, if what was read is not the same after encoding, or if a collective succeeds with fewer
/// bytes than it needs or writes beside its buffers.
pub fn mpi(bytes: &[u8]) {
    let records: Vec<Record> = bytes.as_chunks::<RECORD>().0.iter().map(Record::decode).collect();
    for record in &records {
        let text = record.generation.clone() + &record.node;
        let whole = !text.contains(char::REPLACEMENT_CHARACTER);
        assert!(!whole || Record::decode(&record.encode()) == *record);
    }
    let _ = objection(&records);
    if let Ok(name) = Name::read(&mut &*bytes) {
        assert!(bytes.starts_with(&name.encode()));
    }
    if let Some((choice, sent)) = bytes.split_first() {
        collective(*choice, &sent[..sent.len().min(MOST)]);
    }
}

/// Rank 0 of three in a collective in which the rank before sends `sent` and closes its end.
fn collective(choice: u8, sent: &[u8]) {
    let kind = Kind::ALL[usize::from(choice) % Kind::ALL.len()];
    let root = usize::from(choice / 6) % RANKS;
    let header = Header { number: 1, kind: kind as u8, root: root as u32, unit: 4, bytes: 120 };
    let ahead = if choice < 128 { header.encode().to_vec() } else { Vec::new() };
    let given = [&ahead, sent].concat();

    let mut room = Aligned::new(2 * RANKS * BLOCK + BLOCK);
    let (input, result, beside) = {
        let all = room.area();
        let half = RANKS * BLOCK;
        (all.part(0..half), all.part(half..2 * half), all.part(2 * half..all.len()))
    };
    let mut flows = flows(kind, root, input, result);
    let needed = flows[0].to_receive();
    let (lane, _sink) = lane(&given);
    let done = run(&[lane], &mut flows, header, None);
    let enough = needed == 0 || given.len() as u64 >= needed + HEADER as u64;
    assert!(done.is_err() || enough, "{kind:?} from {root}: done without its bytes");
    assert!(beside.bytes().iter().all(|byte| *byte == 0), "{kind:?} from {root}: bytes beside");
}

fn flows(kind: Kind, root: usize, input: Area, result: Area) -> Flows {
    let ring = [Order::new(vec![0, 1, 2], 0)];
    let blocks: Vec<Area> =
        (0..RANKS).map(|rank| input.part(rank * BLOCK..(rank + 1) * BLOCK)).collect();
    let own = result.part(0..BLOCK);
    let combine: Arc<dyn Combine> = Arc::new(Xor);
    match kind {
        Kind::Bcast => collective::bcast(&ring, root, result),
        Kind::Allgather => collective::allgather(&ring, &blocks),
        Kind::Gather => collective::gather(&ring, root, own, &blocks),
        Kind::Scatter => collective::scatter(&ring, root, own, &blocks),
        Kind::ReduceScatter => collective::reduce_scatter(&ring, &combine, &blocks, own),
        Kind::Allreduce => collective::allreduce(&ring, &combine, input, result),
    }
}

/// A connection that gives these bytes and ends, one that takes all, and the end to which they go.
fn lane(given: &[u8]) -> (Lane<UnixStream>, UnixStream) {
    let pair = || UnixStream::pair().expect("a pair of sockets");
    let ((mut from, before), (after, sink)) = (pair(), pair());
    from.write_all(given).expect("a socket takes so little at once");
    from.shutdown(Shutdown::Write).expect("it is open");
    before.set_nonblocking(true).expect("a socket that does not block");
    after.set_nonblocking(true).expect("a socket that does not block");
    (Lane { before, after }, sink)
}

/// Sums without carry.
struct Xor;

impl Combine for Xor {
    fn unit(&self) -> usize {
        4
    }

    fn combine(&self, incoming: Area, mut into: Area) {
        for (to, from) in into.bytes_mut().iter_mut().zip(incoming.bytes()) {
            *to ^= from;
        }
    }
}
