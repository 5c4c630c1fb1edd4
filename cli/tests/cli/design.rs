//! `tresse design`: the contract of its answer, exit codes, the table it writes.

use std::fs;

use crate::run::{has, tresse};

#[test]
fn a_design_keeps_its_contract_and_writes_its_table() {
    let directory = tempfile::tempdir().unwrap();
    let table = directory.path().join("klat2.fnn");
    let table = table.to_str().unwrap();
    let args = ["design", "configs/design/klat2.toml", "--seconds", "0.5"];
    let answer = tresse(args.iter().chain(&["-o", table, "--json"])).exits(0).object();
    has(&answer, "format feasible switches uncovered mean_links_per_pair pattern bound proof");
    has(&answer, "seconds seed");
    assert_eq!(answer["feasible"], true);
    assert_eq!(answer["uncovered"], 0);
    assert_eq!(answer["pattern"]["pairs"], 448);
    assert_eq!(answer["bound"]["value"], 1228.0);
    assert_eq!(format!("{:.4}", answer["mean_links_per_pair"].as_f64().unwrap()), "1.8591");
    let lines = fs::read_to_string(table).unwrap();
    assert_eq!(lines.lines().count(), 9);
    assert!(lines.lines().all(|line| line.split_once(':').is_some()), "{lines}");
    let [labels, routes] = ["labels.html", "routes.txt"].map(|name| directory.path().join(name));
    let (labels, routes) = (labels.to_str().unwrap(), routes.to_str().unwrap());
    let args = ["design", table, "--labels", labels, "--routes", routes, "--json"];
    let judged = tresse(args).exits(0).object();
    assert_eq!(judged["mean_links_per_pair"], answer["mean_links_per_pair"]);
    assert_eq!((&judged["tuple_bytes"], &judged["mac_tuple_bytes"]), (&128.into(), &1536.into()));
    // The paper's 11.9 Gb/s at 100 Mb/s each way.
    assert_eq!(format!("{:.1}", judged["bisection_links"].as_f64().unwrap()), "119.0");
    assert_eq!(fs::read_to_string(labels).unwrap().matches("class=\"nic\"").count(), 256);
    assert_eq!(fs::read_to_string(routes).unwrap().lines().count(), 64);
}

/// The pairs of the patterns get their switch first, so that their NICs are the least busy.
#[test]
fn routes_are_by_the_weights_of_the_patterns() {
    let directory = tempfile::tempdir().unwrap();
    let [table, weighed, plain] =
        ["fnn", "weighed", "plain"].map(|name| directory.path().join(name));
    let spec = "configs/design/klat2.toml";
    let path = |path: &std::path::Path| path.to_str().unwrap().to_owned();
    let (table, weighed, plain) = (path(&table), path(&weighed), path(&plain));
    tresse(["design", spec, "--seconds", "0.5", "-o", &table, "--routes", &weighed]).exits(0);
    tresse(["design", &table, "--routes", &plain]).exits(0);
    let [weighed, plain] = [weighed, plain].map(|path| fs::read_to_string(path).unwrap());
    assert_eq!(weighed.lines().count(), plain.lines().count());
    assert!(weighed != plain, "a table alone has no patterns");
}

#[test]
fn seconds_are_a_number_above_nothing() {
    for seconds in ["nan", "inf", "0", "soon"] {
        let ran = tresse(["design", "configs/design/klat2.toml", "--seconds", seconds]).exits(2);
        assert!(ran.stderr.contains("seconds"), "{}", ran.stderr);
    }
}

#[test]
fn what_cannot_be_is_false_with_a_proof_and_exits_with_1() {
    let directory = tempfile::tempdir().unwrap();
    let spec = directory.path().join("spec.toml");
    let spec = spec.to_str().unwrap();
    fs::write(
        spec,
        "[design]\npcs = 105\nnics = 4\nswitches = [32, 32, 32, 32, 32, 32, 32, 32, \
        32, 32, 32, 32, 32, 32]\n",
    )
    .unwrap();
    let answer = tresse(["design", spec, "--json"]).exits(1).object();
    assert_eq!(answer["feasible"], false);
    assert_eq!(answer["bound"]["name"], "furedi");
    let text = tresse(["design", spec]).exits(1);
    assert!(text.stdout.starts_with("impossible (furedi): 4 NICs on switches of 32 ports hold"));
    fs::write(spec, "[design]\npcs = 4\nnics = 1\nswitch = [4]\n").unwrap();
    let wrong = tresse(["design", spec]).exits(3);
    assert!(wrong.stderr.contains("line 4, column 1: unknown field `switch`"), "{}", wrong.stderr);
    assert_eq!(tresse(["design", "nowhere.toml"]).exits(3).stdout, "");
}

#[test]
fn the_fewest_nics_and_switches_are_found() {
    let args = ["design", "configs/design/fewest.toml", "--seconds", "2", "--json"];
    let answer = tresse(args).exits(0).object();
    assert_eq!(answer["feasible"], true);
    let choices = answer["choices"].as_array().unwrap();
    // Two NICs on three switches of 48 ports: 64 PCs, bound B7 of docs/references.md, "B1 to B7".
    let least = |c: &serde_json::Value| c["nics"] == 2 && c["switches"] == 3 && c["ports"] == 48;
    assert!(choices.iter().any(least), "{choices:?}");
}

/// More switches than the fewest are listed where they bring links, and none that others beat; the uplink
/// switch is paid for.
#[test]
fn choices_are_a_front() {
    let directory = tempfile::tempdir().unwrap();
    let spec = directory.path().join("spec.toml");
    let spec = spec.to_str().unwrap();
    let text = "[design]\npcs = 24\nnics = 3\nmaximize = \"all\"\nseconds = 4\n\
                switch_types = [{ ports = 16, price = 200 }]\n";
    fs::write(spec, text).unwrap();
    let choices = |answer: serde_json::Value| -> Vec<(u64, f64, f64)> {
        let list = answer["choices"].as_array().unwrap().clone();
        let of = |c: &serde_json::Value| {
            let number = |key: &str| c[key].as_f64().unwrap();
            (c["switches"].as_u64().unwrap(), number("cost"), number("mean_links_per_pair"))
        };
        list.iter().map(of).collect()
    };
    let plain = choices(tresse(["design", spec, "--json"]).exits(0).object());
    assert_eq!((plain[0].0, plain[0].1), (3, 600.0));
    // Five switches hold all 72 NICs.
    assert_eq!(plain.last().unwrap().0, 5, "{plain:?}");
    assert!(plain.is_sorted_by(|a, b| a.1 < b.1 && a.2 < b.2), "{plain:?}");
    fs::write(spec, format!("{text}uplinks = \"switch\"\nspares = 2\n")).unwrap();
    let up = choices(tresse(["design", spec, "--json"]).exits(0).object());
    assert!(up.iter().all(|(switches, cost, _)| *cost == (switches + 1) as f64 * 200.0), "{up:?}");
    fs::write(spec, "[design]\npcs = 4\nnics = [1, 1, 2, 2]\nswitch_types = [{ ports = 4 }]\n")
        .unwrap();
    let answer = tresse(["design", spec, "--json"]).exits(0).object();
    assert_eq!(answer["nics"], serde_json::json!([1, 1, 2, 2]));
}

#[test]
fn racks_are_filled_so_that_cables_are_short() {
    let directory = tempfile::tempdir().unwrap();
    let spec = directory.path().join("spec.toml");
    let spec = spec.to_str().unwrap();
    let text = "[design]\npcs = 24\nnics = 2\nswitches = [16, 16, 16]\nplacement = { rack = 8 }\n";
    fs::write(spec, text).unwrap();
    let answer = tresse(["design", spec, "--json"]).exits(0).object();
    let placement = &answer["placement"];
    assert_eq!(placement["pcs"].as_array().unwrap().len(), 24);
    assert_eq!(placement["switches"].as_array().unwrap().len(), 3);
    assert!(placement["length"].as_u64() <= placement["length_by_number"].as_u64());
    let said = tresse(["design", spec]).exits(0).stdout;
    assert!(said.contains("# rack 2: PCs ") && said.contains("# cables cross "), "{said}");
}
