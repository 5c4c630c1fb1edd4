//! Runs the daemons of FRR (a routing suite) in the network namespace of one node of a lab.

use std::fs::{File, Permissions, set_permissions, write};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use tresse_lab::netns;

/// The FRR daemons (a routing suite) of one node of a lab; killed when dropped.
#[derive(Debug)]
pub struct Frr {
    netns: String,
    directory: TempDir,
    daemons: Vec<Child>,
}

impl Frr {
    /// None yet, in this namespace.
    ///
    /// # Errors
    /// No directory for their files.
    pub fn new(netns: &str) -> Result<Self, String> {
        let directory = tempfile::tempdir().map_err(|e| e.to_string())?;
        // They become user frr.
        set_permissions(directory.path(), Permissions::from_mode(0o777))
            .map_err(|e| e.to_string())?;
        Ok(Self { netns: netns.into(), directory, daemons: Vec::new() })
    }

    /// Starts `zebra`, which tells the others of interfaces and comes first, or `bfdd`, `ospfd`, `fabricd`.
    ///
    /// # Errors
    /// It is not installed, or does not listen within a minute: what it said.
    pub fn start(&mut self, name: &str, config: &str) -> Result<(), String> {
        self.daemons.push(self.spawn(name, config).map_err(|e| format!("{name} of FRR: {e}"))?);
        let listens = self.directory.path().join(format!("{name}.vty"));
        for _ in 0..1200 {
            if listens.exists() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Err(format!("{name} does not start: {}", self.log()))
    }

    fn spawn(&self, name: &str, config: &str) -> io::Result<Child> {
        let at = |file: &str| self.directory.path().join(file);
        let file = at(&format!("{name}.conf"));
        write(&file, config)?;
        let log = File::create(at(&format!("{name}.log")))?;
        let mut command = Command::new(format!("/usr/lib/frr/{name}"));
        command.arg("-f").arg(&file).arg("-z").arg(at("zserv"));
        command.arg("-i").arg(at(&format!("{name}.pid")));
        command.arg("--vty_socket").arg(at("")).args(["-P", "0"]);
        if name == "bfdd" {
            command.arg("--bfdctl").arg(at("bfdd.ctl"));
        }
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        netns::inside(&self.netns, || command.spawn()).map_err(io::Error::other)?
    }

    /// Tells a daemon that was started what else it is to do.
    ///
    /// # Errors
    /// What it does not understand.
    pub fn configure(&self, name: &str, config: &str) -> Result<(), String> {
        let file = self.directory.path().join(format!("{name}.more"));
        write(&file, config).map_err(|e| e.to_string())?;
        let mut vtysh = Command::new("vtysh");
        vtysh.arg("--vty_socket").arg(self.directory.path()).args(["-d", name, "-f"]).arg(&file);
        let output = vtysh.output().map_err(|e| format!("vtysh: {e}"))?;
        match output.status.success() {
            true => Ok(()),
            false => Err(format!("{name}: {}", String::from_utf8_lossy(&output.stderr).trim())),
        }
    }

    /// Of its BFD sessions: interface and state, in order.
    ///
    /// # Errors
    /// `vtysh` does not run.
    pub fn sessions(&self) -> Result<Vec<(String, String)>, String> {
        let mut vtysh = Command::new("vtysh");
        vtysh.arg("--vty_socket").arg(self.directory.path());
        let output = vtysh.args(["-d", "bfdd", "-c", "show bfd peers json"]).output();
        let output = output.map_err(|e| format!("vtysh: {e}"))?;
        let peers: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let text = |peer: &Value, key: &str| peer[key].as_str().unwrap_or_default().to_owned();
        let mut states: Vec<_> =
            peers.iter().map(|peer| (text(peer, "interface"), text(peer, "status"))).collect();
        states.sort();
        Ok(states)
    }

    /// What its daemons said.
    #[must_use]
    pub fn log(&self) -> String {
        let read =
            |name: &str| std::fs::read_to_string(self.directory.path().join(format!("{name}.log")));
        ["zebra", "bfdd", "ospfd", "fabricd"].map(|name| read(name).unwrap_or_default()).concat()
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
