//! The public instances of flat neighbourhood design, each for at most so many seconds:
//! `design [SECONDS [NAME]]`. Figures in `docs/flat-neighbourhoods.md`.

use std::time::Instant;

use tresse_design::{Answer, Designer, instances};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let seconds: f64 = args.next().map_or(Ok(2.0), |s| s.parse())?;
    let name = args.next().unwrap_or_default();
    println!(
        "{:<20} {:>9} {:>9} {:>8} {:>8}  outcome",
        "INSTANCE", "SECONDS", "M MOVES", "LEFT", "LINKS"
    );
    for value in &instances::all() {
        let id = value["id"].as_str().unwrap_or_default();
        if !id.contains(&name) {
            continue;
        }
        let problem = instances::problem(value)?;
        #[expect(
            clippy::disallowed_methods,
            reason = "the example has a clock, the planner has none"
        )]
        let began = Instant::now();
        let mut designer = Designer::new(problem, 1)?;
        while !designer.is_done() && began.elapsed().as_secs_f64() < seconds {
            designer.step(20_000);
        }
        let took = began.elapsed().as_secs_f64();
        let progress = designer.progress();
        let answer = Answer::of(&designer, took, 1);
        let outcome = match (&answer.proof, answer.feasible) {
            (Some(_), _) => format!("impossible: {}", answer.bound.name),
            (None, Some(true)) if progress.moves == 0 => "constructed".to_owned(),
            (None, Some(true)) => "found".to_owned(),
            _ => "not found".to_owned(),
        };
        println!(
            "{id:<20} {took:>9.4} {:>9.1} {:>8} {:>8}  {outcome}",
            progress.moves as f64 / 1e6,
            answer.uncovered,
            answer.pattern.total
        );
    }
    Ok(())
}
