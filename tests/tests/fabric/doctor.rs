//! What `tresse doctor` says of a node that somebody has broken, by `ip`, `sysctl` and `ethtool`.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use nix::sys::signal::{Signal, kill};
use serde_json::Value;
use tempfile::TempDir;
use tresse_base::id::NodeId;
use tresse_tests::program;

use crate::lab::{Lab, eventually, file};
use crate::routed::DUAL;
use crate::suite::Tests;

pub const TESTS: Tests = &[
    ("routed_doctor_names_what_is_wrong_and_what_helps", names_what_is_wrong),
    ("routed_doctor_names_what_is_wrong_with_ipv6", names_what_is_wrong_with_ipv6),
    ("routed_doctor_names_what_gateways_and_owners_of_prefixes_lack", names_what_is_not_behind),
];

pub const SWITCHED: Tests =
    &[("doctor_names_flow_control_where_paths_wait_in_a_circle", names_flow_control)];

const P_MESH: &str = "[fabric]\ntopology = { kind = \"pmesh\", dims = [3, 3] }\n";
const NODE: &str = "n4";

/// Something that is broken and mended again: by which commands, and which check names which object.
struct Harm(&'static [&'static str], &'static [&'static str], &'static str, &'static str);

const FAULTS: &[Harm] = &[
    Harm(&["ip link set eth0 down"], &["ip link set eth0 up"], "nic", "eth0"),
    Harm(&["ip link set eth1 mtu 1300"], &["ip link set eth1 mtu 1500"], "nic", "eth1"),
    // Of a plan whose MACs are made up that of the file is not asked for.
    Harm(
        &["ip link set eth1 address 02:54:00:00:04:00"],
        &["ip link set eth1 address 02:54:00:00:04:01"],
        "nic",
        "eth0",
    ),
    Harm(
        &[
            "ip link add br9 type bridge",
            "ip link set eth0 master br9",
            "ip link set eth1 master br9",
        ],
        &["ip link del br9"],
        "master",
        "eth0",
    ),
    Harm(
        &["ip address add 10.77.0.9/32 dev lo"],
        &["ip address del 10.77.0.9/32 dev lo"],
        "duplicate",
        "lo",
    ),
    Harm(
        &[
            "nft add table ip docker",
            "nft add chain ip docker f { type filter hook forward priority 0 ; policy drop ; }",
        ],
        &["nft delete table ip docker"],
        "forward",
        "nft table ip docker",
    ),
    // As Docker does.
    Harm(
        &["iptables -P FORWARD DROP"],
        &["iptables -P FORWARD ACCEPT"],
        "forward",
        "iptables FORWARD",
    ),
];

fn names_what_is_wrong() {
    let lab = Lab::up(P_MESH, &["--bfd-ms", "300"]);
    let files = tempfile::tempdir().unwrap();
    std::fs::write(files.path().join("cluster.toml"), P_MESH).unwrap();
    eventually("nothing is wrong", 60, || {
        let faults = faults(&doctor(&lab, &files, &[]));
        if faults.is_empty() { Ok(()) } else { Err(faults) }
    });
    names_what_the_daemon_puts_right(&lab, &files);
    for Harm(harm, cure, check, object) in FAULTS {
        harm.iter().for_each(|words| drop(lab.run(NODE, words)));
        let found = faults(&doctor(&lab, &files, &["--local"]));
        let named = found.iter().any(|(c, o)| c == check && o == object);
        assert!(named, "{harm:?}: {found:?}");
        cure.iter().for_each(|words| drop(lab.run(NODE, words)));
    }
    eventually("nothing is wrong any more", 60, || {
        let faults = faults(&doctor(&lab, &files, &[]));
        if faults.is_empty() { Ok(()) } else { Err(faults) }
    });
    warns_of_what_may_go_wrong(&lab, &files);
    // Packets go by that switch again.
    eventually("paths are used as planned", 60, || {
        let status = lab.client(NodeId(4)).status().map_err(|e| e.to_string())?;
        if status.broken.is_empty() && status.backup.is_empty() {
            Ok(())
        } else {
            Err(format!("{status:?}"))
        }
    });
    // A switch that carries less than it should: only packets of full size tell.
    let cables = lab.directory.load_up().unwrap().blueprint.cables;
    let port = cables.into_iter().find(|c| c.a.place == NODE && c.a.interface == "eth0").unwrap().b;
    lab.run(&port.place, &format!("ip link set {} mtu 1300", port.interface));
    let answer = doctor(&lab, &files, &[]);
    let found = faults(&answer);
    assert!(found.iter().any(|(check, _)| check == "path"), "{found:?}");
    assert!(
        answer.to_string().contains("answers small packets but none of 1500 bytes"),
        "{answer}"
    );
    lab.run(&port.place, &format!("ip link set {} mtu 1500", port.interface));
    // Its daemon is gone.
    let answer = doctor(&lab, &files, &["--local", "--socket", "/nonexistent"]);
    assert_eq!(faults(&answer), [("daemon".to_owned(), "tressed".to_owned())]);
    assert_eq!(answer["fine"], false);
}

/// The kernel tells the daemon of such changes, so it is halted meanwhile.
fn names_what_the_daemon_puts_right(lab: &Lab, files: &TempDir) {
    let signal = |signal| kill(lab.daemon(NODE), signal).unwrap();
    signal(Signal::SIGSTOP);
    lab.run(NODE, "sysctl -qw net.ipv4.conf.eth0.rp_filter=1");
    let found = faults(&doctor(lab, files, &["--local", "--socket", "/nonexistent"]));
    signal(Signal::SIGCONT);
    let expected = [("rp-filter", "eth0"), ("daemon", "tressed")];
    for (check, object) in expected {
        assert!(found.iter().any(|(c, o)| c == check && o == object), "{found:?}");
    }
    eventually("the daemon has put it right", 20, || {
        let value = lab.run(NODE, "sysctl -n net.ipv4.conf.eth0.rp_filter");
        if value.trim() == "2" { Ok(()) } else { Err(value) }
    });
}

/// A switch that floods, and what other programs of the host say: these here are ours, and say the worst.
fn warns_of_what_may_go_wrong(lab: &Lab, files: &TempDir) {
    lab.run("n3", "ip neigh replace 10.78.0.30 lladdr 02:54:00:99:99:99 dev eth0 nud permanent");
    lab.run("n3", "ip route replace 10.78.0.30 dev eth0");
    // Nobody answers, and so it ends with 1.
    let netns = lab.directory.netns("n3");
    let _ = tresse_lab::run::read(&netns, "ping", &["-qc1100", "-l1100", "-W1", "10.78.0.30"], "");
    says(files, "timedatectl", "no");
    says(files, "nmcli", "eth1:connected");
    says(files, "networkctl", "7 eth0 ether routable configured");
    let answer = doctor(lab, files, &["--local"]);
    let found: Vec<(String, String)> = of_verdict(&answer, "warning");
    for (check, object) in
        [("nic", "eth0"), ("clock", ""), ("manager", "eth0"), ("manager", "eth1")]
    {
        let named = found.iter().any(|(c, o)| c == check && o == object);
        assert!(named, "{check} {object}: {found:?}");
    }
    assert_eq!(answer["fine"], true);
}

/// IPv6 that somebody has switched off.
fn names_what_is_wrong_with_ipv6() {
    let lab = Lab::up(DUAL, &[]);
    let files = tempfile::tempdir().unwrap();
    std::fs::write(files.path().join("cluster.toml"), DUAL).unwrap();
    lab.run(NODE, "sysctl -qw net.ipv6.conf.eth0.disable_ipv6=1");
    let found = faults(&doctor(&lab, &files, &["--local"]));
    assert!(found.contains(&("ipv6".to_owned(), "eth0".to_owned())), "{found:?}");
}

/// The other side of a gateway with a network behind it is not there, does not forward, and is as it should be.
fn names_what_is_not_behind() {
    let text = "[fabric]\ntopology = { kind = \"ring\", nodes = 5 }\n\
        [[node]]\nname = \"n4\"\ngateway = true\nprefixes = \"192.168.4.0/24\"\n";
    let lab = Lab::up(text, &[]);
    eventually("in sync", 60, || lab.in_sync());
    let files = tempfile::tempdir().unwrap();
    std::fs::write(files.path().join("cluster.toml"), text).unwrap();
    let found = || faults(&doctor(&lab, &files, &["--local"]));
    let behind = |object: &str| ("behind".to_owned(), object.to_owned());
    assert_eq!(found(), [behind("0.0.0.0/0"), behind("192.168.4.0/24")]);
    for words in [
        "ip link add out type veth peer name far",
        "ip addr add 192.168.4.1/24 dev out",
        "ip addr add 198.18.0.1/24 dev far",
        "ip link set out up",
        "ip link set far up",
        "ip route add default via 198.18.0.2 dev far",
    ] {
        lab.run(NODE, words);
    }
    assert_eq!(found(), [behind("far"), behind("out")]);
    lab.run(NODE, "sysctl -qw net.ipv4.conf.out.forwarding=1 net.ipv4.conf.far.forwarding=1");
    assert_eq!(found(), []);
    // Somebody else has an interface of the name that the daemon needs.
    kill(lab.daemon(NODE), Signal::SIGSTOP).unwrap();
    lab.run(NODE, "ip link del tresse-gw");
    lab.run(NODE, "ip link add tresse-gw type bridge");
    kill(lab.daemon(NODE), Signal::SIGCONT).unwrap();
    eventually("what the daemon refuses to touch is a fault", 20, || match &found()[..] {
        [(check, _)] if check == "daemon" => Ok(()),
        others => Err(format!("{others:?}")),
    });
}

/// Cables of namespaces have no flow control: `ethtool` is ours, and says what it says of a NIC that has.
fn names_flow_control() {
    for (topology, harmful) in
        [("kind = \"torus\", dims = [5]", true), ("kind = \"mesh\", dims = [5]", false)]
    {
        let text = file(topology, "dor", 1, "");
        let lab = Lab::up(&text, &[]);
        let files = tempfile::tempdir().unwrap();
        std::fs::write(files.path().join("cluster.toml"), &text).unwrap();
        eventually("in sync", 60, || lab.in_sync());
        assert_eq!(faults(&doctor(&lab, &files, &["--local"])), []);
        says(
            &files,
            "ethtool",
            "Pause parameters for eth0:\nAutonegotiate:\ton\nRX:\t\ton\nTX:\t\toff",
        );
        let found = faults(&doctor(&lab, &files, &["--local"]));
        let named = [("pause".to_owned(), "eth0".to_owned())];
        assert_eq!(found, if harmful { &named[..] } else { &[] });
    }
}

/// A program of that name that says this, before others of that name.
fn says(files: &TempDir, program: &str, words: &str) {
    let path = files.path().join(program);
    std::fs::write(&path, format!("#!/bin/sh\ncat <<'END'\n{words}\nEND\n")).unwrap();
    std::fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
}

/// In the node's namespace; its answer is one object, whatever it finds.
fn doctor(lab: &Lab, files: &TempDir, more: &[&str]) -> Value {
    let socket = lab.directory.socket(NODE);
    let output = lab.inside(NODE, || {
        let mut command = Command::new(program::tresse());
        let path = format!("{}:{}", files.path().display(), std::env::var("PATH").unwrap());
        command
            .env("TRESSE_SOCKET", socket)
            .env("PATH", path)
            .args(["--json", "doctor", "--node", NODE])
            .args(more);
        command.arg(files.path().join("cluster.toml")).output().unwrap()
    });
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.success(), answer["fine"] == true);
    for finding in answer["findings"].as_array().unwrap() {
        let wrong = finding["verdict"] != "fine";
        assert!(!wrong || finding["fix"] != "" && finding["effect"] != "", "{finding}");
    }
    answer
}

/// Check and object of what does not work.
fn faults(answer: &Value) -> Vec<(String, String)> {
    of_verdict(answer, "fault")
}

fn of_verdict(answer: &Value, verdict: &str) -> Vec<(String, String)> {
    let findings = answer["findings"].as_array().unwrap().iter();
    let such = findings.filter(|finding| finding["verdict"] == verdict);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    such.map(|finding| (text(&finding["check"]), text(&finding["object"]))).collect()
}
