//! The program of the soak test: `soak [SECONDS [SEED [ROUND]]]`; see `tresse_tests::soak`.
//! `tests/soak.sh` runs it, in the virtual machine if this kernel cannot hold the lab.

use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tresse_lab::probe;
use tresse_lab::state::Shaping;
use tresse_tests::soak::{Options, soak};

const SECONDS: u64 = 1800;

fn main() -> ExitCode {
    // For the script: can this kernel hold the lab?
    if std::env::args().nth(1).is_some_and(|word| word == "--can") {
        return match probe::probe(true, Shaping::None) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        };
    }
    let mut numbers = std::env::args().skip(1).map(|word| word.parse::<u64>());
    let mut number = |default: u64| numbers.next().unwrap_or(Ok(default));
    let clock = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |d| d.as_secs());
    let (Ok(seconds), Ok(seed), Ok(round)) = (number(SECONDS), number(clock), number(0)) else {
        eprintln!("usage: soak [SECONDS [SEED [ROUND]]]");
        return ExitCode::from(2);
    };
    println!("soak for {seconds} s, SOAK_SEED={seed} SOAK_ROUND={round}");
    match soak(Options { time: Duration::from_secs(seconds), seed, round }) {
        Ok(()) => ExitCode::SUCCESS,
        Err(words) => {
            eprintln!("soak: {words}");
            ExitCode::FAILURE
        }
    }
}
