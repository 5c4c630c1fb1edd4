//! Calls the daemons of many nodes at once. A launcher such as ssh runs `tresse bridge` on each
//! node, which passes requests and replies through. The daemons of a lab on this machine have their
//! sockets here, whatever namespaces they run in, and need no program between.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, mpsc};
use std::time::Duration;

use clap::{Args, ValueEnum};
use tresse_control::{Client, ClientError};
use tresse_lab::state::Directory;
use tresse_topology::cluster::Cluster;

use super::launcher::Launcher;
use super::remedy;
use crate::fail::{self, Code, Failure};
use crate::output;

/// The longest time that a node may take for one answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// A node that does not answer for so long is named.
const SILENT: Duration = Duration::from_secs(5);

/// How many nodes are asked at once.
const AT_ONCE: usize = 64;

/// File descriptors that connections may hold from one answer to the next. With more nodes connections are
/// closed after each answer. Usually a process may have 1,024, and those that connect now need some too.
const KEPT: usize = 700;

const SSH: &[&str] = &[
    "-T",
    "-o",
    "BatchMode=yes",
    "-o",
    "ConnectTimeout=10",
    "-o",
    "ServerAliveInterval=5",
    "-o",
    "ServerAliveCountMax=3",
    "--",
];
/// Unbuffered, because answers do not end with a line end.
const SRUN: &[&str] =
    &["--quiet", "--unbuffered", "--overlap", "--nodes=1", "--ntasks=1", "--nodelist"];

/// Arguments of the verbs for many nodes: by which launcher to reach the nodes, and which nodes to
/// leave out. `L` is what `--launcher` can choose from: the verbs that move files have one choice
/// more.
#[derive(Debug, Clone, Args)]
pub struct FleetArgs<L: ValueEnum + Send + Sync + 'static = Launcher> {
    /// How nodes are reached.
    #[arg(long, value_enum, default_value = "ssh")]
    launcher: L,
    /// Nodes to leave out, such as those that are being repaired: n03,n[05-07].
    #[arg(long, value_name = "NODES")]
    except: Option<String>,
    /// For the launcher `netns`: the name of the lab, if there are several.
    #[arg(long, value_name = "NAME")]
    lab: Option<String>,
}

/// A node, and the connection to its daemon.
#[derive(Debug)]
pub struct Member {
    /// The node's name.
    pub name: String,
    /// The name of the machine that it is.
    machine: String,
    /// The connection, if there is one now.
    client: Option<Client>,
    launcher: Launcher,
    lab: Option<String>,
    patience: Duration,
}

/// The nodes whose daemons a verb calls, each with its connection.
#[derive(Debug)]
pub struct Fleet {
    members: Vec<Member>,
}

impl<L: ValueEnum + Send + Sync + Copy> FleetArgs<L> {
    /// The names of all nodes of a cluster, without those of `--except`.
    pub fn nodes(&self, cluster: &Cluster) -> Result<Vec<String>, Failure> {
        self.without(cluster.nodes.iter().map(|node| node.name.clone()).collect())
    }

    /// These names without those of `--except`.
    pub fn without(&self, names: Vec<String>) -> Result<Vec<String>, Failure> {
        let wrong = |message: String| Failure::new(Code::Usage, message);
        let except = match &self.except {
            Some(text) => tresse_base::hostlist::expand_all(text)
                .map_err(|e| wrong(format!("--except: {e}")))?,
            None => Vec::new(),
        };
        if let Some(unknown) = except.iter().find(|name| !names.contains(name)) {
            return Err(wrong(format!("--except: there is no node `{unknown}`")));
        }
        let left: Vec<String> = names.into_iter().filter(|name| !except.contains(name)).collect();
        if left.is_empty() {
            return Err(wrong("--except: it names every node, and none is left".into()));
        }
        Ok(left)
    }

    /// The choice of `--launcher`.
    pub const fn launcher(&self) -> L {
        self.launcher
    }

    /// For the launcher `netns`: the name of the lab, if one is given.
    pub fn lab(&self) -> Option<&str> {
        self.lab.as_deref()
    }
}

impl FleetArgs {
    /// The fleet of these nodes of a cluster, not connected yet. Without a cluster they are machines.
    pub fn fleet(&self, names: Vec<String>, cluster: Option<&Cluster>) -> Fleet {
        let member = |name: String| Member {
            machine: cluster.map_or(&*name, |cluster| machine(cluster, &name)).to_owned(),
            name,
            client: None,
            launcher: self.launcher,
            lab: self.lab.clone(),
            patience: PATIENCE,
        };
        Fleet { members: names.into_iter().map(member).collect() }
    }
}

/// The machine that a node is.
pub fn machine<'a>(cluster: &'a Cluster, name: &'a str) -> &'a str {
    cluster.node_named(name).map_or(name, |node| cluster.machine(node))
}

impl Fleet {
    /// Waits for no answer longer than `patience`.
    pub fn patient(mut self, patience: Duration) -> Self {
        self.members.iter_mut().for_each(|member| member.patience = patience);
        self
    }

    /// Asks every node for which `which` is true, many at once. Returns the answers in the order of the nodes.
    pub fn each<T: Send>(
        &mut self,
        which: impl Fn(&str) -> bool + Sync,
        ask: impl Fn(&mut Client) -> Result<T, ClientError> + Sync,
    ) -> Vec<(String, Result<T, Failure>)> {
        let held: usize = self.members.iter().map(|member| member.launcher.descriptors()).sum();
        let keep = held <= KEPT;
        let patience = self.members.iter().map(|member| member.patience).max().unwrap_or(PATIENCE);
        let members: Vec<Mutex<&mut Member>> =
            self.members.iter_mut().filter(|m| which(&m.name)).map(Mutex::new).collect();
        let answers: Vec<Mutex<Option<Result<T, Failure>>>> =
            members.iter().map(|_| Mutex::new(None)).collect();
        let next = AtomicUsize::new(0);
        let (answered, arrived) = mpsc::channel();
        let work = |answered: &mpsc::Sender<String>| {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(member) = members.get(at) else { return };
                let mut member = member.lock().expect("no thread panics while it holds the lock");
                let answer = member.ask(&ask);
                if !keep {
                    member.client = None;
                }
                // Nobody listens to the last ones if the thread that started this one has panicked.
                let _ = answered.send(member.name.clone());
                *answers[at].lock().expect("no thread panics while it holds the lock") =
                    Some(answer);
            }
        };
        let asked = members
            .iter()
            .map(|m| m.lock().expect("no thread panics while it holds the lock").name.clone())
            .collect();
        std::thread::scope(|scope| {
            for _ in 0..members.len().min(AT_ONCE) {
                let answered = answered.clone();
                scope.spawn(move || work(&answered));
            }
            drop(answered);
            name_silent(asked, &arrived, patience);
        });
        let names = members
            .iter()
            .map(|m| m.lock().expect("no thread panics while it holds the lock").name.clone());
        let names: Vec<String> = names.collect();
        let answers = answers.into_iter().filter_map(|a| a.into_inner().ok().flatten());
        names.into_iter().zip(answers).collect()
    }
}

/// Says once which nodes do not answer, if none does for a while, and returns when all have answered.
fn name_silent(mut asked: BTreeSet<String>, arrived: &mpsc::Receiver<String>, patience: Duration) {
    let mut said = false;
    loop {
        match arrived.recv_timeout(SILENT) {
            Ok(name) => _ = asked.remove(&name),
            Err(mpsc::RecvTimeoutError::Timeout) if said => {}
            Err(mpsc::RecvTimeoutError::Timeout) => {
                let names = output::hostlist(&asked);
                let longest = patience.as_secs();
                fail::say(&format!("{names}: no answer yet; waits {longest} s for each at most"));
                said = true;
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => return,
        }
    }
}

impl Member {
    fn ask<T>(
        &mut self,
        ask: impl Fn(&mut Client) -> Result<T, ClientError>,
    ) -> Result<T, Failure> {
        let failed = |error| remedy::failure(error, self.launcher, &self.machine);
        let client = match &mut self.client {
            Some(client) => client,
            None => {
                let client = match self.launcher {
                    Launcher::Netns => {
                        let socket = socket(self.lab.as_deref(), &self.machine)?;
                        Client::connect(socket).map(|client| client.patient(self.patience))
                    }
                    Launcher::Ssh | Launcher::Srun => {
                        let bridge =
                            self.launcher.command(self.lab.as_deref(), &self.machine, "bridge")?;
                        Client::through(bridge, self.patience)
                    }
                };
                self.client.insert(client.map_err(failed)?)
            }
        };
        let answer = ask(client);
        if !matches!(answer, Ok(_) | Err(ClientError::Node(_))) {
            // A late answer would be taken for the answer to the next request.
            self.client = None;
        }
        answer.map_err(failed)
    }
}

/// The control socket of a node's daemon in a lab on this machine.
fn socket(lab: Option<&str>, node: &str) -> Result<PathBuf, Failure> {
    let lab = Directory::find(lab).map_err(|error| Failure::new(Code::Unreachable, error))?;
    if lab.node(node).is_dir() {
        return Ok(lab.socket(node));
    }
    let words = format!(
        "the lab `{}` has no daemon for a node `{node}`\n  help: `tresse lab status` lists what it has; \
         --except {node} leaves the node out",
        lab.name
    );
    Err(Failure::new(Code::Unreachable, words))
}

impl Launcher {
    /// File descriptors of a connection: to a lab's daemon a socket; else a socket to a program, and what it
    /// writes to standard error.
    const fn descriptors(self) -> usize {
        match self {
            Self::Netns => 1,
            Self::Ssh | Self::Srun => 2,
        }
    }

    /// The command that runs `tresse VERB` on a node. `lab` is the name of the lab for
    /// [`Launcher::Netns`], if there are several.
    pub fn command(self, lab: Option<&str>, node: &str, verb: &str) -> Result<Command, Failure> {
        let (program, before) = match self {
            Self::Ssh => ("ssh", SSH),
            Self::Srun => ("srun", SRUN),
            Self::Netns => {
                let own = std::env::current_exe()?;
                let mut command = Command::new(own);
                let lab = lab.iter().flat_map(|lab| ["--name", lab]);
                command.arg("lab").args(lab).args(["exec", node, "--", "tresse", verb]);
                return Ok(command);
            }
        };
        let mut command = Command::new(program);
        command.args(before).arg(node).args(["tresse", verb]);
        Ok(command)
    }
}
