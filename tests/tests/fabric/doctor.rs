//! What `tresse doctor` says of a node that somebody has broken, by `ip`, `sysctl` and `ethtool`.

use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;
use tresse_tests::program;

use crate::Tests;
use crate::lab::{Lab, eventually};

pub const TESTS: Tests =
    &[("routed_doctor_names_what_is_wrong_and_what_helps", names_what_is_wrong)];

const P_MESH: &str = "[fabric]\ntopology = { kind = \"pmesh\", dims = [3, 3] }\n";
const NODE: &str = "n4";

/// Breaks one thing after the other and mends it again: by which command, and which check finds it.
const FAULTS: &[(&str, &str, &str, &str)] = &[
    (
        "sysctl -qw net.ipv4.conf.eth0.rp_filter=1",
        "sysctl -qw net.ipv4.conf.eth0.rp_filter=2",
        "rp-filter",
        "eth0",
    ),
    ("ip link set eth0 down", "ip link set eth0 up", "nic", "eth0"),
    ("ip link set eth1 mtu 1300", "ip link set eth1 mtu 1500", "nic", "eth1"),
];

fn names_what_is_wrong() {
    let lab = Lab::up(P_MESH, &["--bfd-ms", "300"]);
    let files = tempfile::tempdir().unwrap();
    std::fs::write(files.path().join("cluster.toml"), P_MESH).unwrap();
    eventually("nothing is wrong", 60, || {
        let faults = faults(&doctor(&lab, &files, &[]));
        if faults.is_empty() { Ok(()) } else { Err(faults) }
    });
    for (harm, cure, check, object) in FAULTS {
        lab.run(NODE, harm);
        let found = faults(&doctor(&lab, &files, &["--local"]));
        let named = found.iter().any(|(c, o)| c == check && o == object);
        assert!(named, "{harm}: {found:?}");
        lab.run(NODE, cure);
    }
    // A switch that carries less than it should: only packets of full size tell.
    let cables = lab.directory.load_up().unwrap().blueprint.cables;
    let port = cables.into_iter().find(|c| c.a.place == NODE && c.a.interface == "eth0").unwrap().b;
    lab.run(&port.place, &format!("ip link set {} mtu 1300", port.interface));
    let answer = doctor(&lab, &files, &[]);
    let found = faults(&answer);
    assert!(found.iter().any(|(check, _)| check == "path"), "{found:?}");
    assert!(
        answer.to_string().contains("answers small packets and none of 1500 bytes"),
        "{answer}"
    );
    lab.run(&port.place, &format!("ip link set {} mtu 1500", port.interface));
    // Its daemon is gone.
    let answer = doctor(&lab, &files, &["--local", "--socket", "/nonexistent"]);
    assert_eq!(faults(&answer), [("daemon".to_owned(), "tressed".to_owned())]);
    assert_eq!(answer["fine"], false);
}

/// In the node's namespace; its answer is one object, whatever it finds.
fn doctor(lab: &Lab, files: &TempDir, more: &[&str]) -> Value {
    let socket = lab.directory.socket(NODE);
    let output = lab.inside(NODE, || {
        let mut command = Command::new(program::tresse());
        command.env("TRESSE_SOCKET", socket).args(["--json", "doctor", "--node", NODE]).args(more);
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
    let findings = answer["findings"].as_array().unwrap().iter();
    let faults = findings.filter(|finding| finding["verdict"] == "fault");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    faults.map(|finding| (text(&finding["check"]), text(&finding["object"]))).collect()
}
