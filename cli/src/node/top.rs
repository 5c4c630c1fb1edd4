//! `tresse top`: shows the load of this node's NICs and what differs from the plan, and refreshes
//! both continuously.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{IsTerminal as _, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use clap::Args;
use serde::Serialize;
use tresse_control::{Client, FORMAT, NicLine, Status};

use super::connection::NodeArgs;
use crate::fail::{Code, Failure};
use crate::output::{self, plain};

/// Moves the cursor to the upper left corner.
const HOME: &str = "\x1b[H";
/// Clears the rest of the line.
const CLEAR_LINE: &str = "\x1b[K";
/// Clears the rest of the screen.
const CLEAR_BELOW: &str = "\x1b[J";

/// Arguments of `tresse top`, which shows the load of this node's NICs, refreshed.
#[derive(Debug, Args)]
pub struct Top {
    #[command(flatten)]
    node: NodeArgs,
    /// Seconds between two updates.
    #[arg(long, value_name = "SECONDS", default_value_t = 1,
          value_parser = clap::value_parser!(u16).range(1..=60))]
    every: u16,
    /// End after N updates. Default: never.
    #[arg(long, value_name = "N")]
    count: Option<u32>,
}

/// Counters of an interface, from `/sys/class/net/*/statistics`.
#[derive(Debug, Clone, Copy, Default)]
struct Carried {
    rx_bytes: u64,
    tx_bytes: u64,
    rx_packets: u64,
    tx_packets: u64,
    lost: u64,
}

/// The load of one NIC since the last update.
#[derive(Debug, Serialize)]
struct Load {
    nic: String,
    up: bool,
    carrier: bool,
    /// Received and sent bits per second.
    rx: u64,
    tx: u64,
    /// Received and sent frames per second.
    rx_frames: u64,
    tx_frames: u64,
    /// Frames dropped or damaged since the last update.
    lost: u64,
}

#[derive(Debug, Serialize)]
struct Answer<'a> {
    format: u32,
    nics: &'a [Load],
    status: &'a Status,
}

impl Top {
    /// Shows updates until interrupted, or as many as `--count` says.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        let mut client = self.node.connect()?;
        let (mut before, mut at) = (BTreeMap::new(), Instant::now());
        let names: Vec<NicLine> = client.neighbours()?.nics;
        before.extend(names.iter().map(|nic| (nic.name.clone(), carried(&nic.name))));
        let mut left = self.count;
        while left != Some(0) {
            std::thread::sleep(Duration::from_secs(self.every.into()));
            let loads = loads(&mut client, &mut before, at.elapsed())?;
            at = Instant::now();
            let status = client.status()?;
            let mut out = output::stdout();
            if json {
                output::json_line(
                    &mut out,
                    &Answer { format: FORMAT, nics: &loads, status: &status },
                )?;
            } else {
                draw(&mut out, &screen(&loads, &status))?;
            }
            out.flush()?;
            left = left.map(|left| left - 1);
        }
        Ok(Code::Fine)
    }
}

fn loads(
    client: &mut Client,
    before: &mut BTreeMap<String, Carried>,
    time: Duration,
) -> Result<Vec<Load>, Failure> {
    let mut loads = Vec::new();
    for nic in client.neighbours()?.nics {
        let now = carried(&nic.name);
        let was = before.insert(nic.name.clone(), now).unwrap_or(now);
        // The counters of a NIC that was removed and came back start at 0.
        let rate = |now: u64, was: u64| {
            (now.saturating_sub(was) as f64 / time.as_secs_f64().max(0.001)) as u64
        };
        loads.push(Load {
            up: nic.up,
            carrier: nic.carrier,
            rx: rate(now.rx_bytes, was.rx_bytes) * 8,
            tx: rate(now.tx_bytes, was.tx_bytes) * 8,
            rx_frames: rate(now.rx_packets, was.rx_packets),
            tx_frames: rate(now.tx_packets, was.tx_packets),
            lost: now.lost.saturating_sub(was.lost),
            nic: nic.name,
        });
    }
    Ok(loads)
}

fn carried(nic: &str) -> Carried {
    let directory = Path::new("/sys/class/net").join(nic).join("statistics");
    let read = |name: &str| -> u64 {
        let text = fs::read_to_string(directory.join(name)).unwrap_or_default();
        text.trim().parse().unwrap_or(0)
    };
    Carried {
        rx_bytes: read("rx_bytes"),
        tx_bytes: read("tx_bytes"),
        rx_packets: read("rx_packets"),
        tx_packets: read("tx_packets"),
        lost: ["rx_dropped", "tx_dropped", "rx_errors", "tx_errors"].map(read).iter().sum(),
    }
}

/// Prints the screen; on a terminal over the previous one.
fn draw(out: &mut impl Write, screen: &str) -> std::io::Result<()> {
    if !std::io::stdout().is_terminal() {
        return writeln!(out, "{screen}");
    }
    out.write_all(HOME.as_bytes())?;
    screen.lines().try_for_each(|line| writeln!(out, "{line}{CLEAR_LINE}"))?;
    out.write_all(CLEAR_BELOW.as_bytes())
}

fn screen(loads: &[Load], status: &Status) -> String {
    let mut text = String::new();
    let node = status.node.as_deref().unwrap_or("no plan");
    let sync = if status.in_sync { "in sync" } else { "NOT in sync" };
    let sessions = match status.sessions {
        0 => String::new(),
        all => format!(", BFD {} of {all} up", status.sessions_up),
    };
    let _ = writeln!(text, "{node}, {sync}, {}{sessions}\n", status.activity);
    let mut table =
        output::table(["NIC", "STATE", "RECEIVES", "SENDS", "FRAMES IN", "OUT", "LOST"]);
    for load in loads {
        let state = match (load.up, load.carrier) {
            (false, _) => "down",
            (true, false) => "no carrier",
            (true, true) => "up",
        };
        table.add_row([
            plain(&load.nic).into_owned(),
            state.into(),
            bits(load.rx),
            bits(load.tx),
            load.rx_frames.to_string(),
            load.tx_frames.to_string(),
            load.lost.to_string(),
        ]);
    }
    let _ = writeln!(text, "{table}");
    let lists = [
        ("broken paths", &status.broken),
        ("on their backup", either(&status.backup_nodes, &status.backup)),
        ("without a backup", either(&status.unprotected_nodes, &status.unprotected)),
        ("drained", &status.drained),
        ("pinned", &status.pinned),
        ("weighted", &status.weighted),
    ];
    for (what, list) in lists.into_iter().filter(|(_, list)| !list.is_empty()) {
        let shown: Vec<_> = list.iter().take(8).map(|text| plain(text)).collect();
        let more = if list.len() > shown.len() { " ..." } else { "" };
        let _ = writeln!(text, "{} {what}: {}{more}", list.len(), shown.join(", "));
    }
    for fused in &status.fused {
        let _ = writeln!(text, "FUSED VLAN {}: {}", fused.vid, plain(&fused.why));
    }
    if let Some(fault) = &status.fault {
        let _ = writeln!(text, "FAULT: {}", plain(fault));
    }
    text
}

/// A rate in bit/s as text, such as `941M`.
fn bits(rate: u64) -> String {
    let units = [(1_000_000_000, "G"), (1_000_000, "M"), (1000, "k")];
    let unit = units.into_iter().find(|(unit, _)| rate >= *unit);
    match unit {
        Some((unit, name)) if rate < 10 * unit => {
            format!("{}.{}{name}", rate / unit, rate % unit * 10 / unit)
        }
        Some((unit, name)) => format!("{}{name}", rate / unit),
        None => rate.to_string(),
    }
}

/// Nodes by name; by address where an older daemon sends no names.
const fn either<'a>(names: &'a Vec<String>, addresses: &'a Vec<String>) -> &'a Vec<String> {
    if names.is_empty() { addresses } else { names }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_two_digits_at_least() {
        for (rate, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1.0k"),
            (9_990, "9.9k"),
            (10_000, "10k"),
            (941_000_000, "941M"),
            (9_410_000_000, "9.4G"),
        ] {
            assert_eq!(bits(rate), text);
        }
    }

    #[test]
    fn the_screen_names_what_is_not_as_planned() {
        let load = Load {
            nic: "eth0".into(),
            up: true,
            carrier: false,
            rx: 1_500_000,
            tx: 0,
            rx_frames: 12,
            tx_frames: 0,
            lost: 3,
        };
        let status = Status {
            node: Some("n0".into()),
            in_sync: true,
            drained: vec!["s1".into()],
            broken: (0..9).map(|n| format!("n{n} rank 0 by eth0")).collect(),
            ..Status::default()
        };
        let text = screen(&[load], &status);
        for words in
            ["n0, in sync", "no carrier", "1.5M", "9 broken paths: n0", "...", "1 drained: s1"]
        {
            assert!(text.contains(words), "{words}: {text}");
        }
    }
}
