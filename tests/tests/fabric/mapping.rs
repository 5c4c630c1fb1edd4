//! Cables between switches, by the tables of switches that run lldpd: `tresse discover` and `tresse remap` beside
//! wires that they do not know.

use std::collections::BTreeSet;
use std::fs::{self, Permissions, set_permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command};

use serde_json::Value;
use tresse_tests::lldpd::Lldpd;
use tresse_tests::program;
use tresse_topology::cluster::{Cluster, Port};

use crate::lab::{Lab, eventually, file};
use crate::suite::Tests;

pub const TESTS: Tests = &[("remap_names_what_came_and_went", remap)];

pub const ROUTED: Tests = &[("routed_discover_asks_switches_by_snmp", by_snmp)];

/// `ip` with these words, which has to succeed.
fn ip(words: &str) {
    let output = Command::new("ip").args(words.split(' ')).output().unwrap();
    assert!(output.status.success(), "ip {words}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Namespaces of this test, which end with it.
struct Places(Vec<String>);

impl Places {
    fn add(&mut self, name: &str) {
        let _ = Command::new("ip").args(["netns", "del", name]).output();
        ip(&format!("netns add {name}"));
        ip(&format!("-n {name} link set lo up"));
        self.0.push(name.to_owned());
    }
}

impl Drop for Places {
    fn drop(&mut self) {
        for name in &self.0 {
            let _ = Command::new("ip").args(["netns", "del", name]).output();
        }
    }
}

/// A cable between two ports, in namespaces.
fn cable((a, p): (&str, u32), (b, q): (&str, u32)) {
    ip(&format!("-n {a} link add p{p} type veth peer name p{q} netns {b}"));
    ip(&format!("-n {a} link set p{p} up"));
    ip(&format!("-n {b} link set p{q} up"));
}

fn end(cluster: &Cluster, port: Port) -> String {
    format!("{}:{}", cluster.switch(port.switch).name, port.port)
}

/// Waits until every lldpd has told each cable's end, and returns what each says.
fn tables(daemons: &[(String, Lldpd)], neighbours: usize) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (_, lldpd) in daemons {
        eventually("lldpd answers", 60, || lldpd.cli("configure lldp tx-interval 1").map(drop));
    }
    eventually("switches hear each other", 120, || {
        found.clear();
        for (name, lldpd) in daemons {
            // One that has missed a NIC looks again, and all speak at once.
            lldpd.cli("update")?;
            found.push((name.clone(), lldpd.cli("-f json show neighbors")?));
        }
        let heard: usize = found.iter().map(|(_, text)| text.matches("\"Bridge\"").count()).sum();
        if heard == neighbours { Ok(()) } else { Err(format!("{heard} of {neighbours}")) }
    });
    found
}

/// Four switches in a ring with a double cable, asked by SNMPv2c and SNMPv3, and one that is not there. No frame is
/// forwarded over the cables that close a loop, as with spanning tree.
fn by_snmp() {
    const CABLES: [[(usize, u32); 2]; 5] =
        [[(0, 1), (1, 1)], [(0, 2), (1, 2)], [(1, 3), (2, 1)], [(2, 2), (3, 1)], [(3, 2), (0, 3)]];
    let place = |k: usize| format!("tresse-snmp-s{k}");
    let manager = "tresse-snmp-m";
    let directory = tempfile::tempdir().unwrap();
    let mut places = Places(Vec::new());
    places.add(manager);
    ip(&format!("-n {manager} link add m0 type bridge"));
    ip(&format!("-n {manager} addr add 192.0.2.254/24 dev m0"));
    ip(&format!("-n {manager} link set m0 up"));
    for k in 0..4 {
        places.add(&place(k));
        ip(&format!("-n {} link add br0 up type bridge stp_state 0", place(k)));
        ip(&format!("-n {} link add m0 type veth peer name s{k} netns {manager}", place(k)));
        ip(&format!("-n {} addr add 192.0.2.{}/24 dev m0", place(k), k + 1));
        ip(&format!("-n {} link set m0 up", place(k)));
        ip(&format!("-n {manager} link set s{k} master m0 up"));
    }
    for [a, b] in CABLES {
        cable((&place(a.0), a.1), (&place(b.0), b.1));
        for (k, port) in [a, b] {
            // Two ports of s0 close the loops: they are in no bridge.
            if k != 0 || port == 1 {
                ip(&format!("-n {} link set p{port} master br0", place(k)));
            }
        }
    }
    let mut agents = Vec::new();
    let mut daemons = Vec::new();
    for k in 0..4 {
        let name = format!("s{k}");
        let agent = Lldpd::agent(&place(k), &name, directory.path(), "a-secret").unwrap();
        eventually("snmpd has its socket", 30, || agent.listens().then_some(()).ok_or(&name));
        agents.push(agent);
        let lldpd = Lldpd::start(&place(k), &name, directory.path()).unwrap();
        daemons.push((name, lldpd));
    }
    tables(&daemons, 10);
    let switches = "[switches]\ns0 = \"192.0.2.1\"\ns1 = \"192.0.2.2\"\ns2 = \"192.0.2.3\"\ns3 = \"192.0.2.4:161\"\n";
    let third = "user = \"tresse\"\nauth = \"sha256\"\nauth_password = \"authentication\"\nprivacy = \"aes128\"\n\
                 privacy_password = \"encryption\"\n";
    let second = "community = \"a-secret\"\n";
    let wanted: BTreeSet<BTreeSet<String>> = CABLES
        .iter()
        .map(|ends| ends.iter().map(|(k, port)| format!("s{k}:{port}")).collect())
        .collect();
    let access = directory.path().join("access.toml");
    for config in [format!("{second}{switches}s9 = \"192.0.2.9\"\n"), format!("{third}{switches}")]
    {
        fs::write(&access, &config).unwrap();
        set_permissions(&access, Permissions::from_mode(0o600)).unwrap();
        let mut found = String::new();
        eventually("the agents answer for lldpd", 60, || {
            let (fine, answer) =
                inside(manager, &["discover", "--snmp", &access.display().to_string(), "--json"]);
            let draft: Value = serde_json::from_str(&answer).map_err(|_| answer.clone())?;
            let cables = draft["cables"].as_array().map_or(0, Vec::len);
            found = answer;
            if fine && cables == CABLES.len() { Ok(()) } else { Err(found.clone()) }
        });
        let draft: Value = serde_json::from_str(&found).unwrap();
        let text = draft["cluster"].as_str().unwrap();
        let ends =
            text.lines().filter_map(|line| line.strip_prefix("a = ").or(line.strip_prefix("b = ")));
        let ends: Vec<String> = ends.map(|end| end.trim_matches('"').to_owned()).collect();
        let cables: BTreeSet<BTreeSet<String>> =
            ends.chunks(2).map(|ends| ends.iter().cloned().collect()).collect();
        assert_eq!(cables, wanted, "{text}");
        assert_eq!(text.contains("not seen: s9 (192.0.2.9)"), config.contains("s9"), "{text}");
        if draft["unseen"].as_array().is_some_and(|unseen| !unseen.is_empty()) {
            assert!(draft["unseen"][0].as_str().unwrap().starts_with("s9 "), "{found}");
        }
    }
    set_permissions(&access, Permissions::from_mode(0o644)).unwrap();
    let (fine, _) = inside(manager, &["discover", "--snmp", &access.display().to_string()]);
    assert!(!fine, "a file with secrets that others can read is taken");
}

/// Runs `tresse` in a namespace: whether it ended with 0, and its standard output.
fn inside(netns: &str, words: &[&str]) -> (bool, String) {
    let mut command = Command::new("ip");
    let output =
        command.args(["netns", "exec", netns]).arg(program::tresse()).args(words).output().unwrap();
    (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Daemons of new nodes, ended with the test.
struct Daemons(Vec<Child>);

impl Drop for Daemons {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Starts a daemon without a plan in the place of a new node of a lab.
fn daemon(lab: &Lab, node: &str) -> Child {
    let own = lab.directory.node(node);
    let state = own.join("state");
    fs::create_dir_all(&state).unwrap();
    let config = lab.directory.config(node);
    let text = format!(
        "socket = {:?}\nstate_dir = {state:?}\nbfd = {{ enabled = false }}\n",
        lab.directory.socket(node)
    );
    fs::write(&config, text).unwrap();
    let mut command = Command::new("ip");
    command.args(["netns", "exec", &lab.directory.netns(node)]).arg(program::tressed());
    let log = fs::File::create(own.join("log")).unwrap();
    command
        .arg("--config")
        .arg(config)
        .stdout(log.try_clone().unwrap())
        .stderr(log)
        .spawn()
        .unwrap()
}

/// The irregular fabric of 16 switches: a switch and four nodes more, a cable that moved, a switch that went.
fn remap() {
    let lab = Lab::up(
        &file(
            "kind = \"irregular\", switches = 16, ports = 5, nodes_per_switch = 1, seed = 1",
            "transit",
            2,
            "",
        ),
        &[],
    );
    let cluster = lab.now.plan.cluster().clone();
    let directory = lab.files.path();
    let place = |name: &str| lab.directory.netns(name);
    let start =
        |name: &str| (name.to_owned(), Lldpd::start(&place(name), name, directory).unwrap());

    // As it is: nothing has changed.
    let mut daemons: Vec<(String, Lldpd)> =
        cluster.switches.iter().map(|switch| start(&switch.name)).collect();
    let (code, answer) = look(&lab, &daemons, 2 * cluster.links.len(), &[]);
    assert_eq!(
        (code, &answer["changes"], &answer["unknown"]),
        (0, &Value::Array(vec![]), &Value::Array(vec![])),
        "{answer}"
    );

    // The switch that goes is that of the last link of s00; the cable that moves is the first one.
    let own = cluster.links.iter().filter(|link| link.a.switch.0 == 0);
    let own: Vec<_> = own.collect();
    let (moved, gone) = (own[0], own[own.len() - 1].b.switch);
    let gone_name = cluster.switch(gone).name.clone();
    daemons.retain(|(name, _)| *name != gone_name);
    let lost =
        cluster.links.iter().filter(|link| [link.a.switch, link.b.switch].contains(&gone)).count();
    ip(&format!("netns del {}", place(&gone_name)));
    // Neither is a neighbour of what goes or moves, nor joined to it afterwards.
    let busy = |k: u32| [0, moved.b.switch.0, gone.0].contains(&k);
    let others: Vec<String> = (0..16).filter(|k| !busy(*k)).map(|k| format!("s{k:02}")).collect();
    ip(&format!("-n {} link del p{}", place("s00"), moved.a.port));
    cable((&place("s00"), moved.a.port), (&place(&others[0]), 20));
    let mut places = Places(Vec::new());
    places.add(&place("s16"));
    ip(&format!("-n {} link add br0 up type bridge stp_state 0", place("s16")));
    cable((&place("s16"), 1), (&place(&others[1]), 20));
    cable((&place("s16"), 2), (&place(&others[2]), 20));
    let mut nodes = Daemons(Vec::new());
    for k in 0..4 {
        let name = format!("n{}", 16 + k);
        places.add(&place(&name));
        ip(&format!(
            "-n {} link add p{} type veth peer name eth0 netns {}",
            place("s16"),
            10 + k,
            place(&name)
        ));
        ip(&format!("-n {} link set p{} master br0 up", place("s16"), 10 + k));
        ip(&format!("-n {} link set eth0 up", place(&name)));
        nodes.0.push(daemon(&lab, &name));
        eventually("its daemon listens", 60, || {
            lab.directory.socket(&name).exists().then_some(()).ok_or(&name)
        });
    }
    daemons.push(start("s16"));
    let cables = 2 * (cluster.links.len() - lost + 2);
    let (code, answer) = look(&lab, &daemons, cables, &["n[16-19]"]);
    let word = |change: &Value| {
        let text = |key: &str| change[key].as_str().unwrap_or_default().to_owned();
        [text("kind"), text("part"), text("name"), text("to")].join(" ").trim().to_owned()
    };
    let found: Vec<String> = answer["changes"].as_array().unwrap().iter().map(word).collect();
    let (a, b) = (end(&cluster, moved.a), end(&cluster, moved.b));
    let to = |port: u32, other: &str| format!("{other}:20 - s16:{port}");
    let node = cluster.nodes.iter().find(|node| node.nics[0].switch == gone).unwrap();
    let mut wanted = vec![
        format!("added switch s16 {}, {}", to(1, &others[1]), to(2, &others[2])),
        format!("gone switch {gone_name}"),
        format!("moved cable {a} - {b} {a} - {}:20", others[0]),
        format!("gone node {}", node.name),
    ];
    wanted.extend((0..4).map(|k| format!("added node n{} eth0 at s16:{}", 16 + k, 10 + k)));
    assert_eq!((code, found), (1, wanted), "{answer}");
    let pairs = answer["changes"].as_array().unwrap().iter().map(|change| change["pairs"].as_u64());
    assert!(pairs.clone().all(|pairs| pairs.is_some_and(|pairs| pairs > 0)), "{answer}");

    // The drafts are a file and a lock that hold.
    let [draft, lock] = ["cluster", "lock"].map(|key| answer[key].as_str().unwrap().to_owned());
    program::output(&["check", &draft, "--lock", &lock]).unwrap();
    let text = fs::read_to_string(&draft).unwrap();
    let new = tresse_cluster::parse(&text, "draft").unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!((new.switches.len(), new.nodes.len()), (16, 19), "{text}");
    assert!(answer["steps"][2].as_str().unwrap().starts_with("tresse rollout"), "{answer}");
}

/// Lets every switch tell its neighbours, and remaps: exit code and answer.
fn look(lab: &Lab, daemons: &[(String, Lldpd)], neighbours: usize, more: &[&str]) -> (i32, Value) {
    let directory = lab.files.path().join("switches");
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).unwrap();
    let path = |name: &str| -> String { lab.files.path().join(name).display().to_string() };
    for (name, text) in tables(daemons, neighbours) {
        write(&directory, &name, &text);
    }
    let (file, switches, drafts) = (path("cluster.toml"), path("switches"), path("drafts"));
    fs::create_dir_all(&drafts).unwrap();
    let words = [
        "remap",
        &file,
        "--launcher",
        "netns",
        "--lab",
        lab.name(),
        "--switches",
        &switches,
        "-o",
        &drafts,
        "--json",
    ];
    let output = program::run([&words[..], more].concat());
    let answer = String::from_utf8_lossy(&output.stdout);
    let said = String::from_utf8_lossy(&output.stderr);
    let answer = serde_json::from_str(&answer).unwrap_or_else(|e| panic!("{e}: {answer} {said}"));
    (output.status.code().unwrap(), answer)
}

fn write(directory: &Path, name: &str, text: &str) {
    fs::write(directory.join(format!("{name}.json")), text).unwrap();
}
