//! The program of the trial of several failures: `several [ROUNDS [SEED [ROUND [KIND...]]]]`; see
//! `tresse_tests::several`. `tests/several.sh` runs it.

use std::process::ExitCode;
use std::time::Duration;

use tresse_tests::arguments::{Arguments, verdict};
use tresse_tests::pace;
use tresse_tests::several::{KINDS, Kind, trial};

const ROUNDS: u64 = 5;

fn main() -> ExitCode {
    let known: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
    let arguments = match Arguments::read("several", ROUNDS, &known) {
        Ok(arguments) => arguments,
        Err(code) => return code,
    };
    let Arguments { rounds, seed, round, .. } = arguments;
    println!("{rounds} rounds a kind, SEVERAL_SEED={seed} SEVERAL_ROUND={round}");
    let mut rows = Vec::new();
    let wanted = |kind: &Kind| match arguments.kinds.is_empty() {
        true => kind.has_vlans() == pace::is_emulated(),
        false => arguments.names(kind.name),
    };
    for kind in KINDS.iter().filter(|kind| wanted(kind)) {
        match trial(kind, rounds, seed, round) {
            Ok(row) => rows.push((kind.name, row)),
            Err(words) => {
                eprintln!("{}: {words}", kind.name);
                return ExitCode::FAILURE;
            }
        }
    }
    println!(
        "{:<17} rounds  after failures: median, longest  after the heal: median, longest  bad",
        "kind"
    );
    let ms = |of: &[Duration], at: usize| of.get(at).map_or(0, Duration::as_millis);
    for (name, row) in &rows {
        let [failed, healed] = &row.took;
        println!(
            "{name:<17} {:>6}  {:>19} ms {:>5} ms  {:>19} ms {:>5} ms  {:>3}",
            failed.len(),
            ms(failed, failed.len() / 2),
            ms(failed, failed.len().saturating_sub(1)),
            ms(healed, healed.len() / 2),
            ms(healed, healed.len().saturating_sub(1)),
            row.wrong.len()
        );
    }
    verdict(rows.iter().map(|(name, row)| (*name, &row.wrong)))
}
