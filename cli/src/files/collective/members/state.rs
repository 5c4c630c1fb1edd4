//! What is known of the members of a run.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

use tresse_ring::pace::Pace;
use tresse_ring::routes::{Routes, Stage};

use crate::files::collective::arguments::{CollectiveArgs, RingArgs};
use crate::files::collective::job::Job;
use crate::files::collective::link::{Event, Link};
use crate::files::collective::outcome::Outcome;
use crate::files::collective::party::Party;
use crate::files::collective::progress::Progress;

/// One member.
pub struct Member {
    pub link: Link,
    pub address: IpAddr,
    pub port: Option<u16>,
    pub octets: Option<u64>,
    /// By number, to whom it was told to send.
    pub told: Vec<usize>,
    pub done: Vec<(u32, u64, String)>,
    /// Parts that nobody can give it any more.
    pub lacks: Vec<usize>,
    pub has: (u64, u64),
    /// Octets that it has read again.
    pub read: u64,
    /// Members that live and that it could not send to; how often others could not send to it.
    pub lost: usize,
    pub missed: usize,
    /// Octets that it had at the last of these.
    pub missed_at: u64,
    /// When it told something last.
    pub heard: Option<Instant>,
    pub outcome: Option<Outcome>,
}

/// A member could not send to another one.
pub struct Loss {
    pub from: usize,
    pub to: usize,
    pub when: Instant,
    /// Another one reached that one since.
    pub reached: bool,
}

/// All of them.
pub struct Members<'a> {
    pub job: &'a Job,
    pub party: &'a Party,
    pub args: &'a CollectiveArgs,
    pub ring: &'a RingArgs,
    pub all: Vec<Member>,
    pub send: Sender<(usize, Event)>,
    pub events: Receiver<(usize, Event)>,
    pub routes: Routes,
    pub pace: Pace,
    /// Stages that wait, and those that are told and not done.
    pub waiting: VecDeque<Stage>,
    pub active: Vec<Stage>,
    pub unlinked: usize,
    pub losses: Vec<Loss>,
    /// Standard input has not ended.
    pub input: bool,
    /// Octets of all members when that had changed last.
    pub moved: (u64, Instant),
    pub progress: Progress,
    pub launched: Instant,
    pub started: Instant,
    /// When the last one had all.
    pub last_done: Duration,
    pub ended: Duration,
}

impl Members<'_> {
    /// Rings that share no link carry a stripe each.
    pub fn stripes(&self) -> usize {
        if self.job.hub.is_some() { 1 } else { self.party.rings.len() }
    }
}

impl Member {
    /// For how long it has told nothing.
    pub fn silence(&self) -> Duration {
        self.heard.map_or(Duration::ZERO, |heard| heard.elapsed())
    }

    pub fn new(link: Link, address: IpAddr) -> Self {
        Self {
            link,
            address,
            port: None,
            octets: None,
            told: Vec::new(),
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
