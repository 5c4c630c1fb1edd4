//! Text as it is shown, kept in `tests/golden`; `TRESSE_BLESS=1` rewrites it.

use std::path::Path;

use crate::run::tresse;

const FILE: &str = "configs/torus16.toml";

#[track_caller]
fn golden(name: &str, args: &[&str]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    let reported = tresse(args).exits(0).stdout;
    // A plan's digest changes with every new key of the cluster file.
    let reported = match reported.split_once("generation ") {
        Some((before, after)) => format!("{before}generation <digest>{}", &after[16..]),
        None => reported,
    };
    if std::env::var_os("TRESSE_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &reported).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(reported, expected, "{}: read it, then TRESSE_BLESS=1", path.display());
}

#[test]
fn check_torus16() {
    golden("check-torus16.txt", &["check", FILE]);
}

#[test]
fn paths_torus16() {
    golden("paths-torus16.txt", &["paths", FILE, "--from", "n00", "--to", "n11"]);
}

#[test]
fn trace_torus16() {
    golden("trace-torus16.txt", &["trace", FILE, "n00", "n11"]);
}

/// A backup on the second NIC.
#[test]
fn trace_torus16_2nic() {
    golden("trace-torus16-2nic.txt", &["trace", "configs/torus16-2nic.toml", "n00", "n11"]);
}

/// What no path crosses, and what it is for.
#[test]
fn check_of_an_uplink() {
    golden("check-flat-uplink.txt", &["check", "configs/flat-uplink.toml"]);
}

/// Weighted siblings through reflectors.
#[test]
fn clique_with_reflectors() {
    const FILE: &str = "configs/clique-reflect.toml";
    golden("check-clique-reflect.txt", &["check", FILE]);
    golden("trace-clique-reflect.txt", &["trace", FILE, "n00", "n04"]);
}

/// The test bed of the P-Mesh paper: what the failure of one switch costs, and which line is where.
#[test]
fn p_mesh_on_two_switches() {
    const FILE: &str = "configs/pmesh-4x4-two-switches.toml";
    golden("check-pmesh-two-switches.txt", &["check", FILE]);
    golden("plan-pmesh-two-switches.txt", &["plan", FILE]);
}
