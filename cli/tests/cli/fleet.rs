//! Verbs for all nodes, through a stand-in for `ssh`.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;

use crate::run::{Ran, tresse, tresse_with};

const FILE: &str = "configs/ring-3.toml";

/// Runs with an `ssh` that is this script.
fn by_ssh(script: &str, args: &[&str]) -> Ran {
    let directory = tempfile::tempdir().unwrap();
    let ssh = directory.path().join("ssh");
    std::fs::write(&ssh, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&ssh, Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", directory.path().display(), std::env::var("PATH").unwrap());
    tresse_with(args, &[("PATH", &path)])
}

#[test]
fn nodes_that_ssh_does_not_reach_are_named() {
    let refuses = "echo \"${11}: Permission denied (publickey).\" >&2; exit 255";
    let ran = by_ssh(refuses, &["rollout", FILE, "--json"]).exits(4);
    let reported = ran.object();
    assert_eq!(reported["done"], false);
    let nodes = reported["nodes"].as_array().unwrap();
    assert_eq!(nodes.len(), 3);
    for node in nodes {
        let error = node["error"].as_str().unwrap();
        let words = format!("{}: Permission denied (publickey).", node["node"].as_str().unwrap());
        assert!(error.contains(&words), "{error}");
    }
    assert!(ran.stderr.contains("nothing was changed"), "{}", ran.stderr);

    let ran = by_ssh(refuses, &["drain", "n0-n1", "--all", FILE]).exits(1);
    assert!(ran.stdout.contains("Permission denied"), "{}", ran.stdout);
    assert!(ran.stderr.contains("nothing was drained"), "{}", ran.stderr);
}

#[test]
fn what_is_no_daemon_is_not_believed() {
    for script in ["exit 0", "echo '{}'", "printf '{\"parameters\":{}}\\0'; cat >/dev/null"] {
        let ran = by_ssh(script, &["rollout", FILE]).exits(4);
        assert!(ran.stdout.contains("n0: "), "{}", ran.stdout);
    }
}

#[test]
fn nodes_that_are_left_out_must_exist() {
    let ran = tresse(["rollout", FILE, "--except", "n9"]).exits(2);
    assert!(ran.stderr.contains("no node `n9`"), "{}", ran.stderr);
}
