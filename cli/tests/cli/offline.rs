//! Every offline verb on every example, in text and in JSON.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::run::{cluster_files, has, tresse};

/// Too large for verbs that walk every pair in a development build.
const LARGE: &str = "configs/torus4096.toml";

fn examples() -> impl Iterator<Item = String> {
    cluster_files("configs").into_iter().filter(|f| f != LARGE)
}

fn text_and_object(args: &[&str]) -> Value {
    assert!(!tresse(args).exits(0).stdout.is_empty());
    tresse(args.iter().chain(&["--json"])).exits(0).object()
}

#[test]
fn plan_tells_vlans_nodes_and_switches() {
    for file in examples() {
        let plan = text_and_object(&["plan", &file]);
        has(&plan, "generation vlans nodes switches");
        for vlan in plan["vlans"].as_array().unwrap() {
            has(vlan, "id name role links");
            let role = vlan["role"].as_str().unwrap();
            assert!(["primary", "backup", "base", "line"].contains(&role));
        }
        let node = plan["nodes"][0]["name"].as_str().unwrap();
        let slice = tresse(["plan", &file, "--node", node, "--json"]).exits(0).lines();
        assert_eq!(slice[0]["node"], node);
        assert_eq!(slice[0]["generation"], plan["generation"]);
        let against = text_and_object(&["plan", &file, "--against", &file]);
        assert_eq!(against["touched_pairs"], 0, "{file}");
    }
}

#[test]
fn paths_give_one_primary_per_ordered_pair() {
    for file in examples() {
        let check = tresse(["check", &file, "--json"]).exits(0).object();
        let mut primaries = BTreeSet::new();
        let paths = tresse(["paths", &file, "--json"]).exits(0);
        for path in paths.lines() {
            has(&path, "format src dst rank weight minimal hops segments");
            for segment in path["segments"].as_array().unwrap() {
                has(segment, "from nic vlan switches to to_nic");
            }
            if path["rank"] == 0 {
                let pair = (path["src"].to_string(), path["dst"].to_string());
                assert!(primaries.insert(pair), "{file}: {path}");
            }
        }
        assert_eq!(primaries.len() as u64, check["pairs"].as_u64().unwrap(), "{file}");
        let text = tresse(["paths", &file]).exits(0);
        assert_eq!(text.stdout.lines().count(), paths.stdout.lines().count());
    }
}

#[test]
fn check_finds_the_examples_sound() {
    for file in examples() {
        let check = text_and_object(&["check", &file]);
        has(
            &check,
            "pairs reachable minimal loop_free deadlock_free cycle vlans max_link_load \
             mean_link_load ideal_throughput transit violations notes",
        );
        has(&check["transit"], "paths max mean");
        assert_eq!(check["pairs"], check["reachable"], "{file}");
        assert_eq!(check["cycle"].is_null(), check["deadlock_free"] == true, "{file}");
    }
}

#[test]
fn trace_agrees_with_paths() {
    for file in examples() {
        let plan = tresse(["plan", &file, "--json"]).exits(0).object();
        let name = |k: usize| plan["nodes"][k]["name"].as_str().unwrap().to_owned();
        let (a, b) = (name(0), name(plan["nodes"].as_array().unwrap().len() - 1));
        let trace = text_and_object(&["trace", &file, &a, &b]);
        has(&trace, "generation src dst distance mtu why paths");
        let paths = tresse(["paths", &file, "--from", &a, "--to", &b, "--json"]).exits(0).lines();
        let traced = trace["paths"].as_array().unwrap();
        assert_eq!(traced.len(), paths.len());
        for (traced, path) in traced.iter().zip(&paths) {
            has(traced, "rank weight minimal hops mtu segments disjoint shared");
            assert_eq!((&traced["rank"], &traced["hops"]), (&path["rank"], &path["hops"]));
            let segment = &traced["segments"][0];
            has(segment, "from nic mac interface vlan tree role switches to to_nic to_mac");
            let names: Vec<_> =
                segment["switches"].as_array().unwrap().iter().map(|s| s["name"].clone()).collect();
            assert_eq!(Value::from(names), path["segments"][0]["switches"]);
        }
    }
}

#[test]
fn export_writes_the_same_text_into_files_as_to_a_pipe() {
    let help = tresse(["export", "--help"]).exits(0).stdout;
    let list = help.split("What to write: ").nth(1).unwrap();
    let list = list.split("\n\n").next().unwrap().split("\n  [").next().unwrap();
    let formats: Vec<_> = list.split(',').map(str::trim).collect();
    assert!(formats.len() > 1, "{help}");
    let few = ["configs/torus16.toml", "configs/two-planes.toml"];
    for file in examples() {
        let plan = tresse(["plan", &file, "--json"]).exits(0).object();
        let formats = if plan["vlans"] == Value::Array(Vec::new()) {
            // Where nodes route, switches need nothing set.
            let ran = tresse(["export", &file, formats[0]]).exits(2);
            assert!(ran.stderr.contains("need no configuration"), "{}", ran.stderr);
            &["dot"][..]
        } else if few.contains(&file.as_str()) {
            &formats[..]
        } else {
            &formats[..1]
        };
        for format in formats {
            let files = text_and_object(&["export", &file, format]);
            let files: BTreeMap<_, _> = files["files"]
                .as_array()
                .unwrap()
                .iter()
                .map(|f| (f["name"].as_str().unwrap(), f["text"].as_str().unwrap()))
                .collect();
            let directory = tempfile::tempdir().unwrap();
            let at = directory.path().join("new");
            let out = at.to_str().unwrap();
            let run = tresse(["export", &file, format, "-o", out, "--json"]).exits(0).object();
            assert_eq!(run["written"].as_array().unwrap().len(), files.len());
            for (name, text) in files {
                assert_eq!(std::fs::read_to_string(at.join(name)).unwrap(), text, "{file} {name}");
            }
        }
    }
}

#[test]
fn export_names_what_it_does_not_know() {
    let file = "configs/torus16.toml";
    let ran = tresse(["export", file, "word-processor"]).exits(2);
    assert!(ran.stderr.contains("bridge"), "{}", ran.stderr);
    let ran = tresse(["export", file, "bridge", "s99"]).exits(2);
    assert!(ran.stderr.contains("no switch `s99`"), "{}", ran.stderr);
    let one = tresse(["export", file, "bridge", "s05"]).exits(0).stdout;
    assert!(one.starts_with("#!"), "one file is printed as it is");
}

#[test]
fn fmt_leaves_the_examples_alone() {
    for file in examples() {
        tresse(["fmt", &file, "--check"]).exits(0);
        let text = std::fs::read_to_string(crate::run::root().join(&file)).unwrap();
        assert_eq!(tresse(["fmt", &file, "--stdout"]).exits(0).stdout, text);
    }
}

#[test]
fn schema_is_the_shipped_one() {
    let shipped = crate::run::root().join("configs/cluster.schema.json");
    let schema: Value = serde_json::from_str(&tresse(["schema"]).exits(0).stdout).unwrap();
    let shipped = std::fs::read_to_string(shipped).unwrap();
    assert_eq!(schema, serde_json::from_str::<Value>(&shipped).unwrap());
}

#[test]
fn the_large_torus_is_planned_for_one_node_and_one_pair() {
    let slice = tresse(["plan", LARGE, "--node", "n0007", "--json"]).exits(0).lines();
    assert_eq!(slice[0]["node"], "n0007");
    let path = tresse(["paths", LARGE, "--from", "n0000", "--to", "n4095", "--json"]).exits(0);
    assert_eq!(path.object()["hops"], 3);
    let check = tresse(["check", LARGE, "--json"]).exits(0).object();
    assert_eq!(check["pairs"], 4096 * 4095);
}

/// A circle of four switches and a fifth on one of them: what hangs there has no other way.
#[test]
fn pairs_without_a_backup_of_their_own_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("circle.toml");
    let cables = [("s0:2", "s1:2"), ("s1:3", "s2:2"), ("s2:3", "s3:2"), ("s3:3", "s0:3")];
    let cables = cables.into_iter().chain([("s1:4", "s4:2")]);
    let cables = cables.map(|(a, b)| format!("[[link]]\na = \"{a}\"\nb = \"{b}\"\n"));
    let text = "[fabric]\ntopology = { kind = \"explicit\" }\n[[switch]]\nname = \"s[0-4]\"\n\
                [[node]]\nname = \"n[0-4]\"\nnics = [{ switch = \"s[0-4]\", port = 1 }]\n";
    std::fs::write(&file, text.to_owned() + &cables.collect::<String>()).unwrap();
    let file = file.display().to_string();
    let counted = |file: &str| {
        tresse(["check", file, "--json"]).exits(0).object()["failures"]
            ["pairs_without_disjoint_backup"]
            .take()
    };
    let shared = tresse(["paths", &file, "--shared", "--json"]).exits(0).lines();
    assert_eq!(shared.len(), 8);
    assert_eq!(counted(&file), 8);
    for pair in &shared {
        has(pair, "format src dst paths shared forced");
        assert!(pair["shared"].as_array().unwrap().contains(&"s1-s4".into()), "{pair}");
        assert_eq!(pair["forced"], pair["shared"]);
    }
    let line = tresse(["paths", &file, "--shared", "--from", "n1"]).exits(0).stdout;
    assert_eq!(line, "n1 -> n4  1 path: s1-s4  no cables go round s1-s4\n");

    for file in ["configs/fat-tree-6.toml", "configs/flat24.toml", "configs/clos-4x8.toml"] {
        let shared = tresse(["paths", file, "--shared", "--json"]).exits(0).lines();
        assert_eq!(counted(file), shared.len(), "{file}");
    }
    // Two nodes on both switches, and one on the first alone.
    std::fs::write(directory.path().join("some.fnn"), "0: 0 1 2\n1: 0 1\n").unwrap();
    let flat = directory.path().join("flat.toml");
    std::fs::write(&flat, "[fabric]\ntopology = { kind = \"fnn\", wiring = \"some.fnn\" }\n")
        .unwrap();
    let flat = flat.display().to_string();
    let shared = tresse(["paths", &flat, "--shared", "--json"]).exits(0).lines();
    assert_eq!(counted(&flat), 4);
    assert_eq!(shared.len(), 4);
    for pair in &shared {
        assert_eq!(pair["shared"], serde_json::json!(["s0", "n2 eth0"]), "{pair}");
        assert_eq!((&pair["paths"], &pair["forced"]), (&2.into(), &Value::Null));
    }
    let line = tresse(["paths", &flat, "--shared", "--from", "n0"]).exits(0).stdout;
    assert_eq!(line, "n0 -> n2  2 paths: s0, n2 eth0\n");

    let routed = tresse(["paths", "configs/ring-4.toml", "--shared"]).exits(2).stderr;
    assert!(routed.contains("nodes that route"), "{routed}");
}
