//! The collectives that may go over rings: by their usual names, and by those of MPI-4 whose counts are `MPI_Count`s.
#![expect(unsafe_code, reason = "the interface is C")]

use std::ffi::c_int;

use super::export;
use crate::abi::Word;
use crate::call::Call;
use crate::calls::{self, ranks};
use crate::layout::Elements;
use crate::real::Real;
use crate::world::catch_up;

/// Declares the collectives with counts of one type, and starts of blocks of another.
macro_rules! collectives {
    (
        $count:ty, $start:ty;
        $bcast:ident $p_bcast:ident $real_bcast:ident;
        $ibcast:ident $p_ibcast:ident $real_ibcast:ident;
        $bcast_init:ident $p_bcast_init:ident $real_bcast_init:ident;
        $allgather:ident $p_allgather:ident $real_allgather:ident;
        $iallgather:ident $p_iallgather:ident $real_iallgather:ident;
        $allgather_init:ident $p_allgather_init:ident $real_allgather_init:ident;
        $allgatherv:ident $p_allgatherv:ident $real_allgatherv:ident;
        $gather:ident $p_gather:ident $real_gather:ident;
        $scatter:ident $p_scatter:ident $real_scatter:ident;
        $allreduce:ident $p_allreduce:ident $real_allreduce:ident;
        $iallreduce:ident $p_iallreduce:ident $real_iallreduce:ident;
        $allreduce_init:ident $p_allreduce_init:ident $real_allreduce_init:ident;
        $reduce_scatter:ident $p_reduce_scatter:ident $real_reduce_scatter:ident;
        $reduce_scatter_block:ident $p_reduce_scatter_block:ident $real_reduce_scatter_block:ident;
    ) => {
export! {
    $bcast $p_bcast(buffer: Word, count: $count, datatype: Word, root: c_int, comm: Word) {
        catch_up(comm);
        calls::bcast(elements(buffer, count, datatype), root, comm)
            .and_then(Call::run)
            .unwrap_or_else(|| Real::find().$real_bcast(buffer, count, datatype, root, comm))
    }

    $ibcast $p_ibcast(
        buffer: Word, count: $count, datatype: Word, root: c_int, comm: Word, request: Word
    ) {
        calls::bcast(elements(buffer, count, datatype), root, comm)
            .and_then(|call| call.request(request))
            .unwrap_or_else(|| Real::find().$real_ibcast(buffer, count, datatype, root, comm, request))
    }

    $bcast_init $p_bcast_init(
        buffer: Word, count: $count, datatype: Word, root: c_int, comm: Word, info: Word, request: Word
    ) {
        catch_up(comm);
        calls::bcast(elements(buffer, count, datatype), root, comm)
            .and_then(|call| call.persistent(request))
            .unwrap_or_else(|| Real::find().$real_bcast_init(buffer, count, datatype, root, comm, info, request))
    }

    $allgather $p_allgather(
        from: Word, count: $count, datatype: Word, into: Word, counts: $count, types: Word, comm: Word
    ) {
        catch_up(comm);
        calls::allgather(own(from, count, datatype), elements(into, counts, types), comm)
            .and_then(Call::run)
            .unwrap_or_else(|| Real::find().$real_allgather(from, count, datatype, into, counts, types, comm))
    }

    $iallgather $p_iallgather(
        from: Word, count: $count, datatype: Word, into: Word, counts: $count, types: Word, comm: Word, request: Word
    ) {
        calls::allgather(own(from, count, datatype), elements(into, counts, types), comm)
            .and_then(|call| call.request(request))
            .unwrap_or_else(|| {
                Real::find().$real_iallgather(from, count, datatype, into, counts, types, comm, request)
            })
    }

    $allgather_init $p_allgather_init(
        from: Word, count: $count, datatype: Word, into: Word, counts: $count, types: Word, comm: Word, info: Word,
        request: Word
    ) {
        catch_up(comm);
        calls::allgather(own(from, count, datatype), elements(into, counts, types), comm)
            .and_then(|call| call.persistent(request))
            .unwrap_or_else(|| {
                Real::find().$real_allgather_init(from, count, datatype, into, counts, types, comm, info, request)
            })
    }

    $allgatherv $p_allgatherv(
        from: Word, count: $count, datatype: Word, into: Word, counts: Word, starts: Word, types: Word, comm: Word
    ) {
        catch_up(comm);
        blocks::<$count, $start>(into, counts, starts, types, comm)
            .and_then(|all| calls::allgatherv(own(from, count, datatype), all, comm))
            .and_then(Call::run)
            .unwrap_or_else(|| {
                Real::find().$real_allgatherv(from, count, datatype, into, counts, starts, types, comm)
            })
    }

    $gather $p_gather(
        from: Word, count: $count, datatype: Word, into: Word, counts: $count, types: Word, root: c_int, comm: Word
    ) {
        catch_up(comm);
        calls::gather(own(from, count, datatype), elements(into, counts, types), root, comm)
            .and_then(Call::run)
            .unwrap_or_else(|| Real::find().$real_gather(from, count, datatype, into, counts, types, root, comm))
    }

    $scatter $p_scatter(
        from: Word, count: $count, datatype: Word, into: Word, counts: $count, types: Word, root: c_int, comm: Word
    ) {
        catch_up(comm);
        calls::scatter(elements(from, count, datatype), own(into, counts, types), root, comm)
            .and_then(Call::run)
            .unwrap_or_else(|| Real::find().$real_scatter(from, count, datatype, into, counts, types, root, comm))
    }

    $allreduce $p_allreduce(
        from: Word, into: Word, count: $count, datatype: Word, op: Word, comm: Word
    ) {
        catch_up(comm);
        calls::allreduce(outside(from), elements(into, count, datatype), op, comm, true)
            .and_then(Call::run)
            .unwrap_or_else(|| Real::find().$real_allreduce(from, into, count, datatype, op, comm))
    }

    $iallreduce $p_iallreduce(
        from: Word, into: Word, count: $count, datatype: Word, op: Word, comm: Word, request: Word
    ) {
        calls::allreduce(outside(from), elements(into, count, datatype), op, comm, false)
            .and_then(|call| call.request(request))
            .unwrap_or_else(|| Real::find().$real_iallreduce(from, into, count, datatype, op, comm, request))
    }

    $allreduce_init $p_allreduce_init(
        from: Word, into: Word, count: $count, datatype: Word, op: Word, comm: Word, info: Word, request: Word
    ) {
        catch_up(comm);
        calls::allreduce(outside(from), elements(into, count, datatype), op, comm, false)
            .and_then(|call| call.persistent(request))
            .unwrap_or_else(|| {
                Real::find().$real_allreduce_init(from, into, count, datatype, op, comm, info, request)
            })
    }

    $reduce_scatter $p_reduce_scatter(
        from: Word, into: Word, counts: Word, datatype: Word, op: Word, comm: Word
    ) {
        catch_up(comm);
        numbers::<$count>(counts, comm)
            .and_then(|counts| {
                let counts = counts.iter().map(|it| usize::try_from(*it).ok()).collect::<Option<Vec<_>>>()?;
                calls::reduce_scatter(outside(from), into, counts, datatype, op, comm)
            })
            .and_then(Call::run)
            .unwrap_or_else(|| Real::find().$real_reduce_scatter(from, into, counts, datatype, op, comm))
    }

    $reduce_scatter_block $p_reduce_scatter_block(
        from: Word, into: Word, count: $count, datatype: Word, op: Word, comm: Word
    ) {
        catch_up(comm);
        ranks(comm)
            .and_then(|ranks| {
                let counts = vec![usize::try_from(count).ok()?; ranks as usize];
                calls::reduce_scatter(outside(from), into, counts, datatype, op, comm)
            })
            .and_then(Call::run)
            .unwrap_or_else(|| {
                Real::find().$real_reduce_scatter_block(from, into, count, datatype, op, comm)
            })
    }
}
    };
}

collectives! {
    c_int, c_int;
    MPI_Bcast PMPI_Bcast bcast;
    MPI_Ibcast PMPI_Ibcast ibcast;
    MPI_Bcast_init PMPI_Bcast_init bcast_init;
    MPI_Allgather PMPI_Allgather allgather;
    MPI_Iallgather PMPI_Iallgather iallgather;
    MPI_Allgather_init PMPI_Allgather_init allgather_init;
    MPI_Allgatherv PMPI_Allgatherv allgatherv;
    MPI_Gather PMPI_Gather gather;
    MPI_Scatter PMPI_Scatter scatter;
    MPI_Allreduce PMPI_Allreduce allreduce;
    MPI_Iallreduce PMPI_Iallreduce iallreduce;
    MPI_Allreduce_init PMPI_Allreduce_init allreduce_init;
    MPI_Reduce_scatter PMPI_Reduce_scatter reduce_scatter;
    MPI_Reduce_scatter_block PMPI_Reduce_scatter_block reduce_scatter_block;
}

// `MPI_Count` and `MPI_Aint`.
collectives! {
    i64, isize;
    MPI_Bcast_c PMPI_Bcast_c bcast_c;
    MPI_Ibcast_c PMPI_Ibcast_c ibcast_c;
    MPI_Bcast_init_c PMPI_Bcast_init_c bcast_init_c;
    MPI_Allgather_c PMPI_Allgather_c allgather_c;
    MPI_Iallgather_c PMPI_Iallgather_c iallgather_c;
    MPI_Allgather_init_c PMPI_Allgather_init_c allgather_init_c;
    MPI_Allgatherv_c PMPI_Allgatherv_c allgatherv_c;
    MPI_Gather_c PMPI_Gather_c gather_c;
    MPI_Scatter_c PMPI_Scatter_c scatter_c;
    MPI_Allreduce_c PMPI_Allreduce_c allreduce_c;
    MPI_Iallreduce_c PMPI_Iallreduce_c iallreduce_c;
    MPI_Allreduce_init_c PMPI_Allreduce_init_c allreduce_init_c;
    MPI_Reduce_scatter_c PMPI_Reduce_scatter_c reduce_scatter_c;
    MPI_Reduce_scatter_block_c PMPI_Reduce_scatter_block_c reduce_scatter_block_c;
}

// As Open MPI 4 names them (mpi-ext.h).
export! {
    MPIX_Bcast_init PMPIX_Bcast_init(
        buffer: Word, count: c_int, datatype: Word, root: c_int, comm: Word, info: Word, request: Word
    ) {
        MPI_Bcast_init(buffer, count, datatype, root, comm, info, request)
    }

    MPIX_Allgather_init PMPIX_Allgather_init(
        from: Word, count: c_int, datatype: Word, into: Word, counts: c_int, types: Word, comm: Word, info: Word,
        request: Word
    ) {
        MPI_Allgather_init(from, count, datatype, into, counts, types, comm, info, request)
    }

    MPIX_Allreduce_init PMPIX_Allreduce_init(
        from: Word, into: Word, count: c_int, datatype: Word, op: Word, comm: Word, info: Word, request: Word
    ) {
        MPI_Allreduce_init(from, into, count, datatype, op, comm, info, request)
    }
}

fn elements(buffer: Word, count: impl Into<i64>, datatype: Word) -> Elements {
    Elements { buffer, count: count.into(), datatype }
}

/// `None` for `MPI_IN_PLACE`.
fn outside(buffer: Word) -> Option<Word> {
    (buffer != Real::find().constants.in_place).then_some(buffer)
}

/// `None` for `MPI_IN_PLACE`.
fn own(buffer: Word, count: impl Into<i64>, datatype: Word) -> Option<Elements> {
    outside(buffer).map(|buffer| elements(buffer, count, datatype))
}

/// A number for each rank of a communicator. `None` while no rings are used, or for an intercommunicator.
fn numbers<T>(array: Word, comm: Word) -> Option<&'static [T]> {
    let ranks = ranks(comm)?;
    // SAFETY: the program passes an array with a number for each rank of the communicator; it is used during the call.
    (array != 0).then(|| unsafe { std::slice::from_raw_parts(array as *const T, ranks as usize) })
}

/// The blocks of an `MPI_Allgatherv`, by rank.
fn blocks<Count: Copy + Into<i64> + 'static, Start: Copy + TryInto<isize> + 'static>(
    into: Word,
    counts: Word,
    starts: Word,
    datatype: Word,
    comm: Word,
) -> Option<Vec<Elements>> {
    let (counts, starts) = (numbers::<Count>(counts, comm)?, numbers::<Start>(starts, comm)?);
    let (mut lower, mut extent) = (0, 0);
    if Real::find().type_get_extent(datatype, &raw mut lower, &raw mut extent) != 0 {
        return None;
    }
    let block = |(count, start): (&Count, &Start)| {
        let start: isize = (*start).try_into().ok()?;
        let buffer = into.wrapping_add_signed(start.wrapping_mul(extent));
        Some(elements(buffer, *count, datatype))
    };
    counts.iter().zip(starts).map(block).collect()
}
