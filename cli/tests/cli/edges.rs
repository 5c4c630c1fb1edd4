//! The edges: usage, closed pipes, what shells and `man` are given, this host's NICs.

use std::io::Read;
use std::process::{Command, Stdio};

use crate::run::{has, root, tresse};

#[test]
fn a_wrong_command_line_exits_with_2() {
    let file = "configs/torus16.toml";
    for args in [
        &[][..],
        &["knit"],
        &["check"],
        &["check", file, "--fast"],
        &["plan", file, "--node", "n99"],
        &["paths", file, "--from", "n99"],
        &["trace", file, "n00", "n99"],
        &["trace", file, "n00", "n00"],
        &["apply", file, "--confirm", "soon"],
        &["apply", file, "--confirm", "60s", "--dry-run"],
        &["unfuse", "4095"],
        &["completion", "word-processor"],
    ] {
        let ran = tresse(args).exits(2);
        assert!(ran.stdout.is_empty() && !ran.stderr.is_empty(), "{args:?}");
    }
}

/// What `check` refuses is not handed to switches or nodes either.
#[test]
fn a_plan_with_violations_goes_nowhere() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("cluster.toml");
    let text = std::fs::read_to_string(root().join("configs/torus16.toml")).unwrap();
    let text = text + "\n[[switch]]\nname = \"s[00-15]\"\nmax_vlans = 4\n";
    std::fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    let said = tresse(["check", file]).exits(1).stdout;
    assert!(
        said.contains("VIOLATION: too-many-vlans s00: the plan needs 9 VLANs, 5 more"),
        "{said}"
    );
    for args in [&["export", file, "ios"][..], &["lab", "up", file]] {
        let ran = tresse(args).exits(1);
        assert!(ran.stdout.is_empty(), "{}", ran.stdout);
        assert!(ran.stderr.contains("VIOLATION: too-many-vlans s00"), "{}", ran.stderr);
        assert!(ran.stderr.contains("and 6 more: see `tresse check`"), "{}", ran.stderr);
        assert!(ran.stderr.contains("has 16 violations"), "{}", ran.stderr);
    }
    assert!(!directory.path().join("out").exists());
}

/// For the time of a change switches have the VLANs of both plans.
#[test]
fn exports_can_keep_the_plan_before() {
    let (new, old) = ("configs/torus16-pdor.toml", "configs/torus16.toml");
    let vlans = |args: &[&str]| -> Vec<String> {
        let text = tresse(args).exits(0).stdout;
        let all = text.lines().filter(|l| l.starts_with("vlan ") || l.starts_with(" name tresse-"));
        all.map(Into::into).collect()
    };
    let before = vlans(&["export", old, "ios", "s00"]);
    let both = vlans(&["export", new, "ios", "s00", "--keep", old]);
    assert!(before.len() >= 16 && before.iter().all(|line| both.contains(line)), "{both:?}");
    assert!(both.len() > before.len(), "{both:?}");
    let told = tresse(["export", new, "hosts", "--keep", old]).exits(2).stderr;
    assert!(told.contains("`hosts` is no switch configuration"), "{told}");
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    for args in [
        &["paths", "configs/torus16-2nic.toml"][..],
        &["paths", "configs/torus16-2nic.toml", "--json"],
        &["plan", "configs/torus16-2nic.toml", "--json"],
        &["export", "configs/torus16-2nic.toml", "iproute2"],
        &["schema"],
        &["completion", "bash"],
    ] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tresse"))
            .current_dir(root())
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let mut words = String::new();
        child.stderr.take().unwrap().read_to_string(&mut words).unwrap();
        assert_eq!((child.wait().unwrap().code(), words.as_str()), (Some(0), ""), "{args:?}");
    }
}

#[test]
fn completions_and_pages_know_every_verb() {
    let verbs = ["trace", "export", "apply", "unfuse", "macs"];
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = tresse(["completion", shell]).exits(0).stdout;
        assert!(verbs.iter().all(|verb| script.contains(verb)), "{shell}");
    }
    let directory = tempfile::tempdir().unwrap();
    tresse(["man", directory.path().to_str().unwrap()]).exits(0);
    for verb in verbs {
        assert!(directory.path().join(format!("tresse-{verb}.1")).exists(), "{verb}");
    }
    assert!(directory.path().join("tresse.1").exists());
    assert!(!directory.path().join("tresse-man.1").exists());
}

#[test]
fn macs_gives_a_block_and_the_same_as_json() {
    let host = tresse(["macs", "--name", "n07", "--json"]).exits(0).object();
    assert_eq!(host["name"], "n07");
    let text = tresse(["macs", "--name", "n07"]).exits(0).stdout;
    assert!(text.starts_with("[[node]]\nname = \"n07\"\nnics = [\n"), "{text}");
    for nic in host["nics"].as_array().unwrap() {
        has(nic, "name mac rate master");
        assert!(text.contains(nic["mac"].as_str().unwrap()), "{text}");
    }
}

#[test]
fn a_lock_is_written_where_it_is_asked_for_and_read_back() {
    let directory = tempfile::tempdir().unwrap();
    let lock = directory.path().join("new.lock");
    let lock = lock.to_str().unwrap();
    let plan = |more: &[&str]| {
        let args = ["plan", "configs/torus16.toml", "--lock", lock, "--json"];
        tresse(args.iter().chain(more)).exits(0).object()
    };
    let first = plan(&["--write-lock"]);
    assert_eq!(plan(&[])["vlans"], first["vlans"]);
}
