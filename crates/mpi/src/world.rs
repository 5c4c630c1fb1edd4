//! The state of this process from `MPI_Init` to `MPI_Finalize`: whether rings are used, and the communicators that have
//! them.

use std::collections::{HashMap, HashSet};
use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, RwLock};

use crate::abi::Word;
use crate::board::Board;
use crate::context::Context;
use crate::job::Job;
use crate::real::Real;
use crate::said::say;
use crate::settings::{Kind, Settings};

/// Bytes from which any collective looks further; `u64::MAX` as long as rings are not used.
static LEAST: AtomicU64 = AtomicU64::new(u64::MAX);

static WORLD: RwLock<Option<Arc<World>>> = RwLock::new(None);

/// Communicators whose rings wait to be set up.
static WANTED: AtomicUsize = AtomicUsize::new(0);

/// When the rings of a communicator are set up that has none yet. This is collective and may wait for other ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setup {
    /// In this call, which is a blocking collective.
    Now,
    /// In the next blocking collective of the communicator: all ranks call it at the same place of their collectives.
    Later,
}

/// The job, and the communicators of this process.
pub struct World {
    /// What all of them need.
    pub job: Arc<Job>,
    /// Key of the attribute that tells when a communicator goes.
    keyval: c_int,
    /// Communicators by handle; `None` for those that use the MPI's own algorithms.
    contexts: RwLock<HashMap<Word, Option<Arc<Context>>>>,
    wanted: Mutex<HashSet<Word>>,
}

/// Bytes from which any collective looks further. A load and a comparison are all that a shorter one costs.
pub fn least() -> u64 {
    LEAST.load(Ordering::Relaxed)
}

/// The state, while rings are used.
pub fn world() -> Option<Arc<World>> {
    WORLD.read().ok()?.clone()
}

/// To be called by each blocking collective before anything else: sets up the rings that a nonblocking one has asked
/// for.
pub fn catch_up(comm: Word) {
    if WANTED.load(Ordering::Relaxed) > 0
        && let Some(world) = world()
    {
        world.catch_up(comm);
    }
}

/// Starts MPI by `init`, and finds out whether rings are used. Returns what `init` returns.
pub fn start(real: &'static Real, init: impl FnOnce() -> c_int) -> c_int {
    let variable = |name: &str| std::env::var(name).ok();
    let settings = Settings::read(variable).unwrap_or_else(|error| {
        say(format_args!("{error}: rings are not used"));
        Settings::off(variable)
    });
    // Several ranks are a job; a program may also start alone.
    let board = settings.on.then(Board::write);
    let code = init();
    if code != 0 {
        return code;
    }
    let Some(board) = board else {
        if settings.everywhere {
            Job::stay_out(real);
        }
        return code;
    };
    match Job::new(real, settings, board).and_then(|job| job.map(World::new).transpose()) {
        Ok(Some(world)) => {
            let settings = &world.job.settings;
            let least = Kind::ALL.iter().map(|kind| settings.threshold(*kind, 0)).min();
            if let Ok(mut slot) = WORLD.write() {
                *slot = Some(world.into());
            }
            LEAST.store(least.unwrap_or(u64::MAX), Ordering::Release);
        }
        Ok(None) => {}
        Err(why) => say(format_args!("rings are not used: {why}")),
    }
    code
}

/// Ends the use of rings, before `MPI_Finalize`.
pub fn end() {
    LEAST.store(u64::MAX, Ordering::Release);
    let world = WORLD.write().ok().and_then(|mut slot| slot.take());
    let Some(world) = world else { return };
    let mut own = world.job.own;
    world.job.real.comm_free(&raw mut own);
    if world.job.settings.report && world.job.rank == 0 {
        let counts = Kind::ALL
            .iter()
            .zip(&world.job.counts)
            .map(|(kind, count)| format!("{} {}", kind.name(), count.load(Ordering::Relaxed)));
        say(format_args!("over rings: {}", counts.collect::<Vec<_>>().join(", ")));
    }
}

impl World {
    fn new(job: Job) -> Result<Self, String> {
        let mut keyval = 0;
        let (copy, delete) = (not_copied as CopyFunction as Word, forget as DeleteFunction as Word);
        if job.real.comm_create_keyval(copy, delete, &raw mut keyval, 0) != 0 {
            return Err("MPI_Comm_create_keyval failed".to_owned());
        }
        Ok(Self { job: job.into(), keyval, contexts: RwLock::default(), wanted: Mutex::default() })
    }

    /// What the rings of a communicator need, if it uses any.
    pub fn context(&self, comm: Word, setup: Setup) -> Option<Arc<Context>> {
        let comm = self.job.real.abi.handle(comm);
        if let Some(known) = self.contexts.read().ok()?.get(&comm) {
            return known.clone();
        }
        match setup {
            Setup::Now => {}
            Setup::Later => {
                self.want(comm);
                return None;
            }
        }
        let context = Context::new(&self.job, comm).map(Arc::new);
        if self.job.real.comm_set_attr(comm, self.keyval, comm) == 0 {
            self.contexts.write().ok()?.insert(comm, context.clone());
        }
        context
    }

    /// Rings beside those of a communicator, for one persistent collective. Collective over it.
    pub fn apart(&self, comm: Word) -> Option<Arc<Context>> {
        Context::new(&self.job, self.job.real.abi.handle(comm)).map(Arc::new)
    }

    /// Has the rings of a communicator set up in its next blocking collective.
    fn want(&self, comm: Word) {
        let known = self.wanted.lock().is_ok_and(|wanted| wanted.contains(&comm));
        if !known
            && self.job.real.comm_set_attr(comm, self.keyval, comm) == 0
            && self.wanted.lock().is_ok_and(|mut wanted| wanted.insert(comm))
        {
            WANTED.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns whether the rings of a communicator are wanted, and no longer.
    fn unwant(&self, comm: Word) -> bool {
        let wanted = self.wanted.lock().is_ok_and(|mut wanted| wanted.remove(&comm));
        if wanted {
            WANTED.fetch_sub(1, Ordering::Relaxed);
        }
        wanted
    }

    /// Does what waits for the next blocking collective of a communicator.
    fn catch_up(&self, comm: Word) {
        let comm = self.job.real.abi.handle(comm);
        if self.unwant(comm) {
            self.context(comm, Setup::Now);
        }
    }
}

type CopyFunction = extern "C" fn(Word, c_int, Word, Word, Word, *mut c_int) -> c_int;
type DeleteFunction = extern "C" fn(Word, c_int, Word, Word) -> c_int;

/// `MPI_Comm_copy_attr_function`: a duplicate starts without rings of its own.
#[expect(unsafe_code, reason = "called by the MPI")]
extern "C" fn not_copied(_: Word, _: c_int, _: Word, _: Word, _: Word, flag: *mut c_int) -> c_int {
    // SAFETY: the MPI passes where it wants the flag.
    unsafe { *flag = 0 };
    0
}

/// `MPI_Comm_delete_attr_function`: the communicator goes.
extern "C" fn forget(_comm: Word, _keyval: c_int, handle: Word, _: Word) -> c_int {
    if let Some(world) = world() {
        world.unwant(handle);
        if let Ok(mut contexts) = world.contexts.write() {
            contexts.remove(&handle);
        }
    }
    0
}
