//! The lab of the soak test: it is built and removed with `tresse lab`, its daemons are killed and
//! started, and its plan is changed as an operator does it.

use std::cell::RefCell;
use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tresse_base::random::Random;
use tresse_control::{ApplyRequest, Client};
use tresse_lab::netns;
use tresse_lab::ping::{self, PingOptions};
use tresse_lab::state::Directory;
use tresse_plan::Plan;
use tresse_plan::lock::Lock;

use super::load::Station;
use crate::program;
use crate::switches;

const NAME: &str = "soak";
/// How long a change or a repair may take; the machine may be an emulated one under load.
const PATIENCE: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(200);

/// A plan with the texts that make it.
#[derive(Debug)]
struct Planned {
    strategy: String,
    plan: Plan,
    text: String,
    lock: Lock,
}

/// The running lab of the soak test, and the plan that is installed in it; the lab is removed when
/// dropped.
#[derive(Debug)]
pub struct Lab {
    directory: Directory,
    now: Planned,
    started: Vec<Child>,
    deeds: RefCell<Vec<(Instant, String)>>,
}

impl Lab {
    /// Builds it.
    ///
    /// # Errors
    /// What `tresse lab up` said, which is also on standard error.
    pub fn up(strategy: &str) -> Result<Self, String> {
        let directory = Directory::of(NAME).map_err(|e| e.to_string())?;
        let now = planned(strategy, &Lock::default())?;
        let file = scratch();
        std::fs::write(&file, &now.text).map_err(|e| format!("{}: {e}", file.display()))?;
        let (path, tressed) = (file.display().to_string(), program::tressed());
        let tressed = tressed.display().to_string();
        // From here on whatever there is of it is removed.
        let lab = Self { directory, now, started: Vec::new(), deeds: RefCell::default() };
        let args = ["lab", "up", &path, "--name", NAME, "--tressed", &tressed];
        let up = program::output(&[&args[..], &["--announce-seconds", "3"]].concat());
        let _ = std::fs::remove_file(file);
        print!("{}", up?);
        Ok(lab)
    }

    /// What was done since the last call, and when.
    pub fn deeds(&self) -> Vec<(Instant, String)> {
        self.deeds.take()
    }

    pub(super) fn note(&self, deed: String) {
        self.deeds.borrow_mut().push((Instant::now(), deed));
    }

    /// The strategy in force.
    #[must_use]
    pub fn strategy(&self) -> &str {
        &self.now.strategy
    }

    /// All nodes, in order.
    #[must_use]
    pub fn nodes(&self) -> Vec<String> {
        self.now.plan.cluster().nodes.iter().map(|n| n.name.clone()).collect()
    }

    /// All nodes with their addresses.
    #[must_use]
    pub fn stations(&self) -> Vec<Station> {
        let nodes = self.now.plan.cluster().nodes.iter().zip(&self.now.plan.addresses().node);
        nodes
            .map(|(node, addresses)| Station {
                name: node.name.clone(),
                netns: self.directory.netns(&node.name),
                address: addresses[0],
            })
            .collect()
    }

    /// Everything that `tresse lab fail` can break: switches, and both kinds of cables.
    #[must_use]
    pub fn breakable(&self) -> Vec<String> {
        let cluster = self.now.plan.cluster();
        let switches = cluster.switches.iter().map(|s| s.name.clone());
        let nics = cluster.nodes.iter().flat_map(|node| {
            node.nics.iter().map(move |nic| format!("{}:{}", node.name, nic.name))
        });
        let links = cluster
            .links
            .iter()
            .map(|link| format!("{}:{}", cluster.switch(link.a.switch).name, link.a.port));
        switches.chain(nics).chain(links).collect()
    }

    /// `tresse lab VERB ARGS`.
    ///
    /// # Errors
    /// Any exit code other than 0.
    pub fn verb(&self, args: &[&str]) -> Result<(), String> {
        self.note(args.join(" "));
        program::output(&[&["lab"], args, &["--name", NAME]].concat()).map(drop)
    }

    /// The node's daemon.
    ///
    /// # Errors
    /// There is none, or more than one process.
    pub fn daemon(&self, node: &str) -> Result<i32, String> {
        match netns::processes(&self.directory.netns(node))[..] {
            [pid] => Ok(pid),
            ref other => Err(format!("{node}: expected one process, its daemon; found {other:?}")),
        }
    }

    /// kill -9.
    ///
    /// # Errors
    /// There is no daemon, or it does not end.
    pub fn kill(&mut self, node: &str) -> Result<(), String> {
        let pid = self.daemon(node)?;
        self.note(format!("kill -9 of {node}"));
        kill(Pid::from_raw(pid), Signal::SIGKILL).map_err(|e| format!("kill {pid}: {e}"))?;
        eventually(|| {
            // One that we started stays a zombie until it is asked for.
            self.started.retain_mut(|child| !matches!(child.try_wait(), Ok(Some(_))));
            match netns::processes(&self.directory.netns(node)).is_empty() {
                true => Ok(()),
                false => Err(format!("{node}: its daemon outlives SIGKILL")),
            }
        })
    }

    /// Starts the node's daemon as the lab did.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(&mut self, node: &str) -> Result<(), String> {
        self.note(format!("start {node}"));
        let own = self.directory.node(node);
        let fault = |e: std::io::Error| format!("start the daemon of {node}: {e}");
        let log = File::options().append(true).open(own.join("log")).map_err(fault)?;
        let mut command = Command::new(program::tressed());
        command.arg("--config").arg(own.join("tressed.toml")).current_dir(&own);
        command.stdin(Stdio::null()).stderr(log.try_clone().map_err(fault)?).stdout(log);
        let child = netns::inside(&self.directory.netns(node), || command.spawn());
        self.started.push(child.map_err(|e| e.to_string())?.map_err(fault)?);
        Ok(())
    }

    /// Changes the plan under traffic: the switches get the new VLANs, then the nodes the plan one
    /// after the other, and the switches lose the old VLANs once no node has them. `between` comes
    /// after each node but the last.
    ///
    /// # Errors
    /// What refused.
    pub fn change(
        &mut self,
        strategy: &str,
        random: &mut Random,
        mut between: impl FnMut(&mut Self, &mut Random) -> Result<(), String>,
    ) -> Result<(), String> {
        let next = planned(strategy, &self.now.lock)?;
        switches::keep(&self.directory, &self.now.plan, &next.plan).map_err(|e| e.to_string())?;
        let old = std::mem::replace(&mut self.now, next);
        let mut nodes = self.nodes();
        random.shuffle(&mut nodes);
        for (k, node) in nodes.iter().enumerate() {
            if k > 0 {
                between(self, random)?;
            }
            self.apply(node)?;
        }
        self.note("every node has the plan".into());
        self.settled()?;
        self.note("every node is settled".into());
        switches::settle(&self.directory, &old.plan, &self.now.plan).map_err(|e| e.to_string())
    }

    fn apply(&self, node: &str) -> Result<(), String> {
        let (cluster, lock) = (self.now.text.clone(), Some(self.now.lock.emit()));
        let request = ApplyRequest { cluster, lock, ..ApplyRequest::default() };
        self.note(format!("apply on {node}"));
        // A daemon that was killed a moment ago may still be starting.
        eventually(|| {
            let mut client = Client::connect(self.directory.socket(node));
            let client = client.as_mut().map_err(|e| format!("{node}: {e}"))?;
            client.apply(&request).map(drop).map_err(|e| format!("apply on {node}: {e}"))
        })
    }

    /// The node's daemon, to be asked.
    ///
    /// # Errors
    /// It does not listen.
    pub fn client(&self, node: &str) -> Result<Client, String> {
        Client::connect(self.directory.socket(node)).map_err(|e| format!("{node}: {e}"))
    }

    /// Waits until every node is in sync with the plan, and nothing waits, is fused or unproven.
    ///
    /// # Errors
    /// The last thing that was not so.
    pub fn settled(&self) -> Result<(), String> {
        let planned = |node: &str| {
            let id = self.now.plan.cluster().node_named(node).expect("a node of the plan");
            tresse_slice::Slice::of(&self.now.plan, id).interfaces.len()
        };
        for node in self.nodes() {
            let planned = planned(&node);
            eventually(|| self.is_settled(&node, planned))?;
        }
        Ok(())
    }

    fn is_settled(&self, node: &str, interfaces: usize) -> Result<(), String> {
        let client = Client::connect(self.directory.socket(node));
        let status = client.and_then(|mut client| client.status());
        let status = status.map_err(|e| format!("{node}: {e}"))?;
        let open = status.pending.is_empty() && status.unproven.is_empty();
        let ours = status.generation.as_deref() == Some(self.now.plan.generation());
        let whole = status.fused.is_empty() && status.fault.is_none() && status.backup.is_empty();
        if !(status.in_sync && open && ours && whole) {
            return Err(format!("{node}: {status:?}"));
        }
        // Until every peer has moved, the interfaces of the plan before are kept.
        let found = tresse_lab::run::read(
            &self.directory.netns(node),
            "ip",
            &["-br", "link", "show", "type", "vlan"],
            "",
        );
        let found = found.map_err(|e| e.to_string())?;
        match found.iter().filter(|byte| **byte == b'\n').count() {
            count if count == interfaces => Ok(()),
            count => Err(format!("{node} has {count} VLAN interfaces, planned are {interfaces}")),
        }
    }

    /// `tresse status` on one node says that it is in sync.
    ///
    /// # Errors
    /// It says something else.
    pub fn status(&self, node: &str) -> Result<(), String> {
        let socket = self.directory.socket(node).display().to_string();
        program::output(&["status", "--socket", &socket]).map(drop)
    }

    /// Waits until every ordered pair answers one `ping`.
    ///
    /// # Errors
    /// The pairs that do not.
    pub fn answers(&self) -> Result<usize, String> {
        let record = self.directory.load_up().map_err(|e| e.to_string())?;
        let options = PingOptions { wait: Duration::from_secs(2), ..PingOptions::default() };
        let mut pairs = 0;
        eventually(|| {
            let report =
                ping::ping(&self.directory, &record, &options).map_err(|e| e.to_string())?;
            pairs = report.pairs;
            let silent = report.failed;
            if silent.is_empty() { Ok(()) } else { Err(format!("no answer: {silent:?}")) }
        })?;
        Ok(pairs)
    }

    /// The last lines of every daemon's log, for a person.
    pub fn show_logs(&self) {
        const LINES: usize = 15;
        for node in self.nodes() {
            let log = std::fs::read_to_string(self.directory.node(&node).join("log"));
            let log = log.unwrap_or_default();
            let lines: Vec<&str> = log.lines().collect();
            eprintln!("-- log of {node}");
            lines[lines.len().saturating_sub(LINES)..].iter().for_each(|line| eprintln!("{line}"));
        }
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = program::output(&["lab", "down", "--name", NAME]);
    }
}

fn scratch() -> PathBuf {
    std::env::temp_dir().join(format!("tresse-soak-{}.toml", std::process::id()))
}

fn planned(strategy: &str, lock: &Lock) -> Result<Planned, String> {
    let text = format!(
        "[fabric]\nname = \"soak\"\n\
         topology = {{ kind = \"torus\", dims = [3, 2], nics_per_node = 2 }}\n\
         [routing]\nstrategy = \"{strategy}\"\npaths = 2\n\
         [vlans]\nrange = \"100-199\"\n\
         [addressing]\nnodes = \"10.77.0.0/16\"\nnics = \"10.78.0.0/16\"\n"
    );
    let cluster = tresse_cluster::parse(&text, "cluster.toml").map_err(|e| e.to_string())?;
    let plan = Plan::build_with(cluster, lock).map_err(|e| e.to_string())?;
    let lock = plan.lock(lock);
    Ok(Planned { strategy: strategy.into(), plan, text, lock })
}

/// Looks until it is so, and gives the last thing seen when time is up.
fn eventually(mut look: impl FnMut() -> Result<(), String>) -> Result<(), String> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match look() {
            Ok(()) => return Ok(()),
            Err(seen) if Instant::now() > deadline => {
                return Err(format!("not within {} s: {seen}", PATIENCE.as_secs()));
            }
            Err(_) => std::thread::sleep(POLL),
        }
    }
}
