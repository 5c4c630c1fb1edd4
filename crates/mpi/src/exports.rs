//! The functions of MPI that this library stands before, by both of their names: Open MPI's Fortran calls the `PMPI_` ones.
#![expect(unsafe_code, reason = "the interface is C")]

use std::ffi::c_int;

use crate::abi::Word;
use crate::call::{self, Ready, ranks};
use crate::layout::Elements;
use crate::real::Real;
use crate::requests;
use crate::world::{self, Setup, catch_up, world};

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

    MPI_Barrier PMPI_Barrier(comm: Word) {
        catch_up(comm);
        Real::find().barrier(comm)
    }

    MPI_Reduce PMPI_Reduce(
        from: Word, into: Word, count: c_int, datatype: Word, op: Word, root: c_int, comm: Word
    ) {
        catch_up(comm);
        Real::find().reduce(from, into, count, datatype, op, root, comm)
    }

    MPI_Bcast PMPI_Bcast(buffer: Word, count: c_int, datatype: Word, root: c_int, comm: Word) {
        catch_up(comm);
        match call::bcast(elements(buffer, count, datatype), root, comm, Setup::Now) {
            Some(ready) => ready.run(),
            None => Real::find().bcast(buffer, count, datatype, root, comm),
        }
    }

    MPI_Ibcast PMPI_Ibcast(
        buffer: Word, count: c_int, datatype: Word, root: c_int, comm: Word, request: Word
    ) {
        match call::bcast(elements(buffer, count, datatype), root, comm, Setup::Later) {
            Some(ready) => ready.request(request),
            None => Real::find().ibcast(buffer, count, datatype, root, comm, request),
        }
    }

    MPI_Bcast_init PMPI_Bcast_init(
        buffer: Word, count: c_int, datatype: Word, root: c_int, comm: Word, info: Word, request: Word
    ) {
        catch_up(comm);
        let values = elements(buffer, count, datatype);
        call::persistent(move |setup| call::bcast(values, root, comm, setup), request)
            .unwrap_or_else(|| Real::find().bcast_init(buffer, count, datatype, root, comm, info, request))
    }

    MPI_Allgather PMPI_Allgather(
        from: Word, count: c_int, datatype: Word, into: Word, counts: c_int, types: Word, comm: Word
    ) {
        catch_up(comm);
        let own = own(from, count, datatype);
        match call::allgather(own, elements(into, counts, types), comm, Setup::Now) {
            Some(ready) => ready.run(),
            None => Real::find().allgather(from, count, datatype, into, counts, types, comm),
        }
    }

    MPI_Iallgather PMPI_Iallgather(
        from: Word, count: c_int, datatype: Word, into: Word, counts: c_int, types: Word, comm: Word, request: Word
    ) {
        let own = own(from, count, datatype);
        match call::allgather(own, elements(into, counts, types), comm, Setup::Later) {
            Some(ready) => ready.request(request),
            None => Real::find().iallgather(from, count, datatype, into, counts, types, comm, request),
        }
    }

    MPI_Allgather_init PMPI_Allgather_init(
        from: Word, count: c_int, datatype: Word, into: Word, counts: c_int, types: Word, comm: Word, info: Word,
        request: Word
    ) {
        catch_up(comm);
        let (own, all) = (own(from, count, datatype), elements(into, counts, types));
        call::persistent(move |setup| call::allgather(own, all, comm, setup), request).unwrap_or_else(|| {
            Real::find().allgather_init(from, count, datatype, into, counts, types, comm, info, request)
        })
    }

    MPI_Allgatherv PMPI_Allgatherv(
        from: Word, count: c_int, datatype: Word, into: Word, counts: Word, starts: Word, types: Word, comm: Word
    ) {
        catch_up(comm);
        blocks(into, counts, starts, types, comm)
            .and_then(|all| call::allgatherv(own(from, count, datatype), &all, comm))
            .map(Ready::run)
            .unwrap_or_else(|| {
                Real::find().allgatherv(from, count, datatype, into, counts, starts, types, comm)
            })
    }

    MPI_Gather PMPI_Gather(
        from: Word, count: c_int, datatype: Word, into: Word, counts: c_int, types: Word, root: c_int, comm: Word
    ) {
        catch_up(comm);
        match call::gather(own(from, count, datatype), elements(into, counts, types), root, comm) {
            Some(ready) => ready.run(),
            None => Real::find().gather(from, count, datatype, into, counts, types, root, comm),
        }
    }

    MPI_Scatter PMPI_Scatter(
        from: Word, count: c_int, datatype: Word, into: Word, counts: c_int, types: Word, root: c_int, comm: Word
    ) {
        catch_up(comm);
        match call::scatter(elements(from, count, datatype), own(into, counts, types), root, comm) {
            Some(ready) => ready.run(),
            None => Real::find().scatter(from, count, datatype, into, counts, types, root, comm),
        }
    }

    MPI_Allreduce PMPI_Allreduce(
        from: Word, into: Word, count: c_int, datatype: Word, op: Word, comm: Word
    ) {
        catch_up(comm);
        match call::allreduce(outside(from), elements(into, count, datatype), op, comm, Setup::Now, true) {
            Some(ready) => ready.run(),
            None => Real::find().allreduce(from, into, count, datatype, op, comm),
        }
    }

    MPI_Iallreduce PMPI_Iallreduce(
        from: Word, into: Word, count: c_int, datatype: Word, op: Word, comm: Word, request: Word
    ) {
        match call::allreduce(outside(from), elements(into, count, datatype), op, comm, Setup::Later, false) {
            Some(ready) => ready.request(request),
            None => Real::find().iallreduce(from, into, count, datatype, op, comm, request),
        }
    }

    MPI_Allreduce_init PMPI_Allreduce_init(
        from: Word, into: Word, count: c_int, datatype: Word, op: Word, comm: Word, info: Word, request: Word
    ) {
        catch_up(comm);
        let (input, result) = (outside(from), elements(into, count, datatype));
        call::persistent(move |setup| call::allreduce(input, result, op, comm, setup, false), request).unwrap_or_else(|| {
            Real::find().allreduce_init(from, into, count, datatype, op, comm, info, request)
        })
    }

    MPI_Reduce_scatter PMPI_Reduce_scatter(
        from: Word, into: Word, counts: Word, datatype: Word, op: Word, comm: Word
    ) {
        catch_up(comm);
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
        catch_up(comm);
        ranks(comm)
            .and_then(|ranks| {
                let counts = vec![usize::try_from(count).ok()?; ranks as usize];
                call::reduce_scatter(outside(from), into, &counts, datatype, op, comm)
            })
            .unwrap_or_else(|| {
                Real::find().reduce_scatter_block(from, into, count, datatype, op, comm)
            })
    }

    MPI_Wait PMPI_Wait(request: Word, status: Word) {
        complete(request, 1);
        Real::find().wait(request, status)
    }

    MPI_Waitall PMPI_Waitall(count: c_int, requests: Word, statuses: Word) {
        complete(requests, count);
        Real::find().waitall(count, requests, statuses)
    }

    MPI_Waitany PMPI_Waitany(count: c_int, requests: Word, index: *mut c_int, status: Word) {
        until_some(requests, count, || {
            let mut flag = 0;
            let code = Real::find().testany(count, requests, index, &raw mut flag, status);
            (code != 0 || flag != 0).then_some(code)
        })
        .unwrap_or_else(|| Real::find().waitany(count, requests, index, status))
    }

    MPI_Waitsome PMPI_Waitsome(
        count: c_int, requests: Word, done: *mut c_int, indices: Word, statuses: Word
    ) {
        until_some(requests, count, || {
            let mut some = 0;
            let code = Real::find().testsome(count, requests, &raw mut some, indices, statuses);
            // SAFETY: the program passes where it wants the number.
            (code != 0 || some != 0).then(|| unsafe { *done = some }).map(|()| code)
        })
        .unwrap_or_else(|| Real::find().waitsome(count, requests, done, indices, statuses))
    }

    MPI_Test PMPI_Test(request: Word, flag: *mut c_int, status: Word) {
        settle();
        Real::find().test(request, flag, status)
    }

    MPI_Testall PMPI_Testall(count: c_int, requests: Word, flag: *mut c_int, statuses: Word) {
        settle();
        Real::find().testall(count, requests, flag, statuses)
    }

    MPI_Testany PMPI_Testany(
        count: c_int, requests: Word, index: *mut c_int, flag: *mut c_int, status: Word
    ) {
        settle();
        Real::find().testany(count, requests, index, flag, status)
    }

    MPI_Testsome PMPI_Testsome(
        count: c_int, requests: Word, done: *mut c_int, indices: Word, statuses: Word
    ) {
        settle();
        Real::find().testsome(count, requests, done, indices, statuses)
    }

    MPI_Request_get_status PMPI_Request_get_status(request: Word, flag: *mut c_int, status: Word) {
        settle();
        Real::find().request_get_status(request, flag, status)
    }

    MPI_Request_free PMPI_Request_free(request: Word) {
        if requests::any() {
            handles(request, 1).into_iter().for_each(requests::free);
        }
        Real::find().request_free(request)
    }

    MPI_Start PMPI_Start(request: Word) {
        let handles = if requests::any() { handles(request, 1) } else { Vec::new() };
        let code = Real::find().start(request);
        requests::start(&handles);
        code
    }

    MPI_Startall PMPI_Startall(count: c_int, requests: Word) {
        let handles = if requests::any() { handles(requests, count) } else { Vec::new() };
        let code = Real::find().startall(count, requests);
        requests::start(&handles);
        code
    }
}

/// The handles of an array of requests.
fn handles(array: Word, count: c_int) -> Vec<Word> {
    Real::find().abi.handles(array, usize::try_from(count).unwrap_or(0))
}

/// Waits for the collectives of these requests.
fn complete(array: Word, count: c_int) {
    if requests::any()
        && let Some(world) = world()
    {
        requests::wait(&world.job, &handles(array, count));
    }
}

/// Completes the requests of collectives that are done.
fn settle() {
    if requests::any()
        && let Some(world) = world()
    {
        requests::settle(&world.job);
    }
}

/// Calls `test` until it returns something. `None` if none of these requests is of this library.
fn until_some(array: Word, count: c_int, test: impl Fn() -> Option<c_int>) -> Option<c_int> {
    if !requests::any() {
        return None;
    }
    let (world, handles) = (world()?, handles(array, count));
    requests::settle(&world.job);
    while requests::waits(&handles) {
        if let Some(code) = test() {
            return Some(code);
        }
        requests::pause(&handles);
        requests::settle(&world.job);
    }
    None
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
