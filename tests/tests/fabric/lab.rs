//! One lab per test, made and removed by `tresse lab`, and looking into its namespaces.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::fs::File;
use std::net::IpAddr;
use std::process::Command;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::unistd::Pid;
use tempfile::TempDir;
use tresse_base::id::NodeId;
use tresse_control::{ApplyRequest, Client, Status};
use tresse_lab::ping::{self, PingOptions};
use tresse_lab::{netns, run, state::Directory};
use tresse_plan::Plan;
use tresse_plan::lock::Lock;
use tresse_tests::traffic::{self, Frames};
use tresse_tests::{pace, program};

/// A plan with the texts that make it.
pub struct Planned {
    pub text: String,
    pub plan: Plan,
    /// The lock to keep after it.
    pub lock: Lock,
}

impl Planned {
    /// Plans a cluster file, as `tresse plan` does beside a lock.
    pub fn new(text: &str, lock: &Lock) -> Self {
        let cluster = tresse_cluster::parse(text, "cluster.toml").unwrap_or_else(|e| panic!("{e}"));
        let plan = Plan::build_with(cluster, lock).unwrap();
        let lock = plan.lock(lock);
        Self { text: text.into(), plan, lock }
    }

    /// The same file with another strategy, as the next plan.
    pub fn next(&self, strategy: &str) -> Self {
        let line = |l: &str| match l.starts_with("strategy") {
            true => format!("strategy = \"{strategy}\""),
            false => l.to_owned(),
        };
        let lines: Vec<String> = self.text.lines().map(line).collect();
        Self::new(&lines.join("\n"), &self.lock)
    }

    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.plan.cluster().nodes.len()).map(NodeId::from)
    }

    pub fn node(&self, node: NodeId) -> &str {
        &self.plan.cluster().node(node).name
    }
}

/// A small cluster file.
pub fn file(topology: &str, strategy: &str, paths: u32, vlans: &str) -> String {
    format!(
        "[fabric]\nname = \"t\"\ntopology = {{ {topology} }}\n\
         [routing]\nstrategy = \"{strategy}\"\npaths = {paths}\n\
         [vlans]\nrange = \"100-199\"\n{vlans}\n\
         [addressing]\nnodes = \"10.77.0.0/16\"\nnics = \"10.78.0.0/16\"\n"
    )
}

/// A running lab; removed when dropped.
pub struct Lab {
    pub now: Planned,
    pub directory: Directory,
    pub files: TempDir,
    _places: Vec<Place>,
}

/// So many pairs are asked by `ping`.
const FEW: usize = 8;

/// Labs that the machine holds at a time, whichever checkouts run the suite: most of the time they wait,
/// but in the emulated machine, where everything is work.
pub static PLACES: LazyLock<usize> = LazyLock::new(|| if pace::is_emulated() { 2 } else { 3 });

/// The right to a lab of one of the names; given up when dropped, and by the kernel when the run dies.
struct Place {
    name: String,
    _lock: Flock<File>,
}

impl Place {
    /// The place of this number; `None` where another test has it and `wait` is not wanted.
    fn take(number: usize, wait: bool) -> Option<Self> {
        let name = format!("fabric-test-{number}");
        let file = File::create(std::env::temp_dir().join(format!("tresse-{name}.lock"))).unwrap();
        let how = if wait { FlockArg::LockExclusive } else { FlockArg::LockExclusiveNonblock };
        let lock = match Flock::lock(file, how) {
            Ok(lock) => lock,
            Err((_, Errno::EWOULDBLOCK)) => return None,
            Err((_, errno)) => panic!("{name}: {errno}"),
        };
        // Verbs that outlive a killed run end first.
        eventually("no lab of a killed run", 60, || match Directory::find(Some(&name)) {
            Ok(_) => program::output(&["lab", "down", "--name", &name]).map(drop),
            Err(_) => Ok(()),
        });
        Some(Self { name, _lock: lock })
    }

    /// Any that is free, as soon as there is one.
    fn any() -> Self {
        loop {
            if let Some(place) = (0..*PLACES).find_map(|number| Self::take(number, false)) {
                return place;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// All of them: no other lab is there meanwhile.
    fn all() -> Vec<Self> {
        // Everybody who wants all takes them in this order, who wants one has no other.
        (0..*PLACES).filter_map(|number| Self::take(number, true)).collect()
    }
}

/// An option of [`Lab::up`]: daemons that die are started again, as an operator's lab does it.
pub const RESTART: &str = "--restart";

impl Lab {
    /// Builds the lab of a cluster file, with more options for `tresse lab up`. Daemons that end stay
    /// away, unless one of the options is [`RESTART`].
    /// With BFD it is alone in an emulated machine: that may be too slow for other work beside, and sessions then end again and
    /// again (docs/trials.md).
    pub fn up(text: &str, options: &[&str]) -> Self {
        let alone = pace::is_emulated() && options.contains(&"--bfd-ms");
        Self::up_in(if alone { Place::all() } else { vec![Place::any()] }, text, options)
    }

    /// The same with no other lab beside it, for tests that measure.
    pub fn up_alone(text: &str, options: &[&str]) -> Self {
        Self::up_in(Place::all(), text, options)
    }

    fn up_in(places: Vec<Place>, text: &str, options: &[&str]) -> Self {
        let name = places[0].name.as_str();
        let files = tempfile::tempdir().unwrap();
        let path = files.path().join("cluster.toml");
        std::fs::write(&path, text).unwrap();
        let (path, tressed) = (path.display().to_string(), program::tressed());
        let tressed = tressed.display().to_string();
        let now = Planned::new(text, &Lock::default());
        let mut args = vec!["lab", "up", &path, "--name", name];
        if !options.contains(&"--no-daemon") {
            args.extend(["--tressed", &tressed]);
        }
        if !options.contains(&RESTART) {
            args.push("--no-restart");
        }
        args.extend(options.iter().filter(|o| **o != RESTART));
        program::output(&args).unwrap();
        Self { now, directory: Directory::of(name).unwrap(), files, _places: places }
    }

    /// The name by which `tresse` knows it.
    pub fn name(&self) -> &str {
        &self.directory.name
    }

    /// The process of a node's `tressed`.
    pub fn daemon(&self, node: &str) -> Pid {
        let config = self.directory.node(node).join("tressed.toml");
        program::daemon(&config.display().to_string()).expect("the daemon runs")
    }

    /// `tresse lab VERB ARGS`; its standard output and whether its exit code was 0.
    pub fn verb(&self, args: &[&str]) -> (String, bool) {
        let mut all = vec!["lab", "--name", self.name()];
        all.extend(args);
        let output = program::run(&all);
        (String::from_utf8_lossy(&output.stdout).into_owned(), output.status.success())
    }

    /// Runs `work` in the namespace of a node or switch.
    pub fn inside<T: Send>(&self, place: &str, work: impl FnOnce() -> T + Send) -> T {
        netns::inside(&self.directory.netns(place), work).unwrap()
    }

    /// Runs a program there, words split at spaces; its standard output.
    pub fn run(&self, place: &str, words: &str) -> String {
        let words: Vec<&str> = words.split_whitespace().collect();
        let output = run::read(&self.directory.netns(place), words[0], &words[1..], "").unwrap();
        String::from_utf8(output).unwrap()
    }

    /// `tresse` on a node, not started yet.
    pub fn command(&self, node: &str, arguments: &[String]) -> Command {
        let mut command = Command::new(program::tresse());
        command.args(["lab", "--name", self.name(), "exec", node, "--"]);
        command.arg(program::tresse()).args(arguments);
        command
    }

    /// A program's JSON there: a list of objects.
    pub fn json(&self, place: &str, words: &str) -> Vec<serde_json::Value> {
        serde_json::from_str(&self.run(place, words)).unwrap()
    }

    pub fn address(&self, node: NodeId) -> IpAddr {
        self.now.plan.addresses().node[node.index()][0]
    }

    /// One echo request per pair; the pairs without an answer. A few pairs are asked by `ping`; of many
    /// that would keep an emulated processor busy for minutes, and the lab's own prober asks.
    pub fn ping(&self, pairs: &[(NodeId, NodeId)]) -> Vec<(NodeId, NodeId)> {
        if pairs.len() > FEW {
            return self.ping_many(pairs, Duration::from_secs(2).mul_f64(pace::slowness()));
        }
        let answers = run::parallel(pairs, 4, |&(from, to)| {
            let to = self.address(to).to_string();
            self.inside(self.now.node(from), || {
                let ping = Command::new("ping").args(["-n", "-q", "-c1", "-W2", &to]).output();
                ping.unwrap().status.success()
            })
        });
        let silent = pairs.iter().zip(answers).filter(|(_, answered)| !answered);
        silent.map(|(pair, _)| *pair).collect()
    }

    /// The same, waiting a few seconds for answers on a slow machine too: for looks that are repeated until
    /// just the pairs that failed are silent, each of which would otherwise take that machine a minute.
    pub fn ping_briefly(&self, pairs: &[(NodeId, NodeId)]) -> Vec<(NodeId, NodeId)> {
        self.ping_many(pairs, Duration::from_secs(4))
    }

    fn ping_many(&self, pairs: &[(NodeId, NodeId)], wait: Duration) -> Vec<(NodeId, NodeId)> {
        let options = PingOptions { wait, ..PingOptions::default() };
        let mut targets: BTreeMap<NodeId, Vec<NodeId>> = BTreeMap::new();
        for (from, to) in pairs {
            targets.entry(*from).or_default().push(*to);
        }
        let targets: Vec<_> = targets.into_iter().collect();
        let silent = run::parallel(&targets, 4, |(from, to)| {
            let addresses: Vec<IpAddr> = to.iter().map(|to| self.address(*to)).collect();
            let own = self.address(*from);
            let ask = || ping::echo_from(own, &addresses, &options);
            let answers = self.inside(self.now.node(*from), ask).unwrap();
            let silent = to.iter().zip(answers).filter(|(_, count)| *count == 0);
            silent.map(|(to, _)| (*from, *to)).collect::<Vec<_>>()
        });
        let silent: BTreeSet<_> = silent.into_iter().flatten().collect();
        pairs.iter().copied().filter(|pair| silent.contains(pair)).collect()
    }

    pub fn client(&self, node: NodeId) -> Client {
        Client::connect(self.directory.socket(self.now.node(node))).unwrap()
    }

    /// A node's status, or in words why there is none.
    pub fn status(&self, node: NodeId) -> Result<Status, String> {
        let client = Client::connect(self.directory.socket(self.now.node(node)));
        client.and_then(|mut client| client.status()).map_err(|e| e.to_string())
    }

    /// Is every node in sync, with nothing fused, unproven or pending?
    pub fn in_sync(&self) -> Result<(), String> {
        for node in self.now.nodes() {
            let status = self.status(node)?;
            let open = status.pending.is_empty() && status.unproven.is_empty();
            if !(status.in_sync && open && status.fused.is_empty()) {
                return Err(format!("{status:?}"));
            }
        }
        Ok(())
    }

    /// A plan's cluster file with its lock beside it; the file's path.
    pub fn cluster_file(&self, planned: &Planned) -> String {
        let directory = self.files.path().join(planned.plan.generation());
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("tresse.lock"), planned.lock.emit()).unwrap();
        let path = directory.join("cluster.toml");
        std::fs::write(&path, &planned.text).unwrap();
        path.display().to_string()
    }

    /// What asks a node for a plan.
    pub fn request(&self, planned: &Planned, confirm_seconds: Option<u32>) -> ApplyRequest {
        let (cluster, lock) = (planned.text.clone(), Some(planned.lock.emit()));
        ApplyRequest { cluster, lock, confirm_seconds, ..ApplyRequest::default() }
    }

    /// Gives a plan to one node.
    pub fn apply(&self, node: NodeId, planned: &Planned) {
        let applied = self.client(node).apply(&self.request(planned, None)).unwrap();
        assert_eq!(applied.generation.as_deref(), Some(planned.plan.generation()));
    }

    /// The VLAN interfaces of a node, by `ip`.
    pub fn vlan_interfaces(&self, node: NodeId) -> BTreeSet<String> {
        let links = self.json(self.now.node(node), "ip -j -d link show type vlan");
        let names = links.iter().filter_map(|l| Some(l.get("ifname")?.as_str()?.to_owned()));
        names.collect()
    }

    /// The VLAN interfaces that the plan in force has on a node.
    pub fn planned_interfaces(&self, node: NodeId) -> BTreeSet<String> {
        tresse_slice::Slice::of(&self.now.plan, node).interfaces.into_keys().collect()
    }

    pub fn reset_counters(&self) {
        assert!(self.verb(&["counters", "--reset"]).1);
    }

    /// Frames other than announcements since the last reset.
    pub fn counted(&self) -> Frames {
        let (json, fine) = self.verb(&["counters", "--json"]);
        assert!(fine);
        traffic::counted(&json).unwrap()
    }

    /// The counters are what the plan says of these pings, and nothing else.
    pub fn expect_counted(&self, pings: &[(NodeId, NodeId)]) {
        let differences = self.differences(pings);
        assert!(differences.is_empty(), "{}", differences.join("\n"));
    }

    /// Where the counters differ from what the plan says of these pings.
    pub fn differences(&self, pings: &[(NodeId, NodeId)]) -> Vec<String> {
        let planned = traffic::predicted(&self.now.plan, pings.iter().copied());
        assert!(!planned.is_empty());
        traffic::differences(&planned, &self.counted())
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for node in &self.now.plan.cluster().nodes {
                let log = std::fs::read_to_string(self.directory.node(&node.name).join("log"));
                let log = log.unwrap_or_default();
                let tail: Vec<&str> = log.lines().rev().take(15).collect();
                eprintln!("-- log of {}", node.name);
                tail.iter().rev().for_each(|line| eprintln!("{line}"));
            }
        }
        self.verb(&["down"]);
    }
}

/// As [`eventually`], for what may be over again in a tenth of a second.
pub fn soon<T: Debug>(what: &str, seconds: u64, look: impl FnMut() -> Result<(), T>) {
    let seen = pace::wait(Duration::from_secs(seconds), Duration::from_millis(5), look);
    if let Err(seen) = seen {
        panic!("not within {seconds} s: {what}; last seen: {seen:?}");
    }
}

/// A wait that is worth a line.
const LONG: Duration = Duration::from_secs(5);

/// Waits until `look` says yes, and panics with the last thing seen after `seconds` of an idle machine.
pub fn eventually<T: Debug>(what: &str, seconds: u64, look: impl FnMut() -> Result<(), T>) {
    let begin = Instant::now();
    let seen = pace::wait(Duration::from_secs(seconds), Duration::from_millis(50), look);
    if begin.elapsed() > LONG {
        eprintln!("{:6.1} s of waiting: {what}", begin.elapsed().as_secs_f64());
    }
    if let Err(seen) = seen {
        panic!("not within {seconds} s: {what}; last seen: {seen:?}");
    }
}
