//! The state of one run of moving files, as the coordinator (the process that the operator started)
//! knows it from the reports of the members (nodes that take part).

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

use tresse_ring::pace::Pace;
use tresse_ring::routes::{Stage, StreamRoutes};

use crate::files::collective::arguments::{CollectiveArgs, RingArgs};
use crate::files::collective::job::Job;
use crate::files::collective::link::{Event, Link};
use crate::files::collective::outcome::Outcome;
use crate::files::collective::party::Party;
use crate::files::collective::progress::Progress;

/// What the coordinator (the process that the operator started) knows of one member (a node that
/// takes part): its link and address, what it has reported, and its result.
pub struct Member {
    pub link: Link,
    pub address: IpAddr,
    pub port: Option<u16>,
    pub bytes: Option<u64>,
    /// The receiver of each request to send; the index is the number of the request.
    pub receivers: Vec<usize>,
    pub done: Vec<(u32, u64, String)>,
    /// Parts that no member can send it any more.
    pub lacks: Vec<usize>,
    pub has: (u64, u64),
    /// Bytes that it has read again, of what an earlier run left.
    pub read: u64,
    /// How often it could not send to a member.
    pub lost: usize,
    /// How often another member could not send to it.
    pub missed: usize,
    /// Bytes that it had when that happened last.
    pub missed_at: u64,
    /// When it last reported something.
    pub heard: Option<Instant>,
    pub outcome: Option<Outcome>,
}

/// A report of one member (node) that it could not send data to another: both members, and when it
/// was reported.
pub struct Loss {
    pub from: usize,
    pub to: usize,
    pub when: Instant,
    /// Whether another member has reached the receiver since then.
    pub reached: bool,
}

/// The state of one run of moving files: all members (nodes that take part), the routes of the data
/// between them, and the progress of each.
pub struct Members<'a> {
    pub job: &'a Job,
    pub party: &'a Party,
    pub args: &'a CollectiveArgs,
    pub ring: &'a RingArgs,
    pub all: Vec<Member>,
    pub send: Sender<(usize, Event)>,
    pub events: Receiver<(usize, Event)>,
    pub routes: StreamRoutes,
    pub pace: Pace,
    /// Stages that no member was asked to send yet.
    pub waiting: VecDeque<Stage>,
    /// Stages that were asked for and are not done.
    pub active: Vec<Stage>,
    pub unlinked: usize,
    pub losses: Vec<Loss>,
    /// Whether standard input has not ended yet.
    pub input: bool,
    /// Bytes that all members had when that number changed last, and when.
    pub moved: (u64, Instant),
    pub progress: Progress,
    pub launched: Instant,
    pub started: Instant,
    /// When the last member had everything, since `started`.
    pub last_done: Duration,
    pub ended: Duration,
}

impl Members<'_> {
    /// The number of stripes that each part is cut into: one for each ring.
    pub fn stripes(&self) -> usize {
        if self.job.hub.is_some() { 1 } else { self.party.rings.len() }
    }
}

impl Member {
    /// How long it has reported nothing.
    pub fn silence(&self) -> Duration {
        self.heard.map_or(Duration::ZERO, |heard| heard.elapsed())
    }

    pub fn new(link: Link, address: IpAddr) -> Self {
        Self {
            link,
            address,
            port: None,
            bytes: None,
            receivers: Vec::new(),
            done: Vec::new(),
            lacks: Vec::new(),
            has: (0, 0),
            read: 0,
            lost: 0,
            missed: 0,
            missed_at: 0,
            heard: None,
            outcome: None,
        }
    }
}
