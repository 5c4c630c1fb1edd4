//! Chooses the nodes that take part in moving files, and the orders in which they pass data on.

use tresse_base::id::NodeId;
use tresse_plan::Plan;
use tresse_ring::order::RingOrder;

use super::arguments::{CollectiveArgs, RingArgs};
use crate::fail::{Code, Failure};
use crate::input;

/// The nodes that take part in moving files, and the rings, that is, the orders in which they pass
/// data on to each other.
pub struct Party {
    /// The plan of the cluster.
    pub plan: Plan,
    /// The rings, at least one. Members are numbered in the order of the first.
    pub rings: Vec<RingOrder>,
    /// All nodes without those of `--except`, in the order of the cluster file.
    pub all: Vec<NodeId>,
    /// Those of `all` that are to get data (`--to`).
    pub to: Vec<NodeId>,
}

impl Party {
    /// Chooses the members: the nodes of `--to` and these sources, or all nodes if `everyone`. The first source becomes the
    /// first member.
    pub fn of(
        args: &CollectiveArgs,
        ring: &RingArgs,
        sources: &[String],
        everyone: bool,
    ) -> Result<Self, Failure> {
        let plan = args.cluster.plan()?;
        let usage = |words: String| Failure::new(Code::Usage, words);
        if args.listen.is_some() && args.launcher().is_some() {
            return Err(usage("--listen: only --launcher manual uses it".into()));
        }
        let mut names = args.fleet.nodes(plan.cluster())?;
        let node = |name: &String| input::node_named(plan.cluster(), name);
        for source in sources {
            node(source)?;
            if !names.contains(source) {
                return Err(usage("--except: the source is left out, and must take part".into()));
            }
        }
        let numbers =
            |names: &[String]| -> Result<Vec<NodeId>, Failure> { names.iter().map(node).collect() };
        let all = numbers(&names)?;
        let mut to = all.clone();
        if let Some(text) = &args.to {
            let named =
                tresse_base::hostlist::expand_all(text).map_err(|e| usage(format!("--to: {e}")))?;
            if let Some(unknown) = named.iter().find(|name| !names.contains(name)) {
                return Err(usage(format!(
                    "--to: there is no node `{unknown}`, or --except leaves it out"
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
            Some(1) => vec![RingOrder::of(&plan, &nodes)],
            _ => RingOrder::disjoint(&plan, &nodes),
        };
        rings.truncate(ring.stripes.map_or(usize::MAX, |n| n as usize));
        Ok(Self { plan, rings, all, to })
    }

    /// The name of a member.
    pub fn name(&self, member: usize) -> &str {
        &self.plan.cluster().node(self.rings[0].nodes()[member]).name
    }

    /// The member on this node.
    pub fn member(&self, name: &str) -> Option<usize> {
        (0..self.rings[0].nodes().len()).find(|member| self.name(*member) == name)
    }

    /// Whether a member is to get data.
    pub fn asked(&self, member: usize) -> bool {
        self.to.contains(&self.rings[0].nodes()[member])
    }

    /// The rings as numbers of members.
    pub fn orders(&self) -> Vec<Vec<usize>> {
        let number = |node: &NodeId| {
            let all = self.rings[0].nodes();
            all.iter().position(|it| it == node).unwrap_or(0)
        };
        self.rings.iter().map(|ring| ring.nodes().iter().map(number).collect()).collect()
    }
}
