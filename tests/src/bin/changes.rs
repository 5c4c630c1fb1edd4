//! The program of the trial of changes of plan: `changes [ROUNDS [SEED [ROUND [KIND...]]]]`; see
//! `tresse_tests::changes`. `tests/changes.sh` runs it, with the kinds that need VLANs in the virtual
//! machine.

use std::process::ExitCode;

use tresse_lab::probe;
use tresse_lab::state::Shaping;
use tresse_tests::arguments::{Arguments, verdict};
use tresse_tests::changes::{KINDS, Kind, Options, trial};
use tresse_tests::pace;

const ROUNDS: u64 = 0;

fn main() -> ExitCode {
    let known: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
    let arguments = match Arguments::read("changes", ROUNDS, &known) {
        Ok(arguments) => arguments,
        Err(code) => return code,
    };
    let Arguments { rounds, seed, round, .. } = arguments;
    // In the emulated machine are the kinds with VLANs, where this kernel has none.
    let vlans = probe::probe(true, Shaping::None).is_ok();
    let emulated = pace::is_emulated();
    let wanted = |kind: &Kind| match arguments.kinds[..] {
        [] => kind.vlans == emulated || kind.vlans && vlans,
        _ => arguments.names(kind.name),
    };
    let options = Options { rounds, seed, round, emulated };
    println!("{rounds} rounds a kind, CHANGES_SEED={seed} CHANGES_ROUND={round}");
    let mut rows = Vec::new();
    for kind in KINDS.iter().filter(|kind| wanted(kind)) {
        match trial(kind, options) {
            Ok(row) => rows.push((kind.name, row)),
            Err(words) => {
                eprintln!("{}: {words}", kind.name);
                return ExitCode::FAILURE;
            }
        }
    }
    println!(
        "{:<14} {:>6} {:>6} {:>8} {:>10}  bad",
        "kind", "rounds", "median", "longest", "datagrams"
    );
    for (name, row) in &rows {
        let seconds = |at: usize| row.took.get(at).map_or(0.0, std::time::Duration::as_secs_f64);
        let (median, longest) =
            (seconds(row.took.len() / 2), seconds(row.took.len().saturating_sub(1)));
        let (rounds, bad) = (row.took.len(), row.wrong.len());
        println!("{name:<14} {rounds:>6} {median:>5.1}s {longest:>7.1}s {:>10}  {bad}", row.sent);
    }
    verdict(rows.iter().map(|(name, row)| (*name, &row.wrong)))
}
