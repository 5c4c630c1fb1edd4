//! Measures the traffic of each link as the difference of two samples of `tresse lab counters --json`, from files or from
//! the running lab.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use clap::Args;
use serde::Deserialize;
use tresse_base::units::Rate;
use tresse_plan::MeasuredLoads;

use crate::fail::{Code, Failure};
use crate::input;

/// Arguments of `tresse reflect suggest` that say where the two samples of the traffic counters
/// come from: files, or the running lab.
#[derive(Debug, Args)]
pub struct Samples {
    /// The first sample, as `tresse lab counters --json` prints it; `-` is standard input. Default: all counters are 0.
    #[arg(long, value_name = "FILE", requires = "after")]
    before: Option<PathBuf>,
    /// The second sample. Default: the running lab is sampled twice.
    #[arg(long, value_name = "FILE")]
    after: Option<PathBuf>,
    /// Seconds between the two samples.
    #[arg(long, short = 't', default_value_t = 5.0)]
    seconds: f64,
    /// The rate of every cable, if it is not that of the cluster file.
    #[arg(long)]
    rate: Option<Rate>,
    /// The lab to sample, if there are several.
    #[arg(long, conflicts_with = "after")]
    lab: Option<String>,
    /// Sample a lab in the virtual machine.
    #[arg(long, conflicts_with = "after")]
    vm: bool,
}

/// One line of a sample; its other keys are ignored.
#[derive(Debug, Deserialize)]
struct CounterSample {
    from: String,
    to: String,
    frames: u64,
    bytes: u64,
}

/// Bytes of each frame that the counters leave out: Ethernet header, tag and FCS.
const OVERHEAD: u64 = 22;

const SHORTEST: f64 = 0.01;
const LONGEST: f64 = 86_400.0;

/// Bytes sent from one switch or node to another.
type Bytes = BTreeMap<(String, String), u64>;

impl Samples {
    /// Measures what was sent between the two samples. Returns it with the seconds between them.
    pub fn measure(&self) -> Result<(MeasuredLoads, f64), Failure> {
        if !(SHORTEST..=LONGEST).contains(&self.seconds) {
            let words = format!(
                "--seconds {}: expected {SHORTEST} to {LONGEST} between two samples",
                self.seconds
            );
            return Err(Failure::new(Code::Usage, words));
        }
        let (before, after, seconds) = match &self.after {
            Some(after) => {
                let before = self.before.as_deref().map(read).transpose()?.unwrap_or_default();
                (before, read(after)?, self.seconds)
            }
            None => {
                let before = self.ask()?;
                let start = Instant::now();
                std::thread::sleep(Duration::from_secs_f64(self.seconds));
                (before, self.ask()?, start.elapsed().as_secs_f64())
            }
        };
        if after.is_empty() {
            return Err(Failure::new(Code::BadFile, "the second sample has no counters"));
        }
        // The counters of a lab that was rebuilt in between start at 0 again.
        let fell = before.iter().find(|(ends, bytes)| after.get(*ends).is_some_and(|a| a < bytes));
        if let Some(((from, to), _)) = fell {
            let words = format!(
                "the counter from {from} to {to} is lower in the second sample: are the \
                 samples swapped, or of two labs?"
            );
            return Err(Failure::new(Code::BadFile, words));
        }
        let bps = |(ends, bytes): (&(String, String), &u64)| {
            let sent = bytes - before.get(ends).copied().unwrap_or(0);
            (ends.clone(), sent as f64 * 8.0 / seconds)
        };
        let bps = after.iter().map(bps).collect();
        Ok((MeasuredLoads { bps, rate_bps: self.rate.map(|rate| rate.0 as f64) }, seconds))
    }

    /// Takes a sample of the running lab.
    fn ask(&self) -> Result<Bytes, Failure> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["lab", "counters", "--json"]);
        command.args(self.lab.iter().flat_map(|name| ["--name", name]));
        command.args(self.vm.then_some("--vm"));
        let output = command.output()?;
        if !output.status.success() {
            let words = String::from_utf8_lossy(&output.stderr);
            let words = format!("`tresse lab counters` failed: {}", words.trim());
            return Err(Failure::new(Code::Usage, words));
        }
        parse(&String::from_utf8_lossy(&output.stdout), "tresse lab counters")
    }
}

fn read(path: &Path) -> Result<Bytes, Failure> {
    let name = path.display().to_string();
    let text = if path == Path::new("-") {
        input::text_from(std::io::stdin(), input::LARGEST_DUMP)
    } else {
        File::open(path).and_then(|file| input::text_from(file, input::LARGEST_DUMP))
    };
    parse(&text.map_err(|e| input::unreadable(&name, &e))?, &name)
}

/// Bytes on the wire from each end to each other, over all VLANs and parallel cables.
fn parse(text: &str, name: &str) -> Result<Bytes, Failure> {
    let mut sums = Bytes::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let CounterSample { from, to, frames, bytes } =
            serde_json::from_str(line).map_err(|e| {
                let words = format!(
                    "{name}:{}: not a line of `tresse lab counters --json`: {e}",
                    number + 1
                );
                Failure::new(Code::BadFile, words)
            })?;
        let sum = sums.entry((from, to)).or_default();
        *sum = frames.saturating_mul(OVERHEAD).saturating_add(bytes).saturating_add(*sum);
    }
    Ok(sums)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_those_on_the_wire() {
        let line = |vlan: u32, frames: u32, bytes: u32| {
            format!(
                "{{\"format\":1,\"from\":\"a\",\"to\":\"b\",\"vlan\":{vlan},\"frames\":{frames},\
                 \"bytes\":{bytes},\"control_frames\":3,\"interface\":\"p1\"}}\n"
            )
        };
        let bytes_sent = parse(&(line(100, 10, 15_000) + &line(101, 1, 46)), "x").unwrap();
        assert_eq!(bytes_sent[&("a".into(), "b".into())], 10 * 1522 + 68);
        let error = parse("{}\n", "x").unwrap_err().message;
        assert!(error.contains("x:1: not a line"), "{error}");
    }
}
