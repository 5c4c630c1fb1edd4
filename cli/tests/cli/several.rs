//! What several failures leave, by `tresse check --failures` and `tresse trace --without`.

use serde_json::{Value, json};

use crate::run::{has, tresse};

fn failures(file: &str, at_once: &str, code: i32) -> Value {
    let ran = tresse(["check", file, "--failures", at_once, "--json"]).exits(code);
    let failures = ran.object()["failures"].take();
    has(
        &failures,
        "link switch node sets healed two_paths max_paths cut apart seed at_once first_cut",
    );
    failures
}

#[test]
fn where_nodes_route_whoever_cables_join_is_reached() {
    // Four nodes and four cables.
    let two = failures("configs/ring-4.toml", "2", 0);
    assert_eq!((&two["sets"], &two["cut"], &two["seed"]), (&json!(28), &json!(0), &Value::Null));
    assert!(two["healed"].as_u64() > Some(0) && two["apart"].as_u64() > Some(0), "{two}");
    for file in
        ["configs/pmesh-4x4.toml", "configs/direct-torus-4x4.toml", "configs/full-mesh-4.toml"]
    {
        let three = failures(file, "3", 0);
        assert_eq!(three["cut"], 0, "{file}: {three}");
    }
    // Pairs of nodes on a P-Mesh lose nobody else, as its paper says of one switch.
    let text = tresse(["check", "configs/pmesh-4x4.toml", "--failures", "2"]).exits(0).stdout;
    assert!(text.contains("cut off         0 pairs that cables join\n"), "{text}");
}

/// A file with switches, and so many paths a pair. It goes with its directory.
fn mesh(paths: u32) -> (tempfile::TempDir, String) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("mesh.toml");
    let fabric = "[fabric]\ntopology = { kind = \"mesh\", dims = [3, 3] }\n";
    std::fs::write(&file, format!("{fabric}[routing]\npaths = {paths}\n")).unwrap();
    (directory, file.display().to_string())
}

#[test]
fn planned_paths_are_joined_where_a_pair_has_no_whole_one() {
    let (_directory, file) = mesh(2);
    let two = failures(&file, "2", 0);
    assert_eq!((&two["cut"], &two["max_paths"]), (&json!(0), &json!(2)));
    assert!(two["two_paths"].as_u64() > Some(0), "{two}");
    let text = tresse(["check", &file, "--failures", "2"]).exits(0).stdout;
    assert!(text.contains(" pairs by two planned paths, at most 2\n"), "{text}");

    // Neither way round the square of s0, s1, s3 and s4 is whole.
    let trace = ["trace", &file, "n0", "n4", "--json", "--without", "s0-s1,s3-s4"];
    let without = tresse(trace).exits(0).object()["without"].take();
    let path = without["path"].as_array().unwrap();
    assert!(path.len() == 3 && path[0] == "n0" && path[2] == "n4", "{without}");
    assert_eq!((&without["rank"], &without["reason"]), (&Value::Null, &Value::Null));
}

#[test]
fn what_planned_paths_do_not_answer_is_named() {
    let (_directory, file) = mesh(1);
    let two = failures(&file, "2", 1);
    assert!(two["cut"].as_u64() > Some(0), "{two}");
    let first = &two["first_cut"];
    has(first, "without src dst");
    let without: Vec<&str> =
        first["without"].as_array().unwrap().iter().map(|part| part.as_str().unwrap()).collect();
    let (src, dst) = (first["src"].as_str().unwrap(), first["dst"].as_str().unwrap());
    let traced = tresse(["trace", &file, src, dst, "--json", "--without", &without.join(",")]);
    let traced = traced.exits(1).object();
    let wanted = json!({ "parts": without, "rank": null, "path": null, "reason": "no-path" });
    assert_eq!(traced["without"], wanted);
}

#[test]
fn trace_says_how_a_node_is_reached_without_some_parts() {
    let trace = |without: &str, code| {
        let ran =
            tresse(["trace", "configs/ring-4.toml", "n0", "n1", "--json", "--without", without]);
        ran.exits(code).object()["without"].take()
    };
    assert_eq!(trace("n2", 0)["rank"], 0);
    assert_eq!(trace("n0-n1", 0)["rank"], 1);
    assert_eq!(trace("n0-n1,n2", 1)["reason"], "no-cable");
    let round = tresse([
        "trace",
        "configs/full-mesh-4.toml",
        "n0",
        "n1",
        "--without",
        "n0-n1,n0-n2",
        "--json",
    ]);
    let round = round.exits(0).object()["without"].take();
    assert!(round["rank"] == 1 || round["path"] == json!(["n0", "n3", "n1"]), "{round}");
    let text =
        tresse(["trace", "configs/ring-4.toml", "n0", "n1", "--without", "n0-n1"]).exits(0).stdout;
    assert!(text.ends_with("\nwithout n0-n1: by the path of rank 1\n"), "{text}");
}

#[test]
fn wrong_numbers_and_names_are_refused() {
    let file = "configs/ring-4.toml";
    for (args, words) in [
        (&["check", file, "--failures", "0"][..], "this fabric has 8 parts"),
        (&["check", file, "--failures", "9"], "this fabric has 8 parts"),
        (
            &["trace", file, "n0", "n1", "--without", "n0-n2"],
            "--without: the fabric has no `n0-n2`: name a",
        ),
    ] {
        let said = tresse(args).exits(2).stderr;
        assert!(said.contains(words), "{said}");
    }
}
