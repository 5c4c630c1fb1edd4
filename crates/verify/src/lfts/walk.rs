//! Follows every path in an InfiniBand network: from each switch with hosts to each LID (address) of
//! each host.
//!
//! A forwarding table chooses by destination only, so the switches' entries for one LID form a graph
//! with one exit from each switch. Each switch is therefore visited once per LID: O(switches + ends of
//! cables) per LID.

use std::collections::BTreeMap;

use tresse_topology::Channel;

use super::LftNetwork;
use super::network::Exit;
use crate::Dependencies;

/// Result of following all paths. Pairs are of different hosts, on the path of the base LID.
#[derive(Debug)]
pub(super) struct Walk {
    pub dependencies: Dependencies,
    /// Pairs by channel.
    pub loads: Vec<u64>,
    /// Frames that each host sends and receives, of pairs that have a path.
    pub sent: Vec<u64>,
    pub received: Vec<u64>,
    pub reachable: u64,
    pub hops: u64,
    /// Paths by what is wrong with them, the first as a witness: switch, host, LID.
    pub lost: Found,
    pub looped: Found,
    pub longer: Found,
}

/// How many, and the first.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub pairs: u64,
    pub first: Option<Witness>,
}

/// A path from a switch to a host's LID.
#[derive(Debug, Clone, Copy)]
pub(super) struct Witness {
    pub switch: u32,
    pub host: usize,
    pub lid: u16,
}

impl Found {
    fn add(&mut self, pairs: u64, witness: Witness) {
        if pairs > 0 {
            self.pairs += pairs;
            self.first.get_or_insert(witness);
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Unseen,
    Walking,
    Arrives(u32),
    Lost,
    Loops,
}

impl Walk {
    pub fn of(network: &LftNetwork) -> Self {
        let hosts = network.hosts.len();
        let mut walk = Self {
            dependencies: Dependencies::new(&network.graph),
            loads: vec![0; network.graph.channels()],
            sent: vec![0; network.at.len()],
            received: vec![0; hosts],
            reachable: 0,
            hops: 0,
            lost: Found::default(),
            looped: Found::default(),
            longer: Found::default(),
        };
        let mut settled = Settled::default();
        let (mut distance, mut queue) = (Vec::new(), Vec::new());
        for (host, here) in network.hosts.iter().enumerate() {
            network.graph.distances(here.switch, &mut distance, &mut queue);
            for (alias, &lid) in here.lids.iter().enumerate() {
                settled.settle(network, host, lid);
                walk.judge(network, &settled, host, lid, alias == 0, &distance);
                walk.carry(network, &mut settled, lid, alias == 0);
            }
        }
        walk
    }

    /// Records which paths arrive. Of a host's further LIDs only faults are reported.
    fn judge(
        &mut self,
        network: &LftNetwork,
        settled: &Settled,
        host: usize,
        lid: u16,
        base: bool,
        distance: &[u32],
    ) {
        for (s, &hosts) in (0u32..).zip(&network.at) {
            let here = network.hosts[host].switch == s;
            let pairs = hosts - u64::from(here);
            let witness = Witness { switch: s, host, lid };
            match settled.fate[s as usize] {
                Fate::Arrives(hops) if base => {
                    self.reachable += pairs;
                    self.hops += pairs * u64::from(hops);
                    self.sent[s as usize] += pairs;
                    self.received[host] += pairs;
                    if hops > distance[s as usize] {
                        self.longer.add(pairs, witness);
                    }
                }
                Fate::Arrives(_) => {}
                Fate::Loops => self.looped.add(pairs, witness),
                Fate::Lost | Fate::Unseen | Fate::Walking => self.lost.add(pairs, witness),
            }
        }
    }

    /// Loads and dependencies, from the far end of every path to the near one.
    fn carry(&mut self, network: &LftNetwork, settled: &mut Settled, lid: u16, base: bool) {
        settled.carried.clear();
        settled.carried.extend(&network.at);
        for &s in settled.order.iter().rev() {
            let (pairs, channel) = (settled.carried[s as usize], settled.next_channel[s as usize]);
            let Some(channel) = channel.filter(|_| pairs > 0) else { continue };
            let next = network.graph.head(channel);
            if base {
                self.loads[channel as usize] += pairs;
            }
            settled.carried[next as usize] += pairs;
            if let Exit::Switch(after) = network.exit(next, lid) {
                self.dependencies.add(channel, after);
            }
        }
    }
}

/// The switches' entries for one LID.
#[derive(Debug, Default)]
struct Settled {
    fate: Vec<Fate>,
    /// The channel that a switch sends by; `None` at the last one.
    next_channel: Vec<Option<Channel>>,
    /// Switches whose frames arrive, each after the one that it sends to.
    order: Vec<u32>,
    carried: Vec<u64>,
    stack: Vec<u32>,
}

impl Settled {
    fn settle(&mut self, network: &LftNetwork, host: usize, lid: u16) {
        let switches = network.names.len();
        self.fate.clear();
        self.fate.resize(switches, Fate::Unseen);
        self.next_channel.clear();
        self.next_channel.resize(switches, None);
        self.order.clear();
        for start in 0..switches as u32 {
            let mut s = start;
            let mut fate = loop {
                match self.fate[s as usize] {
                    Fate::Unseen => {}
                    Fate::Walking => break Fate::Loops,
                    known => break known,
                }
                self.fate[s as usize] = Fate::Walking;
                match network.exit(s, lid) {
                    Exit::Switch(channel) => {
                        self.next_channel[s as usize] = Some(channel);
                        self.stack.push(s);
                        s = network.graph.head(channel);
                    }
                    Exit::Host(h) if h as usize == host => {
                        self.fate[s as usize] = Fate::Arrives(0);
                        self.order.push(s);
                        break Fate::Arrives(0);
                    }
                    Exit::Host(_) | Exit::Nothing => {
                        self.fate[s as usize] = Fate::Lost;
                        break Fate::Lost;
                    }
                }
            };
            while let Some(s) = self.stack.pop() {
                if let Fate::Arrives(hops) = &mut fate {
                    *hops += 1;
                    self.order.push(s);
                }
                self.fate[s as usize] = fate;
            }
        }
    }
}

impl LftNetwork {
    /// The switches that frames to `lid` pass from `switch`, until one has none to send to or comes
    /// again; that one is the last.
    pub(super) fn follow(&self, switch: u32, lid: u16) -> Vec<u32> {
        let mut seen = vec![false; self.names.len()];
        let mut path = vec![switch];
        let mut s = switch;
        while !std::mem::replace(&mut seen[s as usize], true) {
            let Exit::Switch(channel) = self.exit(s, lid) else { break };
            s = self.graph.head(channel);
            path.push(s);
        }
        path
    }

    /// For each channel of a cycle a host some of whose frames use the next one right after it.
    pub(super) fn users(&self, cycle: &[Channel]) -> Vec<Option<usize>> {
        let mut after: BTreeMap<Channel, Channel> = BTreeMap::new();
        for (i, channel) in cycle.iter().enumerate() {
            after.insert(*channel, cycle[(i + 1) % cycle.len()]);
        }
        let mut users = BTreeMap::new();
        let mut settled = Settled::default();
        for (host, here) in self.hosts.iter().enumerate() {
            for &lid in &here.lids {
                settled.settle(self, host, lid);
                settled.carried.clear();
                settled.carried.extend(&self.at);
                for &s in settled.order.iter().rev() {
                    let (pairs, next_channel) =
                        (settled.carried[s as usize], settled.next_channel[s as usize]);
                    let Some(channel) = next_channel.filter(|_| pairs > 0) else { continue };
                    let next = self.graph.head(channel);
                    settled.carried[next as usize] += pairs;
                    let dependency = after.get(&channel).copied();
                    if dependency.is_some() && dependency == settled.next_channel[next as usize] {
                        users.entry(channel).or_insert(host);
                    }
                }
            }
            if users.len() == after.len() {
                break;
            }
        }
        cycle.iter().map(|channel| users.get(channel).copied()).collect()
    }
}
