//! `tresse up` on machines that are cabled and have daemons, and nothing else: one command makes a running fabric of them.

use std::time::{Duration, Instant};

use tresse_tests::pace;
use tresse_tests::program;

use crate::lab::Lab;
use crate::suite::Tests;

pub const TESTS: Tests = &[
    ("routed_bare_machines_in_a_ring_are_brought_up", || comes_up(RING)),
    ("routed_bare_machines_of_a_p_mesh_are_brought_up", || comes_up(P_MESH)),
    ("routed_bare_machines_cabled_at_random_are_brought_up", || comes_up(CABLED)),
    ("routed_bare_machines_of_a_flat_neighbourhood_are_brought_up", || comes_up(FLAT)),
    ("routed_bare_machines_stay_bare_where_one_is_forgotten", forgotten),
];

const RING: &str = "[fabric]\ntopology = { kind = \"ring\", nodes = 4 }\n";
const P_MESH: &str = "[fabric]\ntopology = { kind = \"pmesh\", dims = [3, 3] }\n";
const CABLED: &str = include_str!("../../../configs/cabled-7.toml");
const FLAT: &str = "[fabric]\ntopology = { kind = \"fnn\", wiring = \"0: 0 1 2\\n1: 2 3 4\\n2: 4 5 0\\n\
                    3: 1 3 5\\n\" }\n";

/// Nobody types all names right at three in the morning: a host that is cabled but not named is noticed, whether it has
/// said who it is or not, before anything is written.
fn forgotten() {
    let lab = Lab::up(RING, &["--bare"]);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cluster.toml");
    let to = ["--launcher", "netns", "--lab", lab.name()];
    let up = |nodes: &[&str]| {
        let file = path.display().to_string();
        program::last_line(&[&["up", "--yes", "-o", &file], &to[..], nodes].concat())
    };
    for words in ["has carrier, and nothing says where its cable ends", "ends at the host "] {
        let said = up(&["n0", "n1", "n3"]).unwrap_err();
        assert!(said.contains(words) && said.contains("a host missing"), "{said}");
        assert!(!path.exists());
        program::output(&[&["discover"], &to[..], &["n[0-3]"]].concat()).unwrap();
    }
    up(&["n[0-3]"]).unwrap();
    let said = up(&["n[0-4]"]).unwrap_err();
    assert!(said.contains("n4 is no node of "), "{said}");
}

/// Within a minute, with nothing typed but one command, every node reaches every other; a second run changes nothing.
fn comes_up(text: &str) {
    let lab = Lab::up(text, &["--bare", "--bfd-ms", "300"]);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cluster.toml").display().to_string();
    let nodes: Vec<&str> = lab.now.nodes().map(|node| lab.now.node(node)).collect();
    let up = ["up", "--yes", "--launcher", "netns", "--lab", lab.name(), "-o", &path];
    let up = [&up[..], &nodes].concat();
    let began = Instant::now();
    let output = program::run(&up);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let took = began.elapsed();
    assert!(took < Duration::from_secs(60).mul_f64(pace::slowness()), "{took:?}");
    for node in &nodes {
        let words = ["wait", "--all", "--timeout", "20"].map(str::to_owned);
        let output = lab.command(node, &words).output().unwrap();
        assert!(output.status.success(), "{node}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let written = std::fs::read_to_string(&path).unwrap();
    assert!(program::run(&up).status.success());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), written);
    // And taken down by one.
    program::output(&["withdraw", "--all", &path, "--launcher", "netns", "--lab", lab.name()])
        .unwrap();
    for node in &nodes {
        for ours in ["ip route show proto 78", "ip -6 route show proto 78"] {
            assert_eq!(lab.run(node, ours), "", "{node}: {ours}");
        }
        let rules = lab.run(node, "ip rule show");
        assert_eq!(rules.lines().count(), 3, "{node}: those of the kernel alone\n{rules}");
        assert!(!lab.run(node, "ip -o link show").contains("alias tresse"), "{node}");
    }
}
