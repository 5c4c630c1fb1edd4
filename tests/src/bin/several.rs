//! The program of the trial of several failures: `several [ROUNDS [SEED [ROUND [KIND...]]]]`; see
//! `tresse_tests::several`. `tests/several.sh` runs it.

use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tresse_tests::several::{KINDS, trial};

const ROUNDS: u64 = 5;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let clock = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |d| d.as_secs());
    let number = |at: usize, default: u64| words.get(at).map_or(Ok(default), |word| word.parse());
    let (Ok(rounds), Ok(seed), Ok(round)) = (number(0, ROUNDS), number(1, clock), number(2, 0))
    else {
        eprintln!("usage: several [ROUNDS [SEED [ROUND [KIND...]]]]");
        return ExitCode::from(2);
    };
    let names = words.get(3..).unwrap_or_default();
    if let Some(name) = names.iter().find(|name| KINDS.iter().all(|kind| kind.name != **name)) {
        let known: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
        eprintln!("no kind `{name}`: there are {}", known.join(" "));
        return ExitCode::from(2);
    }
    println!("{rounds} rounds a kind, SEVERAL_SEED={seed} SEVERAL_ROUND={round}");
    let mut rows = Vec::new();
    for kind in KINDS.iter().filter(|kind| names.is_empty() || names.iter().any(|n| n == kind.name))
    {
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
    let wrong: Vec<String> = rows
        .iter()
        .flat_map(|(name, row)| row.wrong.iter().map(move |w| format!("{name}, {w}")))
        .collect();
    wrong.iter().for_each(|wrong| eprintln!("{wrong}"));
    if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
