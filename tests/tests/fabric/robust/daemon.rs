//! The ring of four nodes of these tests, and the daemon of its first node: ended, started again, looked into.

use std::collections::BTreeSet;
use std::process::{Child, Command};

use nix::sys::signal::{Signal, kill};
use tresse_base::id::NodeId;
use tresse_lab::run;
use tresse_tests::program;

use crate::lab::{Lab, eventually};
use crate::routed::silent;
use crate::silent::whole;

pub const RING: &str = "[fabric]\ntopology = { kind = \"ring\", nodes = 4 }\n";
pub const N0: NodeId = NodeId(0);

pub fn up() -> Lab {
    let lab = Lab::up(RING, &["--bfd-ms", "300"]);
    eventually("in sync, all sessions up", 60, || whole(&lab));
    assert_eq!(silent(&lab), []);
    lab
}

fn config(lab: &Lab) -> String {
    lab.directory.node("n0").join("tressed.toml").display().to_string()
}

pub fn signal(lab: &Lab, signal: Signal) {
    kill(lab.daemon("n0"), signal).unwrap();
}

/// Ends n0's daemon, and waits until it is gone.
pub fn stop(lab: &Lab, by: Signal) {
    signal(lab, by);
    let socket = lab.directory.socket("n0");
    let gone = || match tresse_control::Client::connect(&socket) {
        Ok(_) => Err("it still answers"),
        Err(_) => Ok(()),
    };
    eventually("n0's daemon has ended", 10, gone);
}

/// Starts n0's daemon again; it ends with the lab.
pub fn start(lab: &Lab) -> Child {
    let log = lab.directory.node("n0").join("log");
    let log = std::fs::File::options().append(true).open(log).unwrap();
    let mut command = Command::new(program::tressed());
    command.arg("--config").arg(config(lab)).stdout(log.try_clone().unwrap()).stderr(log);
    lab.inside("n0", || command.spawn().unwrap())
}

pub fn log(lab: &Lab) -> String {
    std::fs::read_to_string(lab.directory.node("n0").join("log")).unwrap()
}

pub fn batch(lab: &Lab, lines: &str) {
    run::batch(Some(&lab.directory.netns("n0")), "ip", lines).unwrap();
}

/// The routes that n0's daemon installed, known by their protocol number.
pub fn routes(lab: &Lab) -> BTreeSet<String> {
    let all = lab.run("n0", "ip -4 -N route show table all proto 78");
    all.lines().map(str::to_owned).collect()
}
