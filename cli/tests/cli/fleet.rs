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
    let ran = tresse(["rollout", FILE, "--except", "n[0-2]"]).exits(2);
    assert!(ran.stderr.contains("names every node"), "{}", ran.stderr);
}

/// The remedy fits the failure: a daemon that was not asked is not said to be down.
#[test]
fn what_keeps_ssh_from_a_node_has_its_own_remedy() {
    for (words, remedy) in [
        ("ssh: Could not resolve hostname n0: Name or service not known", "a name that ssh knows"),
        ("Host key verification failed.", "by hand and accept the key"),
        ("n0: Permission denied (publickey).", "authorized_keys"),
        ("sh: 1: tresse: not found", "install tresse on n0"),
    ] {
        let fails = format!("echo '{words}' >&2; exit 255");
        let ran = by_ssh(&fails, &["rollout", FILE]).exits(4);
        assert!(ran.stdout.contains(words) && ran.stdout.contains(remedy), "{}", ran.stdout);
        assert!(!ran.stdout.contains("systemctl"), "{}", ran.stdout);
        let ran = by_ssh(&fails, &["copy", FILE, "n0:/etc/hostname"]).exits(1);
        assert!(ran.stderr.contains(words) && ran.stderr.contains(remedy), "{}", ran.stderr);
    }
    // The other end knows best.
    let other = "echo 'tresse: cannot reach tressed: is it running?\n  help: start it' >&2";
    let ran = by_ssh(other, &["rollout", FILE]).exits(4);
    assert_eq!(ran.stdout.matches("help: ").count(), 3, "{}", ran.stdout);
}

#[test]
fn a_lab_or_a_launcher_that_is_not_there_is_named() {
    let nowhere = [("PATH", "/nonexistent")];
    let ran = tresse_with(["rollout", FILE, "--launcher", "srun"], &nowhere).exits(4);
    assert!(ran.stdout.contains("srun comes with Slurm"), "{}", ran.stdout);
    let ran = tresse_with(["copy", FILE, "n0:/etc/hostname"], &nowhere).exits(1);
    assert!(ran.stderr.contains("install the OpenSSH client"), "{}", ran.stderr);
    let lab = ["--launcher", "netns", "--lab", "no-such-lab"];
    let ran = tresse(["rollout", FILE].iter().chain(&lab)).exits(4);
    assert!(ran.stdout.contains("`tresse lab up FILE --name no-such-lab`"), "{}", ran.stdout);
}

#[test]
fn the_manual_launcher_is_offered_where_it_works() {
    for verb in ["rollout", "drain", "undrain", "discover"] {
        let help = tresse([verb, "--help"]).exits(0).stdout;
        assert!(help.contains("netns") && !help.contains("manual"), "{verb}: {help}");
    }
    for verb in ["copy", "scatter", "gather", "allgather"] {
        let help = tresse([verb, "--help"]).exits(0).stdout;
        assert!(help.contains("manual"), "{verb}: {help}");
    }
    for args in [
        &["rollout", FILE][..],
        &["drain", "s0", "--all", FILE],
        &["undrain", "s0", "--all", FILE],
        &["discover", "n0"],
    ] {
        let ran = tresse(args.iter().chain(&["--launcher", "manual"])).exits(2);
        assert!(ran.stderr.contains("[possible values: ssh, srun, netns]"), "{}", ran.stderr);
    }
}
