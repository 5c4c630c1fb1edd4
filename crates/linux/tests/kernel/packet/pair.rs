//! The forwarding engine of these tests: two NICs and three labels.

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use tresse_base::id::{Label, Vid};
use tresse_base::label::LabelExit;
use tresse_frame::forward::{ForwardingTable, TableNic, Ttl};
use tresse_linux::forward::{Config, ForwardingEngine};

use super::tap::{own, peer};

/// Out of eth1 on VID 102.
pub const ACROSS: u32 = 16;
/// Out of eth0 on VID 101.
pub const BACK: u32 = 17;
/// Out of eth1 without tag.
pub const UNTAGGED: u32 = 18;

/// Two NICs, whose neighbours 1 to 8 send on VID 100 and without tag.
pub fn nics() -> Vec<TableNic> {
    let neighbours =
        (1..=8).flat_map(|n| [(Some(Vid(100)), peer(n)), (None, peer(n))]).collect::<Vec<_>>();
    let nic = |n| TableNic { mac: own(n), mtu_bytes: 1500, neighbours: neighbours.clone() };
    vec![nic(0), nic(1)]
}

pub fn table() -> ForwardingTable {
    let exit = |nic, vid: Option<u16>, n| LabelExit { nic, vid: vid.map(Vid), mac: peer(n) };
    let labels = [
        (Label(ACROSS), exit(1, Some(102), 21)),
        (Label(BACK), exit(0, Some(101), 22)),
        (Label(UNTAGGED), exit(1, None, 23)),
    ];
    ForwardingTable::new(&nics(), labels, Ttl::Propagate).unwrap()
}

/// Has this thread, and those that it starts, run on one processor. What a queueing discipline releases is sent by whichever
/// processor is there, and between namespaces each of these hands it over by a queue of its own: the order of frames that two
/// have sent is not kept. What is sent in one call is also read in few, as the reader runs after it.
pub fn on_one_processor() {
    let mut one = CpuSet::new();
    one.set(0).unwrap();
    sched_setaffinity(Pid::from_raw(0), &one).unwrap();
}

pub fn engine() -> ForwardingEngine {
    let config = Config::new(vec!["eth0".into(), "eth1".into()]);
    ForwardingEngine::start(&config, table().into()).unwrap()
}
