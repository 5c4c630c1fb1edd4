//! The board of PMIx: a key that each process puts and commits before `MPI_Init`, and that all can get (PMIx standard
//! 4.1, chapters 5 and 6).
#![expect(unsafe_code, reason = "functions of a library written in C")]

use std::env;
use std::ffi::{CStr, c_char, c_int, c_void};

/// The key.
const KEY: &CStr = c"tresse.mpi";
/// `PMIX_GLOBAL`.
const GLOBAL: u8 = 3;
/// `PMIX_STRING`.
const STRING: u16 = 3;

/// `pmix_proc_t`.
#[repr(C)]
struct Process {
    namespace: [c_char; 256],
    rank: u32,
}

/// `pmix_value_t`: a type and a union, here of a string; with room for the largest member of any version.
#[repr(C)]
struct Value {
    kind: u16,
    string: *const c_char,
    rest: [u64; 8],
}

type Init = unsafe extern "C" fn(*mut Process, *mut c_void, usize) -> c_int;
type Put = unsafe extern "C" fn(u8, *const c_char, *mut Value) -> c_int;
type Commit = unsafe extern "C" fn() -> c_int;
type Get = unsafe extern "C" fn(
    *const Process,
    *const c_char,
    *const c_void,
    usize,
    *mut *mut Value,
) -> c_int;
type Finalize = unsafe extern "C" fn(*const c_void, usize) -> c_int;

/// A use of the PMIx library beside that of MPI: it counts them.
pub struct Pmix {
    own: Process,
    get: Get,
    finalize: Finalize,
}

impl std::fmt::Debug for Pmix {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pmix").field("rank", &self.own.rank).finish_non_exhaustive()
    }
}

impl Pmix {
    /// Writes the own key. `None` without PMIx.
    pub fn write() -> Option<Self> {
        env::var_os("PMIX_NAMESPACE")?;
        // SAFETY: a NUL-terminated name. MPI loads the same library, by the same name.
        let library = unsafe { libc::dlopen(c"libpmix.so.2".as_ptr(), libc::RTLD_LAZY) };
        if library.is_null() {
            return None;
        }
        let symbol = |name: &CStr| {
            // SAFETY: a handle that is never closed, and a NUL-terminated name.
            let address = unsafe { libc::dlsym(library, name.as_ptr()) };
            (!address.is_null()).then_some(address)
        };
        // SAFETY: functions of these names have these types in the PMIx standard.
        let (init, put, commit, get, finalize) = unsafe {
            (
                std::mem::transmute::<*mut c_void, Init>(symbol(c"PMIx_Init")?),
                std::mem::transmute::<*mut c_void, Put>(symbol(c"PMIx_Put")?),
                std::mem::transmute::<*mut c_void, Commit>(symbol(c"PMIx_Commit")?),
                std::mem::transmute::<*mut c_void, Get>(symbol(c"PMIx_Get")?),
                std::mem::transmute::<*mut c_void, Finalize>(symbol(c"PMIx_Finalize")?),
            )
        };
        let mut own = Process { namespace: [0; 256], rank: 0 };
        // SAFETY: `own` has the size of a pmix_proc_t, and there are no attributes.
        if unsafe { init(&raw mut own, std::ptr::null_mut(), 0) } != 0 {
            return None;
        }
        let pmix = Self { own, get, finalize };
        let mut value = Value { kind: STRING, string: c"1".as_ptr(), rest: [0; 8] };
        // SAFETY: a NUL-terminated key, and a value that the library copies.
        let mut code = unsafe { put(GLOBAL, KEY.as_ptr(), &raw mut value) };
        if code == 0 {
            // SAFETY: no arguments.
            code = unsafe { commit() };
        }
        if code != 0 {
            pmix.leave();
            return None;
        }
        Some(pmix)
    }

    /// Whether each rank has written.
    pub fn read(self, ranks: usize) -> Vec<bool> {
        let written = |rank: usize| {
            let other = Process { namespace: self.own.namespace, rank: rank as u32 };
            let mut value = std::ptr::null_mut();
            // SAFETY: the process and the key live until the call returns; it sets `value` where it returns 0. That
            // value is never freed: a few bytes for each rank, once.
            let code = unsafe {
                (self.get)(&raw const other, KEY.as_ptr(), std::ptr::null(), 0, &raw mut value)
            };
            code == 0
        };
        let all = (0..ranks).map(written).collect();
        self.leave();
        all
    }

    /// Ends this use; that of MPI goes on.
    fn leave(&self) {
        // SAFETY: it was initialised, and there are no attributes.
        unsafe { (self.finalize)(std::ptr::null(), 0) };
    }
}
