//! A collective that the program calls: whether it goes over rings, and how it is run, started, or started again and again.

use std::ffi::c_int;
use std::sync::Arc;

use crate::abi::Word;
use crate::collective::Flows;
use crate::context::Context;
use crate::job::Job;
use crate::requests::{self, Running};
use crate::settings::Kind;
use crate::values::Values;
use crate::wire::Header;
use crate::world::{Setup, World, least, world};

/// Result of a collective that is done.
const SUCCESS: c_int = 0;

/// Makes a collective ready at a rank of a communicator with this root: again at each start of a persistent one, also once
/// the program has freed the datatype.
pub type Make = Box<dyn Fn(&Context, usize) -> Ready + Send + Sync>;

/// A collective that the program calls. `P` is asked once it is to go over rings: `None` if it can not.
pub struct Call<P> {
    /// Its kind.
    pub kind: Kind,
    /// Bytes of the whole result.
    pub bytes: u64,
    /// Rank of the root, 0 where there is none.
    pub root: usize,
    /// The communicator.
    pub comm: Word,
    /// Says how it is made.
    pub prepare: P,
}

/// A call that goes over rings.
struct Taken {
    world: Arc<World>,
    context: Arc<Context>,
    make: Make,
    kind: Kind,
    header: Header,
    comm: Word,
}

impl<P: FnOnce() -> Option<Make>> Call<P> {
    /// `None` if it is for the MPI.
    fn taken(self, setup: Setup) -> Option<Taken> {
        let Self { kind, bytes, root, comm, prepare } = self;
        if bytes < least() {
            return None;
        }
        let world = world()?;
        let context = world.context(comm, setup)?;
        if root >= context.size() || !context.takes(kind, bytes) {
            return None;
        }
        let header = Header { number: 0, kind: kind as u8, root: root as u32, unit: 0, bytes };
        Some(Taken { make: prepare()?, world, context, kind, header, comm })
    }

    /// Runs it. `None` if it is for the MPI.
    pub fn run(self) -> Option<c_int> {
        let Taken { world, context, make, kind, header, .. } = self.taken(Setup::Now)?;
        let Ready { unit, flows, unpack, keep } = make(&context, header.root as usize);
        context.run(&world.job, Header { unit: unit as u32, ..header }, flows, kind);
        unpack.into_iter().for_each(|values| values.unpack(kind));
        drop(keep);
        Some(SUCCESS)
    }

    /// Starts it, and makes a request for it at `request`. `None` if it is for the MPI.
    pub fn request(self, request: Word) -> Option<c_int> {
        let Taken { world, context, make, kind, header, .. } = self.taken(Setup::Later)?;
        let running = start(&world.job, &context, &make, kind, header);
        Some(requests::nonblocking(&world.job, running, request))
    }

    /// Makes a persistent request for it at `request`. `None` if it is for the MPI.
    ///
    /// It has rings of its own: ranks may start their requests in any order (MPI 4.0, section 6.13).
    pub fn persistent(self, request: Word) -> Option<c_int> {
        let Taken { world, make, kind, header, comm, .. } = self.taken(Setup::Now)?;
        let context = world.apart(comm)?;
        let job = world.job.clone();
        let start = move || start(&job, &context, &make, kind, header);
        Some(requests::persistent(&world.job, Arc::new(start), request))
    }
}

fn start(
    job: &Arc<Job>,
    context: &Arc<Context>,
    make: &Make,
    kind: Kind,
    header: Header,
) -> Running {
    let Ready { unit, flows, unpack, keep } = make(context, header.root as usize);
    let (running, finish) = Running::new(Box::new(move || {
        unpack.into_iter().for_each(|values| values.unpack(kind));
        drop(keep);
    }));
    context.start(job, Header { unit: unit as u32, ..header }, flows, kind, finish);
    running
}

/// What a collective sends and receives at one rank.
pub struct Ready {
    /// Bytes of an element of a reduction, else 0.
    pub unit: usize,
    /// By ring.
    pub flows: Flows,
    /// Values that are to be unpacked.
    pub unpack: Vec<Values>,
    /// What the flows use and nobody unpacks.
    pub keep: Vec<Values>,
}
