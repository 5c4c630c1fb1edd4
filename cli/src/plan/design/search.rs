//! Runs the search of `tresse design` for a wiring: applies the time limit, shows progress on a
//! terminal, and stops on Ctrl-C.

use std::io::IsTerminal;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};
use tresse_design::{Designer, Progress, Spec};
use tresse_lab::signals::Signals;

/// Moves of each walk in one step; time and Ctrl-C are checked between steps.
const STEP: u64 = 20_000;

/// Runs `designer` until it is done, the time or the number of moves of the specification is used
/// up, or Ctrl-C is pressed. The best wiring found, if any, is then in `designer`.
pub fn search(designer: &mut Designer, spec: &Spec, signals: &Signals, show: bool) {
    let began = Instant::now();
    let bar = if show && std::io::stderr().is_terminal() {
        let style = ProgressStyle::with_template("{spinner} {elapsed} {msg}");
        ProgressBar::new_spinner().with_style(style.unwrap_or(ProgressStyle::default_spinner()))
    } else {
        ProgressBar::hidden()
    };
    while !designer.is_done() && signals.check().is_ok() {
        let over = match spec.design.moves {
            Some(moves) => designer.progress().moves >= moves,
            None => began.elapsed().as_secs_f64() >= spec.design.seconds,
        };
        if over {
            break;
        }
        let progress = designer.step(STEP);
        bar.set_message(words(&progress));
        bar.tick();
    }
    bar.finish_and_clear();
}

fn words(progress: &Progress) -> String {
    format!(
        "{} uncovered, {} lacking, {} weighted links, {:.0} million moves (Ctrl-C: stop with the best so far)",
        progress.uncovered,
        progress.lacking,
        progress.links,
        progress.moves as f64 / 1e6
    )
}
