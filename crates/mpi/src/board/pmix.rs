//! The board of PMIx: a key that each process puts and commits with what the MPI does while it starts, and that all can get
//! (PMIx standard 4.1, chapters 5 and 6).
#![expect(unsafe_code, reason = "functions of a library written in C")]

use std::env;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

/// The key.
const KEY: &CStr = c"tresse.mpi";
/// `PMIX_GLOBAL`.
const GLOBAL: u8 = 3;
/// `PMIX_STRING`.
const STRING: u16 = 3;

/// `PMIX_ERROR`.
const ERROR: c_int = -1;
/// Bytes of a namespace's name, with the NUL.
const NAMESPACE: usize = 256;

/// `pmix_proc_t`.
#[repr(C)]
struct Process {
    namespace: [c_char; NAMESPACE],
    rank: u32,
}

/// `pmix_value_t`: a type and a union, here of a string; with room for the largest member of any version.
#[repr(C)]
struct Value {
    kind: u16,
    string: *const c_char,
    rest: [u64; 8],
}

type Put = unsafe extern "C" fn(u8, *const c_char, *mut Value) -> c_int;
type Commit = unsafe extern "C" fn() -> c_int;
type Get = unsafe extern "C" fn(
    *const Process,
    *const c_char,
    *const c_void,
    usize,
    *mut *mut Value,
) -> c_int;

/// Whether the next commit has to put the key.
static WAITS: AtomicBool = AtomicBool::new(false);
/// Whether the key is committed.
static PUT: AtomicBool = AtomicBool::new(false);

/// The PMIx library that the MPI has loaded.
struct Library {
    put: Put,
    commit: Commit,
    get: Get,
}

impl Library {
    fn find() -> Option<Self> {
        let flags = libc::RTLD_LAZY | libc::RTLD_NOLOAD;
        // SAFETY: a NUL-terminated name; nothing is loaded that is not there.
        let library = unsafe { libc::dlopen(c"libpmix.so.2".as_ptr(), flags) };
        if library.is_null() {
            return None;
        }
        let symbol = |name: &CStr| {
            // SAFETY: a handle that is never closed, and a NUL-terminated name.
            let address = unsafe { libc::dlsym(library, name.as_ptr()) };
            (!address.is_null()).then_some(address)
        };
        // SAFETY: functions of these names have these types in the PMIx standard.
        Some(unsafe {
            Self {
                put: std::mem::transmute::<*mut c_void, Put>(symbol(c"PMIx_Put")?),
                commit: std::mem::transmute::<*mut c_void, Commit>(symbol(c"PMIx_Commit")?),
                get: std::mem::transmute::<*mut c_void, Get>(symbol(c"PMIx_Get")?),
            }
        })
    }
}

/// `PMIx_Commit`, which each MPI calls while it starts: puts the key beside what the MPI has put. A use of PMIx of our own before
/// that of the MPI would do too, but PMIx 5 then lacks what the MPI asks for (openpmix pull request 3795).
#[unsafe(no_mangle)]
pub extern "C" fn PMIx_Commit() -> c_int {
    let Some(library) = Library::find() else { return ERROR };
    let puts = WAITS.swap(false, Ordering::Relaxed);
    let mut value = Value { kind: STRING, string: c"1".as_ptr(), rest: [0; 8] };
    // SAFETY: a NUL-terminated key, and a value that the library copies; whoever commits has initialised it.
    let put = puts && unsafe { (library.put)(GLOBAL, KEY.as_ptr(), &raw mut value) } == 0;
    // SAFETY: no arguments.
    let code = unsafe { (library.commit)() };
    if put && code == 0 {
        PUT.store(true, Ordering::Relaxed);
    }
    code
}

/// The processes of this job.
#[derive(Debug)]
pub struct Pmix {
    namespace: [c_char; NAMESPACE],
}

impl Pmix {
    /// Has the own key written while the MPI starts. `None` without PMIx.
    pub fn write() -> Option<Self> {
        let name = env::var_os("PMIX_NAMESPACE")?;
        let name = name.as_encoded_bytes();
        if name.len() >= NAMESPACE {
            return None;
        }
        let mut namespace = [0; NAMESPACE];
        namespace.iter_mut().zip(name).for_each(|(to, from)| *to = from.cast_signed());
        WAITS.store(true, Ordering::Relaxed);
        Some(Self { namespace })
    }

    /// Whether each rank has written. `None` if the MPI has not used PMIx, or another library of it.
    pub fn read(&self, ranks: usize) -> Option<Vec<bool>> {
        if !PUT.load(Ordering::Relaxed) {
            return None;
        }
        let library = Library::find()?;
        let written = |rank: usize| {
            let other = Process { namespace: self.namespace, rank: rank as u32 };
            let mut value = std::ptr::null_mut();
            // SAFETY: the process and the key live until the call returns; it sets `value` where it returns 0. That
            // value is never freed: a few bytes for each rank, once.
            let code = unsafe {
                (library.get)(&raw const other, KEY.as_ptr(), std::ptr::null(), 0, &raw mut value)
            };
            code == 0
        };
        Some((0..ranks).map(written).collect())
    }
}
