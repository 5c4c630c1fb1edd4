//! The functions of MPI that this library stands before, by both of their names: Open MPI's Fortran calls the `PMPI_` ones.
#![expect(unsafe_code, reason = "the interface is C")]

use std::ffi::c_int;

use crate::abi::Word;
use crate::call::{self, ranks};
use crate::layout::Elements;
use crate::real::Real;
use crate::world;

/// Declares a function under both names.
macro_rules! export {
    ($($mpi:ident $pmpi:ident ($($arg:ident: $ty:ty),* $(,)?) $body:block)*) => {$(
        #[doc = concat!("`", stringify!($mpi), "`.")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $mpi($($arg: $ty),*) -> c_int $body

        #[doc = concat!("`", stringify!($pmpi), "`.")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $pmpi($($arg: $ty),*) -> c_int {
            $mpi($($arg),*)
        }
    )*};
}

export! {
    MPI_Init PMPI_Init(argc: Word, argv: Word) {
        let real = Real::find();
        world::start(real, || real.init(argc, argv))
    }

    MPI_Init_thread PMPI_Init_thread(argc: Word, argv: Word, required: c_int, provided: *mut c_int) {
        let real = Real::find();
        world::start(real, || real.init_thread(argc, argv, required, provided))
    }

    MPI_Finalize PMPI_Finalize() {
        world::end();
        Real::find().finalize()
    }

    MPI_Bcast PMPI_Bcast(buffer: Word, count: c_int, datatype: Word, root: c_int, comm: Word) {
        call::bcast(elements(buffer, count, datatype), root, comm)
            .unwrap_or_else(|| Real::find().bcast(buffer, count, datatype, root, comm))
    }

    MPI_Allgather PMPI_Allgather(
        from: Word, count: c_int, datatype: Word, into: Word, counts: c_int, types: Word, comm: Word
    ) {
        call::allgather(own(from, count, datatype), elements(into, counts, types), comm).unwrap_or_else(|| {
            Real::find().allgather(from, count, datatype, into, counts, types, comm)
        })
    }

    MPI_Allgatherv PMPI_Allgatherv(
        from: Word, count: c_int, datatype: Word, into: Word, counts: Word, starts: Word, types: Word, comm: Word
    ) {
        blocks(into, counts, starts, types, comm)
            .and_then(|all| call::allgatherv(own(from, count, datatype), &all, comm))
            .unwrap_or_else(|| {
                Real::find().allgatherv(from, count, datatype, into, counts, starts, types, comm)
            })
    }

    MPI_Gather PMPI_Gather(
        from: Word, count: c_int, datatype: Word, into: Word, counts: c_int, types: Word, root: c_int, comm: Word
    ) {
        call::gather(own(from, count, datatype), elements(into, counts, types), root, comm).unwrap_or_else(|| {
            Real::find().gather(from, count, datatype, into, counts, types, root, comm)
        })
    }

    MPI_Scatter PMPI_Scatter(
        from: Word, count: c_int, datatype: Word, into: Word, counts: c_int, types: Word, root: c_int, comm: Word
    ) {
        call::scatter(elements(from, count, datatype), own(into, counts, types), root, comm).unwrap_or_else(|| {
            Real::find().scatter(from, count, datatype, into, counts, types, root, comm)
        })
    }

    MPI_Allreduce PMPI_Allreduce(
        from: Word, into: Word, count: c_int, datatype: Word, op: Word, comm: Word
    ) {
        call::allreduce(outside(from), elements(into, count, datatype), op, comm)
            .unwrap_or_else(|| Real::find().allreduce(from, into, count, datatype, op, comm))
    }

    MPI_Reduce_scatter PMPI_Reduce_scatter(
        from: Word, into: Word, counts: Word, datatype: Word, op: Word, comm: Word
    ) {
        numbers(counts, comm)
            .and_then(|counts| {
                let counts = counts.iter().map(|it| usize::try_from(*it).ok()).collect::<Option<Vec<_>>>()?;
                call::reduce_scatter(outside(from), into, &counts, datatype, op, comm)
            })
            .unwrap_or_else(|| Real::find().reduce_scatter(from, into, counts, datatype, op, comm))
    }

    MPI_Reduce_scatter_block PMPI_Reduce_scatter_block(
        from: Word, into: Word, count: c_int, datatype: Word, op: Word, comm: Word
    ) {
        ranks(comm)
            .and_then(|ranks| {
                let counts = vec![usize::try_from(count).ok()?; ranks as usize];
                call::reduce_scatter(outside(from), into, &counts, datatype, op, comm)
            })
            .unwrap_or_else(|| {
                Real::find().reduce_scatter_block(from, into, count, datatype, op, comm)
            })
    }
}

fn elements(buffer: Word, count: c_int, datatype: Word) -> Elements {
    Elements { buffer, count: count.into(), datatype }
}

/// `None` for `MPI_IN_PLACE`.
fn outside(buffer: Word) -> Option<Word> {
    (buffer != Real::find().constants.in_place).then_some(buffer)
}

/// `None` for `MPI_IN_PLACE`.
fn own(buffer: Word, count: c_int, datatype: Word) -> Option<Elements> {
    outside(buffer).map(|buffer| elements(buffer, count, datatype))
}

/// A number for each rank of a communicator. `None` while no rings are used, or for an intercommunicator.
fn numbers(array: Word, comm: Word) -> Option<&'static [c_int]> {
    let ranks = ranks(comm)?;
    // SAFETY: the program passes an array with a number for each rank of the communicator; it is used during the call.
    (array != 0)
        .then(|| unsafe { std::slice::from_raw_parts(array as *const c_int, ranks as usize) })
}

/// The blocks of an `MPI_Allgatherv`, by rank.
fn blocks(
    into: Word,
    counts: Word,
    starts: Word,
    datatype: Word,
    comm: Word,
) -> Option<Vec<Elements>> {
    let (counts, starts) = (numbers(counts, comm)?, numbers(starts, comm)?);
    let (mut lower, mut extent) = (0, 0);
    if Real::find().type_get_extent(datatype, &raw mut lower, &raw mut extent) != 0 {
        return None;
    }
    let block = |(count, start): (&c_int, &c_int)| {
        let buffer = into.wrapping_add_signed(*start as isize * extent);
        elements(buffer, *count, datatype)
    };
    Some(counts.iter().zip(starts).map(block).collect())
}
