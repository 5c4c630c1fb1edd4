//! Carries out the section "Changing a running fabric" of the operator guide in a lab.

use std::collections::HashSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use tresse_tests::program;

use super::lab::{Lab, eventually};

pub const TESTS: &[(&str, fn())] = &[("routed_the_guide_is_carried_out", is_carried_out)];

const GUIDE: &str = include_str!("../../../docs/operator-guide.md");
const SECTION: &str = "## Changing a running fabric\n";

/// A command of the guide.
#[derive(Debug, Default)]
struct Step {
    /// The node that it runs on; empty: the operator's host.
    node: String,
    command: String,
    exit_code: i32,
    /// Lines that it prints, among others.
    lines: Vec<String>,
}

/// The commands of the section, which stand behind a prompt, with the lines below them.
fn steps() -> Vec<Step> {
    let section = GUIDE.split(SECTION).nth(1).unwrap().split("\n## ").next().unwrap();
    let mut steps: Vec<Step> = Vec::new();
    for line in section.lines().filter_map(|line| line.strip_prefix("    ")) {
        match (line.split_once("$ "), steps.last_mut()) {
            (Some((node, command)), _) if !node.contains(' ') => {
                let (command, code) = command.split_once(" # exit code ").unwrap_or((command, "0"));
                let exit_code = code.split(':').next().unwrap().parse().unwrap();
                let (node, command) = (node.into(), command.into());
                steps.push(Step { node, command, exit_code, lines: Vec::new() });
            }
            (_, Some(step)) => step.lines.push(line.into()),
            _ => panic!("no command before `{line}`"),
        }
    }
    steps
}

/// Puts an `ssh` into a directory that reaches the nodes of a lab.
fn stand_in(directory: &Path, lab: &str) {
    let ssh = directory.join("ssh");
    let text = format!(
        "#!/bin/sh\nshift 10\nnode=$1\nshift\nexec tresse lab exec --name {lab} \"$node\" -- sh -c \"$*\"\n"
    );
    std::fs::write(&ssh, text).unwrap();
    std::fs::set_permissions(&ssh, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn is_carried_out() {
    let lab = Lab::up(include_str!("../../../configs/ring-4.toml"), &[]);
    eventually("in sync", 60, || lab.in_sync());
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    stand_in(path, &lab.directory.name);
    std::fs::write(path.join("cluster.toml"), &lab.now.text).unwrap();
    std::fs::write(path.join("tresse.lock"), lab.now.lock.emit()).unwrap();
    let programs = program::tresse();
    let programs = programs.parent().unwrap().display();
    let search = format!("{}:{programs}:{}", path.display(), std::env::var("PATH").unwrap());
    let steps = steps();
    assert!(steps.len() > 10, "{steps:?}");
    for step in steps {
        let mut command = match step.node.as_str() {
            "" => Command::new("bash"),
            node => {
                let mut command = Command::new("tresse");
                command.args(["lab", "exec", "--name", &lab.directory.name, node, "--", "bash"]);
                command
            }
        };
        command.args(["-c", &step.command]).env("PATH", &search).current_dir(path);
        let output = command.output().unwrap();
        let (out, err) = (&output.stdout, &output.stderr);
        let said = String::from_utf8_lossy(out) + String::from_utf8_lossy(err);
        assert_eq!(output.status.code(), Some(step.exit_code), "{step:?}: {said}");
        for line in &step.lines {
            assert!(is_said(line, &said), "no `{line}` of {step:?}: {said}");
        }
    }
}

/// Whether a line of the guide was printed. Of `n[0-3]: changed` it is enough that each of the nodes
/// stands before these words in some line: how nodes share lines is a matter of when each got there.
fn is_said(line: &str, said: &str) -> bool {
    let said: Vec<&str> = said.lines().map(str::trim_end).collect();
    let Some((nodes, words)) = nodes_of(line) else { return said.contains(&line) };
    let same = said.iter().filter_map(|it| nodes_of(it)).filter(|it| it.1 == words);
    let who: HashSet<String> = same.flat_map(|it| it.0).collect();
    !nodes.is_empty() && nodes.iter().all(|node| who.contains(node))
}

/// The nodes before the colon of a line such as `n[0-1,3]: changed`, and the words behind it.
fn nodes_of(line: &str) -> Option<(Vec<String>, &str)> {
    let (nodes, words) = line.split_once(": ")?;
    Some((tresse_base::hostlist::expand(nodes).ok()?, words))
}
