//! What the programs of the trials share: their arguments, `[ROUNDS [SEED [ROUND [KIND...]]]]`, and the verdict at
//! their end.

use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

/// The arguments of a trial's program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arguments {
    /// Number of rounds of each kind.
    pub rounds: u64,
    /// The seed of all random choices; by default the time.
    pub seed: u64,
    /// The first round.
    pub round: u64,
    /// The chosen kinds of fabrics; empty: none was chosen.
    pub kinds: Vec<String>,
}

impl Arguments {
    /// Those of this program, which knows these kinds of fabrics.
    ///
    /// # Errors
    /// 2, after words on standard error, if one cannot be read or names no kind.
    pub fn read(program: &str, rounds: u64, known: &[&str]) -> Result<Self, ExitCode> {
        let words: Vec<String> = std::env::args().skip(1).collect();
        let clock = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |d| d.as_secs());
        let number =
            |at: usize, default: u64| words.get(at).map_or(Ok(default), |word| word.parse());
        let (Ok(rounds), Ok(seed), Ok(round)) = (number(0, rounds), number(1, clock), number(2, 0))
        else {
            eprintln!("usage: {program} [ROUNDS [SEED [ROUND [KIND...]]]]");
            return Err(ExitCode::from(2));
        };
        let kinds = words.get(3..).unwrap_or_default().to_vec();
        if let Some(kind) = kinds.iter().find(|kind| !known.contains(&kind.as_str())) {
            eprintln!("no kind `{kind}`: there are {}", known.join(" "));
            return Err(ExitCode::from(2));
        }
        Ok(Self { rounds, seed, round, kinds })
    }

    /// Was this kind chosen?
    #[must_use]
    pub fn names(&self, kind: &str) -> bool {
        self.kinds.iter().any(|name| name == kind)
    }
}

/// Prints what was wrong, by kind, on standard error; 1 if anything was.
#[must_use]
pub fn verdict<'a>(wrong: impl Iterator<Item = (&'a str, &'a Vec<String>)>) -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    for (kind, words) in wrong.flat_map(|(kind, all)| all.iter().map(move |words| (kind, words))) {
        eprintln!("{kind}, {words}");
        code = ExitCode::FAILURE;
    }
    code
}
