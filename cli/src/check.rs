//! `tresse check`: proofs and their witnesses.

use std::io::Write;

use clap::Args;
use tresse_fabric::verify::{self, Report};

use crate::fail::{Code, Failure};
use crate::input::ClusterArgs;
use crate::output;

/// Arguments of `tresse check`.
#[derive(Debug, Args)]
pub struct Check {
    #[command(flatten)]
    cluster: ClusterArgs,
}

impl Check {
    /// Plans, verifies and prints; exits with 1 where there is a violation.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        let plan = self.cluster.plan()?;
        let report = verify::check(&plan);
        let mut out = output::stdout();
        if json {
            output::json_line(&mut out, &report)?;
        } else {
            text(&mut out, &report)?;
        }
        out.flush()?;
        Ok(if report.violations.is_empty() { Code::Fine } else { Code::Fault })
    }
}

fn text(out: &mut impl Write, r: &Report) -> std::io::Result<()> {
    let yes = |b: bool| if b { "yes" } else { "no" };
    writeln!(out, "pairs             {} of {} reachable", r.reachable, r.pairs)?;
    writeln!(out, "loop-free         {}", yes(r.loop_free))?;
    writeln!(out, "minimal           {} (mean {:.3} hops)", yes(r.minimal), r.mean_hops)?;
    let alone =
        if r.deadlock_free || !r.primaries_deadlock_free { "" } else { " (primaries alone: yes)" };
    writeln!(out, "deadlock-free     {}{alone}", yes(r.deadlock_free))?;
    if let Some(cycle) = &r.cycle {
        let way: Vec<_> = cycle.iter().map(|[from, _]| from.as_str()).collect();
        writeln!(out, "  cycle           {} -> ...", way.join(" -> "))?;
    }
    writeln!(
        out,
        "VLANs             {} ({} for backups only), {} VIDs spare",
        r.vlans, r.backup_vlans, r.spare_vids
    )?;
    writeln!(out, "link load         max {}, mean {:.3}", r.max_link_load, r.mean_link_load)?;
    writeln!(out, "ideal throughput  {:.4} of a node link", r.ideal_throughput)?;
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
    for (title, findings) in [("VIOLATION", &r.violations), ("note", &r.notes)] {
        for f in findings {
            writeln!(out, "{title}: {f}")?;
        }
    }
    Ok(())
}
