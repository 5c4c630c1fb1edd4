//! The collectives, as MPI calls them: which go over rings, and with which buffers.
//!
//! Whether a collective goes over rings depends only on what is the same on all ranks: the communicator, the number of
//! bytes, and for reductions the operation and the datatype. A datatype may differ between ranks where only the values
//! have to agree; so values with gaps between them are packed, not left to the MPI.

use std::ffi::c_int;
use std::sync::Arc;

use crate::abi::Word;
use crate::area::{Aligned, Area};
use crate::collective::{self, Flows};
use crate::context::Context;
use crate::flow::Combine;
use crate::job::Job;
use crate::layout::{Elements, area};
use crate::real::Real;
use crate::reduction::reduction;
use crate::requests::{self, Running};
use crate::settings::Kind;
use crate::wire::Header;
use crate::world::{Setup, least, world};

/// Result of a collective that is done.
const SUCCESS: c_int = 0;

/// A collective that goes over rings.
struct Large {
    job: Arc<Job>,
    context: Arc<Context>,
    kind: Kind,
    bytes: u64,
}

impl Large {
    /// `None` if a collective of so many bytes is for the MPI.
    fn new(kind: Kind, bytes: u64, comm: Word, setup: Setup) -> Option<Self> {
        if bytes < least() {
            return None;
        }
        let world = world()?;
        let context = world.context(comm, setup)?;
        let takes = context.takes(kind, bytes);
        takes.then(|| Self { job: world.job.clone(), context, kind, bytes })
    }

    fn real(&self) -> &'static Real {
        self.job.real
    }

    /// A root, if it is a rank.
    fn root(&self, root: c_int) -> Option<usize> {
        usize::try_from(root).ok().filter(|root| *root < self.context.size())
    }

    /// The blocks of all ranks in a buffer that has them one after the other.
    fn blocks(&self, whole: Area, block: u64) -> Vec<Area> {
        let len = block as usize;
        (0..self.context.size()).map(|k| whole.part(k * len..(k + 1) * len)).collect()
    }

    /// Ends the job: this rank cannot take part in a collective that the others are in.
    fn fail(&self, code: c_int) -> ! {
        eprintln!("tresse-mpi: MPI_{}: the MPI cannot pack or unpack the buffer", self.kind.name());
        self.real().abort(self.context.comm, code);
        std::process::abort();
    }
}

/// A collective with all that it needs.
pub struct Ready {
    large: Large,
    root: usize,
    unit: usize,
    flows: Flows,
    /// Values that are to be unpacked, and where.
    unpack: Vec<(Values, Elements)>,
    /// What the flows use and nobody unpacks.
    keep: Vec<Values>,
}

impl Ready {
    fn new(large: Large, root: usize, flows: Flows) -> Self {
        Self { large, root, unit: 0, flows, unpack: Vec::new(), keep: Vec::new() }
    }

    fn header(&self) -> Header {
        let (root, unit) = (self.root as u32, self.unit as u32);
        Header { number: 0, kind: 0, root, unit, bytes: self.large.bytes }
    }

    /// Runs it.
    pub fn run(self) -> c_int {
        let header = self.header();
        let Self { large, flows, unpack, keep, .. } = self;
        large.context.run(&large.job, header, flows, large.kind);
        unpack.into_iter().for_each(|(values, elements)| values.unpack(&large, &elements));
        drop(keep);
        SUCCESS
    }

    /// Starts it.
    pub fn start(self) -> Running {
        let header = self.header();
        let Self { large, flows, unpack, keep, .. } = self;
        let (job, context, kind) = (large.job.clone(), large.context.clone(), large.kind);
        let (running, finish) = Running::new(Box::new(move || {
            unpack.into_iter().for_each(|(values, elements)| values.unpack(&large, &elements));
            drop(keep);
        }));
        context.start(&job, header, flows, kind, finish);
        running
    }

    /// Starts it, and makes a request for it at `request`.
    pub fn request(self, request: Word) -> c_int {
        let job = self.large.job.clone();
        requests::nonblocking(&job, self.start(), request)
    }
}

/// Makes a persistent request at `request`. `make` returns the same collective anew for each start. `None` if it is for
/// the MPI.
pub fn persistent(
    make: impl Fn(Setup) -> Option<Ready> + Send + Sync + 'static,
    request: Word,
) -> Option<c_int> {
    let first = make(Setup::Now)?;
    let job = first.large.job.clone();
    drop(first);
    let start = move || match make(Setup::Never) {
        Some(ready) => ready.start(),
        None => {
            eprintln!("tresse-mpi: a persistent collective is started whose communicator is gone");
            std::process::abort();
        }
    };
    Some(requests::persistent(&job, Arc::new(start), request))
}

/// A buffer of values: in the program's memory, or a packed copy.
struct Values {
    area: Area,
    packed: Option<Aligned>,
}

impl Values {
    /// Values to be sent (`filled`) or received.
    fn of(large: &Large, elements: &Elements, bytes: u64, filled: bool) -> Self {
        if let Some(area) = elements.area(large.real(), bytes) {
            return Self { area, packed: None };
        }
        let mut packed = match filled {
            true => elements
                .packed(large.real(), bytes, large.context.comm)
                .unwrap_or_else(|code| large.fail(code)),
            false => Aligned::new(bytes as usize),
        };
        Self { area: packed.area(), packed: Some(packed) }
    }

    /// Copies what was received to where it belongs.
    fn unpack(mut self, large: &Large, elements: &Elements) {
        let Some(packed) = &mut self.packed else { return };
        if let Err(code) = elements.unpack(large.real(), packed, large.context.comm) {
            large.fail(code);
        }
    }
}

/// Number of bytes of values, while rings are used.
fn bytes_of(elements: &Elements) -> Option<u64> {
    if least() == u64::MAX { None } else { elements.bytes(Real::find()) }
}

/// `MPI_Bcast`.
pub fn bcast(elements: Elements, root: c_int, comm: Word, setup: Setup) -> Option<Ready> {
    let bytes = bytes_of(&elements)?;
    let large = Large::new(Kind::Bcast, bytes, comm, setup)?;
    let root = large.root(root)?;
    let is_root = large.context.rank == root;
    let values = Values::of(&large, &elements, bytes, is_root);
    let flows = large.context.bcast(root, values.area);
    let mut ready = Ready::new(large, root, flows);
    if is_root {
        ready.keep.push(values);
    } else {
        ready.unpack.push((values, elements));
    }
    Some(ready)
}

/// `MPI_Allgather`: a block from each rank. `own` is `None` for `MPI_IN_PLACE`; `all` has the count of one block.
pub fn allgather(own: Option<Elements>, all: Elements, comm: Word, setup: Setup) -> Option<Ready> {
    let block = bytes_of(&all)?;
    let ranks = ranks(comm)?;
    let large = Large::new(Kind::Allgather, block.checked_mul(ranks)?, comm, setup)?;
    let whole = all.times(ranks);
    let values = Values::of(&large, &whole, block * ranks, own.is_none());
    let blocks = large.blocks(values.area, block);
    if let Some(own) = own {
        let from = Values::of(&large, &own, block, true);
        blocks[large.context.rank].copy_from(from.area);
    }
    let flows = collective::allgather(&large.context.orders, &blocks);
    let mut ready = Ready::new(large, 0, flows);
    ready.unpack.push((values, whole));
    Some(ready)
}

/// Number of ranks of a communicator, unless it is an intercommunicator.
pub fn ranks(comm: Word) -> Option<u64> {
    if least() == u64::MAX {
        return None;
    }
    let (real, mut inter, mut size) = (Real::find(), 0, 0);
    let fine = real.comm_test_inter(comm, &raw mut inter) == SUCCESS
        && inter == 0
        && real.comm_size(comm, &raw mut size) == SUCCESS;
    (fine && size > 0).then_some(size as u64)
}

/// `MPI_Allgatherv`: a block from each rank. `own` is `None` for `MPI_IN_PLACE`; `all` by rank.
pub fn allgatherv(own: Option<Elements>, all: &[Elements], comm: Word) -> Option<Ready> {
    let lengths = all.iter().map(bytes_of).collect::<Option<Vec<u64>>>()?;
    let large = Large::new(Kind::Allgather, lengths.iter().sum(), comm, Setup::Now)?;
    let rank = large.context.rank;
    let values: Vec<Values> = (all.iter().zip(&lengths).enumerate())
        .map(|(k, (block, len))| Values::of(&large, block, *len, own.is_none() && k == rank))
        .collect();
    let blocks: Vec<Area> = values.iter().map(|it| it.area).collect();
    if let Some(own) = own {
        let from = Values::of(&large, &own, lengths[rank], true);
        blocks[rank].copy_from(from.area);
    }
    let flows = collective::allgather(&large.context.orders, &blocks);
    let mut ready = Ready::new(large, 0, flows);
    ready.unpack = values.into_iter().zip(all.iter().copied()).collect();
    Some(ready)
}

/// `MPI_Gather`: a block from each rank to the root. `own` is `None` for `MPI_IN_PLACE` at the root; `all` is of the
/// root alone, with the count of one block.
pub fn gather(own: Option<Elements>, all: Elements, root: c_int, comm: Word) -> Option<Ready> {
    let block = bytes_of(&own.unwrap_or(all))?;
    let ranks = ranks(comm)?;
    let large = Large::new(Kind::Gather, block.checked_mul(ranks)?, comm, Setup::Now)?;
    let root = large.root(root)?;
    let orders = &large.context.orders;
    if large.context.rank != root {
        let values = Values::of(&large, &own?, block, true);
        let flows = collective::gather(orders, root, values.area, &[]);
        let mut ready = Ready::new(large, root, flows);
        ready.keep.push(values);
        return Some(ready);
    }
    let whole = all.times(ranks);
    let values = Values::of(&large, &whole, block * ranks, own.is_none());
    let blocks = large.blocks(values.area, block);
    if let Some(own) = own {
        let from = Values::of(&large, &own, block, true);
        blocks[root].copy_from(from.area);
    }
    let flows = collective::gather(orders, root, blocks[root], &blocks);
    let mut ready = Ready::new(large, root, flows);
    ready.unpack.push((values, whole));
    Some(ready)
}

/// `MPI_Scatter`: a block of the root to each rank. `own` is `None` for `MPI_IN_PLACE` at the root; `all` is of the root
/// alone, with the count of one block.
pub fn scatter(all: Elements, own: Option<Elements>, root: c_int, comm: Word) -> Option<Ready> {
    let block = bytes_of(&own.unwrap_or(all))?;
    let ranks = ranks(comm)?;
    let large = Large::new(Kind::Scatter, block.checked_mul(ranks)?, comm, Setup::Now)?;
    let root = large.root(root)?;
    let orders = &large.context.orders;
    if large.context.rank != root {
        let own = own?;
        let values = Values::of(&large, &own, block, false);
        let flows = collective::scatter(orders, root, values.area, &[]);
        let mut ready = Ready::new(large, root, flows);
        ready.unpack.push((values, own));
        return Some(ready);
    }
    let values = Values::of(&large, &all.times(ranks), block * ranks, true);
    let blocks = large.blocks(values.area, block);
    if let Some(own) = own {
        let into = Values::of(&large, &own, block, false);
        into.area.copy_from(blocks[root]);
        into.unpack(&large, &own);
    }
    let flows = collective::scatter(orders, root, Area::EMPTY, &blocks);
    let mut ready = Ready::new(large, root, flows);
    ready.keep.push(values);
    Some(ready)
}

/// `MPI_Allreduce`. `from` is `None` for `MPI_IN_PLACE`. `here`: the calling thread does it.
pub fn allreduce(
    from: Option<Word>,
    into: Elements,
    op: Word,
    comm: Word,
    setup: Setup,
    here: bool,
) -> Option<Ready> {
    let bytes = bytes_of(&into)?;
    let large = Large::new(Kind::Allreduce, bytes, comm, setup)?;
    // Another thread may do it, if it calls no MPI or all may call it.
    let may_call = here || large.job.multiple;
    let combine: Arc<dyn Combine> = reduction(into.datatype, op, may_call)?;
    let result = area(into.buffer, bytes as usize);
    let input = from.map_or(result, |from| area(from, bytes as usize));
    let flows = collective::allreduce(&large.context.orders, &combine, input, result);
    Some(Ready { unit: combine.unit(), ..Ready::new(large, 0, flows) })
}

/// `MPI_Reduce_scatter`: `counts` by rank. `from` is `None` for `MPI_IN_PLACE`.
pub fn reduce_scatter(
    from: Option<Word>,
    into: Word,
    counts: &[usize],
    datatype: Word,
    op: Word,
    comm: Word,
) -> Option<c_int> {
    let count = counts.iter().try_fold(0_usize, |sum, count| sum.checked_add(*count))?;
    let count = i64::try_from(count).ok()?;
    let bytes = bytes_of(&Elements { buffer: into, count, datatype })?;
    let large = Large::new(Kind::ReduceScatter, bytes, comm, Setup::Now)?;
    let combine: Arc<dyn Combine> = reduction(datatype, op, true)?;
    let whole = area(from.unwrap_or(into), bytes as usize);
    let mut start = 0;
    let mut blocks = Vec::with_capacity(counts.len());
    for count in counts {
        let len = count * combine.unit();
        blocks.push(whole.part(start..start + len));
        start += len;
    }
    let own = blocks[large.context.rank].len();
    // In place the result lies over contributions that another ring may still need.
    let mut aside = Aligned::new(if from.is_none() { own } else { 0 });
    let result = if from.is_none() { aside.area() } else { area(into, own) };
    let flows = collective::reduce_scatter(&large.context.orders, &combine, &blocks, result);
    Ready { unit: combine.unit(), ..Ready::new(large, 0, flows) }.run();
    if from.is_none() {
        area(into, own).copy_from(aside.area());
    }
    Some(SUCCESS)
}
