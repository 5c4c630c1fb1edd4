//! `tresse schedule`: the contract of its answer, its patterns, and a C program that reads its header.

use std::fs;
use std::process::Command;

use crate::run::{has, tresse};

/// KLAT2's table, of half a second's search.
fn klat2(directory: &std::path::Path) -> String {
    let table = directory.join("klat2.fnn").to_str().unwrap().to_owned();
    tresse(["design", "configs/design/klat2.toml", "--seconds", "0.5", "-o", &table]).exits(0);
    table
}

#[test]
fn rows_of_klat2_take_three_phases_where_the_plan_needs_more() {
    let directory = tempfile::tempdir().unwrap();
    let table = klat2(directory.path());
    for pattern in ["rows", "columns"] {
        let args = ["schedule", &table, "--pattern", pattern, "--json"];
        let answer = tresse(args).exits(0).object();
        has(&answer, "format pattern nodes messages bound by_plan phases");
        assert_eq!((&answer["messages"], &answer["bound"]), (&448.into(), &3.into()));
        let phases = answer["phases"].as_array().unwrap();
        assert!(phases.len() == 3 && answer["by_plan"].as_u64() > Some(3), "{answer:?}");
        let sent: usize = phases.iter().map(|phase| phase.as_array().unwrap().len()).sum();
        assert_eq!(sent, 448);
        has(&phases[0][0], "from to switch from_nic to_nic");
    }
}

/// For each NIC that sends in a phase: the tuple leads to a NIC that receives from it in that phase, and no message is
/// left out.
const PROGRAM: &str = "#include \"schedule.h\"
#include <stdio.h>
int main(void) {
    static int got[TRESSE_NODES][TRESSE_NODES];
    for (int a = 0; a < TRESSE_NODES; a++)
        for (int phase = 0; phase < TRESSE_PHASES; phase++)
            for (int nic = 0; nic < TRESSE_NICS; nic++) {
                int b = tresse_send_to[a][phase][nic];
                if (b < 0)
                    continue;
                int to = TRESSE_NIC(tresse_tuple[a][b], nic);
                if (to == 0 || tresse_receive_from[b][phase][to - 1] != a || got[a][b]++)
                    return printf(\"%s to %s in phase %d\\n\", tresse_node[a], tresse_node[b], phase), 1;
            }
    for (int a = 0; a < TRESSE_NODES; a++)
        for (int b = 0; b < TRESSE_NODES; b++)
            if (got[a][b] != (a != b))
                return printf(\"%s to %s: %d times\\n\", tresse_node[a], tresse_node[b], got[a][b]), 1;
    printf(\"%d phases, %zu bytes a node\\n\", TRESSE_PHASES, sizeof tresse_tuple[0]);
    return 0;
}
";

#[test]
fn a_c_program_reads_the_header() {
    let directory = tempfile::tempdir().unwrap();
    let table = klat2(directory.path());
    let at = |name: &str| directory.path().join(name);
    let header = at("schedule.h");
    tresse(["schedule", &table, "--header", header.to_str().unwrap()]).exits(0);
    fs::write(at("read.c"), PROGRAM).unwrap();
    let compiled = Command::new("cc")
        .args(["-Wall", "-Wextra", "-Werror", "-std=c99", "-o"])
        .args([at("read"), at("read.c")])
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let said = Command::new(at("read")).output().unwrap();
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    // flat-neighborhood-network-compiler, section 3.3: 128 bytes for a node of KLAT2.
    assert!(said.ends_with(" phases, 128 bytes a node\n"), "{said}");
}

#[test]
fn what_cannot_be_scheduled_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let refused = |args: &[&str], code: i32, words: &str| {
        let ran = tresse([&["schedule"], args].concat()).exits(code);
        assert!(ran.stderr.contains(words), "{args:?}: {}", ran.stderr);
    };
    refused(&["configs/mesh16.toml"], 3, "are for flat neighbourhoods");
    let flat = "configs/flat24.toml";
    refused(&[flat, "--pattern", "diagonal"], 2, "permutation:FILE");
    refused(&[flat, "--pattern", "rows"], 2, "24 nodes make no rows of 4");
    tresse(["schedule", flat, "--pattern", "rows", "--row", "6"]).exits(0);
    for (lines, words) in [
        ("n00 n01\nn01", ":2: found 1 words"),
        ("n00 n99", ":1: the cluster has no node `n99`"),
        ("n00 n00", "no message to itself"),
        ("n00 n01\nn02 n01", ":2: `n01` receives twice"),
    ] {
        fs::write(at("pairs"), lines).unwrap();
        let pattern = format!("permutation:{}", at("pairs"));
        refused(&[flat, "--pattern", &pattern], 3, words);
    }
}

/// A spare waits, and one in the place of a node is on no switch of the table.
#[test]
fn spares_are_no_part_of_a_pattern() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("cluster.toml");
    let head = "[fabric]\ntopology = { kind = \"fnn\", wiring = \"0: 0 1 2\\n1: 0 1 2\", uplink = \"u0\", \
                spares = [\"x\"] }\n";
    let in_service = format!("{head}[[node]]\nname = \"x\"\nreplaces = \"n1\"\n");
    for (text, code) in [(head, 0), (&in_service, 1)] {
        fs::write(&file, text).unwrap();
        let args = ["schedule", file.to_str().unwrap(), "--pattern", "all-to-all", "--json"];
        let run = tresse(args).exits(code);
        if code == 0 {
            assert_eq!(run.object()["messages"], 6);
        } else {
            assert!(run.stderr.contains("`n0` and `n1` share no switch"), "{}", run.stderr);
        }
    }
}
