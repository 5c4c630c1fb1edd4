//! The functions of MPI that this library stands before beside the collectives that may go over rings (`collectives`), by
//! both of their names: Open MPI's Fortran calls the `PMPI_` ones.
#![expect(unsafe_code, reason = "the interface is C")]

mod collectives;

use std::ffi::c_int;

use crate::abi::Word;
use crate::real::Real;
use crate::requests;
use crate::world::{self, catch_up, world};

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
use export;

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

    MPI_Reduce_c PMPI_Reduce_c(
        from: Word, into: Word, count: i64, datatype: Word, op: Word, root: c_int, comm: Word
    ) {
        catch_up(comm);
        Real::find().reduce_c(from, into, count, datatype, op, root, comm)
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

    MPI_Request_get_status_any PMPI_Request_get_status_any(
        count: c_int, requests: Word, index: *mut c_int, flag: *mut c_int, status: Word
    ) {
        settle();
        Real::find().request_get_status_any(count, requests, index, flag, status)
    }

    MPI_Request_get_status_all PMPI_Request_get_status_all(
        count: c_int, requests: Word, flag: *mut c_int, statuses: Word
    ) {
        settle();
        Real::find().request_get_status_all(count, requests, flag, statuses)
    }

    MPI_Request_get_status_some PMPI_Request_get_status_some(
        count: c_int, requests: Word, done: *mut c_int, indices: Word, statuses: Word
    ) {
        settle();
        Real::find().request_get_status_some(count, requests, done, indices, statuses)
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
