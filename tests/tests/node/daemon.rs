//! One `tressed` on one node, started, killed and asked by the tests.

use std::fs::OpenOptions;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};

use tresse_control::{ApplyRequest, Client, Status};
use tresse_tests::program;

use crate::judge::{eventually, inside};
use crate::rig::Rig;

/// How a daemon is configured and started.
pub struct Setup {
    /// Name the cluster file in the configuration?
    pub configured: bool,
    /// Prove VLANs first (K5)?
    pub canary: bool,
    /// Lines added to `tressed.toml`.
    pub more: String,
    /// Kill itself after this many steps.
    pub die_at: Option<u32>,
    /// Where its state is, if not in the node's directory.
    pub state: Option<PathBuf>,
}

impl Default for Setup {
    fn default() -> Self {
        Self { configured: true, canary: true, more: String::new(), die_at: None, state: None }
    }
}

impl Setup {
    /// A daemon that waits for an apply.
    pub fn idle() -> Self {
        Self { configured: false, ..Self::default() }
    }
}

/// A running daemon; killed when dropped.
pub struct Daemon {
    child: Child,
    socket: PathBuf,
    log: PathBuf,
}

impl Daemon {
    /// Starts the daemon of a node.
    pub fn start(rig: &Rig, node: usize, setup: &Setup) -> Self {
        let home = rig.home(node);
        let (socket, log) = (home.join("control"), home.join("log"));
        let mut text = format!(
            "node = \"n{node}\"\nsocket = {socket:?}\nstate_dir = {:?}\ncanary = {}\n{}",
            setup.state.clone().unwrap_or_else(|| home.join("state")),
            setup.canary,
            setup.more
        );
        if setup.configured {
            text += &format!("\ncluster = {:?}\n", rig.cluster_file());
        }
        std::fs::write(home.join("tressed.toml"), text).unwrap();
        let file = OpenOptions::new().create(true).append(true).open(&log).unwrap();
        // The socket of one that was killed answers nobody.
        let _ = std::fs::remove_file(&socket);
        let mut command = inside(&rig.node(node));
        command.arg(program::tressed()).arg("--config").arg(home.join("tressed.toml"));
        if let Some(steps) = setup.die_at {
            command.env("TRESSED_DIE_AT", steps.to_string());
        }
        command.stdin(Stdio::null()).stdout(file.try_clone().unwrap()).stderr(file);
        Self { child: command.spawn().unwrap(), socket, log }
    }

    /// Daemons with the cluster file on every node, in sync.
    pub fn all(rig: &Rig, nodes: usize) -> Vec<Self> {
        let mut all: Vec<_> = (0..nodes).map(|n| Self::start(rig, n, &Setup::default())).collect();
        all.iter_mut().for_each(|daemon| drop(daemon.in_sync()));
        all
    }

    /// A connection, as soon as it listens.
    pub fn client(&mut self) -> Client {
        let Self { child, socket, log } = self;
        eventually("the daemon listens", || {
            if let Some(status) = child.try_wait().unwrap() {
                panic!("the daemon ended ({status}): {}", std::fs::read_to_string(&*log).unwrap());
            }
            Client::connect(&*socket).map_err(|e| e.to_string())
        })
    }

    /// Waits until the kernel holds all of the plan, every VLAN proven.
    pub fn in_sync(&mut self) -> Status {
        let mut client = self.client();
        eventually("in sync", || {
            let status = client.status().map_err(|e| e.to_string())?;
            let whole = status.in_sync
                && status.generation.is_some()
                && status.pending.is_empty()
                && status.unproven.is_empty()
                && status.activity == "idle";
            if whole { Ok(status) } else { Err(format!("{status:?}")) }
        })
    }

    /// SIGKILL.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// SIGTERM, and how it ended.
    pub fn stop(mut self) -> ExitStatus {
        self.signal("TERM");
        self.end()
    }

    /// Sends a signal.
    pub fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let status = Command::new("kill").args(["-s", name, &pid]).status().unwrap();
        assert!(status.success());
    }

    /// Waits for its end.
    pub fn end(&mut self) -> ExitStatus {
        eventually("the daemon ends", || self.child.try_wait().unwrap().ok_or("runs".to_owned()))
    }

    /// All that it said, and those before it on this node.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Parameters of an apply of this cluster file.
pub fn request(cluster: &str) -> ApplyRequest {
    ApplyRequest { cluster: cluster.into(), ..ApplyRequest::default() }
}
