//! `discover` and `remap` with tables that were pasted.

use std::fs;

use crate::run::{Ran, tresse};

/// Two switches with a cable, and one more that both lead to.
const S0: &str = "Device ID           Local Intf     Hold-time  Capability      Port ID\n\
    s1                  Gi1/0/1        120        B               Gi1/0/1\n\
    core                Gi1/0/48       120        B               Gi1/0/3\n";
const S1: &str = "Device ID           Local Intf     Hold-time  Capability      Port ID\n\
    s0                  Gi1/0/1        120        B               Gi1/0/1\n\
    core                Gi1/0/47       120        B               Gi1/0/4\n";

fn pasted() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("s0.txt"), S0).unwrap();
    fs::write(directory.path().join("s1.txt"), S1).unwrap();
    directory
}

fn discover(directory: &tempfile::TempDir, more: &[&str]) -> Ran {
    let from = directory.path().to_str().unwrap();
    tresse(["discover", "--switches", from].iter().chain(more))
}

#[test]
fn ports_into_another_network_are_left_out_and_named() {
    let directory = pasted();
    let all = discover(&directory, &["--json"]).exits(0).object();
    assert_eq!(all["cables"].as_array().unwrap().len(), 3);
    for without in ["core", "s0:48,s1:Gi1/0/47", "core:[3-4]"] {
        let drafted = discover(&directory, &["--json", "--without", without]).exits(0).object();
        assert_eq!(drafted["cables"].as_array().unwrap().len(), 1, "{drafted}");
        let left_out = drafted["left_out"].to_string();
        assert!(
            left_out.contains("s0 port Gi1/0/48, which leads to core port Gi1/0/3"),
            "{left_out}"
        );
        let text = drafted["cluster"].as_str().unwrap();
        assert!(text.contains("# left out: s1 port Gi1/0/47") && !text.contains("name = \"core\""));
    }
    let ran = discover(&directory, &["--without", "s7:1"]).exits(2);
    assert!(ran.stderr.contains("--without `s7:1`: no switch `s7` was seen"), "{}", ran.stderr);
}

#[test]
fn what_is_no_file_is_named_and_not_waited_for() {
    let directory = pasted();
    let pipe = directory.path().join("s2");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let ran = discover(&directory, &[]).exits(3);
    assert!(ran.stderr.contains("s2: it is a pipe, not a file"), "{}", ran.stderr);
}

/// No node answers, the wires have changed: there is a draft, and no rollout to nobody.
#[test]
fn without_an_answer_no_rollout_is_proposed() {
    let directory = pasted();
    let file = directory.path().join(".cluster.toml");
    let node = |k: u32| {
        format!(
            "[[node]]\nname = \"n{k}\"\nnics = [{{ name = \"eth0\", mac = \"02:00:00:00:00:0{k}\", switch = \"s{k}\", port = 9 }}]\n"
        )
    };
    let text = format!(
        "[fabric]\ntopology = {{ kind = \"explicit\" }}\n[[link]]\na = \"s0:2\"\nb = \"s1:2\"\n\
         [[switch]]\nname = \"s[0-1]\"\n{}{}",
        node(0),
        node(1)
    );
    fs::write(&file, text).unwrap();
    let (file, from) = (file.to_str().unwrap(), directory.path().to_str().unwrap());
    let lab = ["--launcher", "netns", "--lab", "no-such-lab"];
    let args = ["remap", file, "--switches", from, "--without", "core"];
    let ran = tresse(args.iter().chain(&lab)).exits(1);
    let out = &ran.stdout;
    assert!(out.contains("moved: cable s0:2 - s1:2 is s0:1 - s1:1 now"), "{out}");
    assert!(out.contains("left out: core with all its ports"), "{out}");
    assert!(out.contains("tresse check") && !out.contains("tresse rollout"), "{out}");
    assert!(
        out.contains("no node answers, so there is none to roll out to; look first at n0: "),
        "{out}"
    );
}
