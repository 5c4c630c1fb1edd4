//! Fabrics whose nodes route, on any kernel: slices by iproute2, failures by the kernel alone; and the
//! same by a `tressed` per node.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;
use tresse_base::id::NodeId;
use tresse_export::node_script;
use tresse_lab::ping::{PingOptions, ping};
use tresse_tests::pace::is_emulated;
use tresse_tests::program;

use crate::lab::{Lab, eventually};
use crate::probe::Probe;
use crate::suite::Tests;

pub const TESTS: Tests = &[
    ("routed_p_mesh_4x4_outlives_every_switch", || outlives("kind = \"pmesh\", dims = [4, 4]")),
    ("routed_p_mesh_2x2x2_outlives_every_switch", || {
        outlives("kind = \"pmesh\", dims = [2, 2, 2]")
    }),
    ("long_routed_p_mesh_3x3x3_outlives_every_switch", || {
        outlives("kind = \"pmesh\", dims = [3, 3, 3]")
    }),
    ("routed_direct_torus_4x4_outlives_every_cable", || {
        outlives("kind = \"direct-torus\", dims = [4, 4]");
    }),
    ("routed_ring_of_8_outlives_every_cable", || outlives("kind = \"ring\", nodes = 8")),
    ("routed_full_mesh_of_4_outlives_every_cable", || outlives("kind = \"full-mesh\", nodes = 4")),
    ("routed_nodes_cabled_at_random_outlive_every_cable", || file_outlives(CABLED)),
    ("routed_by_the_daemon_nodes_cabled_at_random_outlive_every_cable", || {
        file_by_the_daemon(CABLED, 1);
    }),
    ("routed_by_the_daemon_a_cable_of_two_devices_is_outlived", daemon_outlives_both_devices),
    ("routed_hops_are_those_of_the_plan", || {
        hops_are_those_of_the_plan(&[
            "kind = \"pmesh\", dims = [3, 3]",
            "kind = \"pmesh\", dims = [2, 2, 2]",
            "kind = \"direct-torus\", dims = [4, 3]",
            "kind = \"ring\", nodes = 8",
        ]);
    }),
    ("long_routed_hops_are_those_of_the_plan", || {
        hops_are_those_of_the_plan(&[
            "kind = \"pmesh\", dims = [4, 4]",
            "kind = \"pmesh\", dims = [3, 3, 3]",
            "kind = \"direct-torus\", dims = [4, 4]",
        ]);
    }),
    ("routed_nic_addresses_answer_from_everywhere", nic_addresses_answer_from_everywhere),
    ("routed_k7_only_fabric_interfaces_forward", k7_only_fabric_interfaces_forward),
    ("routed_by_the_daemon_a_ring_of_3_outlives_every_cable", || {
        by_the_daemon("kind = \"ring\", nodes = 3", 1);
    }),
    ("routed_by_the_daemon_a_ring_of_8_outlives_every_cable", || {
        by_the_daemon("kind = \"ring\", nodes = 8", 1);
    }),
    ("routed_by_the_daemon_a_direct_torus_4x4_outlives_cables", || {
        by_the_daemon("kind = \"direct-torus\", dims = [4, 4]", 5);
    }),
    ("routed_by_the_daemon_a_p_mesh_3x3_outlives_every_switch", || {
        by_the_daemon("kind = \"pmesh\", dims = [3, 3]", 1);
    }),
    ("routed_by_the_daemon_a_dual_stack_torus_outlives_every_cable", || {
        file_by_the_daemon(DUAL, 1);
    }),
    ("routed_by_the_daemon_a_dual_stack_p_mesh_outlives_every_switch", || {
        file_by_the_daemon(DUAL_P_MESH, 1);
    }),
    // The virtual machine's kernel forwards IPv6 by all interfaces or by none.
    ("k7_ipv6_of_hosts_that_route_before_force_forwarding", || file_by_the_daemon(DUAL, 3)),
    ("routed_by_the_daemon_the_kernel_holds_what_the_script_installs", holds_what_the_script_does),
    ("routed_by_the_daemon_a_ring_of_4_tells_what_the_readme_shows", tells_what_the_readme_shows),
    ("routed_lines_on_one_switch_are_apart", lines_on_one_switch_are_apart),
    ("routed_by_the_daemon_a_line_of_a_shared_switch_is_outlived", daemon_outlives_a_shared_line),
    ("routed_an_exported_script_comes_and_goes", exported_script_comes_and_goes),
    ("routed_programs_are_run_as_on_a_host", programs_are_run_as_on_a_host),
    ("routed_forwarding_that_somebody_switches_off_comes_back", forwarding_comes_back),
    ("routed_who_waits_goes_on_when_others_answer", who_waits_goes_on_when_others_answer),
];

/// `lab exec`: the node's own interfaces in /sys, other nodes by name, and a shell's codes.
fn programs_are_run_as_on_a_host() {
    let lab = up("kind = \"ring\", nodes = 4");
    let (interfaces, _) = lab.verb(&["exec", "n1", "--", "ls", "/sys/class/net"]);
    let interfaces: BTreeSet<&str> = interfaces.split_whitespace().collect();
    let shown = lab.json("n1", "ip -j link");
    let shown: BTreeSet<&str> = shown.iter().filter_map(|link| link["ifname"].as_str()).collect();
    assert_eq!(interfaces, shown);
    assert!(interfaces.contains("tresse0"), "{interfaces:?}");
    assert_eq!(lab.verb(&["exec", "n1", "--", "hostname"]), ("n1\n".to_owned(), true));
    let (said, answered) = lab.verb(&["exec", "n1", "--", "ping", "-c", "1", "-W", "5", "n3"]);
    assert!(answered, "{said}");
    let run = |program: &str| {
        let args = ["lab", "--name", lab.name(), "exec", "n1", "--", program];
        program::run(args).status.code()
    };
    assert_eq!(run("no-such-program"), Some(127));
    assert_eq!(run("/etc/hosts"), Some(126));
}

/// `tresse wait` on a node: until the plan is in the kernel, until some or all others answer, or until its time is over.
fn who_waits_goes_on_when_others_answer() {
    let lab = Lab::up("[fabric]\ntopology = { kind = \"ring\", nodes = 4 }\n", &[]);
    let wait = |words: &[&str]| {
        let words: Vec<String> =
            [&["wait"], words].concat().iter().map(ToString::to_string).collect();
        let output = lab.command("n0", &words).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(wait(&["--all", "--timeout", "60"]).0, Some(0));
    assert!(lab.verb(&["fail", "n2"]).1);
    assert_eq!(wait(&["--peers", "2", "--timeout", "30"]).0, Some(0));
    let (code, said) = wait(&["--all", "--timeout", "2"]);
    assert!(
        code == Some(1) && said.contains("2 of 3 other nodes have answered, and not n2"),
        "{said}"
    );
    // As after a start: who waits already goes on.
    let words = ["wait", "--all", "--timeout", "60"].map(str::to_owned);
    let mut waiting = lab.command("n0", &words).spawn().unwrap();
    assert!(lab.verb(&["heal", "n2"]).1);
    assert!(waiting.wait().unwrap().success());
    // A node without a daemon has nothing to wait for.
    assert!(lab.verb(&["kill", "n0"]).1);
    let (code, said) = wait(&["--peers", "0", "--timeout", "0"]);
    assert!(code == Some(1) && said.contains("not in the kernel"), "{said}");
}

fn up(topology: &str) -> Lab {
    Lab::up(&format!("[fabric]\ntopology = {{ {topology} }}\n"), &["--no-daemon"])
}

/// Every pair that does not answer, by IPv4 or, where nodes have it, by IPv6.
pub fn silent(lab: &Lab) -> Vec<(String, String)> {
    let record = lab.directory.load_up().unwrap();
    let dual = lab.now.plan.addresses().node[0].iter().any(|address| address.is_ipv6());
    let families = if dual { &[false, true][..] } else { &[false] };
    let failed = families.iter().flat_map(|&ipv6| {
        let wait = Duration::from_secs(if is_emulated() { 3 } else { 1 });
        let options = PingOptions { fast: true, ipv6, wait, ..PingOptions::default() };
        ping(&lab.directory, &record, &options).unwrap().failed
    });
    failed.collect()
}

/// Seven nodes without a switch, two pairs of which have two cables.
const CABLED: &str = include_str!("../../../configs/cabled-7.toml");

/// All pairs answer, and still do after each single failure of a switch or cable in turn.
fn outlives(topology: &str) {
    file_outlives(&format!("[fabric]\ntopology = {{ {topology} }}\n"));
}

fn file_outlives(text: &str) {
    let lab = Lab::up(text, &["--no-daemon"]);
    assert_eq!(silent(&lab), []);
    for object in parts(&lab) {
        assert!(lab.verb(&["fail", &object]).1);
        // The kernel tells of a carrier once its other work, such as labs that end, leaves it time.
        eventually(&format!("all answer without {object}"), 20, || none(silent(&lab)));
        assert!(lab.verb(&["heal", &object]).1);
    }
    eventually("all answer again", 20, || none(silent(&lab)));
}

/// The names of all switches and cables.
fn parts(lab: &Lab) -> Vec<String> {
    let cluster = lab.now.plan.cluster();
    let switches = cluster.switches.iter().map(|switch| switch.name.clone());
    let cables = cluster.direct_cables().map(|(end, _)| {
        let node = cluster.node(end.node);
        format!("{}:{}", node.name, node.nics[end.nic].name)
    });
    switches.chain(cables).collect()
}

/// The same with a `tressed` per node, for the first of every so many parts; nobody finds a difference
/// between its kernel and what is possible there.
fn by_the_daemon(topology: &str, every: usize) {
    file_by_the_daemon(&format!("[fabric]\ntopology = {{ {topology} }}\n"), every);
}

fn file_by_the_daemon(text: &str, every: usize) {
    let lab = Lab::up(text, &[]);
    eventually("in sync", 60, || lab.in_sync());
    assert_eq!(silent(&lab), []);
    for object in parts(&lab).into_iter().step_by(every) {
        assert!(lab.verb(&["fail", &object]).1);
        eventually(&format!("all answer without {object}"), 60, || none(silent(&lab)));
        let differs = || {
            let status = lab.now.nodes().map(|node| lab.status(node).unwrap());
            none(status.filter(|s| !s.in_sync || s.fault.is_some()).collect())
        };
        eventually(&format!("in sync without {object}"), 60, differs);
        assert_eq!(silent(&lab), [], "without {object}");
        assert!(lab.verb(&["heal", &object]).1);
        eventually("in sync again", 60, || lab.in_sync());
    }
    assert_eq!(silent(&lab), [], "all healed");
}

/// Three machines whose ports are two devices each: both pairs of a cable fall silent at once. An address of a NIC is
/// reached by the cable of that NIC.
fn daemon_outlives_both_devices() {
    let lab = Lab::up(include_str!("../../../configs/sparks-3.toml"), &["--bfd-ms", "100"]);
    eventually("in sync", 60, || lab.in_sync());
    assert_eq!(silent(&lab), []);
    let (cluster, addresses) = (lab.now.plan.cluster(), lab.now.plan.addresses());
    for nic in &cluster.node(NodeId(0)).nics {
        let far = nic.peer.unwrap();
        let to = addresses.nic[far.node.index()][far.nic][0];
        let way = lab.run("spark1", &format!("ip route get {to}"));
        assert!(way.contains(&format!("dev {} ", nic.name)), "{way}");
    }
    for silently in [false, true] {
        let fail = |object: &str| {
            let words =
                if silently { vec!["fail", object, "--silent"] } else { vec!["fail", object] };
            assert!(lab.verb(&words).1, "{object}");
        };
        fail("spark1:enp1s0f1np1");
        fail("spark1:enP2p1s0f1np1");
        eventually("all answer without the cable", 60, || none(silent(&lab)));
        assert!(lab.verb(&["heal"]).1);
        eventually("in sync again", 60, || lab.in_sync());
        eventually("all answer again", 60, || none(silent(&lab)));
    }
}

/// After a failure `tresse status` prints what the README shows, once the daemon has seen it.
fn tells_what_the_readme_shows() {
    let text = include_str!("../../../README.md");
    let shown = text.split("lab exec n0 -- tresse status\n").nth(1).unwrap();
    // Without the time of the failure.
    let undated = |line: &str| match line.trim().split_once(", since ") {
        Some((what, since)) => format!("{what}{}", &since[since.find('Z').unwrap() + 1..]),
        None => line.trim().to_owned(),
    };
    let shown: Vec<String> =
        shown.lines().take_while(|l| !l.trim().starts_with('$')).map(undated).collect();
    assert_eq!(shown.len(), 8, "{shown:?}");
    let lab = Lab::up(include_str!("../../../configs/ring-4.toml"), &[]);
    eventually("in sync", 60, || lab.in_sync());
    assert!(lab.verb(&["fail", "n0-n1"]).1);
    eventually("status as in the README", 60, || {
        let (status, _) = lab.verb(&["exec", "n0", "--", "tresse", "status"]);
        let lines: Vec<String> = status.lines().map(undated).collect();
        if lines == shown { Ok(()) } else { Err(status) }
    });
}

/// `ip_forward` switches all interfaces of a host. No packet goes through it then, and nobody else sees that it does not.
fn forwarding_comes_back() {
    let lab = Lab::up("[fabric]\ntopology = { kind = \"ring\", nodes = 5 }\n", &[]);
    eventually("in sync", 30, || lab.in_sync());
    let keys = ["eth0", "eth1"].map(|nic| format!("net.ipv4.conf.{nic}.forwarding"));
    lab.run("n1", "sysctl -qw net.ipv4.ip_forward=1");
    lab.run("n1", "sysctl -qw net.ipv4.ip_forward=0");
    eventually("forwarding is on again", 20, || {
        let off =
            keys.iter().filter(|key| lab.run("n1", &format!("sysctl -n {key}")).trim() != "1");
        none(off.collect())
    });
    eventually("all answer", 20, || none(silent(&lab)));
    eventually("in sync again", 20, || lab.in_sync());
    let all = lab.run("n1", "sysctl -n net.ipv4.conf.all.forwarding");
    assert_eq!(all.trim(), "0");
}

pub fn none<T>(found: Vec<T>) -> Result<(), Vec<T>> {
    if found.is_empty() { Ok(()) } else { Err(found) }
}

/// A direct torus with addresses of both families.
pub const DUAL: &str = "[fabric]\ntopology = { kind = \"direct-torus\", dims = [3, 2] }\n\
                    [addressing]\nnodes = [\"10.77.0.0/16\", \"fd77::/64\"]\n\
                    nics = [\"10.78.0.0/16\", \"fd78::/64\"]\n";

/// The same with two gateways and a network behind a node.
pub fn with_gateways() -> String {
    format!(
        "{DUAL}[[node]]\nname = \"n0\"\nprefixes = [\"192.168.0.0/24\", \"fd00::/64\"]\n\
         [[node]]\nname = \"n1\"\ngateway = 2\n[[node]]\nname = \"n4\"\ngateway = 1\n"
    )
}

/// A P-Mesh with addresses of both families, whose routes to nodes fold into prefixes.
const DUAL_P_MESH: &str = "[fabric]\ntopology = { kind = \"pmesh\", dims = [3, 3] }\n\
                    [addressing]\nnodes = [\"10.77.0.0/16\", \"fd77::/64\"]\n\
                    nics = [\"10.78.0.0/16\", \"fd78::/64\"]\n";

/// Rules, and who is next for every destination in every table.
fn holds_what_the_script_does() {
    [&with_gateways(), DUAL_P_MESH].into_iter().for_each(of_file_holds_what_the_script_does);
}

fn of_file_holds_what_the_script_does(text: &str) {
    let held = |options: &[&str]| -> Vec<BTreeSet<String>> {
        let lab = Lab::up(text, options);
        let held = |node| {
            let name = lab.now.node(node);
            ways(&lab, name).into_iter().chain(guard(&lab, name)).collect()
        };
        lab.now.nodes().map(held).collect()
    };
    let (script, daemon) = (held(&["--no-daemon"]), held(&[]));
    assert!(
        script.iter().all(|ways| ways.iter().any(|way| way.contains("iif eth0"))),
        "{script:?}"
    );
    assert_eq!(daemon, script);
}

/// A flat neighbourhood in which every two nodes share two switches, and use both without labels.
const FLAT: &str = "[fabric]\ntopology = { kind = \"fnn\", wiring = \"0: 0 1 2\\n1: 0 1 2\" }\n\
                    [addressing]\nnodes = [\"10.77.0.0/16\", \"fd77::/64\"]\n\
                    nics = [\"10.78.0.0/16\", \"fd78::/64\"]\n";

/// What `tresse export iproute2` writes takes all away from every node and brings it back, twice.
fn exported_script_comes_and_goes() {
    [&with_gateways(), DUAL_P_MESH, FLAT].into_iter().for_each(script_comes_and_goes);
}

fn script_comes_and_goes(cluster: &str) {
    let lab = Lab::up(cluster, &["--no-daemon"]);
    let held = || -> Vec<BTreeSet<String>> {
        let all = |name: &str| ways(&lab, name).into_iter().chain(guard(&lab, name)).collect();
        lab.now.nodes().map(|n| all(lab.now.node(n))).collect()
    };
    let before = held();
    let scripts: Vec<_> = lab
        .now
        .nodes()
        .map(|n| node_script(&lab.now.plan, &tresse_slice::Slice::of(&lab.now.plan, n)))
        .collect();
    let state = tempfile::tempdir().unwrap();
    let run = |verb: &str| {
        for (node, script) in lab.now.nodes().zip(&scripts) {
            let name = lab.now.node(node);
            let state = format!("state={}", state.path().join(name).display());
            let netns = lab.directory.netns(name);
            tresse_lab::run::read(&netns, "env", &[&state, "sh", "-s", verb], script).unwrap();
        }
    };
    for _ in 0..2 {
        run("undo");
        for (node, ways) in lab.now.nodes().zip(held()) {
            assert!(ways.is_empty(), "{ways:?}");
            let rest = lab.run(lab.now.node(node), "ip -o address show");
            assert!(!rest.contains(" 10.7") && !rest.contains(" fd7"), "{rest}");
            assert_eq!(lab.run(lab.now.node(node), "ip neigh show nud permanent"), "");
        }
        run("up");
        run("up");
        assert_eq!(held(), before);
        assert_eq!(silent(&lab), []);
    }
}

/// The rules that keep packets of the fabric inside it.
pub fn guard(lab: &Lab, node: &str) -> BTreeSet<String> {
    let families = ["-4", "-6"].into_iter();
    let rules = families.flat_map(|family| {
        let text = lab.run(node, &format!("ip {family} rule show"));
        let ours = ["goto", "nop", "blackhole", "lookup 7994"];
        let rules = text.lines().filter(|line| ours.iter().any(|word| line.contains(word)));
        rules.map(|line| format!("{family} {line}")).collect::<Vec<_>>()
    });
    rules.collect()
}

/// What `ip` shows of rules and routes of ours, without the numbers of nexthop objects.
pub fn ways(lab: &Lab, node: &str) -> BTreeSet<String> {
    let mut ways = BTreeSet::new();
    for family in ["-4", "-6"] {
        let rules = lab.run(node, &format!("ip {family} rule show"));
        let rules = rules.lines().filter(|l| l.contains(" iif ") && l.contains(" lookup 78"));
        ways.extend(rules.map(|l| format!("{family} {l}")));
        let routes = lab.json(node, &format!("ip -j {family} route show table all proto 78"));
        ways.extend(routes.iter().map(|route| {
            // The members of a group are in a list.
            let group = route["nexthops"].as_array();
            let members = group.map_or(std::slice::from_ref(route), Vec::as_slice);
            let hop = |way: &Value| format!("{} {}", way["gateway"], way["dev"]);
            let hops: BTreeSet<String> = members.iter().map(hop).collect();
            format!("{} {hops:?} {} {}", route["dst"], route["table"], route["metric"])
        }));
    }
    ways
}

/// `traceroute` finds as many nodes on the way as the plan says.
fn hops_are_those_of_the_plan(topologies: &[&str]) {
    for topology in topologies {
        let lab = up(topology);
        for node in lab.now.nodes() {
            // One node asks every other many times.
            lab.run(lab.now.node(node), "sysctl -qw net.ipv4.icmp_ratelimit=0");
        }
        let pairs: Vec<_> = lab.now.plan.pairs().collect();
        let traced = tresse_lab::run::parallel(&pairs, 4, |&(src, dst)| {
            let words = format!("traceroute -n -I -q 1 -w 2 -m 20 {}", lab.address(dst));
            lab.run(lab.now.node(src), &words)
        });
        for ((src, dst), text) in pairs.into_iter().zip(traced) {
            let hops: Vec<&str> = text.lines().skip(1).collect();
            let planned = lab.now.plan.primary(src, dst).len();
            assert_eq!(hops.len(), planned, "{src:?} to {dst:?}: {text}");
            let last = hops[planned - 1].split_whitespace().nth(1);
            assert_eq!(last, Some(lab.address(dst).to_string().as_str()), "{text}");
        }
    }
}

/// The test bed of the P-Mesh paper: rows on s0, columns on s1.
const SHARED: &str = "kind = \"pmesh\", dims = [4, 4], lines_per_switch = 4";

/// What is broadcast stays in its line; other lines of the switch are reached by routing, and fail with it.
fn lines_on_one_switch_are_apart() {
    let lab = up(SHARED);
    assert_eq!(silent(&lab), []);
    let nodes = || lab.now.nodes();
    let frames: Vec<_> = nodes().map(|node| (node, 0)).collect();
    let copies = Probe::new(&lab).round(&frames, 2.0);
    let row = |node: NodeId| node.0 / 4;
    let pairs = nodes().flat_map(|from| nodes().map(move |to| (from, to)));
    let beside = pairs.filter(|(from, to)| from != to && row(*from) == row(*to));
    assert_eq!(copies, beside.map(|(from, to)| ((from, 0, to), 1)).collect());

    // n00 and n05 have no line in common, and their first NICs share s0.
    let to = lab.now.plan.addresses().nic[5][0][0];
    assert!(answers(&lab, NodeId(0), "", to));
    let hops = lab.run("n00", &format!("traceroute -n -I -q 1 -w 2 {to}"));
    assert_eq!(hops.lines().count(), 3, "{hops}");

    // What `tresse check` says: of each node only those on its line of the other switch are left.
    for (switch, lost) in [("s0", 192), ("s1", 192)] {
        assert!(lab.verb(&["fail", switch]).1);
        eventually(&format!("{lost} pairs are silent without {switch}"), 20, || {
            let silent = silent(&lab);
            if silent.len() == lost { Ok(()) } else { Err(silent) }
        });
        assert!(lab.verb(&["heal", switch]).1);
    }
    eventually("all healed", 20, || none(silent(&lab)));
}

/// The four ports of one line fail, the other lines of the switch do not.
fn daemon_outlives_a_shared_line() {
    let lab = Lab::up(&format!("[fabric]\ntopology = {{ {SHARED} }}\n"), &[]);
    eventually("in sync", 60, || lab.in_sync());
    assert_eq!(silent(&lab), []);
    let ports: Vec<_> = (5..=8).map(|port| format!("s0:{port}")).collect();
    ports.iter().for_each(|port| assert!(lab.verb(&["fail", port]).1));
    eventually("all answer without the second row", 60, || none(silent(&lab)));
    ports.iter().for_each(|port| assert!(lab.verb(&["heal", port]).1));
    eventually("in sync again", 60, || lab.in_sync());
    assert_eq!(silent(&lab), [], "all healed");
}

fn answers(lab: &Lab, from: NodeId, options: &str, to: std::net::IpAddr) -> bool {
    let words = format!("-n -q -c 1 -W 2 {options} {to}");
    let netns = lab.directory.netns(lab.now.node(from));
    let words: Vec<&str> = words.split_whitespace().collect();
    tresse_lab::run::read(&netns, "ping", &words, "").is_ok()
}

fn nic_addresses_answer_from_everywhere() {
    for topology in ["kind = \"pmesh\", dims = [3, 4]", "kind = \"direct-mesh\", dims = [3, 2]"] {
        let lab = up(topology);
        for (src, dst) in lab.now.plan.pairs() {
            for &to in lab.now.plan.addresses().nic[dst.index()].iter().flatten() {
                assert!(answers(&lab, src, "", to), "{src:?} to {to}");
            }
        }
    }
}

/// K7: forwarding by interface, never for the whole namespace.
fn k7_only_fabric_interfaces_forward() {
    let lab = up("kind = \"ring\", nodes = 3");
    for node in lab.now.nodes() {
        let read = |key: &str| {
            let file = format!("cat /proc/sys/net/ipv4/{key}");
            lab.run(lab.now.node(node), &file).trim().to_owned()
        };
        assert_eq!(read("ip_forward"), "0");
        assert_eq!(
            (read("conf/eth0/forwarding"), read("conf/eth1/forwarding")),
            ("1".into(), "1".into())
        );
        assert_eq!(
            (read("conf/lo/forwarding"), read("conf/all/forwarding")),
            ("0".into(), "0".into())
        );
    }
}
