//! FRR's BFD daemon at the other end of our sessions (RFC 5881): it runs in a node's namespace, in the place of
//! the node's `tressed`, whose routes stay in the kernel.

use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use serde_json::Value;
use tempfile::TempDir;
use tresse_fabric::id::NodeId;

use crate::Tests;
use crate::lab::{Lab, eventually};
use crate::transit::daemon;

pub const TESTS: Tests = &[("routed_bfd_frr_answers_and_finds_what_we_find", answers)];

/// Two nodes with two switches in common, and so two paths of one segment.
const PAIR: &str = "[fabric]\ntopology = { kind = \"fnn\", wiring = \"0: 0 1\\n1: 0 1\\n\" }\n";

fn answers() {
    let lab = Lab::up(PAIR, &["--bfd-ms", "100"]);
    let (ours, theirs) = (NodeId(0), NodeId(1));
    let up = |wanted: u32| {
        let status = lab.status(ours)?;
        if (status.sessions_up, status.broken.len()) == (wanted, 2 - wanted as usize) {
            Ok(())
        } else {
            Err(format!("{} up, {:?} broken", status.sessions_up, status.broken))
        }
    };
    eventually("two sessions between our own", 60, || up(2));
    kill(daemon(&format!("/{}/tressed.toml", lab.now.node(theirs))), Signal::SIGTERM).unwrap();

    let frr = Frr::start(&lab, theirs, ours);
    let states = |wanted: [&str; 2]| {
        let found = frr.states();
        if found == wanted { Ok(()) } else { Err(format!("{found:?} {}", frr.log())) }
    };
    eventually("FRR has both sessions up", 60, || states(["up", "up"]));
    eventually("and so have we", 60, || up(2));

    let nic = format!("{}:eth0", lab.now.node(theirs));
    assert!(lab.verb(&["fail", "--silent", &nic]).1);
    eventually("FRR has lost one", 10, || states(["down", "up"]));
    eventually("and so have we", 10, || up(1));
    assert!(lab.verb(&["heal", &nic]).1);
    eventually("FRR has both sessions up again", 60, || states(["up", "up"]));
    eventually("and so have we", 60, || up(2));
}

/// Its daemons; killed when dropped.
struct Frr {
    directory: TempDir,
    daemons: Vec<Child>,
}

impl Frr {
    /// Starts zebra, which tells interfaces, and bfdd with a session to `peer` over each NIC of `node`.
    fn start(lab: &Lab, node: NodeId, peer: NodeId) -> Self {
        let directory = tempfile::tempdir().unwrap();
        // They become user frr.
        set_permissions(directory.path(), Permissions::from_mode(0o777)).unwrap();
        let sessions = ["eth0", "eth1"].map(|nic| {
            format!(
                " peer {} local-address {} interface {nic}\n  detect-multiplier 3\n  receive-interval 100\n  \
                 transmit-interval 100\n exit\n",
                lab.address(peer),
                lab.address(node)
            )
        });
        let mut frr = Self { directory, daemons: Vec::new() };
        frr.daemon(lab, node, "zebra", "");
        eventually("zebra listens", 30, || exists(&frr.directory.path().join("zserv")));
        frr.daemon(lab, node, "bfdd", &format!("bfd\n{}exit\n", sessions.concat()));
        eventually("bfdd listens", 30, || exists(&frr.directory.path().join("bfdd.vty")));
        frr
    }

    fn daemon(&mut self, lab: &Lab, node: NodeId, name: &str, config: &str) {
        let at = |file: &str| self.directory.path().join(file).display().to_string();
        let file = at(&format!("{name}.conf"));
        std::fs::write(&file, config).unwrap();
        let log = std::fs::File::create(at(&format!("{name}.log"))).unwrap();
        let mut command = Command::new(format!("/usr/lib/frr/{name}"));
        command.args(["-f", &file, "-z", &at("zserv")]);
        command.args(["-i", &at(&format!("{name}.pid")), "--vty_socket", &at(""), "-P", "0"]);
        if name == "bfdd" {
            command.args(["--bfdctl", &at("bfdd.ctl")]);
        }
        let log = command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        self.daemons.push(lab.inside(lab.now.node(node), || log.spawn().unwrap()));
    }

    /// Of its sessions, by interface.
    fn states(&self) -> Vec<String> {
        let mut vtysh = Command::new("vtysh");
        vtysh.arg("--vty_socket").arg(self.directory.path());
        let output = vtysh.args(["-d", "bfdd", "-c", "show bfd peers json"]).output().unwrap();
        let mut peers: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap_or_default();
        peers.sort_by_key(|peer| peer["interface"].to_string());
        peers.iter().map(|peer| peer["status"].as_str().unwrap_or_default().to_owned()).collect()
    }

    fn log(&self) -> String {
        let read = |name| std::fs::read_to_string(self.directory.path().join(name));
        ["zebra.log", "bfdd.log"].map(|name| read(name).unwrap_or_default()).concat()
    }
}

impl Drop for Frr {
    fn drop(&mut self) {
        for daemon in &mut self.daemons {
            // It may have ended by itself.
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

fn exists(path: &Path) -> Result<(), String> {
    if path.exists() { Ok(()) } else { Err(format!("no {}", path.display())) }
}
