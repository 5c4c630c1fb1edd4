//! Networks behind nodes, and gateways: hosts that the plan does not know reach the fabric and each other, whatever cable
//! fails, and nothing else by it.

use std::process::{Command, Stdio};

use tresse_base::id::NodeId;
use tresse_lab::{netns, run};
use tresse_tests::pace::is_emulated;

use crate::lab::{Lab, Planned, eventually};
use crate::routed::{none, silent};
use crate::suite::Tests;

pub const TESTS: Tests = &[
    ("routed_by_the_daemon_networks_behind_nodes_outlive_every_cable", || {
        outlive_every_cable(RING, &["ann:eth0", "bob:eth0", "cid:eth0", "dot:eth0", "eve:eth0"]);
    }),
    ("routed_gateways_change_while_packets_pass", gateways_change),
    ("routed_a_script_reaches_networks_behind_nodes", || reached_by_script(RING)),
    ("routed_networks_behind_nodes_are_open_to_the_fabric_alone", open_to_the_fabric_alone),
    ("routed_pods_of_the_bridge_plugin_reach_each_other", pods_reach_each_other),
];

pub const SWITCHED: Tests = &[("networks_behind_nodes_outlive_a_cable", || {
    outlive_every_cable(CLIQUE, &["s0-s1", "s3-s4"]);
})];

/// A ring whose nodes have the names of hosts. Two have networks behind them, and two are gateways.
const RING: &str = "[fabric]\ntopology = { kind = \"ring\", nodes = 5 }\n\
    [addressing]\nnodes = [\"10.77.0.0/16\", \"fd77::/64\"]\nnics = [\"10.78.0.0/16\", \"fd78::/64\"]\n\
    [[node]]\nname = \"ann\"\nprefixes = [\"192.168.10.0/24\", \"fd00:10::/64\"]\n\
    [[node]]\nname = \"bob\"\nprefixes = \"192.168.11.0/24\"\n\
    [[node]]\nname = \"cid\"\ngateway = 2\n[[node]]\nname = \"dot\"\n[[node]]\nname = \"eve\"\ngateway = 1\n";

/// The same with switches between the nodes, and two gateways.
const CLIQUE: &str = "[fabric]\ntopology = { kind = \"clique\", ports = 8, nodes_per_switch = 1 }\n\
    [routing]\nstrategy = \"minimal\"\n\
    [[node]]\nname = \"ann\"\nprefixes = \"192.168.10.0/24\"\n\
    [[node]]\nname = \"bob\"\nprefixes = \"192.168.11.0/24\"\n\
    [[node]]\nname = \"cid\"\ngateway = 2\n\
    [[node]]\nname = \"dot\"\n\
    [[node]]\nname = \"eve\"\ngateway = 1\n";

/// Somewhere in the world.
const FAR: &str = "203.0.113.9";
const FAR_IPV6: &str = "2001:db8::9";
/// The first gateway's own address there.
const OUTSIDE: &str = "198.18.2.1";

/// A host that the plan does not know; removed when dropped.
struct Host(String);

impl Host {
    fn new(lab: &Lab, name: &str) -> Self {
        let name = format!("tresse-{}-host-{name}", lab.name());
        netns::create(&name, || ()).unwrap();
        let host = Self(name);
        host.run("ip link set lo up");
        host
    }

    /// One on a cable of its own to a node, which forwards what comes from there. `number`: of the network.
    fn behind(lab: &Lab, node: &str, number: u32) -> Self {
        let host = Self::new(lab, node);
        host.cable(lab, node, &format!("192.168.{number}"));
        if is_dual(lab) {
            let prefix = format!("fd00:{number}:");
            host.cable_ipv6(lab, node, &prefix);
            host.run(&format!("ip -6 route add default via {prefix}:1"));
        }
        host.run(&format!("ip route add default via 192.168.{number}.1"));
        host
    }

    /// A cable from here to a node.
    fn cable(&self, lab: &Lab, node: &str, prefix: &str) {
        let words = format!("ip link add behind type veth peer name {node} netns {}", self.0);
        lab.run(node, &words);
        lab.run(node, &format!("ip addr add {prefix}.1/24 dev behind"));
        lab.run(node, "ip link set behind up");
        lab.run(node, "sysctl -qw net.ipv4.conf.behind.forwarding=1");
        self.run(&format!("ip addr add {prefix}.2/24 dev {node}"));
        self.run(&format!("ip link set {node} up"));
    }

    /// Addresses of that cable, where the fabric has IPv6.
    fn cable_ipv6(&self, lab: &Lab, node: &str, prefix: &str) {
        lab.run(node, &format!("ip -6 addr add {prefix}:1/64 dev behind nodad"));
        lab.run(node, "sysctl -qw net.ipv6.conf.behind.force_forwarding=1");
        self.run(&format!("ip -6 addr add {prefix}:2/64 dev {node} nodad"));
    }

    /// What both gateways lead to. Answers go by `eve`.
    fn world(lab: &Lab) -> Self {
        let host = Self::new(lab, "world");
        for (node, prefix, prefix_ipv6) in
            [("cid", "198.18.1", "fd00:c1:"), ("eve", "198.18.2", "fd00:c2:")]
        {
            host.cable(lab, node, prefix);
            lab.run(node, &format!("ip route add default via {prefix}.2"));
            if is_dual(lab) {
                host.cable_ipv6(lab, node, prefix_ipv6);
                lab.run(node, &format!("ip -6 route add default via {prefix_ipv6}:2"));
            }
        }
        host.run(&format!("ip addr add {FAR}/32 dev lo"));
        host.run(&format!("ip addr add {FAR_IPV6}/128 dev lo nodad"));
        host.answers_by("eve");
        host
    }

    fn answers_by(&self, gateway: &str) {
        let via = if gateway == "eve" { "198.18.2.1" } else { "198.18.1.1" };
        for network in ["10.77.0.0/16", "192.168.0.0/16"] {
            self.run(&format!("ip route replace {network} via {via}"));
        }
        let via = if gateway == "eve" { "fd00:c2::1" } else { "fd00:c1::1" };
        if self.run("ip -6 addr show").contains("fd00:c1::2") {
            for network in ["fd77::/64", "fd00:10::/64"] {
                self.run(&format!("ip -6 route replace {network} via {via}"));
            }
        }
    }

    fn run(&self, words: &str) -> String {
        let words: Vec<&str> = words.split_whitespace().collect();
        let output = run::read(&self.0, words[0], &words[1..], "").unwrap();
        String::from_utf8(output).unwrap()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        drop(netns::delete(&self.0));
    }
}

/// Has the fabric IPv6 too?
fn is_dual(lab: &Lab) -> bool {
    lab.now.plan.addresses().node[0].len() > 1
}

/// Those of these that do not answer, each asked from a namespace.
fn unanswered(asked: &[(String, String)]) -> Vec<(String, String)> {
    let answers = run::parallel(asked, 4, |(from, to)| {
        let wait = if is_emulated() { "-W5" } else { "-W1" };
        let ping = || Command::new("ping").args(["-n", "-q", "-c1", wait, to]).output();
        netns::inside(from, ping).unwrap().unwrap().status.success()
    });
    let silent = asked.iter().zip(answers).filter(|(_, answered)| !answered);
    silent.map(|(pair, _)| pair.clone()).collect()
}

/// Who asks whom: every node the hosts behind others; these hosts every node and each other; all but the gateways the world,
/// and the world all of them.
fn asked(lab: &Lab, hosts: &[(&str, &Host, u32)], world: Option<&Host>) -> Vec<(String, String)> {
    let mut asked = Vec::new();
    let dual = is_dual(lab);
    for node in lab.now.nodes() {
        let name = lab.now.node(node);
        let netns = lab.directory.netns(name);
        for (at, host, number) in hosts {
            let others = hosts.iter().filter(|(other, ..)| other != at);
            asked.extend(others.map(|(.., other)| (host.0.clone(), format!("192.168.{other}.2"))));
            asked.push((host.0.clone(), lab.address(node).to_string()));
            if *at != name {
                asked.push((netns.clone(), format!("192.168.{number}.2")));
            }
            if dual && *number == 10 && *at != name {
                asked.push((netns.clone(), format!("fd00:{number}::2")));
                let of = &lab.now.plan.addresses().node[node.index()];
                asked.push((host.0.clone(), of.iter().find(|a| a.is_ipv6()).unwrap().to_string()));
            }
        }
        if let Some(world) = world {
            let of = &lab.now.plan.addresses().node[node.index()];
            asked.extend(of.iter().map(|address| (world.0.clone(), address.to_string())));
            if !lab.now.plan.cluster().node(node).gateway {
                asked.extend([FAR, OUTSIDE].map(|to| (netns.clone(), to.to_owned())));
                asked.extend(dual.then(|| (netns, FAR_IPV6.to_owned())));
            }
        }
    }
    for (_, host, number) in hosts.iter().filter(|_| world.is_some()) {
        asked.push((host.0.clone(), FAR.to_owned()));
        asked.extend(world.map(|world| (world.0.clone(), format!("192.168.{number}.2"))));
        if dual && *number == 10 {
            asked.push((host.0.clone(), FAR_IPV6.to_owned()));
            asked.extend(world.map(|world| (world.0.clone(), "fd00:10::2".to_owned())));
        }
    }
    asked.sort();
    asked.dedup();
    asked
}

fn outlive_every_cable(text: &str, parts: &[&str]) {
    let lab = Lab::up(text, &["--bfd-ms", "300"]);
    eventually("in sync", 60, || lab.in_sync());
    let (ann, bob) = (Host::behind(&lab, "ann", 10), Host::behind(&lab, "bob", 11));
    let is_open = lab.now.plan.cluster().nodes.iter().any(|node| node.gateway);
    let world = is_open.then(|| Host::world(&lab));
    let hosts = [("ann", &ann, 10), ("bob", &bob, 11)];
    let all = asked(&lab, &hosts, world.as_ref());
    eventually("all answer", 30, || none(unanswered(&all)));
    assert_eq!(silent(&lab), []);
    for part in parts {
        assert!(lab.verb(&["fail", part]).1, "{part}");
        eventually(&format!("all answer without {part}"), 60, || none(unanswered(&all)));
        eventually(&format!("in sync without {part}"), 60, || {
            let status = lab.now.nodes().map(|node| lab.status(node).unwrap());
            none(status.filter(|s| !s.in_sync || s.fault.is_some()).collect())
        });
        assert!(lab.verb(&["heal", part]).1);
        eventually("in sync again", 60, || lab.in_sync());
    }
    if let Some(world) = &world {
        next_gateway(&lab, world, &all);
    }
    // What is behind a node that is cut off is not asked of anybody else.
    assert!(lab.verb(&["fail", "bob"]).1);
    eventually("no route", 60, || {
        let way = lab.inside("dot", || {
            Command::new("ip").args(["route", "get", "192.168.11.2"]).output().unwrap()
        });
        let said = String::from_utf8_lossy(&way.stderr).into_owned();
        if said.contains("unreachable") || said.contains("No route") { Ok(()) } else { Err(said) }
    });
}

/// What `status` of `dot` says of its gateways to everything by IPv4.
fn gateways(lab: &Lab) -> String {
    let status = lab.command("dot", &["status".to_owned()]).output().unwrap();
    let said = String::from_utf8_lossy(&status.stdout).into_owned();
    let mut lines = said.lines().filter_map(|line| line.strip_prefix("gateways to 0.0.0.0/0: "));
    lines.next().unwrap_or_else(|| panic!("{said}")).to_owned()
}

/// A way out counts when it has been there for half a minute.
fn both_count(lab: &Lab) {
    eventually("the first gateway is used", 60, || match gateways(lab) {
        used if used == "eve (used), cid" => Ok(()),
        others => Err(others),
    });
}

/// The next gateway is used once the first is cut off.
fn next_gateway(lab: &Lab, world: &Host, all: &[(String, String)]) {
    // Their ways out were not there when the plan was.
    both_count(lab);
    assert!(lab.verb(&["fail", "eve"]).1);
    world.answers_by("cid");
    let left: Vec<_> = all
        .iter()
        .filter(|(from, to)| {
            let of_eve = lab.now.plan.addresses().node[4].iter().any(|a| a.to_string() == *to);
            *from != lab.directory.netns("eve") && !of_eve && to != OUTSIDE
        })
        .cloned()
        .collect();
    eventually("all answer by the other gateway", 60, || none(unanswered(&left)));
    assert_eq!(gateways(lab), "eve (NOT reached), cid (used)");
    assert!(lab.verb(&["heal", "eve"]).1);
    world.answers_by("eve");
    eventually("all answer again", 60, || none(unanswered(all)));
    // The cable beyond the first gateway is cut; the fabric is whole.
    world.run("sysctl -qw net.ipv6.conf.eve.keep_addr_on_down=1");
    world.run("ip link set eve down");
    world.answers_by("cid");
    eventually("all answer by the gateway that has a way out", 30, || none(unanswered(&left)));
    assert_eq!(gateways(lab), "eve (NO WAY OUT), cid (used)");
    world.run("ip link set eve up");
    world.answers_by("eve");
    both_count(lab);
    eventually("all answer by the first gateway", 60, || none(unanswered(all)));
}

/// While another gateway takes the place of one no packet to the world is lost: a node uses the old one until the others know the
/// new plan, and that one lets packets out until then. Both masquerade, so that answers come by the gateway that asked.
fn gateways_change() {
    let text = |gateway: &str| {
        let is = format!("name = \"{gateway}\"\ngateway");
        let none = RING.replace("gateway = 1\n", "").replace("gateway = 2\n", "");
        none.replace(&format!("name = \"{gateway}\"\n"), &format!("{is} = true\n"))
    };
    let lab = Lab::up(&text("eve"), &[]);
    eventually("in sync", 60, || lab.in_sync());
    let ann = Host::behind(&lab, "ann", 10);
    let _world = Host::world(&lab);
    for gateway in ["cid", "eve"] {
        lab.run(gateway, "iptables -t nat -A POSTROUTING -o behind -j MASQUERADE");
    }
    let dot = lab.directory.netns("dot");
    let askers = [dot, ann.0.clone()];
    let asked: Vec<_> = askers.iter().map(|from| (from.clone(), FAR.to_owned())).collect();
    eventually("the world answers", 30, || none(unanswered(&asked)));
    let mut planned = Planned::new(&text("eve"), &lab.now.lock);
    for gateway in ["cid", "eve"] {
        let pings: Vec<_> = askers
            .iter()
            .map(|from| {
                let ping = || {
                    let mut ping = Command::new("ping");
                    ping.args(["-n", "-q", "-i0.01", "-c500", "-W5", FAR]).stdout(Stdio::piped());
                    ping.spawn().unwrap()
                };
                netns::inside(from, ping).unwrap()
            })
            .collect();
        planned = Planned::new(&text(gateway), &planned.lock);
        lab.now.nodes().for_each(|node| lab.apply(node, &planned));
        for ping in pings {
            let said = String::from_utf8(ping.wait_with_output().unwrap().stdout).unwrap();
            assert!(said.contains(" 0% packet loss"), "to {gateway}: {said}");
        }
        let at = lab.now.nodes().find(|node| lab.now.node(*node) == gateway).unwrap();
        let shown = lab.run("dot", "ip route show default");
        let via = lab.now.plan.addresses().node[at.index()][0];
        assert!(shown.contains(&format!("via {via} dev tresse-gw")), "{shown}");
    }
}

/// The same without a daemon, as `tresse export iproute2` has it.
fn reached_by_script(text: &str) {
    let lab = Lab::up(text, &["--no-daemon"]);
    let (ann, bob) = (Host::behind(&lab, "ann", 10), Host::behind(&lab, "bob", 11));
    let world = Host::world(&lab);
    let all = asked(&lab, &[("ann", &ann, 10), ("bob", &bob, 11)], Some(&world));
    eventually("all answer", 30, || none(unanswered(&all)));
}

/// As docs/kubernetes.md has it: pods that the plug-in `bridge` of the CNI project makes reach the pods of other nodes by their own
/// addresses, and nodes, whichever cable fails.
fn pods_reach_each_other() {
    let nodes = ["kube1", "kube2", "kube3", "kube4"];
    let entry = |(n, name): (usize, &&str)| {
        format!("[[node]]\nname = \"{name}\"\nprefixes = \"10.244.{}.0/24\"\n", n + 1)
    };
    let entries: String = nodes.iter().enumerate().map(entry).collect();
    let text = format!("[fabric]\ntopology = {{ kind = \"ring\", nodes = 4 }}\n{entries}");
    let lab = Lab::up(&text, &[]);
    eventually("in sync", 60, || lab.in_sync());
    let mut pods: Vec<(Host, String)> = Vec::new();
    for (n, node) in nodes.iter().enumerate() {
        for k in 0..2 {
            let pod = Host::new(&lab, &format!("{node}-pod{k}"));
            let data = lab.files.path().join(node).display().to_string();
            let config = serde_json::json!({
                "cniVersion": "1.0.0", "name": "fabric", "type": "bridge", "bridge": "cni0",
                "isDefaultGateway": true, "ipMasq": false, "mtu": 1500,
                "ipam": {
                    "type": "host-local", "dataDir": data,
                    "ranges": [[{ "subnet": format!("10.244.{}.0/24", n + 1) }]],
                },
            });
            let netns = netns::path(&pod.0).display().to_string();
            let said = run::read(
                &lab.directory.netns(node),
                "env",
                &[
                    "CNI_COMMAND=ADD",
                    &format!("CNI_CONTAINERID={}", pod.0),
                    &format!("CNI_NETNS={netns}"),
                    "CNI_IFNAME=eth0",
                    "CNI_PATH=/usr/lib/cni",
                    "/usr/lib/cni/bridge",
                ],
                &config.to_string(),
            );
            let said: serde_json::Value = serde_json::from_slice(&said.unwrap()).unwrap();
            let address = said["ips"][0]["address"].as_str().unwrap();
            pods.push((pod, address.split('/').next().unwrap().to_owned()));
        }
    }
    let mut asked: Vec<(String, String)> = Vec::new();
    for (pod, address) in &pods {
        let others = pods.iter().filter(|(_, other)| other != address);
        asked.extend(others.map(|(_, other)| (pod.0.clone(), other.clone())));
        let nodes = lab.now.nodes();
        asked.extend(nodes.map(|node| (pod.0.clone(), lab.address(node).to_string())));
        let nodes = lab.now.nodes().map(|node| lab.directory.netns(lab.now.node(node)));
        asked.extend(nodes.map(|node| (node, address.clone())));
    }
    eventually("all pods answer", 30, || none(unanswered(&asked)));
    for part in ["kube1:eth0", "kube3:eth0"] {
        assert!(lab.verb(&["fail", part]).1);
        eventually(&format!("all pods answer without {part}"), 60, || none(unanswered(&asked)));
        assert!(lab.verb(&["heal", part]).1);
        eventually("in sync again", 60, || lab.in_sync());
    }
}

/// A host behind a node reaches no network that is beside another node, though that would forward to there, nor does one
/// beside reach what is behind; it does once the guard is away, so what is judged here is real.
fn open_to_the_fabric_alone() {
    let text = "[fabric]\ntopology = { kind = \"ring\", nodes = 4 }\n\
        [[node]]\nname = \"n0\"\nprefixes = \"192.168.10.0/24\"\n";
    let lab = Lab::up(text, &[]);
    eventually("in sync", 60, || lab.in_sync());
    let (inside, beside) = (Host::behind(&lab, "n0", 10), Host::behind(&lab, "n1", 99));
    let nic = |node: usize, nic: usize| lab.now.plan.addresses().nic[node][nic][0].to_string();
    let hop = lab.now.plan.layout().unwrap().neighbours(NodeId(0));
    let hop = hop.into_iter().find(|hop| hop.to == NodeId(1)).unwrap();
    let dev = &lab.now.plan.cluster().node(NodeId(0)).nics[hop.nic].name;
    let far = nic(1, hop.to_nic);
    lab.run("n0", &format!("ip route add 192.168.99.0/24 via {far} dev {dev} onlink"));
    let outwards = [(inside.0.clone(), "192.168.99.2".to_owned())];
    let inwards = [(beside.0.clone(), "192.168.10.2".to_owned())];
    let own = [(inside.0.clone(), lab.address(NodeId(1)).to_string())];
    eventually("the fabric answers", 20, || none(unanswered(&own)));
    assert_eq!(unanswered(&outwards), outwards);
    assert_eq!(unanswered(&inwards), inwards);
    let kill = |node| nix::sys::signal::kill(lab.daemon(node), nix::sys::signal::Signal::SIGSTOP);
    for node in ["n0", "n1"] {
        kill(node).unwrap();
        for priority in [779, 7791, 7796] {
            while lab.run(node, "ip rule show").contains(&format!("\n{priority}:")) {
                lab.run(node, &format!("ip rule del priority {priority}"));
            }
        }
    }
    assert_eq!(unanswered(&outwards), []);
}
