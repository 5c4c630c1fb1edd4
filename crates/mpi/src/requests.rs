//! The requests of nonblocking and persistent collectives.
//!
//! The program gets a request of its MPI: to receive nothing from itself, on a communicator of this process alone. Once
//! the collective is done and the program asks for a request (every function that does is stood before in `exports`),
//! nothing is sent there, and the request is complete.

use std::collections::{HashMap, HashSet};
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use crate::abi::Word;
use crate::job::Job;
use crate::said::say;

/// The largest tag that every MPI allows. Each is used by one request at a time; 0 is never sent to.
const TAGS: c_int = 32_767;
/// How long to wait for a collective until MPI has its turn.
const PAUSE: Duration = Duration::from_millis(1);

static COUNT: AtomicUsize = AtomicUsize::new(0);
static REQUESTS: Mutex<Option<Requests>> = Mutex::new(None);
static DONE: Condvar = Condvar::new();

/// All requests of this library.
#[derive(Default)]
struct Requests {
    of: HashMap<Word, Request>,
    /// Their tags.
    tags: HashSet<c_int>,
    /// The one that was given last.
    last: c_int,
}

impl Requests {
    /// A tag that no other request has.
    fn tag(&mut self) -> Option<c_int> {
        let mut next = (0..TAGS).map(|k| 1 + (self.last + k) % TAGS);
        let tag = next.find(|tag| !self.tags.contains(tag))?;
        self.last = tag;
        self.tags.insert(tag);
        Some(tag)
    }

    fn remove(&mut self, handle: Word) -> bool {
        let gone = self.of.remove(&handle);
        gone.is_some_and(|request| self.tags.remove(&request.tag))
    }
}

type Unpack = Box<dyn FnOnce() + Send>;
type Start = Arc<dyn Fn() -> Running + Send + Sync>;

/// A request of this library.
struct Request {
    tag: c_int,
    running: Option<Running>,
    /// Of a persistent one.
    start: Option<Start>,
}

/// A collective that was started.
pub struct Running {
    done: Arc<AtomicBool>,
    /// What is left to be done by a thread of the program.
    unpack: Unpack,
}

/// Tells that a collective is done.
pub struct Finish(Arc<AtomicBool>);

impl Running {
    /// A collective, and who tells when it is done.
    pub fn new(unpack: Unpack) -> (Self, Finish) {
        let done = Arc::new(AtomicBool::new(false));
        (Self { done: done.clone(), unpack }, Finish(done))
    }

    fn is_done(&self) -> bool {
        self.done.load(Ordering::Acquire)
    }
}

impl Finish {
    /// It is done.
    pub fn done(self) {
        // Under the lock, so that nobody who has just looked misses it.
        let _requests = lock();
        self.0.store(true, Ordering::Release);
        DONE.notify_all();
    }
}

/// Whether there are any.
pub fn any() -> bool {
    COUNT.load(Ordering::Relaxed) > 0
}

/// Makes a request, at `request`, for a collective that has been started. Returns what the MPI returns.
pub fn nonblocking(job: &Job, running: Running, request: Word) -> c_int {
    add(
        job,
        request,
        |tag| job.real.irecv(0, 0, job.real.constants.byte, 0, tag, job.own, request),
        |tag| Request { tag, running: Some(running), start: None },
    )
}

/// Makes a persistent request, at `request`, for collectives that `start` starts. Returns what the MPI returns.
pub fn persistent(job: &Job, start: Start, request: Word) -> c_int {
    add(
        job,
        request,
        |tag| job.real.recv_init(0, 0, job.real.constants.byte, 0, tag, job.own, request),
        |tag| Request { tag, running: None, start: Some(start) },
    )
}

fn add(
    job: &Job,
    request: Word,
    make: impl FnOnce(c_int) -> c_int,
    entry: impl FnOnce(c_int) -> Request,
) -> c_int {
    let mut requests = lock();
    let all = requests.get_or_insert_default();
    let Some(tag) = all.tag() else {
        say(format_args!("more than {TAGS} requests of collectives at once"));
        job.real.abort(job.real.constants.comm_world, 1);
        std::process::abort();
    };
    let code = make(tag);
    if code == 0 {
        let handle = job.real.abi.handles(request, 1)[0];
        all.of.insert(handle, entry(tag));
        COUNT.fetch_add(1, Ordering::Relaxed);
    } else {
        all.tags.remove(&tag);
    }
    code
}

/// Starts those of these requests that are persistent ones of this library.
pub fn start(handles: &[Word]) {
    let known: Vec<(Word, Start)> = (lock().iter().flat_map(|all| &all.of))
        .filter(|(handle, _)| handles.contains(handle))
        .filter_map(|(handle, request)| Some((*handle, request.start.clone()?)))
        .collect();
    // In the order in which the program starts them.
    for handle in handles {
        let Some((_, start)) = known.iter().find(|(it, _)| it == handle) else { continue };
        let running = start();
        if let Some(request) = lock().as_mut().and_then(|all| all.of.get_mut(handle)) {
            request.running = Some(running);
        }
    }
}

/// Forgets a persistent request that the program frees.
pub fn free(handle: Word) {
    if lock().as_mut().is_some_and(|all| all.remove(handle)) {
        COUNT.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Completes the requests of all collectives that are done.
pub fn settle(job: &Job) {
    let mut ready = Vec::new();
    if let Some(requests) = lock().as_mut() {
        requests.of.retain(|_, request| {
            let Some(running) = request.running.take_if(|it| it.is_done()) else { return true };
            let again = request.start.is_some();
            ready.push((request.tag, running, again));
            again
        });
        COUNT.store(requests.of.len(), Ordering::Relaxed);
    }
    for (tag, running, again) in ready {
        (running.unpack)();
        job.real.send(0, 0, job.real.constants.byte, 0, tag, job.own);
        // Only now: another request with this tag would have got it.
        if !again && let Some(requests) = lock().as_mut() {
            requests.tags.remove(&tag);
        }
    }
}

/// Whether one of these is a request whose collective is not done.
pub fn waits(handles: &[Word]) -> bool {
    let requests = lock();
    let Some(requests) = requests.as_ref() else { return false };
    let running = |handle| requests.of.get(handle).and_then(|it| it.running.as_ref());
    handles.iter().any(|handle| running(handle).is_some_and(|it| !it.is_done()))
}

/// Waits until the collectives of all these requests are done, and completes them. The MPI has its turn meanwhile.
pub fn wait(job: &Job, handles: &[Word]) {
    while waits(handles) {
        settle(job);
        job.progress();
        pause(handles);
    }
    settle(job);
}

/// Waits until another collective is done, or for a moment.
pub fn pause(handles: &[Word]) {
    let requests = lock();
    let idle = requests.as_ref().is_none_or(|all| {
        !handles.iter().any(|it| {
            all.of.get(it).and_then(|it| it.running.as_ref()).is_some_and(Running::is_done)
        })
    });
    if idle {
        drop(DONE.wait_timeout(requests, PAUSE).expect("nobody panics with it"));
    }
}

fn lock() -> MutexGuard<'static, Option<Requests>> {
    REQUESTS.lock().expect("nobody panics with it")
}
