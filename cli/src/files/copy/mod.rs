//! `tresse copy`: copies files or directories from one or several nodes to all others. Each node
//! passes data on to the next while it arrives.

mod ring;

use std::path::PathBuf;

use clap::Args;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::stat::{fstat, makedev};
use tresse_ring::talk::PartRole;

use crate::fail::{Code, Failure};
use crate::files::collective::names::{self, on_node};
use crate::files::collective::{CollectiveArgs, Job, Moved, Party, RingArgs, run};

/// The argument that stands for standard input.
const INPUT: &str = "-";

/// Arguments of `tresse copy`, which copies files from some nodes to all others.
#[derive(Debug, Args)]
pub struct Copy {
    #[command(flatten)]
    args: CollectiveArgs,
    #[command(flatten)]
    around: RingArgs,
    /// The sources, then the target. A source is a node and the path of a file or directory on it
    /// (n00:/data/model.bin), or - for standard input. The target on all other nodes is a path (default: that of the
    /// source), or a directory with / at its end. {node} in it is the receiving node, {from} the source node.
    #[arg(value_name = "NODE:PATH... [TARGET]", required_unless_present = "ring")]
    what: Vec<String>,
    /// Print the rings and how long a copy over them would take, and copy nothing.
    #[arg(long)]
    ring: bool,
    /// For --ring: the size of the copy in bytes.
    #[arg(long, value_name = "BYTES", default_value_t = 1_000_000_000, requires = "ring")]
    size: u64,
}

/// What is to be copied, and where to.
struct What {
    /// The node and the path of each source.
    sources: Vec<(String, PathBuf)>,
    target: Option<String>,
    input: bool,
}

impl Copy {
    /// Copies; exits with 1 if a node does not have everything.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        let what = self.what()?;
        let nodes: Vec<String> = what.sources.iter().map(|(node, _)| node.clone()).collect();
        let party = Party::of(&self.args, &self.around, &nodes, false)?;
        if self.ring {
            return ring::show(&self.around, &party, self.size, json);
        }
        let job = job(&party, &what);
        run(&self.args, &self.around, &party, &job, json)
    }

    fn what(&self) -> Result<What, Failure> {
        let usage = |words: String| Failure::new(Code::Usage, words);
        let (mut sources, mut target, mut input) = (Vec::new(), None, false);
        for (at, text) in self.what.iter().enumerate() {
            let last = at > 0 && at + 1 == self.what.len();
            match on_node(text) {
                _ if text == INPUT => input = true,
                Some((node, path)) => sources.push((node.into(), names::absolute(path, false)?)),
                None if last => {
                    names::absolute(text, true)?;
                    target = Some(text.clone());
                }
                None => {
                    let words = format!(
                        "`{text}`: expected a node and an absolute path, such as n00:/data/file, or -"
                    );
                    return Err(usage(words));
                }
            }
        }
        if input && (!sources.is_empty() || target.as_ref().is_none_or(|it| it.ends_with('/'))) {
            return Err(usage(
                "-: standard input alone can be copied, and only to a path that names a file"
                    .into(),
            ));
        }
        if input {
            can_be_read().map_err(|words| usage(format!("standard input: {words}")))?;
        }
        Ok(What { sources, target, input })
    }
}

/// Whether standard input can be read. The standard library itself does not tell: it treats an unreadable input as
/// empty, and opens `/dev/null` if standard input is closed.
fn can_be_read() -> Result<(), String> {
    let input = std::io::stdin();
    let flags = fcntl(&input, FcntlArg::F_GETFL).map_err(|e| e.to_string())?;
    let access = OFlag::from_bits_truncate(flags) & OFlag::O_ACCMODE;
    let device = fstat(&input).map_err(|e| e.to_string())?.st_rdev;
    match access {
        OFlag::O_WRONLY => Err("is open for writing only".into()),
        OFlag::O_RDWR if device == makedev(1, 3) => Err("is closed".into()),
        _ => Ok(()),
    }
}

fn job(party: &Party, what: &What) -> Job {
    let nodes = party.rings[0].nodes().to_vec();
    let members = 0..nodes.len();
    let mut parts = Vec::new();
    if let (true, Some(target)) = (what.input, &what.target) {
        let place = |member: usize| {
            let path = names::target(target, target.as_ref(), party.name(member), "-");
            PartRole::Target { path, input: member == 0 }
        };
        parts.push(Moved { from: 0, places: members.clone().map(place).collect() });
    }
    for (node, path) in &what.sources {
        let from = party.member(node).unwrap_or(0);
        let same = path.to_string_lossy().into_owned();
        let target = what.target.as_ref().unwrap_or(&same);
        let place = |member: usize| {
            if member == from {
                return PartRole::Source { path: path.clone(), piece: None, copy: None };
            }
            if !party.asked(member) {
                return PartRole::Away;
            }
            let path = names::target(target, path, party.name(member), node);
            PartRole::Target { path, input: false }
        };
        parts.push(Moved { from, places: members.clone().map(place).collect() });
    }
    Job { nodes, parts, hub: None, input: what.input }
}
