//! A communicator that uses rings.

use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use crate::abi::Word;
use crate::area::Area;
use crate::collective::{self, Flows};
use crate::job::Job;
use crate::order::Order;
use crate::peers::{Name, connect};
use crate::queue::Queue;
use crate::requests::Finish;
use crate::rings::Rings;
use crate::room::Room;
use crate::said::say;
use crate::settings::Kind;
use crate::wire::{Header, Lane, run};

/// The rings of a communicator, and the connections of this rank in them.
pub struct Context {
    /// This rank.
    pub rank: usize,
    /// All ranks in the order of each ring.
    pub orders: Vec<Order>,
    thresholds: [u64; 6],
    /// Bytes below which a broadcast goes both ways round.
    both_ways: u64,
    /// One collective at a time: all ranks start them in the same order.
    state: Mutex<State>,
    queue: Queue,
    _room: Room,
}

struct State {
    lanes: Vec<Lane<TcpStream>>,
    /// Number of the next collective.
    number: u32,
}

impl Context {
    /// Sets up the rings of a communicator. Collective over it. `None` on all ranks if it uses none.
    pub fn new(job: &Job, comm: Word) -> Option<Self> {
        let real = job.real;
        let mut inter = 0;
        if real.comm_test_inter(comm, &raw mut inter) != 0 || inter != 0 {
            return None;
        }
        let (mut size, mut rank) = (0, 0);
        real.comm_size(comm, &raw mut size);
        real.comm_rank(comm, &raw mut rank);
        let (size, rank) = (size as usize, rank as usize);
        let members = members(job, comm, size)?;
        let node = |member: &usize| job.records[*member].node.clone();
        let nodes: Vec<String> = members.iter().map(node).collect();
        if nodes.iter().all(|node| *node == nodes[0]) {
            return None;
        }
        let mut number = job.number();
        let mut found = Err(String::new());
        if rank == 0 {
            found = job.rings(&nodes);
            if let Err(why) = &found {
                job.warn(why);
            }
        }
        let rings = share(job, comm, &mut number, found.ok(), size)?;
        let room = match job.failed.load(Ordering::Relaxed) {
            true => Err("other connections could not be set up".to_owned()),
            false => Room::take(2 * rings.rings.len(), rank),
        };
        let room = together(job, comm, size, rank, room)?;
        let lanes = lanes(job, &rings, &members, number, rank);
        let Some(lanes) = together(job, comm, size, rank, lanes) else {
            // The next communicator would wait as long again.
            job.failed.store(true, Ordering::Relaxed);
            job.door.forget(number);
            return None;
        };
        let orders: Vec<Order> =
            rings.rings.into_iter().map(|ring| Order::new(ring, rank as u32)).collect();
        let thresholds = Kind::ALL.map(|kind| job.settings.threshold(kind, rings.filling));
        let opposite = |pair: &[Order]| matches!(pair, [there, back] if there.is_opposite(back));
        let both_ways = match orders.chunks(2).all(opposite) {
            true => job.settings.both_ways.unwrap_or(rings.filling),
            false => 0,
        };
        let state = Mutex::new(State { lanes, number: 0 });
        let queue = Queue::default();
        Some(Self { rank, orders, thresholds, both_ways, state, queue, _room: room })
    }

    /// Number of ranks.
    pub fn size(&self) -> usize {
        self.orders[0].len()
    }

    /// Whether a collective of so many bytes goes over rings.
    pub fn takes(&self, kind: Kind, bytes: u64) -> bool {
        bytes >= self.thresholds[kind as usize]
    }

    /// The flows of a broadcast.
    pub fn bcast(&self, root: usize, buffer: Area) -> Flows {
        if (buffer.len() as u64) < self.both_ways {
            return collective::bcast_both_ways(&self.orders, root, buffer);
        }
        collective::bcast(&self.orders, root, buffer)
    }

    /// Runs a collective, after those that were started. A failure ends the job, as that of MPI itself would.
    pub fn run(&self, job: &Job, header: Header, flows: Flows, kind: Kind) {
        self.queue.drain(|| job.progress());
        if let Err(error) = self.transfer(header, flows, kind, Some(&mut || job.progress())) {
            say(&error);
            job.real.abort(job.real.constants.comm_world, 1);
            std::process::abort();
        }
        job.counts[kind as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Starts a collective, behind those that were started, and tells `finish` when it is done.
    pub fn start(
        self: &Arc<Self>,
        job: &Arc<Job>,
        header: Header,
        flows: Flows,
        kind: Kind,
        finish: Finish,
    ) {
        let (own, job) = (self.clone(), job.clone());
        self.queue.push(Box::new(move || {
            if let Err(error) = own.transfer(header, flows, kind, None) {
                // Only threads of the program may call MPI_Abort.
                say(&error);
                std::process::abort();
            }
            job.counts[kind as usize].fetch_add(1, Ordering::Relaxed);
            finish.done();
        }));
    }

    fn transfer(
        &self,
        header: Header,
        mut flows: Flows,
        kind: Kind,
        idle: Option<&mut dyn FnMut()>,
    ) -> Result<(), String> {
        let mut state = self.state.lock().map_err(|_| "a collective has failed".to_owned())?;
        let number = state.number;
        state.number = number.wrapping_add(1);
        let header = Header { number, kind: kind as u8, ..header };
        run(&state.lanes, &mut flows, header, idle).map_err(|error| {
            let source = std::error::Error::source(&error).map(|e| format!(": {e}"));
            let source = source.unwrap_or_default();
            format!("rank {}, MPI_{}: {error}{source}", self.rank, kind.name())
        })
    }
}

/// The ranks in `MPI_COMM_WORLD` of the ranks of a communicator. `None` if one is of another job.
fn members(job: &Job, comm: Word, size: usize) -> Option<Vec<usize>> {
    let real = job.real;
    let (mut group, mut all) = (0, 0);
    real.comm_group(comm, &raw mut group);
    real.comm_group(real.constants.comm_world, &raw mut all);
    let ranks: Vec<i32> = (0..size as i32).collect();
    let mut found = vec![real.constants.undefined; size];
    let n = size as i32;
    let code = real.group_translate_ranks(group, n, ranks.as_ptr(), all, found.as_mut_ptr());
    real.group_free(&raw mut group);
    real.group_free(&raw mut all);
    let member = |rank: i32| usize::try_from(rank).ok().filter(|it| *it < job.records.len());
    if code == 0 { found.into_iter().map(member).collect() } else { None }
}

/// Gives all ranks what rank 0 has found, and the number of the communicator.
fn share(
    job: &Job,
    comm: Word,
    number: &mut u64,
    found: Option<Rings>,
    size: usize,
) -> Option<Rings> {
    let mut head = [*number, 0, 0];
    if let Some(found) = &found {
        head = [*number, found.rings.len() as u64, found.filling];
    }
    bcast(job, comm, head.as_mut_ptr() as Word, size_of_val(&head))?;
    *number = head[0];
    let count = head[1] as usize;
    if count == 0 {
        // Rank 0 has said why; no member says it again for another communicator.
        job.warned.store(true, Ordering::Relaxed);
        return None;
    }
    let mut rings = found.unwrap_or_else(|| Rings::empty(count, size, head[2]));
    for ring in &mut rings.rings {
        bcast(job, comm, ring.as_mut_ptr() as Word, size_of_val(&ring[..]))?;
    }
    let mut addresses = rings.octets();
    bcast(job, comm, addresses.as_mut_ptr() as Word, size_of_val(&addresses[..]))?;
    rings.set_octets(&addresses);
    Some(rings)
}

/// Copies bytes of rank 0 to all.
fn bcast(job: &Job, comm: Word, start: Word, len: usize) -> Option<()> {
    let code = job.real.bcast(start, len as i32, job.real.constants.byte, 0, comm);
    (code == 0).then_some(())
}

/// What this rank has, if all ranks have theirs. The first that has not says why.
fn together<T>(
    job: &Job,
    comm: Word,
    size: usize,
    rank: usize,
    own: Result<T, String>,
) -> Option<T> {
    let (mine, mut all) = ([u8::from(own.is_ok())], vec![0_u8; size]);
    let byte = job.real.constants.byte;
    let (from, into) = (mine.as_ptr() as Word, all.as_mut_ptr() as Word);
    let code = job.real.allgather(from, 1, byte, into, 1, byte, comm);
    let first = all.iter().position(|it| *it == 0);
    match own {
        Ok(own) if code == 0 && first.is_none() => return Some(own),
        Err(why) if first == Some(rank) => job.warn(&why),
        _ => job.warned.store(true, Ordering::Relaxed),
    }
    None
}

/// Connects to the rank behind this one in each ring, and waits for the one before.
fn lanes(
    job: &Job,
    rings: &Rings,
    members: &[usize],
    comm: u64,
    rank: usize,
) -> Result<Vec<Lane<TcpStream>>, String> {
    let mut after = Vec::new();
    let orders: Vec<Order> =
        rings.rings.iter().map(|ring| Order::new(ring.clone(), rank as u32)).collect();
    for (ring, order) in (0..).zip(&orders) {
        let next = order.next();
        let record = &job.records[members[next]];
        let to = SocketAddr::new(rings.addresses[next], record.port);
        let name = Name { comm, ring, from: rank as u32 };
        after.push(connect(to, &job.token, name).map_err(|e| {
            format!("rank {rank} cannot connect to rank {next} on {} ({to}): {e}", record.node)
        })?);
    }
    let before = (0..).zip(&orders).map(|(ring, order)| {
        let from = order.before(1);
        let name = Name { comm, ring, from: from as u32 };
        job.door.wait(name).map_err(|e| {
            let node = &job.records[members[from]].node;
            format!("rank {rank}: rank {from} on {node} has not connected: {e}")
        })
    });
    let before: Vec<TcpStream> = before.collect::<Result<_, _>>()?;
    Ok(before.into_iter().zip(after).map(|(before, after)| Lane { before, after }).collect())
}
