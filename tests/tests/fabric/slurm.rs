//! `tresse copy` whose members Slurm starts: the real one, on the nodes of a lab.

use std::process::Stdio;

use nix::sys::signal::Signal;
use tresse_tests::program;
use tresse_tests::slurm::{Node, Slurm};

use crate::collective::{Files, P_MESH, Running, ended, signal_member, summary};
use crate::lab::Lab;
use crate::suite::Tests;

pub const TESTS: Tests = &[("routed_copy_by_members_that_slurm_starts", members)];

fn members() {
    let lab = Lab::up(P_MESH, &["--rate", "40M"]);
    let files = Files::new(&lab, 8_000_000);
    let node = |node| Node {
        name: lab.now.node(node).to_owned(),
        netns: lab.directory.netns(lab.now.node(node)),
        address: lab.address(node),
    };
    let nodes: Vec<Node> = lab.now.nodes().map(node).collect();
    let slurm = Slurm::start(&nodes).unwrap();
    let copy = |more: &[&str]| {
        let tresse = program::tresse();
        let path = std::env::var("PATH").unwrap();
        let mut command = slurm.command(tresse.to_str().unwrap());
        command.env("PATH", format!("{}:{path}", tresse.parent().unwrap().display()));
        command.args(files.arguments(&lab, &files.usual(more), "srun"));
        Running::start(command, Stdio::null())
    };
    let one = copy(&[]);
    files.wait_for_a_part("n4", 30);
    signal_member(&lab, "n4", Signal::SIGKILL);
    let lines = one.exits(1);
    assert_eq!(summary(&lines)["missed"], serde_json::json!(["n4"]));
    let failed = ended(&lines).find(|line| line["node"] == "n4").unwrap();
    assert!(failed["error"].as_str().is_some_and(|words| words.contains("srun")), "{failed}");
    copy(&["--to", "n4"]).exits(0);
    (1..9).for_each(|node| files.whole(&format!("n{node}")));
    let left = slurm.command("squeue").arg("-h").output().unwrap();
    assert!(left.status.success() && left.stdout.is_empty(), "{left:?}");
}
