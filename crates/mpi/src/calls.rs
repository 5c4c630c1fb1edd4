//! The collectives, as MPI calls them: their sizes, and what each rank sends and receives.
//!
//! Whether a collective goes over rings depends only on what is the same on all ranks: the communicator, the number of
//! bytes, and for reductions the operation and the datatype. A datatype may differ between ranks where only the values
//! have to agree; so values with gaps between them are packed, not left to the MPI.

use std::ffi::c_int;
use std::sync::Arc;

use crate::abi::Word;
use crate::area::Area;
use crate::call::{Call, Make, Ready};
use crate::collective;
use crate::flow::Combine;
use crate::layout::{Buffer, Elements, area};
use crate::real::Real;
use crate::reduction::reduction;
use crate::settings::Kind;
use crate::values::{Values, fail};
use crate::world::least;

/// Number of bytes of values, while rings are used.
fn bytes_of(elements: &Elements) -> Option<u64> {
    if least() == u64::MAX { None } else { elements.bytes(Real::find()) }
}

/// A root, unless it is that of a collective between groups, where datatypes need not be valid.
fn rank(root: c_int) -> Option<usize> {
    usize::try_from(root).ok()
}

/// `MPI_Bcast`.
pub fn bcast(
    elements: Elements,
    root: c_int,
    comm: Word,
) -> Option<Call<impl FnOnce() -> Option<Make>>> {
    let (root, kind) = (rank(root)?, Kind::Bcast);
    let bytes = bytes_of(&elements)?;
    let prepare = move || -> Option<Make> {
        let at = elements.at(Real::find(), bytes);
        Some(Box::new(move |context, root| {
            let is_root = context.rank == root;
            let values = Values::of(&at, is_root, kind);
            let flows = context.bcast(root, values.area);
            let (keep, unpack) =
                if is_root { (vec![values], Vec::new()) } else { (Vec::new(), vec![values]) };
            Ready { unit: 0, flows, unpack, keep }
        }))
    };
    Some(Call { kind, bytes, root, comm, prepare })
}

/// `MPI_Allgather`: a block from each rank. `own` is `None` for `MPI_IN_PLACE`; `all` has the count of one block.
pub fn allgather(
    own: Option<Elements>,
    all: Elements,
    comm: Word,
) -> Option<Call<impl FnOnce() -> Option<Make>>> {
    let kind = Kind::Allgather;
    let block = bytes_of(&all)?;
    let ranks = ranks(comm)?;
    let (whole, bytes) = (all.times(ranks), block.checked_mul(ranks)?);
    let prepare = move || -> Option<Make> {
        let real = Real::find();
        let (own, whole) = (own.map(|own| own.at(real, block)), whole.at(real, bytes));
        Some(Box::new(move |context, _| {
            let values = Values::of(&whole, own.is_none(), kind);
            let blocks = values.blocks(context.size());
            if let Some(own) = &own {
                blocks[context.rank].copy_from(Values::sent(own, kind).area);
            }
            let flows = collective::allgather(&context.orders, &blocks);
            Ready { unit: 0, flows, unpack: vec![values], keep: Vec::new() }
        }))
    };
    Some(Call { kind, bytes, root: 0, comm, prepare })
}

/// Number of ranks of a communicator, unless it is an intercommunicator.
pub fn ranks(comm: Word) -> Option<u64> {
    if least() == u64::MAX {
        return None;
    }
    let (real, mut inter, mut size) = (Real::find(), 0, 0);
    let fine = real.comm_test_inter(comm, &raw mut inter) == 0
        && inter == 0
        && real.comm_size(comm, &raw mut size) == 0;
    (fine && size > 0).then_some(size as u64)
}

/// `MPI_Allgatherv`: a block from each rank. `own` is `None` for `MPI_IN_PLACE`; `all` by rank.
pub fn allgatherv(
    own: Option<Elements>,
    all: Vec<Elements>,
    comm: Word,
) -> Option<Call<impl FnOnce() -> Option<Make>>> {
    let kind = Kind::Allgather;
    let lengths = all.iter().map(bytes_of).collect::<Option<Vec<u64>>>()?;
    let bytes = lengths.iter().try_fold(0_u64, |sum, len| sum.checked_add(*len))?;
    let prepare = move || -> Option<Make> {
        let real = Real::find();
        let all: Vec<Buffer> = all.iter().zip(lengths).map(|(it, len)| it.at(real, len)).collect();
        Some(Box::new(move |context, _| {
            let rank = context.rank;
            let values: Vec<Values> = (all.iter().enumerate())
                .map(|(k, at)| Values::of(at, own.is_none() && k == rank, kind))
                .collect();
            let blocks: Vec<Area> = values.iter().map(|it| it.area).collect();
            if let Some(own) = own {
                let own = own.at(real, all[rank].bytes());
                blocks[rank].copy_from(Values::sent(&own, kind).area);
            }
            let flows = collective::allgather(&context.orders, &blocks);
            Ready { unit: 0, flows, unpack: values, keep: Vec::new() }
        }))
    };
    Some(Call { kind, bytes, root: 0, comm, prepare })
}

/// `MPI_Gather`: a block from each rank to the root. `own` is `None` for `MPI_IN_PLACE` at the root; `all` is of the
/// root alone, with the count of one block.
pub fn gather(
    own: Option<Elements>,
    all: Elements,
    root: c_int,
    comm: Word,
) -> Option<Call<impl FnOnce() -> Option<Make>>> {
    let (root, kind) = (rank(root)?, Kind::Gather);
    let block = bytes_of(&own.unwrap_or(all))?;
    let ranks = ranks(comm)?;
    let bytes = block.checked_mul(ranks)?;
    let prepare = move || -> Option<Make> {
        let real = Real::find();
        Some(Box::new(move |context, root| {
            let own = own.map(|own| Values::sent(&own.at(real, block), kind));
            if context.rank != root {
                let own = own.unwrap_or_else(|| fail(kind, "MPI_IN_PLACE is for the root alone"));
                let flows = collective::gather(&context.orders, root, own.area, &[]);
                return Ready { unit: 0, flows, unpack: Vec::new(), keep: vec![own] };
            }
            let values = Values::of(&all.times(ranks).at(real, bytes), own.is_none(), kind);
            let blocks = values.blocks(context.size());
            if let Some(own) = own {
                blocks[root].copy_from(own.area);
            }
            let flows = collective::gather(&context.orders, root, blocks[root], &blocks);
            Ready { unit: 0, flows, unpack: vec![values], keep: Vec::new() }
        }))
    };
    Some(Call { kind, bytes, root, comm, prepare })
}

/// `MPI_Scatter`: a block of the root to each rank. `own` is `None` for `MPI_IN_PLACE` at the root; `all` is of the root
/// alone, with the count of one block.
pub fn scatter(
    all: Elements,
    own: Option<Elements>,
    root: c_int,
    comm: Word,
) -> Option<Call<impl FnOnce() -> Option<Make>>> {
    let (root, kind) = (rank(root)?, Kind::Scatter);
    let block = bytes_of(&own.unwrap_or(all))?;
    let ranks = ranks(comm)?;
    let bytes = block.checked_mul(ranks)?;
    let prepare = move || -> Option<Make> {
        let real = Real::find();
        Some(Box::new(move |context, root| {
            let own = own.map(|own| Values::received(&own.at(real, block)));
            if context.rank != root {
                let own = own.unwrap_or_else(|| fail(kind, "MPI_IN_PLACE is for the root alone"));
                let flows = collective::scatter(&context.orders, root, own.area, &[]);
                return Ready { unit: 0, flows, unpack: vec![own], keep: Vec::new() };
            }
            let values = Values::sent(&all.times(ranks).at(real, bytes), kind);
            let blocks = values.blocks(context.size());
            if let Some(own) = own {
                own.area.copy_from(blocks[root]);
                own.unpack(kind);
            }
            let flows = collective::scatter(&context.orders, root, Area::EMPTY, &blocks);
            Ready { unit: 0, flows, unpack: Vec::new(), keep: vec![values] }
        }))
    };
    Some(Call { kind, bytes, root, comm, prepare })
}

/// `MPI_Allreduce`. `from` is `None` for `MPI_IN_PLACE`. `blocking`: done before the call returns.
pub fn allreduce(
    from: Option<Word>,
    into: Elements,
    op: Word,
    comm: Word,
    blocking: bool,
) -> Option<Call<impl FnOnce() -> Option<Make>>> {
    let kind = Kind::Allreduce;
    let bytes = bytes_of(&into)?;
    let prepare = move || -> Option<Make> {
        let combine: Arc<dyn Combine> = reduction(into.datatype, op, blocking)?;
        Some(Box::new(move |context, _| {
            let result = area(into.buffer, bytes as usize);
            let input = area(from.unwrap_or(into.buffer), bytes as usize);
            let flows = collective::allreduce(&context.orders, &combine, input, result);
            Ready { unit: combine.unit(), flows, unpack: Vec::new(), keep: Vec::new() }
        }))
    };
    Some(Call { kind, bytes, root: 0, comm, prepare })
}

/// `MPI_Reduce_scatter`: `counts` by rank. `from` is `None` for `MPI_IN_PLACE`.
pub fn reduce_scatter(
    from: Option<Word>,
    into: Word,
    counts: Vec<usize>,
    datatype: Word,
    op: Word,
    comm: Word,
) -> Option<Call<impl FnOnce() -> Option<Make>>> {
    let kind = Kind::ReduceScatter;
    let count = counts.iter().try_fold(0_usize, |sum, count| sum.checked_add(*count))?;
    let count = i64::try_from(count).ok()?;
    let bytes = bytes_of(&Elements { buffer: into, count, datatype })?;
    let prepare = move || -> Option<Make> {
        let combine: Arc<dyn Combine> = reduction(datatype, op, true)?;
        Some(Box::new(move |context, _| {
            let whole = area(from.unwrap_or(into), bytes as usize);
            let mut start = 0;
            let mut blocks = Vec::with_capacity(counts.len());
            for count in &counts {
                let len = count * combine.unit();
                blocks.push(whole.part(start..start + len));
                start += len;
            }
            let own = Buffer::plain(into, blocks[context.rank].len() as u64);
            // In place the result lies over contributions that another ring may still need.
            let result = match from {
                None => Values::aside(&own),
                Some(_) => Values::received(&own),
            };
            let flows = collective::reduce_scatter(&context.orders, &combine, &blocks, result.area);
            Ready { unit: combine.unit(), flows, unpack: vec![result], keep: Vec::new() }
        }))
    };
    Some(Call { kind, bytes, root: 0, comm, prepare })
}
