//! Numbered datagrams between pairs of nodes, sent steadily while something else happens.

use std::time::{Duration, Instant};

use tresse_base::id::NodeId;
use tresse_tests::load::{Load, Miss, Station, describe};
use tresse_tests::pace;

use super::lab::Lab;

/// Traffic that runs until [`Traffic::finish`].
pub struct Traffic {
    load: Load,
    pairs: u64,
    began: Instant,
    dropped_before: u64,
}

/// How often each of a few pairs sends.
const PERIOD: Duration = Duration::from_millis(20);
/// How long a busy machine may take to send what a test needs.
const ENOUGH: Duration = Duration::from_secs(30);
/// Datagrams in a second of all pairs together. The emulated machine forwards a few thousand, and fewer where
/// others use its processors.
const RATE_OF_ALL: u32 = 1000;
const EMULATED_RATE_OF_ALL: u32 = 300;

impl Traffic {
    /// Starts these pairs.
    pub fn start(lab: &Lab, pairs: &[(NodeId, NodeId)]) -> Self {
        let station = |node: NodeId| Station {
            name: lab.now.node(node).to_owned(),
            netns: lab.directory.netns(lab.now.node(node)),
            address: lab.address(node),
        };
        let stations: Vec<_> = pairs.iter().map(|(a, b)| (station(*a), station(*b))).collect();
        let ends: Vec<_> = stations.iter().map(|(a, b)| (a, b)).collect();
        let count = pairs.len() as u32;
        let all = if pace::is_emulated() { EMULATED_RATE_OF_ALL } else { RATE_OF_ALL };
        let period = PERIOD.max(Duration::from_secs(1) * count / all);
        let dropped_before = dropped_by_machine();
        let load = Load::start(&ends, period).unwrap();
        Self { load, pairs: count.into(), began: Instant::now(), dropped_before }
    }

    /// Waits until it is known what became of every datagram: how many each pair has sent, and those
    /// with a fault. Says how many frames of the whole lab were dropped because the machine it runs on
    /// could not keep up.
    pub fn finish(self) -> (u64, Vec<Miss>) {
        let (sent, misses) = self.load.account();
        let dropped = dropped_by_machine() - self.dropped_before;
        if dropped > 0 {
            eprintln!("this machine dropped {dropped} frames for want of time");
        }
        (sent / self.pairs, misses)
    }

    /// The same where no fault is excused but that `may_be`.
    pub fn finish_without_faults(self, least: u64, may_be: impl Fn(&Miss) -> bool) {
        let began = self.began;
        // Where other work keeps the senders waiting, for as long as they need.
        let until = Instant::now() + ENOUGH;
        while self.load.rounds() <= least && Instant::now() < until {
            std::thread::sleep(PERIOD);
        }
        let (sent, misses) = self.finish();
        let bad: Vec<&Miss> = misses.iter().filter(|miss| !may_be(miss)).collect();
        assert!(bad.is_empty(), "{}", describe(began, &bad));
        assert!(sent > least, "each pair sent {sent} datagrams only");
    }
}

/// Frames that found the queue of their processor full, since the machine started.
fn dropped_by_machine() -> u64 {
    let text = std::fs::read_to_string("/proc/net/softnet_stat").unwrap();
    let dropped = text.lines().filter_map(|line| line.split_whitespace().nth(1));
    dropped.map(|number| u64::from_str_radix(number, 16).unwrap()).sum()
}
