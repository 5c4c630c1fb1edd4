//! Dumps of another program: no text panics, problems point into the text, have advice and nothing that
//! acts on a terminal; what is read is judged, and the judgement's numbers fit together. The input is
//! tables and cables, parted by the first line of `---`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tresse_fabric::cluster::Problems;
use tresse_fabric::verify::lfts::{Cables, Dump, Network, Report};

fuzz_target!(|text: &str| {
    let (tables, list) = text.split_once("---\n").unwrap_or((text, text));
    let dump = Dump::parse(tables, "dump");
    let cables = Cables::parse(list, "cables");
    match (dump, cables) {
        (Ok(dump), Ok(cables)) => match Network::new(dump, tables, &cables) {
            Ok(network) => judge(&Report::of(&network)),
            Err(problems) => sound(&problems),
        },
        (dump, cables) => {
            dump.err().iter().for_each(sound);
            cables.err().iter().for_each(sound);
        }
    }
});

fn judge(report: &Report) {
    assert!(report.reachable <= report.pairs);
    assert_eq!(report.deadlock_free, report.cycle.is_none());
    assert_eq!(report.cycle.as_ref().map(Vec::len), report.turns.as_ref().map(Vec::len));
    for turn in report.turns.iter().flatten() {
        assert!(!turn.destination.is_empty(), "a cycle is made by frames");
    }
    let sound = report.loop_free && report.deadlock_free && report.reachable == report.pairs;
    assert!(!report.violations.is_empty() || sound);
    assert!((0.0..).contains(&report.ideal_throughput));
    for finding in report.violations.iter().chain(&report.notes) {
        assert!(!finding.to_string().contains(char::is_control));
    }
}

fn sound(problems: &Problems) {
    assert!(!problems.problems.is_empty());
    for problem in &problems.problems {
        assert!(problems.source.get(problem.span.clone()).is_some());
        let help = problem.help.as_deref().expect("a problem has advice");
        assert!(!format!("{problem}{help}").contains(char::is_control));
    }
}
