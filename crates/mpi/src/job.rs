//! What all collectives of this process need: the MPI, the settings, and what is known of the other ranks.

use std::collections::HashMap;
use std::ffi::c_int;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

use tresse_control::Client;
use tresse_plan::Plan;
use tresse_ring::proof::{self, Token};

use crate::abi::Word;
use crate::board::Board;
use crate::peers::Door;
use crate::real::Real;
use crate::record::{RECORD, Record, VERSION, objection};
use crate::rings::{self, Rings};
use crate::said::say;
use crate::settings::{Settings, digest};

/// Most rings that are kept for communicators to come.
const KNOWN: usize = 64;

/// What all collectives need.
pub struct Job {
    /// The MPI.
    pub real: &'static Real,
    /// The settings, the same on all ranks but for paths.
    pub settings: Settings,
    /// By rank of `MPI_COMM_WORLD`.
    pub records: Vec<Record>,
    /// Rank in `MPI_COMM_WORLD`.
    pub rank: usize,
    /// The token of the job.
    pub token: Token,
    /// Where other ranks connect to.
    pub door: Door,
    /// Collectives that went over rings, by [`Kind`].
    pub counts: [AtomicU64; 6],
    /// A communicator of this process alone, on which nothing is ever sent.
    pub own: Word,
    numbers: AtomicU32,
    plan: OnceLock<Result<Plan, String>>,
    /// Those of communicators before, by the nodes of their ranks.
    rings: Mutex<HashMap<Vec<String>, Rings>>,
    /// Whether somebody has said why rings are not used.
    pub warned: AtomicBool,
    /// Whether connections could not be set up. It takes long, and is not tried again.
    pub failed: AtomicBool,
}

impl Job {
    /// `None` if rings are not used for a reason that another rank reports, or that needs none.
    pub fn new(
        real: &'static Real,
        settings: Settings,
        board: Board,
    ) -> Result<Option<Self>, String> {
        let comm = real.constants.comm_world;
        let (mut size, mut rank) = (0, 0);
        real.comm_size(comm, &raw mut size);
        real.comm_rank(comm, &raw mut rank);
        let (size, rank) = (size as usize, rank as usize);
        if size < 2 {
            return Ok(None);
        }
        if !settings.everywhere
            && let Some((says, why)) = absent(board.read(size))
        {
            return if says == rank { Err(why) } else { Ok(None) };
        }
        let door = Door::open();
        let token = proof::number();
        let (node, generation) = daemon(&settings);
        let own = Record {
            version: VERSION,
            port: door.as_ref().map_or(0, |door| door.port),
            on: door.is_ok() && token.is_ok(),
            settings: settings.digest(),
            token: token.unwrap_or_default(),
            generation,
            node,
            place: place(),
        };
        let records = exchange(real, &own, size)?;
        if let Some(why) = objection(&records) {
            // One that is off is not here to say it.
            let says = records.iter().position(|record| record.on).unwrap_or(0);
            return if rank == says { Err(why) } else { Ok(None) };
        }
        let door = door.map_err(|e| e.to_string())?;
        let token = records[0].token;
        door.let_in(token);
        let mut alone = 0;
        if real.comm_dup(real.constants.comm_self, &raw mut alone) != 0 {
            return Err("MPI_Comm_dup failed".to_owned());
        }
        Ok(Some(Self {
            own: alone,
            real,
            settings,
            records,
            rank,
            token,
            door,
            counts: Default::default(),
            numbers: AtomicU32::new(0),
            plan: OnceLock::new(),
            rings: Mutex::default(),
            warned: AtomicBool::new(false),
            failed: AtomicBool::new(false),
        }))
    }

    /// The rings of ranks on these nodes, by the plan that the daemons have in force.
    ///
    /// # Errors
    /// The plan cannot be computed, or lacks a node.
    pub fn rings(&self, nodes: &[String]) -> Result<Rings, String> {
        let mut known = self.rings.lock().expect("nobody panics with it");
        if let Some(rings) = known.get(nodes) {
            return Ok(rings.clone());
        }
        let plan = self.plan.get_or_init(|| {
            let Settings { cluster, socket, .. } = &self.settings;
            rings::plan(cluster.as_deref(), socket, &self.records[self.rank].generation)
        });
        let rings = rings::rings(plan.as_ref().map_err(Clone::clone)?, nodes)?;
        if known.len() >= KNOWN {
            known.clear();
        }
        known.insert(nodes.to_vec(), rings.clone());
        Ok(rings)
    }

    /// Tells the others that this rank uses no rings, where they count on it by `TRESSE_MPI_EVERYWHERE`.
    pub fn stay_out(real: &Real) {
        let mut size = 0;
        real.comm_size(real.constants.comm_world, &raw mut size);
        if size > 1 {
            // An error is for the next call of the program to meet.
            let _ = exchange(real, &Record::off(), size as usize);
        }
    }

    /// Lets the MPI move what it has to move for others: it may do so only while it is called.
    pub fn progress(&self) {
        let mut flag = 0;
        self.real.iprobe(0, 0, self.own, &raw mut flag, self.real.constants.status_ignore);
    }

    /// Says why rings are not used, once.
    pub fn warn(&self, why: &str) {
        if !self.warned.swap(true, Ordering::Relaxed) {
            say(format_args!("rings are not used: {why}"));
        }
    }

    /// A number that no other communicator of the job has.
    pub fn number(&self) -> u64 {
        (self.rank as u64) << 32 | u64::from(self.numbers.fetch_add(1, Ordering::Relaxed))
    }
}

/// Why not all ranks are known to have this library, if so, and the rank that says it: the lowest that has it.
fn absent(present: Option<Vec<bool>>) -> Option<(usize, String)> {
    let Some(present) = present else {
        let why = "the launcher does not tell whether all ranks have this library: set TRESSE_MPI_EVERYWHERE=1 if so";
        return Some((0, why.to_owned()));
    };
    let absent = present.iter().position(|has| !has)?;
    let says = present.iter().position(|has| *has).unwrap_or(0);
    let why = "does not have this library, or has TRESSE_MPI=0: LD_PRELOAD has to reach all ranks";
    Some((says, format!("rank {absent} {why}")))
}

/// The node's name and the generation in force, as the daemon says; empty if it does not answer.
fn daemon(settings: &Settings) -> (String, String) {
    let status = Client::connect(&settings.socket).and_then(|mut client| client.status());
    let Ok(status) = status else { return Default::default() };
    (status.node.unwrap_or_default(), status.generation.unwrap_or_default())
}

/// Which machine this is, by what it drew when it booted, and which of its network namespaces: ranks of one node share both.
fn place() -> u64 {
    let boot = fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let namespace = fs::metadata("/proc/self/ns/net").map_or(0, |it| it.ino());
    digest(boot.into_iter().chain(namespace.to_le_bytes()))
}

/// The records of all ranks.
fn exchange(real: &Real, own: &Record, size: usize) -> Result<Vec<Record>, String> {
    let (own, mut all) = (own.encode(), vec![[0; RECORD]; size]);
    let (from, into) = (own.as_ptr() as Word, all.as_mut_ptr() as Word);
    let (byte, count) = (real.constants.byte, RECORD as c_int);
    if real.allgather(from, count, byte, into, count, byte, real.constants.comm_world) != 0 {
        return Err("MPI_Allgather failed".to_owned());
    }
    Ok(all.iter().map(Record::decode).collect())
}
