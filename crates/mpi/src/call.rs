//! The collectives, as MPI calls them: which go over rings, and with which buffers.
//!
//! Whether a collective goes over rings depends only on what is the same on all ranks: the communicator, the number of
//! bytes, and for reductions the operation and the datatype. A datatype may differ between ranks where only the values
//! have to agree; so values with gaps between them are packed, not left to the MPI.

use std::ffi::c_int;
use std::sync::Arc;

use crate::abi::Word;
use crate::area::{Aligned, Area};
use crate::collective;
use crate::context::Context;
use crate::flow::Combine;
use crate::job::Job;
use crate::layout::{Elements, area, is_plain};
use crate::real::Real;
use crate::settings::Kind;
use crate::wire::Header;
use crate::world::{least, world};

/// Result of a collective that is done.
const SUCCESS: c_int = 0;
/// Largest element of a reduction that goes over rings.
const LARGEST: usize = 1 << 20;

/// A collective that goes over rings.
struct Large {
    job: Arc<Job>,
    context: Arc<Context>,
    kind: Kind,
    bytes: u64,
}

impl Large {
    /// `None` if a collective of so many bytes is for the MPI.
    fn new(kind: Kind, bytes: u64, comm: Word) -> Option<Self> {
        if bytes < least() {
            return None;
        }
        let world = world()?;
        let context = world.context(comm)?;
        context.takes(kind, bytes).then(|| Self { job: world.job.clone(), context, kind, bytes })
    }

    fn real(&self) -> &'static Real {
        self.job.real
    }

    fn size(&self) -> usize {
        self.context.size()
    }

    /// A root, if it is a rank.
    fn root(&self, root: c_int) -> Option<usize> {
        usize::try_from(root).ok().filter(|root| *root < self.size())
    }

    /// Ends the job: this rank cannot take part in a collective that the others are in.
    fn fail(&self, code: c_int) -> ! {
        eprintln!("tresse-mpi: MPI_{}: the MPI cannot pack or unpack the buffer", self.kind.name());
        self.real().abort(self.context.comm, code);
        std::process::abort();
    }

    fn run(&self, root: usize, unit: usize, flows: collective::Flows<'_>) {
        let (root, unit) = (root as u32, unit as u32);
        let header = Header { number: 0, kind: 0, root, unit, bytes: self.bytes };
        self.context.run(&self.job, header, flows, self.kind);
    }
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

/// Whether a call of so many values is large enough to look further.
fn bytes_of(elements: &Elements) -> Option<u64> {
    if least() == u64::MAX { None } else { elements.bytes(Real::find()) }
}

/// `MPI_Bcast`.
pub fn bcast(elements: Elements, root: c_int, comm: Word) -> Option<c_int> {
    let bytes = bytes_of(&elements)?;
    let large = Large::new(Kind::Bcast, bytes, comm)?;
    let root = large.root(root)?;
    let is_root = large.context.rank == root;
    let values = Values::of(&large, &elements, bytes, is_root);
    large.run(root, 0, collective::bcast(&large.context.orders, root, values.area));
    if !is_root {
        values.unpack(&large, &elements);
    }
    Some(SUCCESS)
}

/// `MPI_Allgather`: a block from each rank. `own` is `None` for `MPI_IN_PLACE`; `all` has the count of one block.
pub fn allgather(own: Option<Elements>, all: Elements, comm: Word) -> Option<c_int> {
    let block = bytes_of(&all)?;
    let ranks = ranks(comm)?;
    let large = Large::new(Kind::Allgather, block * ranks, comm)?;
    let whole = Elements { count: all.count * ranks as i64, ..all };
    let values = Values::of(&large, &whole, block * ranks, own.is_none());
    let len = block as usize;
    let blocks: Vec<Area> =
        (0..large.size()).map(|k| values.area.part(k * len..(k + 1) * len)).collect();
    if let Some(own) = own {
        let from = Values::of(&large, &own, block, true);
        blocks[large.context.rank].copy_from(from.area);
    }
    large.run(0, 0, collective::allgather(&large.context.orders, &blocks));
    values.unpack(&large, &whole);
    Some(SUCCESS)
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
pub fn allgatherv(own: Option<Elements>, all: &[Elements], comm: Word) -> Option<c_int> {
    let lengths = all.iter().map(bytes_of).collect::<Option<Vec<u64>>>()?;
    let bytes = lengths.iter().sum();
    let large = Large::new(Kind::Allgather, bytes, comm)?;
    let rank = large.context.rank;
    let values: Vec<Values> = (all.iter().zip(&lengths).enumerate())
        .map(|(k, (block, len))| Values::of(&large, block, *len, own.is_none() && k == rank))
        .collect();
    let blocks: Vec<Area> = values.iter().map(|it| it.area).collect();
    if let Some(own) = own {
        let from = Values::of(&large, &own, lengths[rank], true);
        blocks[rank].copy_from(from.area);
    }
    large.run(0, 0, collective::allgather(&large.context.orders, &blocks));
    values.into_iter().zip(all).for_each(|(values, block)| values.unpack(&large, block));
    Some(SUCCESS)
}

/// `MPI_Gather`: a block from each rank to the root. `own` is `None` for `MPI_IN_PLACE` at the root; `all` is of the
/// root alone, with the count of one block.
pub fn gather(own: Option<Elements>, all: Elements, root: c_int, comm: Word) -> Option<c_int> {
    let block = bytes_of(&own.unwrap_or(all))?;
    let ranks = ranks(comm)?;
    let large = Large::new(Kind::Gather, block * ranks, comm)?;
    let root = large.root(root)?;
    let orders = &large.context.orders;
    let len = block as usize;
    if large.context.rank != root {
        let own = Values::of(&large, &own?, block, true);
        large.run(root, 0, collective::gather(orders, root, own.area, &[]));
        return Some(SUCCESS);
    }
    let whole = Elements { count: all.count * ranks as i64, ..all };
    let values = Values::of(&large, &whole, block * ranks, own.is_none());
    let blocks: Vec<Area> =
        (0..large.size()).map(|k| values.area.part(k * len..(k + 1) * len)).collect();
    if let Some(own) = own {
        let from = Values::of(&large, &own, block, true);
        blocks[root].copy_from(from.area);
    }
    large.run(root, 0, collective::gather(orders, root, blocks[root], &blocks));
    values.unpack(&large, &whole);
    Some(SUCCESS)
}

/// `MPI_Scatter`: a block of the root to each rank. `own` is `None` for `MPI_IN_PLACE` at the root; `all` is of the root
/// alone, with the count of one block.
pub fn scatter(all: Elements, own: Option<Elements>, root: c_int, comm: Word) -> Option<c_int> {
    let block = bytes_of(&own.unwrap_or(all))?;
    let ranks = ranks(comm)?;
    let large = Large::new(Kind::Scatter, block * ranks, comm)?;
    let root = large.root(root)?;
    let orders = &large.context.orders;
    let len = block as usize;
    if large.context.rank != root {
        let own = own?;
        let values = Values::of(&large, &own, block, false);
        large.run(root, 0, collective::scatter(orders, root, values.area, &[]));
        values.unpack(&large, &own);
        return Some(SUCCESS);
    }
    let whole = Elements { count: all.count * ranks as i64, ..all };
    let values = Values::of(&large, &whole, block * ranks, true);
    let blocks: Vec<Area> =
        (0..large.size()).map(|k| values.area.part(k * len..(k + 1) * len)).collect();
    if let Some(own) = own {
        let into = Values::of(&large, &own, block, false);
        into.area.copy_from(blocks[root]);
        into.unpack(&large, &own);
    }
    large.run(root, 0, collective::scatter(orders, root, Area::EMPTY, &blocks));
    Some(SUCCESS)
}

/// An operation of the MPI.
struct Reduction {
    real: &'static Real,
    datatype: Word,
    op: Word,
    unit: usize,
}

impl Reduction {
    /// `None` if it may not be done in any order, or its values have gaps.
    fn of(datatype: Word, op: Word) -> Option<Self> {
        let real = Real::find();
        let (mut commutes, mut size) = (0, 0);
        let fine = real.op_commutative(op, &raw mut commutes) == SUCCESS
            && commutes != 0
            && is_plain(real, datatype)
            && real.type_size(datatype, &raw mut size) == SUCCESS;
        let unit = usize::try_from(size).ok().filter(|unit| (1..=LARGEST).contains(unit))?;
        fine.then_some(Self { real, datatype, op, unit })
    }
}

impl Combine for Reduction {
    fn unit(&self) -> usize {
        self.unit
    }

    fn combine(&self, incoming: Area, into: Area) {
        let count = (into.len() / self.unit) as c_int;
        let (from, to) = (incoming.start() as Word, into.start() as Word);
        self.real.reduce_local(from, to, count, self.datatype, self.op);
    }
}

/// `MPI_Allreduce`. `from` is `None` for `MPI_IN_PLACE`.
pub fn allreduce(from: Option<Word>, into: Elements, op: Word, comm: Word) -> Option<c_int> {
    let bytes = bytes_of(&into)?;
    let large = Large::new(Kind::Allreduce, bytes, comm)?;
    let combine = Reduction::of(into.datatype, op)?;
    let result = area(into.buffer, bytes as usize);
    let input = from.map_or(result, |from| area(from, bytes as usize));
    let flows = collective::allreduce(&large.context.orders, &combine, input, result);
    large.run(0, combine.unit, flows);
    Some(SUCCESS)
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
    let count = counts.iter().sum::<usize>() as i64;
    let bytes = bytes_of(&Elements { buffer: into, count, datatype })?;
    let large = Large::new(Kind::ReduceScatter, bytes, comm)?;
    let combine = Reduction::of(datatype, op)?;
    let whole = area(from.unwrap_or(into), bytes as usize);
    let mut start = 0;
    let mut blocks = Vec::with_capacity(counts.len());
    for count in counts {
        let len = count * combine.unit;
        blocks.push(whole.part(start..start + len));
        start += len;
    }
    let own = blocks[large.context.rank].len();
    // In place the result lies over contributions that another ring may still need.
    let mut aside = Aligned::new(if from.is_none() { own } else { 0 });
    let result = if from.is_none() { aside.area() } else { area(into, own) };
    let flows = collective::reduce_scatter(&large.context.orders, &combine, &blocks, result);
    large.run(0, combine.unit, flows);
    if from.is_none() {
        area(into, own).copy_from(aside.area());
    }
    Some(SUCCESS)
}
