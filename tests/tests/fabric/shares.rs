//! Pins and weights on the real kernel, where nodes route and on flat neighbourhoods: judged by the
//! NICs' own counters, `ip route get` and numbered datagrams between all pairs meanwhile.

use std::collections::BTreeMap;
use std::net::UdpSocket;
use std::process::Child;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use tresse_base::id::NodeId;
use tresse_control::{Client, Pin};
use tresse_plan::PathView;
use tresse_tests::load::{Fault, Miss};
use tresse_tests::program;
use tresse_topology::path::Path;

use crate::datagrams::Traffic;
use crate::lab::{Lab, Planned, eventually};
use crate::routed::silent;
use crate::suite::Tests;

pub const TESTS: Tests = &[
    ("routed_a_pinned_pair_of_a_ring_goes_the_other_way_round", || steered(RING)),
    ("routed_a_pinned_pair_of_a_p_mesh_goes_by_its_path_alone", || steered(PMESH)),
    ("routed_a_pinned_pair_of_a_full_mesh_goes_by_its_path_alone", || steered(FULL)),
    ("routed_a_pinned_pair_of_a_flat_fabric_goes_by_its_path_alone", || steered(FLAT)),
    ("long_routed_a_pinned_pair_of_a_direct_torus_goes_by_its_path_alone", || {
        steered("topology = { kind = \"direct-torus\", dims = [3, 3] }");
    }),
    ("long_routed_a_pinned_pair_of_flat24_goes_by_its_path_alone", || steered(&flat24())),
    ("routed_pins_of_all_nodes_at_once_go_along_their_paths", all_at_once),
    ("routed_a_drain_beside_a_failure_is_refused_on_all_nodes", refused_beside_a_failure),
    ("routed_a_drain_that_cuts_a_chain_is_refused_and_lists_its_pairs", refused),
];

const RING: &str = "topology = { kind = \"ring\", nodes = 4 }";
const DUAL: &str = "[addressing]\nnodes = [\"10.77.0.0/16\", \"fd77::/64\"]\nnics = [\"10.78.0.0/16\", \"fd78::/64\"]\n";
const PMESH: &str = "topology = { kind = \"pmesh\", dims = [3, 3] }";
const FULL: &str = "topology = { kind = \"full-mesh\", nodes = 4 }";
const FLAT: &str =
    "topology = { kind = \"fnn\", wiring = \"0: 0 1 2 3\\n1: 0 1 2 3\\n2: 0 1 2 3\\n\" }";

/// Datagrams of one burst, and the flows among which they are shared out.
const FLOWS: usize = 400;
const EACH: usize = 5;

/// So many pairs talk meanwhile, at most.
const PAIRS: usize = 72;

/// The example, with its wiring within.
fn flat24() -> String {
    let configs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../configs");
    let wiring = std::fs::read_to_string(configs.join("flat24.fnn")).unwrap();
    format!("topology = {{ kind = \"fnn\", wiring = {wiring:?} }}")
}

/// `tresse` on a node's own daemon.
fn tresse(lab: &Lab, node: NodeId, words: &[&str]) -> String {
    let socket = lab.directory.socket(lab.now.node(node)).display().to_string();
    program::output(&[words, &["--socket", &socket]].concat()).unwrap()
}

/// Frames that each NIC of each node has sent.
fn sent(lab: &Lab) -> BTreeMap<(String, String), u64> {
    let of_node = |node: NodeId| {
        let name = lab.now.node(node).to_owned();
        let links = lab.json(&name, "ip -j -s link show type veth");
        links.into_iter().map(move |link| {
            let nic = link["ifname"].as_str().unwrap().to_owned();
            ((name.clone(), nic), link["stats64"]["tx"]["packets"].as_u64().unwrap())
        })
    };
    lab.now.nodes().flat_map(of_node).collect()
}

/// Frames by NIC while many flows of a pair send a burst, without NICs that sent few: sessions and
/// announcements go on.
fn burst(lab: &Lab, a: NodeId, b: NodeId) -> BTreeMap<(String, String), u64> {
    let (from, to) = (lab.address(a), lab.address(b));
    let sink = lab.inside(lab.now.node(b), || UdpSocket::bind((to, 0)).unwrap());
    let to = sink.local_addr().unwrap();
    let before = sent(lab);
    lab.inside(lab.now.node(a), || {
        for _ in 0..FLOWS {
            let flow = UdpSocket::bind((from, 0)).unwrap();
            for _ in 0..EACH {
                flow.send_to(b"x", to).unwrap();
            }
        }
    });
    let total = (FLOWS * EACH) as u64;
    let mut used = BTreeMap::new();
    eventually("the burst has been forwarded", 10, || {
        used = sent(lab);
        used.iter_mut().for_each(|(nic, count)| *count -= before[nic]);
        used.retain(|_, count| *count > total / 10);
        let first: u64 =
            used.iter().filter(|((node, _), _)| node == lab.now.node(a)).map(|(_, n)| *n).sum();
        if first >= total { Ok(()) } else { Err(format!("{used:?}")) }
    });
    drop(sink);
    used
}

/// The NICs of nodes that send along a path.
fn nics(path: &PathView) -> Vec<(String, String)> {
    path.segments.iter().map(|segment| (segment.from.clone(), segment.nic.clone())).collect()
}

/// The burst goes by this path and no other.
fn alone(lab: &Lab, pair: (NodeId, NodeId), path: &PathView) {
    let mut way = nics(path);
    way.sort();
    let mut used = BTreeMap::new();
    eventually(&format!("rank {} carries all", path.rank), 20, || {
        used = burst(lab, pair.0, pair.1);
        if used.keys().cloned().collect::<Vec<_>>() == way {
            Ok(())
        } else {
            Err(format!("{used:?}"))
        }
    });
    let got = lab.json(lab.now.node(pair.0), &format!("ip -j route get {}", lab.address(pair.1)));
    assert_eq!(got[0]["dev"], path.segments[0].nic.as_str(), "{got:?}");
}

fn overtaken(miss: &Miss) -> bool {
    miss.fault == Fault::Overtaken
}

/// What `work` does while these pairs talk, before and after it too: no datagram may be lost or come twice.
fn meanwhile<T>(lab: &Lab, pairs: &[(NodeId, NodeId)], work: impl FnOnce() -> T) -> T {
    let traffic = Traffic::start(lab, pairs);
    // A rate: every pair sends some tens of times before the change and after it.
    let some = Duration::from_secs(1);
    std::thread::sleep(some);
    let done = work();
    std::thread::sleep(some);
    traffic.finish_without_faults(20, overtaken);
    done
}

/// Ends a node's daemon and starts it again.
fn restart(lab: &Lab, node: NodeId) -> Child {
    let name = lab.now.node(node);
    kill(lab.daemon(name), Signal::SIGKILL).unwrap();
    let config = lab.directory.node(name).join("tressed.toml").display().to_string();
    eventually("the daemon has ended", 10, || program::daemon(&config).map_or(Ok(()), Err));
    let log = lab.directory.node(name).join("log");
    let log = std::fs::File::options().append(true).open(log).unwrap();
    let child = lab.inside(name, || {
        let mut command = std::process::Command::new(program::tressed());
        command.args(["--config", &config]).stdout(log.try_clone().unwrap()).stderr(log);
        command.spawn().unwrap()
    });
    let socket = lab.directory.socket(name);
    eventually("the daemon answers and is in sync", 30, || {
        let status = Client::connect(&socket).and_then(|mut client| client.status());
        match status {
            Ok(status) if status.in_sync => Ok(()),
            other => Err(format!("{other:?}")),
        }
    });
    child
}

/// A pair is pinned and weighted while all pairs talk, over a restart, until a new plan drops it.
fn steered(topology: &str) {
    let lab = Lab::up(&format!("[fabric]\n{topology}\n"), &[]);
    eventually("in sync", 90, || lab.in_sync());
    assert_eq!(silent(&lab), []);
    let plan = &lab.now.plan;
    let all: Vec<_> = plan.pairs().collect();
    // Labels are pushed by the daemon where the kernel cannot: `ip route get` does not name that path.
    let plain = |paths: &[Path]| plan.layout().is_some() || paths[1].segments.len() == 1;
    let long = |(a, b): &(NodeId, NodeId)| {
        let paths = plan.paths(*a, *b);
        paths.len() > 1 && plain(&paths)
    };
    // Other nodes send to the same destination by way of the source, if any pair has that.
    let through = |(a, b): &(NodeId, NodeId)| {
        let ways = all.iter().filter(|(_, to)| to == b).map(|(from, to)| plan.paths(*from, *to));
        ways.filter(|paths| paths[0].segments[1..].iter().any(|segment| segment.from == *a)).count()
    };
    let pair = { all.iter() }.filter(|pair| long(pair)).max_by_key(|pair| through(pair));
    let (a, b) = *pair.unwrap();
    let [zero, one] = [0, 1].map(|rank| plan.path_view(&plan.paths(a, b)[rank]));
    let to = lab.now.node(b).to_owned();
    let others = all.iter().copied().filter(|pair| *pair != (a, b));
    let all: Vec<_> = others.step_by(all.len().div_ceil(PAIRS)).chain([(a, b)]).collect();
    let rests = plan.paths(a, b)[0].weight > 0 && plan.paths(a, b)[1].weight == 0;
    if rests {
        alone(&lab, (a, b), &zero);
    }

    let dry = tresse(&lab, a, &["pin", &to, "1", "--dry-run"]);
    let words = format!("  {to}: rank 0 by {}", zero.segments[0].nic);
    assert!(dry.contains(&words) && dry.contains("-> rank 1 by"), "{dry}");
    assert!(lab.status(a).unwrap().pinned.is_empty());
    meanwhile(&lab, &all, || tresse(&lab, a, &["pin", &to, "1"]));
    alone(&lab, (a, b), &one);
    // Who sends to the same node through this one goes as before.
    for from in lab.now.nodes().filter(|from| ![a, b].contains(from)) {
        let path = plan.path_view(&plan.paths(from, b)[0]);
        if rests && path.segments[1..].iter().any(|segment| segment.from == zero.src) {
            alone(&lab, (from, b), &path);
        }
    }
    assert_eq!(lab.status(a).unwrap().pinned, [format!("{to} rank 1")]);

    // A cable of the pinned path: the other path serves until it is whole.
    if one.segments[0].switches.is_empty() {
        let cable = format!("{}-{}", one.src, one.segments[0].to);
        assert!(lab.verb(&["fail", &cable]).1);
        eventually("another path serves", 20, || match &lab.ping(&[(a, b), (b, a)])[..] {
            [] => Ok(()),
            silent => Err(format!("{silent:?}")),
        });
        assert!(lab.verb(&["heal"]).1);
        eventually("in sync", 60, || lab.in_sync());
        alone(&lab, (a, b), &one);
    }

    let mut child = meanwhile(&lab, &all, || restart(&lab, a));
    alone(&lab, (a, b), &one);
    assert_eq!(lab.status(a).unwrap().pinned, [format!("{to} rank 1")]);

    let mut words = vec!["weight", &to, "0:1", "1:3"];
    let ranks = plan.paths(a, b).len();
    let others: Vec<String> = (2..ranks).map(|rank| format!("{rank}:0")).collect();
    words.extend(others.iter().map(String::as_str));
    let told = meanwhile(&lab, &all, || tresse(&lab, a, &words));
    assert!(told.contains("1 destination of this node moved"), "{told}");
    // 400 flows: the standard deviation of a share of 3/4 is 2.2 %.
    let used = burst(&lab, a, b);
    let by = |path: &PathView| used.get(&nics(path)[0]).copied().unwrap_or_default() as f64;
    let share = by(&one) / (by(&zero) + by(&one));
    assert!((0.65..0.85).contains(&share), "{share}: {used:?}");
    eprintln!("1:3 measured: {:.1} % of {FLOWS} flows by rank 1", share * 100.0);
    let weighted = lab.status(a).unwrap().weighted;
    assert!(
        weighted[0].starts_with(&format!("{to} rank 0 weight 1, rank 1 weight 3")),
        "{weighted:?}"
    );

    meanwhile(&lab, &all, || tresse(&lab, a, &["unpin", &to]));
    if rests {
        alone(&lab, (a, b), &zero);
    }

    // A plan without that path.
    tresse(&lab, a, &["pin", &to, "1"]);
    let next = format!("{}[routing]\npaths = 1\n", lab.now.text);
    let next = Planned::new(&next, &lab.now.lock);
    let events = lab.client(a).monitor().unwrap();
    lab.client(a).apply(&lab.request(&next, None)).unwrap();
    let kinds: Vec<(String, String)> = events
        .map(|event| event.unwrap())
        .map(|event| (event.kind, event.object))
        .take_while(|(kind, _)| kind != "applied")
        .collect();
    assert!(kinds.contains(&("unpinned".into(), to.clone())), "{kinds:?}");
    assert!(lab.status(a).unwrap().pinned.is_empty());
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Pins that lead through each other's source: `traceroute` finds as many nodes as the pinned paths have,
/// in both families.
fn all_at_once() {
    let lab = Lab::up(&format!("[fabric]\n{RING}\n{DUAL}"), &[]);
    eventually("in sync", 60, || lab.in_sync());
    let plan = &lab.now.plan;
    for node in lab.now.nodes() {
        // One node asks every other many times.
        for family in ["ipv4/icmp_ratelimit", "ipv6/icmp/ratelimit"] {
            lab.run(lab.now.node(node), &format!("sysctl -qw net/{family}=0"));
        }
    }
    for (a, b) in plan.pairs() {
        let how = Pin { to: lab.now.node(b), rank: 1, dry_run: false };
        lab.client(a).pin(&how).unwrap();
    }
    assert_eq!(silent(&lab), []);
    let hops = |rank: usize| {
        let ends = plan
            .pairs()
            .flat_map(|(a, b)| plan.addresses().node[b.index()].iter().map(move |to| (a, b, *to)));
        let ends: Vec<_> = ends.collect();
        let traced = tresse_lab::run::parallel(&ends, 4, |(a, _, to)| {
            let words = format!("traceroute -n -I -q 1 -w 2 -m 20 {to}");
            lab.run(lab.now.node(*a), &words)
        });
        for ((a, b, to), text) in ends.iter().zip(traced) {
            let planned = plan.paths(*a, *b)[rank].segments.len();
            assert_eq!(text.lines().skip(1).count(), planned, "{a:?} to {to}, rank {rank}: {text}");
        }
    };
    hops(1);
    for (a, b) in plan.pairs() {
        lab.client(a).unpin(lab.now.node(b), false).unwrap();
    }
    hops(0);
}

/// A ring with a cable out has no second one to spare, and no node knows that by itself.
fn refused_beside_a_failure() {
    let lab = Lab::up(&format!("[fabric]\n{RING}\n"), &[]);
    eventually("in sync", 60, || lab.in_sync());
    let cluster = lab.cluster_file(&lab.now);
    let drain = |more: &[&str]| {
        let all = ["drain", "n0-n1", "--all", &cluster, "--launcher", "netns", "--lab", lab.name()];
        let ran = program::run([&all[..], more].concat());
        (String::from_utf8_lossy(&ran.stdout).into_owned(), ran.status.code())
    };
    let (told, code) = drain(&["--dry-run"]);
    assert_eq!(code, Some(0), "{told}");
    assert!(lab.verb(&["fail", "n2-n3"]).1);
    let (told, code) = drain(&[]);
    assert_eq!(code, Some(1), "{told}");
    for line in ["n0 -> n[1-2]: no", "n1 -> n[0,3]: no", "n2 -> n[0,3]: no", "n3 -> n[1-2]: no"] {
        assert!(told.contains(line), "{told}");
    }
    assert!(lab.now.nodes().all(|node| lab.status(node).unwrap().drained.is_empty()));
    eventually("all pairs answer", 20, || match &silent(&lab)[..] {
        [] => Ok(()),
        silent => Err(format!("{silent:?}")),
    });
    assert!(lab.verb(&["heal"]).1);
    eventually("in sync", 60, || lab.in_sync());
    let (told, code) = drain(&[]);
    assert_eq!(code, Some(0), "{told}");
}

/// On one node and on all: exit code 1, the pairs by name, and nothing drained.
fn refused() {
    let chain = "[fabric]\ntopology = { kind = \"direct-mesh\", dims = [4] }\n";
    let lab = Lab::up(chain, &[]);
    eventually("in sync", 60, || lab.in_sync());
    let cluster = lab.cluster_file(&lab.now);
    let socket = lab.directory.socket("n0").display().to_string();
    let all = ["drain", "n1-n2", "--all", &cluster, "--launcher", "netns", "--lab", lab.name()];
    let one = program::run(["drain", "n1-n2", "--json", "--socket", &socket]);
    assert_eq!(one.status.code(), Some(1));
    let words = String::from_utf8_lossy(&one.stdout).into_owned();
    assert!(words.contains("n1-n2: no other path leads to n[2-3]"), "{words}");
    let every = program::run(all);
    assert_eq!(every.status.code(), Some(1));
    let words = String::from_utf8_lossy(&every.stdout).into_owned();
    for line in ["n0 -> n[2-3]: no", "n1 -> n[2-3]: no", "n2 -> n[0-1]: no", "n3 -> n[0-1]: no"] {
        assert!(words.contains(line), "{words}");
    }
    assert!(lab.now.nodes().all(|node| lab.status(node).unwrap().drained.is_empty()));
    assert_eq!(silent(&lab), []);
}
