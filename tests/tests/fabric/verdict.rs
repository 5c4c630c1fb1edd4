//! `tresse status --all` on fabrics in which something is at fault, and what daemons remember of it.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tresse_base::id::NodeId;
use tresse_control::{Client, Event};
use tresse_plan::lock::Lock;
use tresse_tests::program;

use crate::lab::{Lab, Planned, RESTART, eventually, file};
use crate::suite::Tests;

pub const TESTS: Tests = &[
    ("routed_one_verdict_names_what_is_at_fault", names_what_is_at_fault),
    ("routed_a_lost_cable_is_remembered_without_bfd", remembers_a_lost_cable),
];

pub const SWITCHED: Tests =
    &[("one_verdict_names_a_cable_between_switches_and_a_switch", names_parts_between_switches)];

const RING: &str = "[fabric]\nname = \"t\"\ntopology = { kind = \"ring\", nodes = 5 }\n";

fn names_what_is_at_fault() {
    let lab = Lab::up(RING, &["--bfd-ms", "300"]);
    expect(&lab, 0, &[]);
    lab.verb(&["fail", "n1-n2"]);
    let suspect = expect(&lab, 1, &[("cable", "n1:eth1-n2:eth0")]);
    assert!(suspect[0]["since"].as_u64().is_some(), "{suspect:?}");
    // n1 and n2 to each other, and all whose way leads there.
    assert!(suspect[0]["pairs"].as_u64().unwrap() >= 2, "{suspect:?}");
    lab.verb(&["heal", "n1-n2"]);
    expect(&lab, 0, &[]);
    let status = lab.status(NodeId(1)).unwrap();
    let link = status.states.iter().find(|line| line.kind == "link" && line.object == "eth1");
    assert!(link.is_some_and(|line| line.up && line.today == 2), "{:?}", status.states);
    knows_of_others(&lab);
    // A node that says nothing is unknown, whatever else is known.
    lab.verb(&["kill", "--signal", "stop", "n3"]);
    expect(&lab, 4, &[("node", "n3")]);
    lab.verb(&["kill", "--signal", "cont", "n3"]);
    expect(&lab, 0, &[]);
    // One of five gets another plan.
    let other = Planned::new(&format!("{RING}[routing]\npaths = 1\n"), &Lock::default());
    lab.apply(NodeId(4), &other);
    expect(&lab, 1, &[("plan", other.plan.generation())]);
    let neighbour = || {
        let status = lab.status(NodeId(0))?;
        let named = status.others.iter().any(|other| other.node == "n4");
        if named { Ok(()) } else { Err(format!("{:?}", status.others)) }
    };
    eventually("its neighbour says so", 60, neighbour);
    // Then it becomes part of another fabric.
    let other = Planned::new(&RING.replace("\"t\"", "\"u\""), &Lock::default());
    lab.apply(NodeId(4), &other);
    eventually("both neighbours hear it", 60, || {
        let nics = [0, 3].map(|node| {
            let foreign = lab.status(NodeId(node)).unwrap().foreign;
            foreign.into_iter().map(|line| line.nic).collect::<Vec<_>>()
        });
        if nics == [["eth0"], ["eth1"]] { Ok(()) } else { Err(format!("{nics:?}")) }
    });
}

/// One node alone is reached, and what it has heard of the others is told.
fn knows_of_others(lab: &Lab) {
    let sockets = ["n1", "n2", "n3", "n4"].map(|node| lab.directory.socket(node));
    let aside = |socket: &Path| socket.with_extension("aside");
    lab.verb(&["fail", "--silent", "n2-n3"]);
    sockets.iter().for_each(|socket| fs::rename(socket, aside(socket)).unwrap());
    let nodes = ["n1", "n2", "n3", "n4"].map(|node| ("node", node));
    let cable = ("cable", "n2:eth1-n3:eth0");
    expect(lab, 4, &[&[cable], &nodes[..]].concat());
    sockets.iter().for_each(|socket| fs::rename(aside(socket), socket).unwrap());
    lab.verb(&["heal", "n2-n3"]);
    expect(lab, 0, &[]);
}

fn remembers_a_lost_cable() {
    let lab = Lab::up(RING, &[RESTART]);
    // Where no cluster file is named it is that of the lab.
    let (said, traced) = lab.verb(&["exec", "n1", "--", "tresse", "trace", "n1", "n3"]);
    assert!(traced && said.starts_with("n1 ("), "{said}");
    lab.verb(&["fail", "n1-n2"]);
    let suspects = expect(&lab, 1, &[("cable", "n1:eth1-n2:eth0")]);
    assert!(suspects[0]["pairs"].as_u64().unwrap() >= 2, "{suspects:?}");
    let lost = |event: &Event| {
        event.kind == "link" && event.object == "eth1" && event.message.contains("no carrier")
    };
    let events = || lab.client(NodeId(1)).events(None).unwrap().events;
    let times: Vec<u64> = events().iter().filter(|e| lost(e)).map(|e| e.time_ms).collect();
    assert_eq!(times.len(), 1, "{:?}", events());
    // The daemon that follows knows it, and since when.
    let before = lab.daemon("n1");
    lab.verb(&["kill", "n1"]);
    let config = lab.directory.node("n1").join("tressed.toml").display().to_string();
    eventually("another daemon runs", 60, || {
        let fresh = program::daemon(&config).filter(|pid| *pid != before);
        fresh.ok_or("no other daemon")?;
        let client = Client::connect(lab.directory.socket("n1"));
        let status = client.and_then(|mut client| client.status()).map_err(|e| e.to_string())?;
        let line = status.states.into_iter().find(|line| line.object == "eth1");
        let dated = line.as_ref().is_some_and(|line| line.since == Some(times[0]));
        if dated { Ok(()) } else { Err(format!("{line:?}, not {times:?}")) }
    });
    let starts = events().iter().filter(|event| event.kind == "started").count();
    assert_eq!(starts, 2, "{:?}", events());
    // One that has ended by itself is started by hand.
    let before = lab.daemon("n1");
    assert!(lab.verb(&["kill", "n1", "--signal", "term"]).1);
    eventually("it has ended", 30, || program::daemon(&config).map_or(Ok(()), Err));
    assert!(lab.verb(&["start", "n1"]).1);
    let socket = lab.directory.socket("n1");
    eventually("one more daemon answers", 60, || {
        let mut client = Client::connect(&socket).map_err(|e| e.to_string())?;
        client.status().map(drop).map_err(|e| e.to_string())
    });
    assert!(lab.daemon("n1") != before && !lab.verb(&["start", "n1"]).1);
}

fn names_parts_between_switches() {
    let text = file("kind = \"torus\", dims = [3, 3]", "dor", 2, "");
    let lab = Lab::up(&text, &["--bfd-ms", "1000"]);
    expect(&lab, 0, &[]);
    lab.verb(&["fail", "--silent", "s0-s1"]);
    let suspects = expect(&lab, 1, &[("cable", "s0:3-s1:2")]);
    assert!(suspects[0]["seen"].as_str().unwrap().contains("though it has carrier"));
    lab.verb(&["heal"]);
    expect(&lab, 0, &[]);
    // A node becomes part of another fabric, on the same VLANs.
    let other = Planned::new(&text.replace("name = \"t\"", "name = \"u\""), &Lock::default());
    lab.apply(NodeId(8), &other);
    eventually("others hear it", 120, || {
        let foreign = [0, 4].map(|node| lab.status(NodeId(node)).unwrap().foreign);
        let is_heard = foreign.iter().all(|lines| !lines.is_empty());
        if is_heard { Ok(()) } else { Err(format!("{foreign:?}")) }
    });
}

/// Waits until `status --all` ends with `code` and names these suspects, by kind and object; returns them.
fn expect(lab: &Lab, code: i32, suspects: &[(&str, &str)]) -> Vec<Value> {
    let file = lab.directory.cluster().display().to_string();
    let mut last = Vec::new();
    eventually(&format!("{suspects:?}"), 120, || {
        let args = ["--json", "status", "--all", &file, "--launcher", "netns", "--lab", lab.name()];
        let output = program::run(args);
        let lines = String::from_utf8_lossy(&output.stdout).into_owned();
        let lines: Vec<Value> = lines.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        let found = lines.last().and_then(|line| line["suspects"].as_array()).cloned();
        let found = found.ok_or_else(|| format!("{:?}", output.status))?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let named = found.iter().map(|s| (text(&s["kind"]), text(&s["object"])));
        let named: Vec<(String, String)> = named.collect();
        let wanted: Vec<(String, String)> =
            suspects.iter().map(|(kind, name)| ((*kind).into(), (*name).into())).collect();
        let reached = lines.iter().filter(|line| line["reached"] == true).count();
        let silent = suspects.iter().filter(|(kind, _)| *kind == "node").count();
        // A line for each node, and the last one.
        let all_told = reached + silent + 1 == lines.len();
        last = found;
        match output.status.code() == Some(code) && named == wanted && all_told {
            true => Ok(()),
            false => Err(format!("{:?}: {last:?}", output.status)),
        }
    });
    last
}
