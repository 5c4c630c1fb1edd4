//! Nodes without the daemon: what `tresse export networkd` writes, read by systemd-networkd itself, one in
//! every node of a fabric whose nodes route.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tresse_base::id::NodeId;
use tresse_base::kernel::TUNNEL_INTERFACE;
use tresse_export::{ExportOptions, Format, node_script, render};

use crate::lab::{Lab, eventually};
use crate::routed::{silent, ways, with_gateways};
use crate::suite::Tests;

pub const TESTS: Tests =
    &[("routed_by_networkd_the_kernel_holds_what_the_lab_installs", by_networkd)];

/// Addresses, neighbours, routes, tables, rules and the tunnel to a gateway of a lab by iproute2 are taken away and come back.
fn by_networkd() {
    let lab = Lab::up(&with_gateways(), &["--no-daemon"]);
    let held = || -> Vec<_> { lab.now.nodes().map(|node| state(&lab, node)).collect() };
    let before = held();
    let files = tempfile::tempdir().unwrap();
    for node in lab.now.nodes() {
        let (plan, name) = (&lab.now.plan, lab.now.node(node));
        let (netns, script) =
            (lab.directory.netns(name), node_script(plan, &tresse_slice::Slice::of(plan, node)));
        let saved = format!("state={}", files.path().join(name).display());
        tresse_lab::run::read(&netns, "env", &[&saved, "sh", "-s", "undo"], &script).unwrap();
        let left = state(&lab, node);
        assert!(left.is_empty(), "{left:?}");
        // networkd makes a dummy, which not every kernel has: a bridge without ports stands for it (K8).
        lab.run(name, "ip link add tresse0 type bridge");
    }
    let programs: Vec<Networkd> =
        lab.now.nodes().map(|node| Networkd::start(&lab, node, files.path())).collect();
    eventually("networkd has set up all nodes", 60, || {
        let now = held();
        if now == before { Ok(()) } else { Err((now, before.clone())) }
    });
    assert_eq!(silent(&lab), []);
    drop(programs);
}

/// Addresses, permanent neighbours, routes and rules; who set up a rule or a neighbour is left out.
fn state(lab: &Lab, node: NodeId) -> BTreeSet<String> {
    let name = lab.now.node(node);
    let lines = |words: &str| -> Vec<String> {
        lab.run(name, words).lines().map(|line| line.trim().to_owned()).collect()
    };
    let address = |line: String| {
        let words: Vec<&str> = line.split_whitespace().collect();
        (words[1] != "lo" && !words[3].starts_with("fe80")).then(|| [words[1], words[3]].join(" "))
    };
    let neighbours = lines("ip neigh show nud permanent");
    let entries = match neighbours.iter().any(|line| line.contains(TUNNEL_INTERFACE)) {
        true => lines(&format!("bridge fdb show dev {TUNNEL_INTERFACE}")),
        false => Vec::new(),
    };
    let others = neighbours.into_iter().chain(entries).chain(ways(lab, name));
    let others =
        others.map(|line| line.split(" proto ").next().unwrap_or_default().trim().to_owned());
    let addresses = lines("ip -o address show").into_iter().filter_map(address);
    addresses.chain(others).collect()
}

/// A systemd-networkd with files of its own; dropped, it ends and leaves all as it is.
struct Networkd(Child);

/// Without udev it waits for nobody, and takes a read-only /sys for a sign of that.
const START: &str = r"
mount -t sysfs -o ro sysfs /sys
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /etc/systemd
mkdir -p /etc/systemd/network /run/systemd/netif
chown systemd-network: /run/systemd/netif
cp $0/systemd/network/*.network $0/systemd/network/*-gw.netdev /etc/systemd/network
exec /lib/systemd/systemd-networkd
";

impl Networkd {
    fn start(lab: &Lab, node: NodeId, files: &Path) -> Self {
        let name = lab.now.node(node);
        let rendered =
            render(&lab.now.plan, Format::Networkd, Some(name), ExportOptions::default());
        for file in rendered.unwrap() {
            let path = files.join(&file.name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, file.text).unwrap();
        }
        Self(lab.inside(name, || {
            let mut command = Command::new("unshare");
            command.args(["--mount", "sh", "-euc", START]).arg(files.join(name));
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        }))
    }
}

impl Drop for Networkd {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
