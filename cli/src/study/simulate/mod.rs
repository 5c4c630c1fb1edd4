//! `tresse simulate`: simulates the traffic on a plan's paths flit by flit, and prints latency and
//! accepted traffic for each load.

mod answer;
mod arguments;
mod itb;
mod model;
mod plot;
mod sweep;
mod traffic;
mod transit_buffer;
mod vlan;

use std::io::Write;

use toml_edit::DocumentMut;
use tresse_plan::Plan;

use self::answer::Curve;
use self::arguments::{Paper, Switching};

pub use self::arguments::Simulate;
use crate::fail::{Code, Failure};
use crate::input::{self, ClusterArgs};
use crate::output;
use crate::plot::PictureFile;

impl Simulate {
    /// Simulates and prints; exits with 1 if a run deadlocked.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        self.refuse_what_has_no_effect()?;
        match self.paper {
            Some(Paper::Vlan) => return self.vlan_paper(json),
            Some(Paper::Itb) => return self.itb_paper(json),
            None => {}
        }
        let file = self.plot.as_deref().map(PictureFile::new).transpose()?;
        let mut curves = Vec::new();
        for plan in self.plans()? {
            curves.push(self.curve(&plan)?);
        }
        let mut out = output::stdout();
        for curve in &curves {
            match (json, self.csv) {
                (true, _) => curve.json(&mut out)?,
                (_, true) => curve.csv(&mut out, std::ptr::eq(curve, &curves[0]))?,
                _ => curve.text(&mut out)?,
            }
        }
        out.flush()?;
        if let Some(file) = file {
            file.write(&plot::picture(&curves)?)?;
        }
        if let Some(path) = &self.links {
            let head = "strategy,offered,link,used,buffer_peak\n".to_owned();
            input::replace(path, curves.iter().fold(head, |text, curve| text + curve.links()))?;
        }
        let stuck = curves.iter().any(Curve::is_stuck);
        Ok(if stuck { Code::Fault } else { Code::Fine })
    }

    /// Refuses options that would have no effect with, or without, `--paper`, or with the model.
    fn refuse_what_has_no_effect(&self) -> Result<(), Failure> {
        let itb = self.paper == Some(Paper::Itb);
        type Given = (&'static str, bool);
        let refused = |(option, given): &Given| given.then_some(*option);
        if self.transit_buffer.is_some() {
            let why = match (self.paper, self.model) {
                (Some(Paper::Itb), _) => "`--paper itb` sets this option",
                (Some(Paper::Vlan), _) => "`--paper vlan` has no transit nodes",
                (None, Switching::Wormhole) => "with `--model wormhole` nodes drop nothing",
                (None, Switching::Ethernet) => "",
            };
            if !why.is_empty() {
                return Err(Failure::new(Code::Usage, format!("--transit-buffer: {why}")));
            }
        }
        let (option, why) = if itb {
            let said = [
                ("--buffers", self.buffers.is_some()),
                ("--queues", self.queues.is_some()),
                ("--arrivals", self.arrivals.is_some()),
            ];
            (said.iter().find_map(refused), "`--paper itb` sets this option")
        } else {
            let own = [
                ("--networks", self.networks.is_some()),
                ("--switches", !self.switches.is_empty()),
            ];
            (own.iter().find_map(refused), "only `--paper itb` uses this option")
        };
        match option {
            Some(option) => Err(Failure::new(Code::Usage, format!("{option}: {why}"))),
            None => Ok(()),
        }
    }

    /// The file's plan, or one for each strategy.
    fn plans(&self) -> Result<Vec<Plan>, Failure> {
        let file = self.file.clone().unwrap_or_default();
        let files = ClusterArgs { file, lock: self.lock.clone() };
        if self.strategies.is_empty() {
            return Ok(vec![files.plan()?]);
        }
        // Show problems of the file itself as all verbs do.
        input::read_cluster(&files.file)?;
        let text = input::cluster_text(&files.file)?;
        let lock = files.read_lock()?;
        let of = |name: &String| {
            let wrong = |words: String| {
                Failure::new(Code::Usage, format!("--strategies: `{name}`: {words}"))
            };
            let mut file: DocumentMut =
                text.parse().map_err(|e: toml_edit::TomlError| wrong(e.to_string()))?;
            file["routing"]["strategy"] = toml_edit::value(name.as_str());
            let cluster =
                tresse_cluster::parse(&file.to_string(), &files.file.display().to_string());
            // What they say of places is of a file that nobody has.
            let cluster = cluster.map_err(|problems| {
                let words = problems.problems.into_iter().map(|problem| match problem.help {
                    Some(help) => format!("{}\n  help: {help}", problem.message),
                    None => problem.message,
                });
                wrong(words.collect::<Vec<_>>().join("\n"))
            })?;
            input::build(cluster, &lock, &files.file)
        };
        self.strategies.iter().map(of).collect()
    }
}
