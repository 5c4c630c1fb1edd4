//! Four nodes in a row, each in a namespace, cabled over VLANs: what the tests of `transit` install.
//!
//! ```text
//!  s eth0 --- eth0 h1 eth1 --- eth0 h2 eth1 --- eth0 d
//!      VLAN 10         VLAN 20          VLAN 30
//!  s to d: 100 popped by h1, 200 by h2         d to s: 300 popped by h2, 400 by h1
//! ```

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::IpAddr;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use nix::sched::{CloneFlags, setns};
use tresse_base::id::{Label, Vid};
use tresse_base::units::{Mac, Prefix};
use tresse_linux::kernel::{execute, observe};
use tresse_namespace::{eventually, ip, try_ip};
use tresse_reconcile::{
    LinkKind, METRIC_PRIMARY, Nexthop, Observed, Reconciliation, Saved, Wanted, WantedLabel,
    WantedLink, WantedNeighbour, WantedRoute, label_sysctls, reconcile,
};

/// A node: its namespace, what it shall hold, what it remembers.
pub struct Node {
    pub netns: String,
    pub wanted: Wanted,
    pub saved: Saved,
}

impl Node {
    /// Runs `work` in the node's namespace.
    pub fn inside<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        let file = File::open(format!("/run/netns/{}", self.netns)).unwrap();
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                setns(file, CloneFlags::CLONE_NEWNET).unwrap();
                work()
            });
            thread.join().unwrap()
        })
    }

    pub fn look(&self) -> Observed {
        let keys: Vec<String> =
            self.wanted.sysctls.keys().chain(self.saved.sysctls.keys()).cloned().collect();
        self.inside(|| observe(keys.iter().map(String::as_str)).unwrap())
    }

    /// What the daemon would do now.
    pub fn planned(&self) -> Reconciliation {
        reconcile(&self.wanted, &self.look(), &self.saved)
    }

    /// Makes the kernel equal to what is wanted, as the daemon does.
    pub fn converge(&mut self) -> Reconciliation {
        let before = self.look();
        let outcome = reconcile(&self.wanted, &before, &self.saved);
        self.saved = self.saved.before(&outcome.operations, &before);
        let operations: Vec<_> = outcome.operations.iter().map(|p| p.operation.clone()).collect();
        let done = self.inside(|| execute(&operations));
        assert!(done.is_complete(), "{}: {:?}", self.netns, done.errors);
        self.saved = self.saved.clone().settled(&self.wanted, &self.look());
        outcome
    }

    /// Until there is nothing left to do: the VLAN interfaces' carrier comes a moment after they are
    /// up.
    pub fn install(&mut self) {
        let outcome = self.converge();
        assert!(outcome.refused.is_empty() && outcome.pending.is_empty(), "{outcome:#?}");
        eventually("everything is in sync", || self.converge().in_sync());
    }

    pub fn ip(&self, words: &str) -> String {
        ip(&format!("-n {} {words}", self.netns))
    }

    pub fn command(&self, words: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.netns]).args(words.split_whitespace());
        command
    }

    /// Starts `tcpdump` for one frame on an interface, and waits until it listens.
    pub fn capture(&self, interface: &str, filter: &str) -> Child {
        let words = format!("tcpdump --immediate-mode -nn -e -v -c 1 -i {interface} {filter}");
        let mut command = self.command(&words);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.as_mut().unwrap());
        assert!(stderr.lines().map_while(Result::ok).any(|l| l.contains("listening on")));
        child
    }

    pub fn pings(&self, to: IpAddr) -> bool {
        let command = &mut self.command(&format!("ping -n -c 1 -W 2 {to}"));
        command.output().unwrap().status.success()
    }
}

/// What one capture saw; empty if nothing within ten seconds.
pub fn seen(mut child: Child) -> String {
    let deadline = Instant::now() + Duration::from_secs(10);
    while child.try_wait().unwrap().is_none() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(10));
    }
    let _ = child.kill();
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    child.wait().unwrap();
    text
}

pub struct Chain {
    pub nodes: Vec<Node>,
    v6: bool,
}

impl Drop for Chain {
    fn drop(&mut self) {
        for node in &self.nodes {
            try_ip(&format!("netns del {}", node.netns));
        }
    }
}

pub const fn mac(node: u8, nic: u8) -> Mac {
    Mac([2, 0, 0, 0, node, nic])
}

fn node_address(node: u8, v6: bool) -> IpAddr {
    let text = if v6 { format!("fd77::{node}") } else { format!("10.77.0.{node}") };
    text.parse().unwrap()
}

fn nic_address(node: u8, nic: u8, v6: bool) -> IpAddr {
    let text = if v6 { format!("fd78::{node}:{nic}") } else { format!("10.78.{nic}.{node}") };
    text.parse().unwrap()
}

/// The VLAN between node `n` and the next.
fn vid(n: u8) -> u16 {
    u16::from(n) * 10
}

impl Chain {
    /// Cables s, h1, h2 and d (nodes 1 to 4).
    pub fn cabled(v6: bool) -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let made = MADE.fetch_add(1, Ordering::Relaxed);
        let mut nodes = Vec::new();
        for n in 1..=4 {
            let netns = format!("lbl{}-{made}-{n}", std::process::id());
            nodes.push(Node { netns, wanted: wanted(n, v6), saved: Saved::default() });
        }
        let chain = Self { nodes, v6 };
        for node in &chain.nodes {
            ip(&format!("netns add {}", node.netns));
            node.ip("link set lo up");
        }
        for n in 1..4_u8 {
            // NIC 1 of a node leads on, NIC 0 back; the ends have one.
            let (near, far) = (if n == 1 { 0 } else { 1 }, 0);
            let (a, b) = (chain.node(n).netns.clone(), chain.node(n + 1).netns.clone());
            ip(&format!(
                "link add eth{near} netns {a} address {} type veth peer name eth{far} netns {b} \
                 address {}",
                mac(n, near),
                mac(n + 1, far)
            ));
            // Link-local addresses would come on their own schedule.
            chain.node(n).ip(&format!("link set eth{near} addrgenmode none up"));
            chain.node(n + 1).ip(&format!("link set eth{far} addrgenmode none up"));
        }
        for node in &chain.nodes {
            eventually("the NICs have carrier", || {
                let links = node.look().links;
                node.wanted.nics.keys().all(|nic| links[nic].carrier)
            });
        }
        chain
    }

    pub fn installed(v6: bool) -> Self {
        let mut chain = Self::cabled(v6);
        chain.install();
        chain
    }

    /// Installs every node's part.
    pub fn install(&mut self) {
        self.nodes.iter_mut().for_each(Node::install);
    }

    pub fn node(&self, n: u8) -> &Node {
        &self.nodes[usize::from(n) - 1]
    }

    pub fn node_mut(&mut self, n: u8) -> &mut Node {
        &mut self.nodes[usize::from(n) - 1]
    }

    pub fn pings(&self) -> bool {
        self.node(1).pings(node_address(4, self.v6))
    }
}

fn wanted(n: u8, v6: bool) -> Wanted {
    let mut wanted = Wanted::default();
    // By neighbour: NIC, VLAN interface and the neighbour's NIC.
    let mut ways: BTreeMap<u8, (String, u8)> = BTreeMap::new();
    let alias = "tresse:test".to_owned();
    for (peer, nic, vid) in [(n - 1, 0, vid(n - 1)), (n + 1, u8::from(n > 1), vid(n))] {
        if !(1..=4).contains(&peer) {
            continue;
        }
        let parent = format!("eth{nic}");
        let name = format!("{parent}.{vid}");
        wanted.nics.insert(parent.clone(), (mac(n, nic), 1500));
        let kind = LinkKind::Vlan { parent, vid: Vid(vid) };
        let link = WantedLink { kind, mtu: 1500, alias: alias.clone(), up: true, mac: None };
        wanted.links.insert(name.clone(), link);
        wanted.addresses.insert((name.clone(), nic_address(n, nic, v6)));
        wanted.sysctls.insert(format!("net/ipv4/conf/{name}/rp_filter"), "2".into());
        let far = u8::from(peer < n && peer > 1);
        let key = (name.clone(), nic_address(peer, far, v6));
        wanted.neighbours.insert(key, WantedNeighbour { mac: mac(peer, far) });
        ways.insert(peer, (name.clone(), far));
        if (2..=3).contains(&n) {
            wanted.label_sources.insert(name, [mac(peer, far)].into());
        }
    }
    let nexthop = |peer: u8| {
        let (interface, far) = ways[&peer].clone();
        WantedLabel { interface, via: nic_address(peer, far, v6) }
    };
    match n {
        2 => wanted.labels = [(Label(100), nexthop(3)), (Label(400), nexthop(1))].into(),
        3 => wanted.labels = [(Label(200), nexthop(4)), (Label(300), nexthop(2))].into(),
        _ => {
            let (peer, first, labels) =
                if n == 1 { (4, 2, [100, 200]) } else { (1, 3, [300, 400]) };
            let kind = LinkKind::Dummy;
            let link = WantedLink { kind, mtu: 1500, alias, up: true, mac: None };
            wanted.links.insert("tresse0".into(), link);
            let src = node_address(n, v6);
            wanted.addresses.insert(("tresse0".into(), src));
            let WantedLabel { interface, via } = nexthop(first);
            let nexthops =
                vec![Nexthop { interface, via, labels: labels.map(Label).to_vec(), weight: 1 }];
            let route = WantedRoute { src, mtu: 1492, advmss: 1432, nexthops };
            let dst = Prefix::host(node_address(peer, v6));
            wanted.routes.insert((dst, METRIC_PRIMARY), route);
        }
    }
    let highest = wanted.labels.last_key_value().map(|(label, _)| *label);
    wanted.sysctls.extend(label_sysctls(highest, wanted.label_sources.keys()));
    wanted
}
