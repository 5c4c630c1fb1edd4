//! The MPI of the program: its functions, found at the first call.
//!
//! A program may load its MPI late (Python does), so nothing is looked up before. The functions are taken from the MPI's
//! own library, by their `PMPI_` names: the global ones of both names are ours.
#![expect(unsafe_code, reason = "functions of a library written in C")]
#![expect(clippy::too_many_arguments, reason = "as many as those functions have")]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::OnceLock;

use crate::abi::{Abi, Constants, Word};
use crate::arithmetic::Basic;
use crate::said::say;

/// Declares the functions that are called, and a method for each.
macro_rules! functions {
    ($($field:ident $name:literal ($($arg:ident: $ty:ty),*);)*) => {
        /// The functions of the MPI. Each returns what the MPI returns.
        #[derive(Debug)]
        pub struct Real {
            /// Its binary interface.
            pub abi: Abi,
            /// Its constants.
            pub constants: Constants,
            /// Its basic types and operations.
            pub basic: Basic,
            $($field: Option<unsafe extern "C" fn($($ty),*) -> c_int>,)*
        }

        impl Real {
            fn bind(abi: Abi, constants: Constants, basic: Basic, library: &Library) -> Self {
                Self {
                    abi,
                    constants,
                    basic,
                    $($field: library.function($name).map(|address| {
                        // SAFETY: the address is that of the function of this name, which has this type in the MPI
                        // standard; handles are words (`abi`).
                        unsafe {
                            std::mem::transmute::<Word, unsafe extern "C" fn($($ty),*) -> c_int>(address)
                        }
                    }),)*
                }
            }

            $(
                #[doc = concat!("`MPI_", $name, "`.")]
                pub fn $field(&self, $($arg: $ty),*) -> c_int {
                    let function = self.$field.unwrap_or_else(|| lacking($name));
                    // SAFETY: the arguments are those of the program, or as the standard wants them.
                    unsafe { function($($arg),*) }
                }
            )*
        }
    };
}

functions! {
    init "Init" (argc: Word, argv: Word);
    init_thread "Init_thread" (argc: Word, argv: Word, required: c_int, provided: *mut c_int);
    finalize "Finalize" ();
    abort "Abort" (comm: Word, code: c_int);
    comm_size "Comm_size" (comm: Word, size: *mut c_int);
    comm_rank "Comm_rank" (comm: Word, rank: *mut c_int);
    comm_dup "Comm_dup" (comm: Word, copy: *mut Word);
    comm_free "Comm_free" (comm: *mut Word);
    iprobe "Iprobe" (source: c_int, tag: c_int, comm: Word, flag: *mut c_int, status: Word);
    irecv "Irecv" (buffer: Word, count: c_int, datatype: Word, source: c_int, tag: c_int, comm: Word, request: Word);
    recv_init "Recv_init"
        (buffer: Word, count: c_int, datatype: Word, source: c_int, tag: c_int, comm: Word, request: Word);
    send "Send" (buffer: Word, count: c_int, datatype: Word, to: c_int, tag: c_int, comm: Word);
    wait "Wait" (request: Word, status: Word);
    waitall "Waitall" (count: c_int, requests: Word, statuses: Word);
    waitany "Waitany" (count: c_int, requests: Word, index: *mut c_int, status: Word);
    waitsome "Waitsome" (count: c_int, requests: Word, done: *mut c_int, indices: Word, statuses: Word);
    test "Test" (request: Word, flag: *mut c_int, status: Word);
    testall "Testall" (count: c_int, requests: Word, flag: *mut c_int, statuses: Word);
    testany "Testany" (count: c_int, requests: Word, index: *mut c_int, flag: *mut c_int, status: Word);
    testsome "Testsome" (count: c_int, requests: Word, done: *mut c_int, indices: Word, statuses: Word);
    request_get_status "Request_get_status" (request: Word, flag: *mut c_int, status: Word);
    request_get_status_any "Request_get_status_any"
        (count: c_int, requests: Word, index: *mut c_int, flag: *mut c_int, status: Word);
    request_get_status_all "Request_get_status_all"
        (count: c_int, requests: Word, flag: *mut c_int, statuses: Word);
    request_get_status_some "Request_get_status_some"
        (count: c_int, requests: Word, done: *mut c_int, indices: Word, statuses: Word);
    request_free "Request_free" (request: Word);
    start "Start" (request: Word);
    startall "Startall" (count: c_int, requests: Word);
    barrier "Barrier" (comm: Word);
    reduce "Reduce"
        (from: Word, into: Word, count: c_int, datatype: Word, op: Word, root: c_int, comm: Word);
    reduce_c "Reduce_c"
        (from: Word, into: Word, count: i64, datatype: Word, op: Word, root: c_int, comm: Word);
    ibcast "Ibcast" (buffer: Word, count: c_int, datatype: Word, root: c_int, comm: Word, request: Word);
    iallgather "Iallgather"
        (from: Word, count: c_int, datatype: Word, into: Word, counts: c_int, types: Word, comm: Word, request: Word);
    iallreduce "Iallreduce"
        (from: Word, into: Word, count: c_int, datatype: Word, op: Word, comm: Word, request: Word);
    bcast_init "Bcast_init"
        (buffer: Word, count: c_int, datatype: Word, root: c_int, comm: Word, info: Word, request: Word);
    allgather_init "Allgather_init"
        (from: Word, count: c_int, datatype: Word, into: Word, counts: c_int, types: Word, comm: Word, info: Word, request: Word);
    allreduce_init "Allreduce_init"
        (from: Word, into: Word, count: c_int, datatype: Word, op: Word, comm: Word, info: Word, request: Word);
    comm_group "Comm_group" (comm: Word, group: *mut Word);
    comm_test_inter "Comm_test_inter" (comm: Word, flag: *mut c_int);
    comm_create_keyval "Comm_create_keyval" (copy: Word, delete: Word, keyval: *mut c_int, extra: Word);
    comm_set_attr "Comm_set_attr" (comm: Word, keyval: c_int, value: Word);
    group_translate_ranks "Group_translate_ranks"
        (group: Word, n: c_int, ranks: *const c_int, other: Word, result: *mut c_int);
    group_free "Group_free" (group: *mut Word);
    type_size "Type_size" (datatype: Word, size: *mut c_int);
    type_size_x "Type_size_x" (datatype: Word, size: *mut i64);
    type_dup "Type_dup" (datatype: Word, copy: *mut Word);
    type_get_extent "Type_get_extent" (datatype: Word, lower: *mut isize, extent: *mut isize);
    type_get_envelope "Type_get_envelope"
        (datatype: Word, integers: *mut c_int, addresses: *mut c_int, datatypes: *mut c_int, combiner: *mut c_int);
    type_get_envelope_c "Type_get_envelope_c"
        (datatype: Word, integers: *mut i64, addresses: *mut i64, counts: *mut i64, datatypes: *mut i64, combiner: *mut c_int);
    type_get_contents "Type_get_contents"
        (datatype: Word, integers: c_int, addresses: c_int, datatypes: c_int, a: *mut c_int, b: *mut isize, c: *mut Word);
    type_free "Type_free" (datatype: *mut Word);
    pack "Pack" (buffer: Word, count: c_int, datatype: Word, into: Word, size: c_int, position: *mut c_int, comm: Word);
    unpack "Unpack" (from: Word, size: c_int, position: *mut c_int, buffer: Word, count: c_int, datatype: Word, comm: Word);
    pack_c "Pack_c"
        (buffer: Word, count: i64, datatype: Word, into: Word, size: i64, position: *mut i64, comm: Word);
    unpack_c "Unpack_c"
        (from: Word, size: i64, position: *mut i64, buffer: Word, count: i64, datatype: Word, comm: Word);
    op_commutative "Op_commutative" (op: Word, commute: *mut c_int);
    reduce_local "Reduce_local" (from: Word, into: Word, count: c_int, datatype: Word, op: Word);
    bcast "Bcast" (buffer: Word, count: c_int, datatype: Word, root: c_int, comm: Word);
    allgather "Allgather"
        (from: Word, count: c_int, datatype: Word, into: Word, counts: c_int, types: Word, comm: Word);
    allgatherv "Allgatherv"
        (from: Word, count: c_int, datatype: Word, into: Word, counts: Word, starts: Word, types: Word, comm: Word);
    gather "Gather"
        (from: Word, count: c_int, datatype: Word, into: Word, counts: c_int, types: Word, root: c_int, comm: Word);
    scatter "Scatter"
        (from: Word, count: c_int, datatype: Word, into: Word, counts: c_int, types: Word, root: c_int, comm: Word);
    allreduce "Allreduce" (from: Word, into: Word, count: c_int, datatype: Word, op: Word, comm: Word);
    reduce_scatter "Reduce_scatter" (from: Word, into: Word, counts: Word, datatype: Word, op: Word, comm: Word);
    reduce_scatter_block "Reduce_scatter_block"
        (from: Word, into: Word, count: c_int, datatype: Word, op: Word, comm: Word);
    bcast_c "Bcast_c"
        (buffer: Word, count: i64, datatype: Word, root: c_int, comm: Word);
    ibcast_c "Ibcast_c"
        (buffer: Word, count: i64, datatype: Word, root: c_int, comm: Word, request: Word);
    bcast_init_c "Bcast_init_c"
        (buffer: Word, count: i64, datatype: Word, root: c_int, comm: Word, info: Word, request: Word);
    allgather_c "Allgather_c"
        (from: Word, count: i64, datatype: Word, into: Word, counts: i64, types: Word, comm: Word);
    iallgather_c "Iallgather_c"
        (from: Word, count: i64, datatype: Word, into: Word, counts: i64, types: Word, comm: Word, request: Word);
    allgather_init_c "Allgather_init_c"
        (from: Word, count: i64, datatype: Word, into: Word, counts: i64, types: Word, comm: Word, info: Word, request: Word);
    allgatherv_c "Allgatherv_c"
        (from: Word, count: i64, datatype: Word, into: Word, counts: Word, starts: Word, types: Word, comm: Word);
    gather_c "Gather_c"
        (from: Word, count: i64, datatype: Word, into: Word, counts: i64, types: Word, root: c_int, comm: Word);
    scatter_c "Scatter_c"
        (from: Word, count: i64, datatype: Word, into: Word, counts: i64, types: Word, root: c_int, comm: Word);
    allreduce_c "Allreduce_c"
        (from: Word, into: Word, count: i64, datatype: Word, op: Word, comm: Word);
    iallreduce_c "Iallreduce_c"
        (from: Word, into: Word, count: i64, datatype: Word, op: Word, comm: Word, request: Word);
    allreduce_init_c "Allreduce_init_c"
        (from: Word, into: Word, count: i64, datatype: Word, op: Word, comm: Word, info: Word, request: Word);
    reduce_scatter_c "Reduce_scatter_c"
        (from: Word, into: Word, counts: Word, datatype: Word, op: Word, comm: Word);
    reduce_scatter_block_c "Reduce_scatter_block_c"
        (from: Word, into: Word, count: i64, datatype: Word, op: Word, comm: Word);
}

impl Real {
    /// Whether it has the functions of MPI 4 with large counts.
    pub const fn has_large_counts(&self) -> bool {
        self.type_get_envelope_c.is_some() && self.pack_c.is_some() && self.unpack_c.is_some()
    }

    /// The MPI of the program.
    pub fn find() -> &'static Self {
        static REAL: OnceLock<Real> = OnceLock::new();
        REAL.get_or_init(|| {
            let Some(library) = Library::find() else {
                say("this program has called MPI, but no MPI library is loaded");
                std::process::abort();
            };
            let abi = library.abi();
            let Some(constants) = Constants::of(abi, |name| variable(name, &library)) else {
                say(format_args!("{abi:?} lacks its own constants"));
                std::process::abort();
            };
            let basic = Basic::of(abi, |name| variable(name, &library));
            Self::bind(abi, constants, basic, &library)
        })
    }
}

/// The program has called a function that its MPI does not have.
fn lacking(name: &str) -> ! {
    say(format_args!("the MPI of this program has no MPI_{name}"));
    std::process::abort();
}

/// A variable of the MPI. The program may have a copy of its own (copy relocation), which the MPI uses then too.
fn variable(name: &str, library: &Library) -> Option<Word> {
    let name = CString::new(name).ok()?;
    // SAFETY: a NUL-terminated name.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    if address.is_null() { library.find_symbol(&name) } else { Some(address as Word) }
}

/// A loaded library.
#[derive(Debug)]
struct Library {
    name: CString,
    handle: *mut c_void,
}

impl Library {
    /// The library that has the MPI's functions. A library that was linked with it has them by name too.
    fn find() -> Option<Self> {
        let mut names: Vec<CString> = Vec::new();
        // SAFETY: the callback gets the vector that lives until the call returns.
        unsafe { libc::dl_iterate_phdr(Some(add_name), (&raw mut names).cast()) };
        let ours = holder(Self::find as fn() -> Option<Self> as Word);
        names.into_iter().filter_map(Self::open).find_map(|library| {
            let of = |name| holder(library.symbol(name)?);
            let (own, other) = (of("PMPI_Comm_rank")?, of("PMPI_Bcast")?);
            if Some(&own) == ours.as_ref() || Some(&other) == ours.as_ref() {
                return None;
            }
            Self::open(own)
        })
    }

    fn open(name: CString) -> Option<Self> {
        // SAFETY: a NUL-terminated name; nothing is loaded that is not there.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        (!handle.is_null()).then_some(Self { name, handle })
    }

    fn abi(&self) -> Abi {
        let own = self.name.to_string_lossy();
        if own.rsplit('/').next().is_some_and(|name| name.starts_with("libmpi_abi")) {
            Abi::Mpi5
        } else if self.symbol("ompi_mpi_comm_world").is_some() {
            Abi::OpenMpi
        } else {
            Abi::Mpich
        }
    }

    /// A function of MPI; Open MPI 4 has the persistent collectives as an extension.
    fn function(&self, name: &str) -> Option<Word> {
        let named = |start: &str| self.symbol(&format!("{start}{name}"));
        named("PMPI_").or_else(|| named("PMPIX_"))
    }

    fn symbol(&self, name: &str) -> Option<Word> {
        self.find_symbol(&CString::new(name).ok()?)
    }

    fn find_symbol(&self, name: &CStr) -> Option<Word> {
        // SAFETY: a handle of dlopen that is never closed, and a NUL-terminated name.
        let address = unsafe { libc::dlsym(self.handle, name.as_ptr()) };
        (!address.is_null()).then_some(address as Word)
    }
}

/// The name of the library in which an address lies.
fn holder(address: Word) -> Option<CString> {
    let mut info = libc::Dl_info {
        dli_fname: std::ptr::null::<c_char>(),
        dli_fbase: std::ptr::null_mut(),
        dli_sname: std::ptr::null::<c_char>(),
        dli_saddr: std::ptr::null_mut(),
    };
    // SAFETY: any address is allowed; `info` outlives the call.
    let found = unsafe { libc::dladdr(address as *const c_void, &raw mut info) };
    if found == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: a NUL-terminated name of the loader.
    Some(unsafe { CStr::from_ptr(info.dli_fname) }.to_owned())
}

/// Adds the name of a loaded library to the vector at `names`.
extern "C" fn add_name(info: *mut libc::dl_phdr_info, _size: usize, names: *mut c_void) -> c_int {
    // SAFETY: dl_iterate_phdr passes a valid pointer.
    let name = unsafe { (*info).dlpi_name };
    if name.is_null() {
        return 0;
    }
    // SAFETY: a NUL-terminated name of the loader.
    let name = unsafe { CStr::from_ptr(name) };
    // SAFETY: the vector that `Library::find` passes.
    let names = unsafe { &mut *names.cast::<Vec<CString>>() };
    if !name.is_empty() {
        names.push(name.to_owned());
    }
    0
}
