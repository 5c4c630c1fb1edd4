//! A lab of the soak test or of the trial of changes: it is built and removed with `tresse lab`, its
//! daemons are killed and started, and its plan is changed as an operator does it.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;
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

use crate::load::Station;
use crate::program;
use crate::switches;

/// How long a change or a repair may take; the machine may be an emulated one under load.
const PATIENCE: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(200);

/// A plan with the texts that make it.
#[derive(Debug)]
pub struct Planned {
    /// The cluster file.
    pub text: String,
    /// The plan.
    pub plan: Plan,
    /// The lock to keep after it.
    pub lock: Lock,
}

impl Planned {
    /// Plans a cluster file, as `tresse plan` does beside a lock.
    ///
    /// # Errors
    /// Why there is no plan.
    pub fn new(text: &str, lock: &Lock) -> Result<Self, String> {
        let cluster = tresse_cluster::parse(text, "cluster.toml").map_err(|e| e.to_string())?;
        let plan = Plan::build_with(cluster, lock).map_err(|e| e.to_string())?;
        let lock = plan.lock(lock);
        Ok(Self { text: text.into(), plan, lock })
    }

    /// The names of all nodes, in order.
    #[must_use]
    pub fn nodes(&self) -> Vec<String> {
        self.plan.cluster().nodes.iter().map(|n| n.name.clone()).collect()
    }
}

/// A running lab, and the plan that is installed in it; the lab is removed when dropped.
#[derive(Debug)]
pub struct Lab {
    name: &'static str,
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
    pub fn up(name: &'static str, now: Planned, options: &[&str]) -> Result<Self, String> {
        Self::up_of(name, now, &program::tressed(), options)
    }

    /// Builds it with daemons of another release.
    ///
    /// # Errors
    /// What `tresse lab up` said, which is also on standard error.
    pub fn up_of(
        name: &'static str,
        now: Planned,
        tressed: &Path,
        options: &[&str],
    ) -> Result<Self, String> {
        let files = tempfile::tempdir().map_err(|e| e.to_string())?;
        let path = files_of(&now, files.path())?;
        let tressed = tressed.display().to_string();
        let args = ["lab", "up", &path, "--name", name, "--tressed", &tressed, "--no-restart"];
        Self::up_by(name, now, || {
            print!("{}", program::output(&[&args[..], options].concat())?);
            Ok(())
        })
    }

    /// Has it built by another program.
    ///
    /// # Errors
    /// What that program said.
    pub fn up_by(
        name: &'static str,
        now: Planned,
        build: impl FnOnce() -> Result<(), String>,
    ) -> Result<Self, String> {
        let directory = Directory::of(name).map_err(|e| e.to_string())?;
        // From here on whatever there is of it is removed.
        let lab = Self { name, directory, now, started: Vec::new(), deeds: RefCell::default() };
        build()?;
        Ok(lab)
    }

    /// The plan in force.
    #[must_use]
    pub const fn now(&self) -> &Planned {
        &self.now
    }

    /// Its name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Says that another plan is in force by now.
    pub fn is_now(&mut self, planned: Planned) {
        self.now = planned;
    }

    /// Where its files are.
    #[must_use]
    pub const fn directory(&self) -> &Directory {
        &self.directory
    }

    /// What was done since the last call, and when.
    pub fn deeds(&self) -> Vec<(Instant, String)> {
        self.deeds.take()
    }

    pub(super) fn note(&self, deed: String) {
        self.deeds.borrow_mut().push((Instant::now(), deed));
    }

    /// All nodes, in order.
    #[must_use]
    pub fn nodes(&self) -> Vec<String> {
        self.now.nodes()
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
        program::output(&[&["lab"], args, &["--name", self.name]].concat()).map(drop)
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
            // A process that ends leaves its namespace before its sockets are closed.
            let listens = Client::connect(self.directory.socket(node)).is_ok();
            match netns::processes(&self.directory.netns(node)).is_empty() && !listens {
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

    /// Gives the switches the VLANs of another plan beside those of the plan in force; the ports `fresh`
    /// are in no VLAN yet.
    ///
    /// # Errors
    /// What refused.
    pub fn prepare(&self, next: &Planned, fresh: &BTreeSet<(String, u32)>) -> Result<(), String> {
        let kept = switches::keep(&self.directory, &self.now.plan, &next.plan, fresh);
        kept.map_err(|e| e.to_string())
    }

    /// Changes the plan as an operator does: the switches get the new VLANs, `tresse rollout` gives the
    /// nodes the plan, nodes that are in it no more withdraw theirs, and the switches lose the old
    /// VLANs. The ports `fresh` are in no VLAN yet. Returns how long the rollout took.
    ///
    /// # Errors
    /// What refused, and what the rollout said.
    pub fn roll_out(
        &mut self,
        next: Planned,
        fresh: &BTreeSet<(String, u32)>,
    ) -> Result<Duration, String> {
        self.prepare(&next, fresh)?;
        let files = tempfile::tempdir().map_err(|e| e.to_string())?;
        let path = files_of(&next, files.path())?;
        let began = Instant::now();
        let launcher = self.launcher();
        let confirm = ["--confirm", "60s"];
        let said =
            program::last_line(&[&["rollout", &path], &launcher[..], &confirm[..]].concat())?;
        let took = began.elapsed();
        let old = std::mem::replace(&mut self.now, next);
        self.note(format!("rolled out: {said}"));
        let gone = old.nodes().into_iter().filter(|node| !self.nodes().contains(node));
        for node in gone {
            self.client(&node)?.withdraw(false).map_err(|e| format!("withdraw on {node}: {e}"))?;
        }
        switches::settle(&self.directory, &old.plan, &self.now.plan).map_err(|e| e.to_string())?;
        Ok(took)
    }

    const fn launcher(&self) -> [&'static str; 4] {
        ["--launcher", "netns", "--lab", self.name]
    }

    /// `tresse ARGS --all FILE` with the cluster file of a plan.
    ///
    /// # Errors
    /// Any exit code other than 0.
    pub(super) fn on_all(&self, planned: &Planned, args: &[&str]) -> Result<(), String> {
        self.note(args.join(" "));
        let files = tempfile::tempdir().map_err(|e| e.to_string())?;
        let path = files_of(planned, files.path())?;
        let args = [args, &["--all", &path], &self.launcher()[..]].concat();
        program::last_line(&args).map(drop)
    }

    /// Changes the plan under traffic: the switches get the new VLANs, then the nodes the plan one
    /// after the other, and the switches lose the old VLANs once no node has them. `between` comes
    /// after each node but the last.
    ///
    /// # Errors
    /// What refused.
    pub fn change(
        &mut self,
        next: Planned,
        random: &mut Random,
        mut between: impl FnMut(&mut Self, &mut Random) -> Result<(), String>,
    ) -> Result<(), String> {
        switches::keep(&self.directory, &self.now.plan, &next.plan, &BTreeSet::new())
            .map_err(|e| e.to_string())?;
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
        for node in self.nodes() {
            let planned = self.interfaces(&node);
            eventually(|| self.is_settled(&node, planned))?;
        }
        Ok(())
    }

    /// Waits until every node is in sync with the plan of this generation, which may be another release's.
    ///
    /// # Errors
    /// The last thing that was not so.
    pub fn has(&self, generation: &str) -> Result<(), String> {
        self.nodes().iter().try_for_each(|node| {
            eventually(|| {
                let status = self.client(node)?.status().map_err(|e| format!("{node}: {e}"))?;
                let ours = status.generation.as_deref() == Some(generation);
                let rests = status.in_sync && status.pending.is_empty() && !status.changing;
                if ours && rests { Ok(()) } else { Err(format!("{node}: {status:?}")) }
            })
        })
    }

    /// How many VLAN interfaces a node has by the plan in force.
    #[must_use]
    pub fn interfaces(&self, node: &str) -> usize {
        let id = self.now.plan.cluster().node_named(node).expect("a node of the plan");
        let interfaces = tresse_slice::Slice::of(&self.now.plan, id).interfaces;
        interfaces.values().filter(|interface| interface.vid.is_some()).count()
    }

    /// Waits until every session is up.
    ///
    /// # Errors
    /// The first node of which one is not.
    pub fn watched(&self) -> Result<(), String> {
        for node in self.nodes() {
            eventually(|| {
                let status = self.client(&node)?.status().map_err(|e| e.to_string())?;
                let (up, all) = (status.sessions_up, status.sessions);
                if all > 0 && up == all {
                    Ok(())
                } else {
                    Err(format!("{node}: {up} of {all} sessions up"))
                }
            })?;
        }
        Ok(())
    }

    fn is_settled(&self, node: &str, interfaces: usize) -> Result<(), String> {
        let client = Client::connect(self.directory.socket(node));
        let status = client.and_then(|mut client| client.status());
        let status = status.map_err(|e| format!("{node}: {e}"))?;
        let open = status.pending.is_empty() && status.unproven.is_empty() && !status.changing;
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

    /// Waits until `tresse status` on one node says that all is well: what ended before it was noticed is
    /// noticed after all, a detection time later.
    ///
    /// # Errors
    /// The last thing that it said.
    pub fn status(&self, node: &str) -> Result<(), String> {
        let socket = self.directory.socket(node).display().to_string();
        eventually(|| program::output(&["status", "--socket", &socket]).map(drop))
    }

    /// Waits until every ordered pair answers one `ping`.
    ///
    /// # Errors
    /// The pairs that do not.
    pub fn answers(&self) -> Result<usize, String> {
        let mut record = self.directory.load_up().map_err(|e| e.to_string())?;
        // A node that left and came back has a new address.
        for station in self.stations() {
            let nodes = record.blueprint.nodes.iter_mut().filter(|it| it.name == station.name);
            nodes.for_each(|node| node.addresses = vec![station.address]);
        }
        let options = PingOptions { wait: Duration::from_secs(2), ..PingOptions::default() };
        let mut pairs = 0;
        eventually(|| {
            let report =
                ping::ping(&self.directory, &record, &options).map_err(|e| e.to_string())?;
            pairs = report.pairs;
            // A lab may have nodes that the plan in force does not have.
            let nodes = self.nodes();
            let planned = |(a, b): &(String, String)| nodes.contains(a) && nodes.contains(b);
            let silent: Vec<_> = report.failed.into_iter().filter(planned).collect();
            if silent.is_empty() { Ok(()) } else { Err(format!("no answer: {silent:?}")) }
        })?;
        Ok(pairs)
    }

    /// How often failure detection has taken a path out of use or into it, as the logs of these nodes' daemons
    /// say.
    #[must_use]
    pub fn path_events(&self, nodes: &[String]) -> usize {
        let kinds = [r#"kind="path-down""#, r#"kind="path-up""#];
        let log = |node: &String| std::fs::read_to_string(self.directory.node(node).join("log"));
        let logs: Vec<String> = nodes.iter().filter_map(|node| log(node).ok()).collect();
        let lines = logs.iter().flat_map(|log| log.lines());
        lines.filter(|line| kinds.iter().any(|kind| line.contains(kind))).count()
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
        let _ = program::output(&["lab", "down", "--name", self.name]);
    }
}

/// Writes a plan's cluster file and lock into a directory; returns the path of the file.
pub(crate) fn files_of(planned: &Planned, directory: &Path) -> Result<String, String> {
    let file = directory.join("cluster.toml");
    let lock = directory.join("tresse.lock");
    for (path, text) in [(&file, &planned.text), (&lock, &planned.lock.emit())] {
        std::fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    Ok(file.display().to_string())
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
