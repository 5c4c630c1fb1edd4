//! `tresse check`: proves that a plan keeps its promises (reachability, no loops, ...), or shows
//! for each violation the object that proves it, such as the cycle or the pair of nodes.

mod findings;
mod lfts;

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use serde_json::Value;
use tresse_health::sets::Sets;
use tresse_plan::Plan;
use tresse_plan::remaining::joins_paths;
use tresse_routing::direct::hopping::Hopping;
use tresse_slice::watch::Watches;
use tresse_verify::{self, Reflect, Report};

use self::findings::findings;
use crate::fail::{Code, Failure};
use crate::input::ClusterArgs;
use crate::output;

/// Arguments of `tresse check`, which proves that a plan keeps its promises, or names what breaks
/// them.
#[derive(Debug, Args)]
pub struct Check {
    /// The cluster file.
    #[arg(required_unless_present = "lfts")]
    file: Option<PathBuf>,
    /// The lock. Default: `tresse.lock` beside the cluster file, if there is one.
    #[arg(long, requires = "file")]
    lock: Option<PathBuf>,
    /// Check the forwarding tables of an InfiniBand network instead: OpenSM's `opensm-lfts.dump` (`opensm -D 0x43`),
    /// or the output of `dump_fts`.
    #[arg(long, value_name = "DUMP", conflicts_with_all = ["file", "lock"])]
    lfts: Option<PathBuf>,
    /// The cables of that network, which the dump does not contain: OpenSM's `opensm-subnet.lst`, or the output of
    /// `ibnetdiscover`. Default: `opensm-subnet.lst` beside the dump.
    #[arg(long, requires = "lfts", conflicts_with_all = ["file", "lock"])]
    topology: Option<PathBuf>,
    /// Also fail so many switches, nodes and cables at once: all sets of them, or 1000 random ones (fewer on large fabrics).
    #[arg(long, value_name = "N", conflicts_with = "lfts")]
    failures: Option<usize>,
    /// The seed of random sets.
    #[arg(long, requires = "failures", default_value_t = 1)]
    seed: u64,
}

impl Check {
    /// Computes the plan, checks it and prints the report; exits with 1 if there is a violation.
    pub fn run(self, json: bool) -> Result<Code, Failure> {
        if let Some(dump) = &self.lfts {
            return lfts::run(dump, self.topology.as_deref(), json);
        }
        // The parser lets no command line without a file through.
        let file = self.file.unwrap_or_default();
        let plan = ClusterArgs { file, lock: self.lock }.plan()?;
        let report = tresse_verify::check(&plan);
        let sessions = Sessions::of(&plan);
        let hopping = Hopping::of_cluster(plan.cluster());
        let sets = self.failures.map(|failures| Sets::of(&plan, failures, self.seed)).transpose();
        let wrong = |error| Failure::new(Code::Usage, format!("--failures: {error}"));
        let sets = sets.map_err(wrong)?;
        let cut = sets.as_ref().is_some_and(|sets| sets.cut > 0);
        let answer = Answer { report: &report, hopping, sessions };
        let mut out = output::stdout();
        if json {
            match &sets {
                Some(sets) => output::json_line(&mut out, &answer.with(sets)?)?,
                None => output::json_line(&mut out, &answer)?,
            }
        } else {
            text(&mut out, &answer, joins_paths(plan.cluster()))?;
            sets.iter().try_for_each(|sets| write!(out, "{sets}"))?;
        }
        out.flush()?;
        Ok(if report.violations.is_empty() && !cut { Code::Fine } else { Code::Fault })
    }
}

#[derive(Serialize)]
struct Answer<'a> {
    #[serde(flatten)]
    report: &'a Report,
    #[serde(skip_serializing_if = "Option::is_none")]
    hopping: Option<Hopping>,
    sessions: Sessions,
}

impl Answer<'_> {
    /// The same, with the effect of several failures beside that of single ones.
    fn with(&self, sets: &Sets) -> std::io::Result<Value> {
        let mut answer = serde_json::to_value(self)?;
        if let (Some(all), Value::Object(sets)) =
            (answer["failures"].as_object_mut(), serde_json::to_value(sets)?)
        {
            all.extend(sets);
        }
        Ok(answer)
    }
}

/// How many BFD sessions a node starts to detect every failure that it could avoid.
#[derive(Serialize)]
struct Sessions {
    /// How many nodes were counted; they are spread evenly over the cluster.
    nodes: usize,
    /// The fewest sessions that one of them starts.
    least: usize,
    /// The most sessions that one of them starts.
    most: usize,
}

impl Sessions {
    /// How many nodes are counted at most: one node takes as long as its slice.
    const NODES: usize = 16;

    fn of(plan: &Plan) -> Self {
        let all = plan.cluster().nodes.len();
        let asked = (0..all).step_by(all.div_ceil(Self::NODES).max(1));
        let counts: Vec<usize> =
            asked.map(|node| Watches::new(plan, node.into()).active()).collect();
        let (least, most) = (counts.iter().min(), counts.iter().max());
        let or_none = |count: Option<&usize>| count.copied().unwrap_or(0);
        Self { nodes: counts.len(), least: or_none(least), most: or_none(most) }
    }
}

/// `joins`: are planned paths joined where failures leave a pair none?
fn text(out: &mut impl Write, answer: &Answer<'_>, joins: bool) -> std::io::Result<()> {
    let Answer { report: r, hopping, sessions } = answer;
    let yes = |b: bool| if b { "yes" } else { "no" };
    writeln!(out, "pairs             {} of {} reachable", r.reachable, r.pairs)?;
    writeln!(out, "loop-free         {}", yes(r.loop_free))?;
    writeln!(out, "minimal           {} (mean {:.3} hops)", yes(r.minimal), r.mean_hops)?;
    let alone =
        if r.deadlock_free || !r.primaries_deadlock_free { "" } else { " (primaries alone: yes)" };
    writeln!(out, "deadlock-free     {}{alone}", yes(r.deadlock_free))?;
    if let Some(cycle) = &r.cycle {
        let nodes: Vec<_> = cycle.iter().map(|[from, _]| from.as_str()).collect();
        writeln!(out, "  cycle           {} -> ...", nodes.join(" -> "))?;
    }
    writeln!(
        out,
        "VLANs             {} ({} for backups only), {} VIDs spare",
        r.vlans, r.backup_vlans, r.spare_vids
    )?;
    writeln!(out, "link load         max {}, mean {:.3}", r.max_link_load, r.mean_link_load)?;
    writeln!(out, "ideal throughput  {:.4} of a node link", r.ideal_throughput)?;
    if let Some(bound) = &r.bound {
        writeln!(out, "  at most         {}", bound.words())?;
    }
    if let Some(cut) = &r.cut {
        writeln!(
            out,
            "cut into halves   {} links each way, {:.3} of a node link per node (Theorem 2: at least {:.3})",
            cut.links, cut.per_node, cut.theorem
        )?;
    }
    let gbits = |bits: f64| format!("{:.1} Gbit/s", bits / 1e9);
    if let Some(bisection) = &r.bisection {
        let up =
            bisection.with_uplink.map(|up| format!("{} with the uplink's cables, ", gbits(up)));
        writeln!(
            out,
            "between halves    {} over random pairs, {}{} at most",
            gbits(bisection.random_pairs),
            up.unwrap_or_default(),
            gbits(bisection.most)
        )?;
    }
    if let Some(hopping) = hopping {
        writeln!(out, "  by hopping      {}", hopping.words(gbits))?;
    }
    if r.transit.paths > 0 {
        writeln!(
            out,
            "transit nodes     on {} paths, max {}, mean {:.3} per path",
            r.transit.paths, r.transit.max, r.transit.mean
        )?;
    }
    if sessions.most > 0 {
        let Sessions { nodes, least, most } = sessions;
        writeln!(
            out,
            "BFD sessions      {least} to {most} begun by a node ({nodes} nodes looked at)"
        )?;
    }
    if let Some(reflect) = &r.reflect {
        reflect_text(out, reflect)?;
    }
    for (name, worst) in
        [("link", &r.failures.link), ("switch", &r.failures.switch), ("node", &r.failures.node)]
    {
        let title = format!("one {name} fails");
        write!(out, "{title:<16}  {} of {} harmless", worst.harmless, worst.objects)?;
        match &worst.worst {
            Some(object) => writeln!(out, "; worst {object}: {} pairs lost", worst.most_lost)?,
            None => writeln!(out)?,
        }
    }
    let lost = [&r.failures.link, &r.failures.switch, &r.failures.node].map(|of| of.most_lost);
    if joins && lost.iter().any(|lost| *lost > 0) {
        writeln!(
            out,
            "  by planned paths alone; with BFD third nodes send on, and --failures 1 counts what is still lost"
        )?;
    }
    findings(out, &r.violations, &r.notes)
}

fn reflect_text(out: &mut impl Write, r: &Reflect) -> std::io::Result<()> {
    write!(out, "demand            {}: {:.4} of a node link by primaries", r.demand, r.direct)?;
    let Some(optimum) = r.optimum else { return writeln!(out) };
    writeln!(
        out,
        ", {:.4} with detours ({:.2} times), optimum {optimum:.4}",
        r.achieved,
        if r.direct > 0.0 { r.achieved / r.direct } else { 1.0 },
    )?;
    writeln!(
        out,
        "reflectors        {} nodes, {} weighted siblings of {} pairs, of {} detours{}",
        r.reflectors,
        r.siblings,
        r.pairs,
        r.candidates,
        if r.restricted { " (not all)" } else { "" }
    )
}
