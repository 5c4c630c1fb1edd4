//! `tresse probe` in a lab: what it measures, and what it says of cables that are slow, lossy or take small packets only.

use serde_json::Value;
use tresse_tests::program;

use crate::lab::{Lab, eventually};
use crate::suite::Tests;

pub const TESTS: Tests = &[
    ("routed_probe_names_what_is_not_as_planned", names_what_is_not_as_planned),
    ("routed_probe_measures_every_cable_and_node_of_a_p_mesh", measures_a_p_mesh),
];

pub const SWITCHED: Tests = &[("probe_measures_paths_across_switches", measures_paths)];

/// Runs it; exit code, a line for each target, and the last one.
fn probe(lab: &Lab, words: &[&str]) -> (Option<i32>, Vec<Value>, Value) {
    let file = lab.files.path().join("cluster.toml").display().to_string();
    let mut all = vec!["--json", "probe", &file, "--launcher", "netns", "--lab", lab.name()];
    all.extend(words);
    let output = program::run(&all);
    let text = String::from_utf8(output.stdout).unwrap();
    let mut lines: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let last = lines.pop().unwrap_or_default();
    (output.status.code(), lines, last)
}

fn of<'a>(lines: &'a [Value], kind: &str, name: &str) -> &'a Value {
    let is = |line: &&Value| line["kind"] == kind && line["object"] == name;
    lines.iter().find(is).unwrap_or_else(|| panic!("{kind} {name}: {lines:#?}"))
}

fn names_what_is_not_as_planned() {
    let text = "[fabric]\ntopology = { kind = \"ring\", nodes = 3 }\n\
        [[node]]\nname = \"n[0-2]\"\nnics = [{ rate = \"20M\" }, { rate = \"20M\" }]\n";
    let lab = Lab::up(text, &["--shape"]);
    eventually("in sync", 60, || lab.in_sync());
    let (code, lines, last) = probe(&lab, &["--yes", "-t", "1", "--least", "0.4"]);
    assert_eq!((code, &last["verdict"]), (Some(0), &Value::from("ok")), "{lines:#?}");
    let kinds = |kind: &str| lines.iter().filter(|line| line["kind"] == kind).count();
    assert_eq!([kinds("cable"), kinds("through"), kinds("together")], [3, 0, 3]);
    let cable = of(&lines, "cable", "n0:eth1 - n1:eth0");
    let mbits = cable["mbits"][0].as_f64().unwrap();
    assert!((14.0..22.0).contains(&mbits) && cable["largest"] == 1500, "{cable}");

    // Slower than before, smaller, silent.
    let baseline = lab.files.path().join("cluster.probe.json");
    assert!(baseline.exists());
    lab.run("n0", "tc qdisc replace dev eth1 root tbf rate 2mbit burst 20kb latency 50ms");
    for words in [
        "nft add table ip small",
        "nft add chain ip small i { type filter hook prerouting priority 0 ; }",
        "nft add rule ip small i iifname eth0 meta length > 1400 drop",
    ] {
        lab.run("n2", words);
    }
    assert!(lab.verb(&["fail", "n2:eth1", "--silent"]).1);
    let (code, lines, last) = probe(&lab, &["--yes", "-t", "1", "--least", "0.4"]);
    assert_eq!((code, &last["verdict"]), (Some(1), &Value::from("silent")), "{lines:#?}");
    let slow = of(&lines, "cable", "n0:eth1 - n1:eth0");
    assert_eq!(slow["verdict"], "slow");
    let cause = slow["cause"].as_str().unwrap();
    assert!(cause.contains("one direction alone"), "{cause}");
    assert!(slow["before_mbits"].as_f64().unwrap() > 8.0);
    let small = of(&lines, "cable", "n1:eth1 - n2:eth0");
    let largest = small["largest"].as_u64().unwrap();
    assert!(small["verdict"] == "mtu" && (1396..=1400).contains(&largest), "{small}");
    let cause = small["cause"].as_str().unwrap();
    assert!(cause.contains("packets of 1500 bytes do not get through"), "{cause}");
    assert_eq!(of(&lines, "cable", "n0:eth0 - n2:eth1")["verdict"], "silent");
    // A pair is slow where its cable is.
    let pair = lines.iter().find(|line| line["object"] == "n0 > n1").unwrap();
    assert_eq!(pair["cause"], "the cable n0:eth1 - n1:eth0 on its way is SLOW", "{pair}");
    // Without load, and without those that are left out.
    let (_, lines, _) = probe(&lab, &["--light", "--except", "n2"]);
    assert!(lines.iter().all(|line| line["mbits"][0].is_null()), "{lines:#?}");
    assert_eq!(lines.iter().filter(|line| line["kind"] == "cable").count(), 1);
    // Nobody can be asked here.
    assert_eq!(probe(&lab, &[]).0, Some(2));
}

fn measures_a_p_mesh() {
    let text = "[fabric]\ntopology = { kind = \"pmesh\", dims = [3, 2] }\n";
    let lab = Lab::up(text, &["--rate", "100M"]);
    eventually("in sync", 60, || lab.in_sync());
    let (code, lines, _) = probe(&lab, &["--yes", "-t", "1", "--least", "0.01"]);
    assert_eq!(code, Some(0), "{lines:#?}");
    assert_eq!(lines.iter().filter(|line| line["kind"] == "cable").count(), 2 * 3 + 3);
    assert_eq!(lines.iter().filter(|line| line["kind"] == "through").count(), 6);
    // A receiver that is there already, and a node without the program.
    let (code, lines, _) = probe(&lab, &["--light"]);
    assert_eq!(code, Some(0), "{lines:#?}");
}

fn measures_paths() {
    let text = "[fabric]\ntopology = { kind = \"torus\", dims = [2, 3] }\n\
        [routing]\nstrategy = \"dor\"\n";
    let lab = Lab::up(text, &[]);
    eventually("in sync", 120, || lab.in_sync());
    let (code, lines, _) = probe(&lab, &["--yes", "-t", "1", "--least", "0.001"]);
    assert_eq!(code, Some(0), "{lines:#?}");
    assert!(lines.iter().any(|line| line["kind"] == "path"));
    assert!(lines.iter().any(|line| line["kind"] == "together"));
}
