//! Plans that nobody confirms, that cannot be kept or read, or are of another host.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::sys::signal::Signal;
use tresse_base::id::NodeId;
use tresse_control::Client;
use tresse_plan::lock::Lock;
use tresse_tests::program;

use super::daemon::{N0, RING, log, routes, start, stop, up};
use crate::lab::{Lab, Planned, eventually};
use crate::routed::silent;

/// Another plan for the same ring.
fn other() -> Planned {
    let text = format!("{RING}[addressing]\nnodes = \"10.99.0.0/16\"\n");
    Planned::new(&text, &Lock::default())
}

/// `tresse apply --confirm` is killed at any moment of it, as by a login that ends: nobody confirms.
pub fn cut_off() {
    let lab = up();
    let (before, file) = (routes(&lab), lab.cluster_file(&other()));
    let mut changed = 0;
    for delay_ms in [0, 2, 4, 8, 16, 32, 64, 500] {
        let mut command = Command::new(program::tresse());
        command.args(["apply", &file, "--confirm", "3s"]).stdout(Stdio::null());
        let mut client = command.env("TRESSE_SOCKET", lab.directory.socket("n0")).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(delay_ms));
        client.kill().unwrap();
        client.wait().unwrap();
        changed += usize::from(armed(&lab, &before));
        eventually("the old plan is back", 10, || match routes(&lab) == before {
            true => Ok(()),
            false => Err("other routes"),
        });
        assert_eq!(lab.status(N0).unwrap().generation.as_deref(), Some(lab.now.plan.generation()));
    }
    assert!(changed > 0);
    eventually("in sync", 10, || lab.in_sync());
    assert_eq!(silent(&lab), []);
}

/// Has the call of a client that is gone changed the plan, and does it wait for a confirm? What the kernel
/// holds has to agree with what the daemon says, at several looks in a row: the call may be under way.
fn armed(lab: &Lab, before: &BTreeSet<String>) -> bool {
    let (mut seen, mut ever) = (Vec::new(), false);
    eventually("routes and status agree", 20, || {
        let status = lab.status(N0)?;
        let armed = status.confirm_seconds.is_some();
        let agree = status.activity == "idle" && armed == (routes(lab) != *before);
        // The time to confirm may have ended between the two.
        if agree && lab.status(N0)?.confirm_seconds.is_some() == armed {
            // On a slow machine the time to confirm ends within the looks: then they begin anew.
            if seen.last().is_some_and(|last| *last != armed) {
                seen.clear();
            }
            seen.push(armed);
            ever |= armed;
        } else {
            seen.clear();
        }
        if seen.len() >= 8 { Ok(()) } else { Err(format!("{seen:?} {status:?}")) }
    });
    ever
}

/// A small file system at n0's state directory, with the state in it.
struct Small(String);

impl Small {
    fn at(lab: &Lab) -> Self {
        let directory = lab.directory.node("n0").join("state");
        let state = std::fs::read(directory.join("state.json")).unwrap();
        let small = Self(directory.display().to_string());
        let mount = ["-t", "tmpfs", "-o", "size=1m,mode=755", "tressed", &small.0];
        assert!(Command::new("mount").args(mount).status().unwrap().success());
        std::fs::write(directory.join("state.json"), state).unwrap();
        small
    }

    /// Writes until nothing fits any more, or takes that away.
    fn fill(&self, full: bool) {
        let filler = format!("{}/filler", self.0);
        match full {
            true => assert!(std::fs::write(&filler, vec![1; 2 << 20]).is_err()),
            false => std::fs::remove_file(&filler).unwrap(),
        }
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        // A daemon may still have it open.
        let _ = Command::new("umount").args(["--lazy", &self.0]).status();
    }
}

pub fn full_disk() {
    let lab = up();
    let before = routes(&lab);
    let other = other();
    let small = Small::at(&lab);
    small.fill(true);
    let refused = lab.client(N0).apply(&lab.request(&other, None)).unwrap_err().to_string();
    assert!(refused.contains("No space left") && refused.contains("free space there"), "{refused}");
    assert_eq!(lab.status(N0).unwrap().generation.as_deref(), Some(lab.now.plan.generation()));
    assert_eq!(routes(&lab), before);
    assert_eq!(silent(&lab), []);
    // What was good can still be read.
    stop(&lab, Signal::SIGKILL);
    let mut child = start(&lab);
    eventually("in sync", 30, || match Client::connect(lab.directory.socket("n0")) {
        Ok(_) => lab.in_sync(),
        Err(error) => Err(error.to_string()),
    });
    small.fill(false);
    lab.apply(N0, &other);
    lab.apply(N0, &lab.now);
    eventually("in sync", 30, || lab.in_sync());
    drop((small, lab));
    child.wait().unwrap();
}

pub fn unreadable_state() {
    let lab = up();
    let before = routes(&lab);
    let file = lab.directory.node("n0").join("state/state.json");
    stop(&lab, Signal::SIGTERM);
    let good = std::fs::read_to_string(&file).unwrap();
    let half = &good[..good.len() / 2];
    let older = good.replacen("\"format\":1", "\"format\":0", 1);
    for (content, words) in [(half, "state.json.bak"), (&older, "withdraw with the older version")]
    {
        std::fs::write(&file, content).unwrap();
        let status = start(&lab).wait().unwrap();
        assert!(!status.success());
        let log = log(&lab);
        assert!(log.contains("state.json") && log.contains(words), "{log}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), content);
        assert_eq!(routes(&lab), before);
    }
    assert_eq!(silent(&lab), []);
    std::fs::write(&file, &good).unwrap();
    let mut child = start(&lab);
    eventually("in sync", 30, || match Client::connect(lab.directory.socket("n0")) {
        Ok(_) => lab.in_sync(),
        Err(error) => Err(error.to_string()),
    });
    drop(lab);
    child.wait().unwrap();
}

/// The MACs of another host, and a fabric that does not have this one.
pub fn of_another_host() {
    let lab = up();
    let other =
        "[[node]]\nname = \"n3\"\nnics = [{ name = \"eth0\", mac = \"02:00:00:00:99:00\" }]\n";
    let smaller = RING.replace("nodes = 4", "nodes = 3");
    for (text, words) in [(RING.to_owned() + other, "02:00:00:00:99:00"), (smaller, "no node `n3`")]
    {
        let request = tresse_control::ApplyRequest { cluster: text, ..Default::default() };
        let refused = lab.client(NodeId(3)).apply(&request).unwrap_err().to_string();
        assert!(refused.contains(words), "{refused}");
        let status = lab.status(NodeId(3)).unwrap();
        assert_eq!(status.generation.as_deref(), Some(lab.now.plan.generation()));
    }
    lab.in_sync().unwrap();
    assert_eq!(silent(&lab), []);
}
