//! What `copy`, `scatter`, `gather` and `allgather` share: members on nodes (`tresse ring-member`, by a launcher),
//! which this process tells whom to send to, and whom instead where one is gone or slow.
//!
//! No octet of the files comes by here, but for standard input.

mod launch;
mod members;
pub mod names;
mod predict;
mod report;

pub use predict::Prediction;

use std::collections::BTreeSet;
use std::io::{self, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use tresse_fabric::cluster;
use tresse_fabric::id::NodeId;
use tresse_fabric::plan::Plan;
use tresse_ring::order::Ring;
use tresse_ring::proof;
use tresse_ring::shape::{Flow, Shape};
use tresse_ring::talk::Part;

use crate::fail::{Code, Failure};
use crate::fleet::FleetArgs;
use crate::input::{self, ClusterArgs};
use members::Members;

/// What a stage adds to the time: `tests/latency.sh` has 92 to 132 us (big-fat-switches, section 6, has 400 us).
const LATENCY: Duration = Duration::from_micros(120);
/// So long one that somebody else started waits for whoever is to tell it what to do.
const CONNECTING: Duration = Duration::from_secs(10);

/// Arguments of all of them.
#[derive(Debug, Args)]
pub struct CollectiveArgs {
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(flatten)]
    fleet: FleetArgs,
    /// To these nodes alone, such as those that missed it: n03,n[05-07].
    #[arg(long, value_name = "NODES")]
    to: Option<String>,
    /// Keep permissions and times of change.
    #[arg(long)]
    keep: bool,
    /// Where members connect to, for the launcher `manual`: an address of this host that nodes reach.
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
}

/// Arguments of those that go around.
#[derive(Debug, Args)]
pub struct RingArgs {
    /// Who sends to whom: a ring for much, a tree for little, rings of rings between them.
    #[arg(long, value_enum, default_value = "auto")]
    shape: ShapeArg,
    /// At most so many rings that share no link, of those that the wiring has.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    stripes: Option<u32>,
    /// Seconds to wait for nodes that are too slow, when all others are done; at least as long as these took.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    patience: u64,
}

impl RingArgs {
    /// Of those that do not.
    pub const NONE: Self = Self { shape: ShapeArg::Ring, stripes: Some(1), patience: u64::MAX };
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ShapeArg {
    Auto,
    Ring,
    Rings,
    Tree,
}

/// Arguments of `tresse ring-member`: mostly none, all is said on standard input.
#[derive(Debug, Args)]
pub struct RingMember {
    /// Whom to connect to instead, who started nothing (`--launcher manual`); its token is in `TRESSE_TOKEN`.
    #[arg(long, value_name = "ADDRESS:PORT", requires = "node")]
    connect: Option<SocketAddr>,
    /// Which node this is.
    #[arg(long)]
    node: Option<String>,
}

impl RingMember {
    /// Takes part until told to quit.
    pub fn run(&self) -> Result<Code, Failure> {
        match (&self.connect, &self.node) {
            (Some(address), Some(node)) => {
                let wrong = |words: String| Failure::new(Code::Usage, words);
                let token = std::env::var("TRESSE_TOKEN")
                    .map_err(|_| wrong("--connect: TRESSE_TOKEN is not set".into()))?;
                let token =
                    proof::parse(&token).map_err(|e| wrong(format!("TRESSE_TOKEN: {e}")))?;
                let failed =
                    |e: io::Error| Failure::new(Code::Unreachable, format!("{address}: {e}"));
                let stream = TcpStream::connect_timeout(address, CONNECTING).map_err(failed)?;
                stream.set_read_timeout(Some(CONNECTING)).map_err(failed)?;
                proof::greet(&mut &stream, &token).map_err(failed)?;
                stream.set_read_timeout(None).map_err(failed)?;
                launch::keep_alive(&stream).map_err(failed)?;
                writeln!(&stream, "{node}").map_err(failed)?;
                let input = BufReader::new(stream.try_clone().map_err(failed)?);
                tresse_ring::member::run(input, stream, Some(token)).map_err(failed)?;
            }
            _ => tresse_ring::member::run(io::stdin().lock(), io::stdout(), None)?,
        }
        Ok(Code::Fine)
    }
}

/// One file or directory that some members get.
#[derive(Debug)]
pub struct Moved {
    /// The member that has it.
    pub from: usize,
    /// What each member has to do with it.
    pub places: Vec<Part>,
}

/// All that is to be done. Members are numbered in the order of the first ring.
#[derive(Debug)]
pub struct Job {
    /// Which nodes they are.
    pub nodes: Vec<NodeId>,
    /// What moves.
    pub parts: Vec<Moved>,
    /// Where everything goes to or comes from, straight: not around.
    pub hub: Option<usize>,
    /// What moves comes from standard input.
    pub input: bool,
}

/// The nodes that take part, and how these are ordered.
pub struct Party {
    /// Where they are.
    pub plan: Plan,
    /// At least one; members are numbered as in the first one.
    pub rings: Vec<Ring>,
    /// All nodes but those of `--except`, in the order of the cluster file, and those of them in `--to`.
    pub all: Vec<NodeId>,
    pub to: Vec<NodeId>,
}

impl CollectiveArgs {
    /// Those of `--to`, or all where `everyone`, and these sources in any case; the first source is the first member.
    pub fn party(
        &self,
        ring: &RingArgs,
        sources: &[String],
        everyone: bool,
    ) -> Result<Party, Failure> {
        let plan = self.cluster.plan()?;
        let usage = |words: String| Failure::new(Code::Usage, words);
        if self.listen.is_some() && !self.fleet.is_manual() {
            return Err(usage("--listen: only --launcher manual needs it".into()));
        }
        let mut names = self.fleet.nodes(plan.cluster())?;
        for source in sources {
            input::node_named(&plan, source)?;
            if !names.contains(source) {
                return Err(usage("--except: the source is left out".into()));
            }
        }
        let numbers = |names: &[String]| -> Result<Vec<NodeId>, Failure> {
            names.iter().map(|name| input::node_named(&plan, name)).collect()
        };
        let all = numbers(&names)?;
        let mut to = all.clone();
        if let Some(text) = &self.to {
            let named = cluster::expand_all(text).map_err(|e| usage(format!("--to: {e}")))?;
            if let Some(unknown) = named.iter().find(|name| !names.contains(name)) {
                return Err(usage(format!(
                    "--to: there is no node `{unknown}`, or it is left out"
                )));
            }
            to = numbers(&named)?;
            names.retain(|name| everyone || named.contains(name) || sources.contains(name));
        }
        if let Some(first) = sources.first() {
            let at = names.iter().position(|name| name == first).unwrap_or(0);
            names.rotate_left(at);
        }
        let nodes = numbers(&names)?;
        if nodes.is_empty() {
            return Err(usage("--except: no node is left".into()));
        }
        let mut rings = match ring.stripes {
            Some(1) => vec![Ring::of(&plan, &nodes)],
            _ => Ring::disjoint(&plan, &nodes),
        };
        rings.truncate(ring.stripes.map_or(usize::MAX, |n| n as usize));
        Ok(Party { plan, rings, all, to })
    }

    /// Does it; exits with 1 where a node has not got all.
    pub fn run(
        &self,
        ring: &RingArgs,
        party: &Party,
        job: &Job,
        json: bool,
    ) -> Result<Code, Failure> {
        job.check(party)?;
        let mut members = Members::start(self, ring, party, job, json)?;
        let outcomes = members.finish();
        report::report(party, job, &outcomes, &members.took(), json)
    }
}

impl Party {
    /// The name of a member.
    pub fn name(&self, member: usize) -> &str {
        &self.plan.cluster().node(self.rings[0].nodes()[member]).name
    }

    /// The member that a node is.
    pub fn member(&self, name: &str) -> Option<usize> {
        (0..self.rings[0].nodes().len()).find(|member| self.name(*member) == name)
    }

    /// Is a member to have what is sent?
    pub fn asked(&self, member: usize) -> bool {
        self.to.contains(&self.rings[0].nodes()[member])
    }

    /// The rings as members.
    fn orders(&self) -> Vec<Vec<usize>> {
        let number = |node: &NodeId| {
            let all = self.rings[0].nodes();
            all.iter().position(|it| it == node).unwrap_or(0)
        };
        self.rings.iter().map(|ring| ring.nodes().iter().map(number).collect()).collect()
    }
}

impl Job {
    /// Two parts cannot have one name.
    fn check(&self, party: &Party) -> Result<(), Failure> {
        for member in 0..self.nodes.len() {
            let places = self.parts.iter().map(|part| &part.places[member]);
            let mut seen: BTreeSet<&PathBuf> = places.clone().filter_map(has).collect();
            for path in places.filter_map(got) {
                if !seen.insert(path) {
                    let words = format!(
                        "{}: two of what is copied would have the name {}: put {{from}} in the target",
                        party.name(member),
                        path.display()
                    );
                    return Err(Failure::new(Code::Usage, words));
                }
            }
        }
        Ok(())
    }

    /// Who is to have a part, and has it not.
    fn wants(&self, part: usize) -> impl Iterator<Item = usize> + '_ {
        let places = self.parts[part].places.iter().enumerate();
        let wants = |place: &Part| matches!(place, Part::Target { input: false, .. });
        places.filter(move |(_, place)| wants(place)).map(|(member, _)| member)
    }

    /// How all streams come to those that are to have them, over so many rings. What nobody has comes to nobody.
    fn flows(
        &self,
        orders: &[Vec<usize>],
        shape: Shape,
        lives: impl Fn(usize) -> bool,
    ) -> Vec<Flow> {
        let members = self.nodes.len();
        let mut flows = Vec::new();
        for (number, part) in self.parts.iter().enumerate() {
            let wants: Vec<usize> = self.wants(number).filter(|member| lives(*member)).collect();
            if !lives(part.from) {
                let stripes = if self.hub.is_some() { 1 } else { orders.len() };
                flows.extend(vec![Flow { parents: vec![None; members] }; stripes]);
            } else if self.hub.is_some() {
                let to = wants.first().copied().unwrap_or(part.from);
                flows.push(Flow::straight(members, part.from, to));
            } else {
                for order in orders {
                    let takes = |m: &usize| *m == part.from || wants.contains(m);
                    let order: Vec<usize> = order.iter().copied().filter(takes).collect();
                    let mut flow = Flow::along(&order, part.from, shape);
                    flow.parents.resize(members, None);
                    flows.push(flow);
                }
            }
        }
        flows
    }
}

/// Where a member has a part, and where it gets one.
fn has(part: &Part) -> Option<&PathBuf> {
    if let Part::Source { path, .. } = part { Some(path) } else { None }
}

fn got(part: &Part) -> Option<&PathBuf> {
    match part {
        Part::Target { path, .. } | Part::Source { copy: Some(path), .. } => Some(path),
        Part::Source { copy: None, .. } | Part::Away => None,
    }
}
