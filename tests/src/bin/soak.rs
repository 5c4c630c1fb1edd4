//! The program of the soak test: `soak [KIND [SECONDS [SEED [ROUND]]]]`; see `tresse_tests::soak`.
//! `tests/soak.sh` runs it, in the virtual machine if this kernel cannot hold the lab.

use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tresse_lab::probe;
use tresse_lab::state::Shaping;
use tresse_tests::soak::{KINDS, Kind, Options, soak};

const SECONDS: u64 = 1800;

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1).peekable();
    // For scripts: can this kernel hold the lab?
    let asks = words.next_if(|word| word == "--can").is_some();
    let Some(kind) = Kind::named(&words.next().unwrap_or_else(|| KINDS[0].name.into())) else {
        let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
        eprintln!("soak: no such kind of fabric; there are {}", names.join(", "));
        return ExitCode::from(2);
    };
    if asks {
        return match probe::probe(kind.vlans, Shaping::None) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        };
    }
    let mut numbers = words.map(|word| word.parse::<u64>());
    let mut number = |default: u64| numbers.next().unwrap_or(Ok(default));
    let clock = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |d| d.as_secs());
    let (Ok(seconds), Ok(seed), Ok(round)) = (number(SECONDS), number(clock), number(0)) else {
        eprintln!("usage: soak [KIND [SECONDS [SEED [ROUND]]]]");
        return ExitCode::from(2);
    };
    println!("soak of {} for {seconds} s, SOAK_SEED={seed} SOAK_ROUND={round}", kind.name);
    match soak(Options { kind, time: Duration::from_secs(seconds), seed, round }) {
        Ok(()) => ExitCode::SUCCESS,
        Err(words) => {
            eprintln!("soak: {words}");
            ExitCode::FAILURE
        }
    }
}
