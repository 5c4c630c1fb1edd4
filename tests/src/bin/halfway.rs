//! The program of the trial of broken rollouts: `halfway [SEED [KIND...]] [--only STEP/FAULT...]`; see
//! `tresse_tests::halfway`. `tests/halfway.sh` runs it. It is also what stands for ssh in that trial:
//! `halfway --bridge ARGS-OF-SSH`.

use std::path::Path;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use tresse_tests::changes::{KINDS, Kind};
use tresse_tests::halfway::{Fault, Options, Step, bridge, old_release, rows, trial};
use tresse_tests::pace;

fn main() -> ExitCode {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    if let Some(("--bridge", rest)) =
        words.split_first().map(|(first, rest)| (first.as_str(), rest))
    {
        return bridge(rest);
    }
    let older = match words.split_first() {
        Some((first, [directory, rest @ ..])) if first == "--old-release" => {
            let found = directory.clone();
            words = rest.to_vec();
            Some(found)
        }
        _ => None,
    };
    let at = words.iter().position(|word| word == "--only").unwrap_or(words.len());
    let (before, only) = words.split_at(at);
    let clock = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |d| d.as_secs());
    let Ok(seed) = before.first().map_or(Ok(clock), |word| word.parse()) else {
        eprintln!("usage: halfway [SEED [KIND...]] [--only STEP/FAULT...]");
        return ExitCode::from(2);
    };
    let named = |name: &String| KINDS.iter().find(|kind| kind.name == name);
    let names: Vec<String> = before.iter().skip(1).cloned().collect();
    if let Some(unknown) = names.iter().find(|name| named(name).is_none()) {
        eprintln!("no kind `{unknown}`");
        return ExitCode::from(2);
    }
    let kinds: Vec<&'static Kind> = names.iter().filter_map(named).collect();
    // A part of a row's name: `settled/`, `/rebooted`.
    let wanted = |step: Step, fault: Fault| {
        let name = format!("{}/{}", step.name(), fault.name());
        only.len() < 2 || only[1..].iter().any(|part| format!("/{name}/").contains(part.as_str()))
    };
    let rows: Vec<_> = rows().into_iter().filter(|(step, fault)| wanted(*step, *fault)).collect();
    let away = wanted_away(only);
    let options = Options { seed, rows, away, emulated: pace::is_emulated() };
    println!("{} rows a kind, HALFWAY_SEED={seed}", options.rows.len());
    // Labs mostly wait: those of several kinds do so beside each other.
    let run = |kind: &'static Kind| {
        let result = match &older {
            Some(directory) => old_release(kind, Path::new(directory), seed),
            None => trial(kind, &options),
        };
        result.unwrap_or_else(|words| vec![format!("{}: {words}", kind.name)])
    };
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let run = &run;
        let threads: Vec<_> =
            kinds.into_iter().map(|kind| scope.spawn(move || run(kind))).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no trial panics")).collect()
    });
    wrong.iter().for_each(|wrong| eprintln!("{wrong}"));
    if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Without a choice of rows, or where it is chosen.
fn wanted_away(only: &[String]) -> bool {
    only.len() < 2 || only[1..].iter().any(|part| "/two-plans-later/".contains(part.as_str()))
}
