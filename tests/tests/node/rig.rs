//! A small fabric: a namespace per node, one for all switches, each a VLAN-filtering bridge that
//! carries what the plan says. Gone when dropped.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use tempfile::TempDir;
use tresse_plan::{NicView, Plan, PlanView};

use crate::judge::{eventually, json, sh};

/// Two nodes, each with a NIC on each of two switches: traffic goes by `eth1`, the backup by
/// `eth0`, VID 2.
pub const TWO_NICS: &str = r#"
[fabric]
name = "life"
topology = { kind = "explicit" }

[routing]
strategy = "stp"
paths = 2

[addressing]
nodes = "10.77.0.0/24"
nics = "10.78.0.0/24"

[[switch]]
name = "s[0-1]"
ports = 8

[[node]]
name = "n[0-1]"
nics = [
    { name = "eth0", switch = "s0", port = "[1-2]" },
    { name = "eth1", switch = "s1", port = "[1-2]" },
]

[[link]]
a = "s0:8"
b = "s1:8"
"#;

/// The same two nodes as a flat neighbourhood: switches without VLANs, and so any kernel will do.
pub const FLAT: &str = r#"
[fabric]
name = "life"
topology = { kind = "fnn", wiring = "0: 0 1\n1: 0 1\n" }

[routing]
paths = 2

[addressing]
nodes = "10.77.0.0/24"
nics = "10.78.0.0/24"
"#;

/// A cluster file of this module with IPv4 and IPv6.
pub fn dual_stack(cluster: &str) -> String {
    cluster
        .replace("\"10.77.0.0/24\"", "[\"10.77.0.0/24\", \"fd77::/64\"]")
        .replace("\"10.78.0.0/24\"", "[\"10.78.0.0/24\", \"fd78::/64\"]")
}

/// A cluster file of this module with IPv6 alone.
pub fn ipv6_only(cluster: &str) -> String {
    cluster.replace("10.77.0.0/24", "fd77::/64").replace("10.78.0.0/24", "fd78::/64")
}

/// The fabric.
pub struct Rig {
    /// What its names begin with.
    pub name: String,
    /// Cluster file, and a directory per node.
    pub directory: TempDir,
    view: PlanView,
}

impl Rig {
    /// Builds the fabric of a cluster file, without daemons.
    pub fn new(cluster: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("life{}x{count}", std::process::id());
        let plan = Plan::build(tresse_cluster::parse(cluster, "life.toml").unwrap()).unwrap();
        let rig = Self { name, directory: TempDir::new().unwrap(), view: plan.view() };
        std::fs::write(rig.cluster_file(), cluster).unwrap();
        rig.switches(&plan);
        for node in 0..rig.view.nodes.len() {
            rig.add_namespace(&rig.node(node));
            sh(
                &rig.node(node),
                "for s in all default; do echo 0 >/proc/sys/net/ipv6/conf/$s/accept_dad; done
                 ip link set lo up",
            );
            for nic in &rig.view.nodes[node].nics {
                rig.plug_new(node, nic);
            }
        }
        rig
    }

    /// The namespace of a node.
    pub fn node(&self, node: usize) -> String {
        format!("{}n{node}", self.name)
    }

    /// A command written for [`TWO_NICS`] as it is for this fabric: without VLANs, the interfaces of VLAN 2
    /// are the NICs themselves.
    pub fn words(&self, command: &str) -> String {
        match self.has_vlans() {
            true => command.to_owned(),
            false => command.replace("eth0.2", "eth0").replace("eth1.2", "eth1"),
        }
    }

    /// Whether its switches carry VLANs.
    pub fn has_vlans(&self) -> bool {
        self.view.switches.iter().any(|switch| !switch.vlans.is_empty())
    }

    /// The namespace of the switches.
    pub fn switch(&self) -> String {
        format!("{}s", self.name)
    }

    /// Where the cluster file is.
    pub fn cluster_file(&self) -> PathBuf {
        self.directory.path().join("cluster.toml")
    }

    /// Where a node keeps its files.
    pub fn home(&self, node: usize) -> PathBuf {
        let path = self.directory.path().join(format!("n{node}"));
        std::fs::create_dir_all(&path).unwrap();
        path
    }

    /// The switch port of a node's NIC.
    pub fn port(&self, node: usize, nic: &str) -> String {
        let nics = &self.view.nodes[node].nics;
        let nic = nics.iter().find(|n| n.name == nic).unwrap();
        port_of(nic)
    }

    /// Takes a NIC's carrier away, or gives it back.
    pub fn carrier(&self, node: usize, nic: &str, up: bool) {
        let state = if up { "up" } else { "down" };
        sh(&self.switch(), &format!("ip link set {} {state}", self.port(node, nic)));
        let netns = self.node(node);
        eventually("the carrier changed", || {
            let link = json(&netns, &format!("ip -j link show {nic}")).remove(0);
            let carrier =
                link["flags"].as_array().is_some_and(|f| f.iter().any(|f| f == "LOWER_UP"));
            if carrier == up { Ok(()) } else { Err(link.to_string()) }
        });
    }

    /// Puts a new NIC of the same name and MAC in the place of one that was deleted.
    pub fn replace(&self, node: usize, name: &str) {
        let nics = &self.view.nodes[node].nics;
        self.plug_new(node, nics.iter().find(|n| n.name == name).unwrap());
    }

    fn plug_new(&self, node: usize, nic: &NicView) {
        let (netns, port) = (self.node(node), port_of(nic));
        let NicView { name, mac, .. } = nic;
        let switch = nic.switch.as_deref().unwrap();
        sh(
            &self.switch(),
            &format!(
                "ip link add {port} type veth peer name {name} address {mac} netns {netns}
                 ip link set {port} master {switch}
                 ip -n {netns} link set {name} up"
            ),
        );
        self.tag(switch, nic.port.unwrap());
        sh(&self.switch(), &format!("ip link set {port} up"));
    }

    /// Makes a port a tagged member of the VLANs that the plan gives it.
    fn tag(&self, switch: &str, port: u32) {
        let view = self.view.switches.iter().find(|s| s.name == switch).unwrap();
        let vids = view.vlans.iter().filter(|(_, ports)| ports.contains(&port));
        let mut script = String::new();
        for (vid, _) in vids {
            let _ = writeln!(script, "bridge vlan add dev {switch}p{port} vid {}", vid.0);
        }
        sh(&self.switch(), &script);
    }

    fn switches(&self, plan: &Plan) {
        self.add_namespace(&self.switch());
        let mut script =
            "for s in all default; do echo 1 >/proc/sys/net/ipv6/conf/$s/disable_ipv6; done\n"
                .to_owned();
        for switch in &self.view.switches {
            let vlans = match switch.vlans.is_empty() {
                true => "",
                false => "vlan_filtering 1 vlan_default_pvid 0",
            };
            let _ = writeln!(
                script,
                "ip link add {} type bridge {vlans} stp_state 0 mcast_snooping 0 && ip link set {} up",
                switch.name, switch.name
            );
        }
        let cluster = plan.cluster();
        let mut tagged = Vec::new();
        for link in &cluster.links {
            let [a, b] = [link.a, link.b].map(|end| {
                tagged.push((cluster.switch(end.switch).name.clone(), end.port));
                format!("{}p{}", cluster.switch(end.switch).name, end.port)
            });
            let masters = [link.a, link.b].map(|end| cluster.switch(end.switch).name.clone());
            let _ = writeln!(
                script,
                "ip link add {a} type veth peer name {b}
                 ip link set {a} master {} up; ip link set {b} master {} up",
                masters[0], masters[1]
            );
        }
        sh(&self.switch(), &script);
        for (switch, port) in tagged {
            self.tag(&switch, port);
        }
    }

    fn add_namespace(&self, name: &str) {
        let status = Command::new("ip").args(["netns", "add", name]).status().unwrap();
        assert!(status.success(), "ip netns add {name}");
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        let places = (0..self.view.nodes.len()).map(|n| self.node(n)).chain([self.switch()]);
        for netns in places {
            let _ =
                Command::new("ip").args(["netns", "del", &netns]).stderr(Stdio::null()).status();
        }
        if std::thread::panicking() {
            for node in 0..self.view.nodes.len() {
                let _ = print_log(&self.directory.path().join(format!("n{node}/log")));
            }
        }
    }
}

/// The name of the switch port that a NIC is cabled to.
fn port_of(nic: &NicView) -> String {
    format!("{}p{}", nic.switch.as_deref().unwrap(), nic.port.unwrap())
}

fn print_log(path: &Path) -> std::io::Result<()> {
    let text = std::fs::read_to_string(path)?;
    let lines: Vec<_> = text.lines().collect();
    let mut stderr = std::io::stderr().lock();
    writeln!(stderr, "== the end of {}", path.display())?;
    lines[lines.len().saturating_sub(30)..].iter().try_for_each(|l| writeln!(stderr, "{l}"))
}
