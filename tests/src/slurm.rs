//! Runs Slurm (a job scheduler) on the nodes of a lab: its controller on the first node, and on all
//! nodes `slurmd` and `munged`, by which the daemons authenticate each other.

use std::fs::{self, File, Permissions};
use std::io;
use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tresse_lab::netns;

/// So long all may take to be idle.
const READY: Duration = Duration::from_secs(180);

/// A node of a lab on which Slurm (a job scheduler) runs: its name, network namespace and address.
#[derive(Debug, Clone)]
pub struct Node {
    /// As in the cluster file.
    pub name: String,
    /// Its namespace.
    pub netns: String,
    /// Where the others reach it.
    pub address: IpAddr,
}

/// All Slurm daemons of a lab; killed when dropped.
#[derive(Debug)]
pub struct Slurm {
    directory: TempDir,
    first: Node,
    daemons: Vec<Child>,
}

impl Slurm {
    /// Starts it on these nodes, and waits until all are idle.
    ///
    /// # Errors
    /// What is not installed, or what the daemons said where that takes longer than three minutes.
    pub fn start(nodes: &[Node]) -> Result<Self, String> {
        let first = nodes.first().ok_or("Slurm: no nodes")?.clone();
        let directory = tempfile::tempdir().map_err(|e| format!("Slurm: {e}"))?;
        let mut slurm = Self { directory, first, daemons: Vec::new() };
        slurm.begin(nodes).map_err(|e| format!("Slurm: {e}"))?;
        let deadline = Instant::now() + READY;
        loop {
            let idle = slurm.command("sinfo").args(["-h", "-t", "idle", "-o", "%D"]).output();
            let idle = idle.map_err(|e| format!("sinfo: {e}"))?.stdout;
            if String::from_utf8_lossy(&idle).trim() == nodes.len().to_string() {
                return Ok(slurm);
            }
            if Instant::now() > deadline {
                return Err(format!("Slurm does not start: {}", slurm.log()));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// A program on the first node, which knows this Slurm.
    #[must_use]
    pub fn command(&self, program: &str) -> Command {
        on(&self.first, program, &self.at("slurm.conf"))
    }

    fn begin(&mut self, nodes: &[Node]) -> io::Result<()> {
        let key = self.at("munge.key");
        fs::write(&key, [7; 64])?;
        fs::set_permissions(&key, Permissions::from_mode(0o600))?;
        fs::write(self.at("slurm.conf"), self.config(nodes))?;
        let mut munged = Command::new("munged");
        // It would rather not be root's, nor below a directory that others may write to.
        munged.args(["--foreground", "--force"]);
        for (option, file) in [
            ("socket", "munge"),
            ("key-file", "munge.key"),
            ("pid-file", "munge.pid"),
            ("seed-file", "munge.seed"),
        ] {
            munged.arg(format!("--{option}={}", self.at(file).display()));
        }
        self.spawn(munged, "munged")?;
        let deadline = Instant::now() + Duration::from_secs(60);
        while !self.at("munge").exists() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(20));
        }
        fs::create_dir(self.at("state"))?;
        let mut controller = self.command("slurmctld");
        controller.arg("-D");
        self.spawn(controller, "slurmctld")?;
        for node in nodes {
            fs::create_dir(self.at(&format!("spool-{}", node.name)))?;
            let mut slurmd = on(node, "slurmd", &self.at("slurm.conf"));
            slurmd.args(["-D", "-N", &node.name]);
            self.spawn(slurmd, &format!("slurmd-{}", node.name))?;
        }
        Ok(())
    }

    fn config(&self, nodes: &[Node]) -> String {
        let at = self.directory.path().display();
        let (first, address) = (&self.first.name, self.first.address);
        let mut config = format!(
            "ClusterName=lab\nSlurmctldHost={first}({address})\nSlurmUser=root\nAuthType=auth/munge\n\
             AuthInfo=socket={at}/munge\nCredType=cred/munge\nMpiDefault=none\nProctrackType=proctrack/linuxproc\n\
             TaskPlugin=task/none\nSelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\nReturnToService=2\n\
             StateSaveLocation={at}/state\nSlurmdSpoolDir={at}/spool-%n\nSlurmctldPidFile={at}/slurmctld.pid\n\
             SlurmdPidFile={at}/slurmd-%n.pid\nSlurmdParameters=config_overrides\n"
        );
        for Node { name, address, .. } in nodes {
            config += &format!("NodeName={name} NodeHostname={name} NodeAddr={address} CPUs=2\n");
        }
        config + "PartitionName=all Nodes=ALL Default=YES State=UP OverSubscribe=YES:64\n"
    }

    fn spawn(&mut self, mut command: Command, name: &str) -> io::Result<()> {
        let log = File::create(self.at(&format!("{name}.log")))?;
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let child = command.spawn().map_err(|e| io::Error::new(e.kind(), format!("{name}: {e}")));
        self.daemons.push(child?);
        Ok(())
    }

    fn at(&self, file: &str) -> PathBuf {
        self.directory.path().join(file)
    }

    /// What its daemons said.
    #[must_use]
    pub fn log(&self) -> String {
        let files = fs::read_dir(self.directory.path()).into_iter().flatten().flatten();
        let logs =
            files.map(|file| file.path()).filter(|path| path.extension() == Some("log".as_ref()));
        let read = |path: PathBuf| {
            let text = fs::read_to_string(&path).unwrap_or_default();
            format!("{}:\n{text}", path.display())
        };
        logs.map(read).collect()
    }
}

/// On a node, with its name as the host's.
fn on(node: &Node, program: &str, config: &Path) -> Command {
    let mut command = Command::new("nsenter");
    command.arg(format!("--net={}", netns::path(&node.netns).display()));
    command.args([
        "unshare",
        "--uts",
        "sh",
        "-c",
        r#"hostname "$0"; exec "$@""#,
        &node.name,
        program,
    ]);
    command.env("SLURM_CONF", config);
    command
}

impl Drop for Slurm {
    fn drop(&mut self) {
        for daemon in &mut self.daemons {
            // It may have ended by itself.
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}
