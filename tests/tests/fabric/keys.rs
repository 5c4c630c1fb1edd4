//! Nodes that sign what they send to each other, how their keys are changed, and what those can do who have no key or
//! have recorded packets.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use tempfile::TempDir;
use tresse_base::id::NodeId;
use tresse_control::Client;
use tresse_frame::announce::{Announcement, AnnouncementKind};
use tresse_tests::program;

use crate::cables::send;
use crate::lab::{Lab, eventually};
use crate::robust::daemon::{N0, start, stop};
use crate::routed::silent;
use crate::silent::whole;
use crate::suite::Tests;

pub const TESTS: Tests = &[
    ("routed_keys_are_changed_while_all_nodes_speak", changed),
    ("routed_keys_keep_out_who_has_none", keep_out),
    ("routed_keys_outlive_daemons", outlive_daemons),
    ("routed_keys_in_an_open_file_are_refused", open_file),
];

const OLD: &str = "1f0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
const NEW: &str = "2f0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
const MESH: &str = "[fabric]\ntopology = { kind = \"full-mesh\", nodes = 4 }\n";

/// A lab whose nodes all read one file of keys.
struct Signed {
    lab: Lab,
    directory: TempDir,
}

impl Signed {
    fn up(lines: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("fabric.key");
        write(&path, lines);
        let path = path.display().to_string();
        let lab = Lab::up(MESH, &["--bfd-ms", "300", "--key", &path]);
        eventually("in sync, all sessions up", 60, || whole(&lab));
        Self { lab, directory }
    }

    /// Puts other lines into the file, and has one node after the other read it; all pairs speak after each.
    fn change(&self, lines: &[&str]) {
        write(&self.directory.path().join("fabric.key"), lines);
        let signs = lines[0] != "none";
        let wanted = match (signs, lines.contains(&"none")) {
            (true, false) => "required",
            (false, true) if lines.len() == 1 => "none",
            _ => "optional",
        };
        for node in self.lab.now.nodes() {
            kill(self.lab.daemon(self.lab.now.node(node)), Signal::SIGHUP).unwrap();
            eventually("the keys are read", 10, || match self.lab.status(node)?.authentication {
                now if now == wanted => Ok(()),
                now => Err(now),
            });
        }
        let (status, _) = self.lab.verb(&["exec", "n0", "--", "tresse", "status"]);
        let told = status.lines().filter_map(|line| line.strip_prefix("packets between nodes: "));
        let told: Vec<&str> = told.collect();
        let words = match wanted {
            "required" => "signed, others are not taken",
            "optional" => "those without a tag are TAKEN TOO",
            _ => "not signed",
        };
        assert_eq!(told, [words]);
        // More than the detection time: who is not understood falls silent.
        std::thread::sleep(Duration::from_millis(1500));
        whole(&self.lab).unwrap_or_else(|state| panic!("{lines:?}: {state:?}"));
        for node in self.lab.now.nodes() {
            assert_eq!(self.counter(node, "path_changes_total"), 0, "{lines:?}");
        }
    }

    fn counter(&self, node: NodeId, name: &str) -> u64 {
        let counters = self.lab.client(node).counters().unwrap().counters;
        counters.iter().filter(|line| line.name == name).map(|line| line.value).sum()
    }
}

fn write(path: &Path, lines: &[&str]) {
    let new = path.with_extension("new");
    let _ = fs::remove_file(&new);
    fs::write(&new, lines.join("\n")).unwrap();
    fs::set_permissions(&new, Permissions::from_mode(0o400)).unwrap();
    fs::rename(new, path).unwrap();
}

/// The steps of the guide: keys are introduced, changed and taken away, and no session ends.
fn changed() {
    let signed = Signed::up(&["none"]);
    for lines in [
        &["none", OLD][..],
        &[OLD, "none"],
        &[OLD],
        &[OLD, NEW],
        &[NEW, OLD],
        &[NEW],
        &[NEW, "none"],
        &["none", NEW],
        &["none"],
    ] {
        signed.change(lines);
    }
    assert_eq!(silent(&signed.lab), []);
}

/// The packets of BFD that a neighbour sends, recorded on its wire, played again, and, without a checksum (RFC 768), with
/// another state of the session.
const REPLAY: &str = "
import socket, sys, time
nic, port = sys.argv[1], 3784
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
s.bind((nic, 0))
frames, end = [], time.time() + 3
s.settimeout(0.2)
while time.time() < end:
    try:
        frame, at = s.recvfrom(2000)
    except TimeoutError:
        continue
    if at[2] == 4 and frame[12:14] == b'\\x08\\x00' and frame[23] == 17 and frame[36:38] == b'\\x0e\\xc8':
        frames.append(frame)
print(len(frames))
for n in range(20):
    for frame in frames:
        s.send(frame)
        s.send(frame[:40] + bytes([0, 0, frame[42], frame[43] ^ 0x40]) + frame[44:])
    time.sleep(0.05)
";

/// Whoever has no key, but the wire: replayed packets, forged ones, announcements that would fuse a VLAN.
fn keep_out() {
    let signed = Signed::up(&[OLD]);
    let Signed { lab, .. } = &signed;
    let [victim, beside] = [NodeId(0), NodeId(1)];
    let hops = lab.now.plan.layout().unwrap().neighbours(beside);
    let hop = hops.into_iter().find(|hop| hop.to == victim).unwrap();
    let nic = lab.now.plan.cluster().node(beside).nics[hop.nic].name.clone();
    let output = lab.inside(lab.now.node(beside), || {
        Command::new("python3").args(["-c", REPLAY, &nic]).output().unwrap()
    });
    let recorded = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let recorded: u64 = recorded.trim().parse().unwrap();
    assert!(recorded > 5, "{recorded}");
    let counted =
        || ["bfd_replayed_total", "bfd_unsigned_total"].map(|name| signed.counter(victim, name));
    eventually("all were dropped", 10, || match counted() {
        counted if counted.iter().all(|count| *count >= recorded * 15) => Ok(()),
        counted => Err(counted),
    });
    assert_eq!(signed.counter(victim, "path_changes_total"), 0);

    // An announcement of nobody.
    let announcement = Announcement {
        kind: AnnouncementKind::Canary,
        vid: None,
        node: beside,
        fabric: [0; 8],
        sequence: 1,
        plan: [0; 8],
    };
    let source = lab.now.plan.cluster().node(beside).nics[hop.nic].mac;
    let forge = || send(lab, lab.now.node(beside), &nic, &announcement.emit(source));
    forge();
    eventually("it was dropped", 10, || {
        match signed.counter(victim, "announcements_unsigned_total") {
            0 => Err(0),
            _ => Ok(()),
        }
    });
    // Who looks for the reason is told, as long as it goes on.
    assert!(!doctor_warns_of_keys(lab, victim));
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                forge();
                std::thread::sleep(Duration::from_millis(50));
            }
        });
        let warned = doctor_warns_of_keys(lab, victim);
        is_done.store(true, Ordering::Relaxed);
        assert!(warned);
    });
    whole(lab).unwrap();
    assert_eq!(silent(lab), []);
}

fn doctor_warns_of_keys(lab: &Lab, node: NodeId) -> bool {
    let (name, file) = (lab.now.node(node), lab.cluster_file(&lab.now));
    let words = ["--json", "doctor", "--local", "--node", name, &file].map(str::to_owned);
    let mut doctor = lab.command(name, &words);
    let output = doctor.env("TRESSE_SOCKET", lab.directory.socket(name)).output().unwrap();
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut findings = answer["findings"].as_array().unwrap().iter();
    findings.any(|finding| finding["check"] == "keys" && finding["verdict"] == "warning")
}

/// A daemon that was ended, killed, or whose plan was withdrawn and comes back, is understood again.
fn outlive_daemons() {
    let signed = Signed::up(&[OLD]);
    let lab = &signed.lab;
    let again = |child: Option<Child>| {
        match child {
            None => stop(lab, Signal::SIGTERM),
            Some(mut child) => {
                child.kill().unwrap();
                child.wait().unwrap();
            }
        }
        let child = start(lab);
        let socket = lab.directory.socket("n0");
        eventually("it answers", 30, || Client::connect(&socket).map(drop));
        eventually("all sessions are up again", 60, || whole(lab));
        child
    };
    let mut child = again(Some(again(None)));
    lab.client(N0).withdraw(true).unwrap();
    lab.apply(N0, &lab.now);
    eventually("all sessions are up after a withdrawal", 60, || whole(lab));
    assert_eq!(silent(lab), []);
    let Signed { lab, directory } = signed;
    drop(lab);
    child.wait().unwrap();
    drop(directory);
}

/// Exit code 3, and the file is named.
fn open_file() {
    let directory = tempfile::tempdir().unwrap();
    let [key, config] = ["fabric.key", "tressed.toml"].map(|name| directory.path().join(name));
    write(&key, &[OLD]);
    fs::set_permissions(&key, Permissions::from_mode(0o440)).unwrap();
    fs::write(&config, format!("key_file = {key:?}\nstate_dir = {:?}\n", directory.path()))
        .unwrap();
    let output = Command::new(program::tressed()).arg("--config").arg(&config).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("fabric.key: mode 0440, expected 0400"), "{said}");
}
