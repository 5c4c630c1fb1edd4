//! Fuzz targets for files that people and other programs write.

use tresse_base::problem::Problems;
use tresse_plan::Plan;
use tresse_plan::lock::{Lock, tree};
use tresse_verify::lfts::{Cables, Dump, Network, Report};

/// Larger fabrics plan slowly under libFuzzer's counters and teach nothing new.
const MOST_SWITCHES: usize = 64;

/// Fuzzes the parser of the cluster file. No text panics. Problems have positions in the text and
/// advice, and contain no terminal control characters. Formatting does not change the meaning.
pub fn cluster(text: &str) {
    match tresse_cluster::parse(text, "cluster.toml") {
        Err(problems) => well_formed(text, &problems),
        Ok(parsed) => {
            let formatted = tresse_cluster::format(text);
            assert_eq!(tresse_cluster::parse(&formatted, "cluster.toml").as_ref(), Ok(&parsed));
            if parsed.switches.len() <= MOST_SWITCHES {
                let _ = Plan::build(parsed);
            }
        }
    }
}

/// Fuzzes the parser of the lock. No text panics. A lock that can be read encodes back to an equal
/// one, and comparing its trees does not panic.
pub fn lock(text: &str) {
    if let Ok(lock) = Lock::parse(text) {
        assert_eq!(Lock::parse(&lock.emit()).as_ref(), Ok(&lock));
        for vid in lock.vids.values() {
            let _ = tree::compatible(&vid.tree, "s0:1~s1:1 s1:2~s2:1");
        }
    }
    let _ = tree::compatible(text, "torus 4x4 at 1,0 order 0,1");
}

/// Fuzzes the reader of another program's forwarding tables. No text panics. Each problem has a position
/// in the text and advice, and contains no terminal control characters. Tables that can be read are judged,
/// and the numbers of the judgement fit together. The first line of `---` separates tables from cables.
pub fn lfts(text: &str) {
    let (tables, list) = text.split_once("---\n").unwrap_or((text, text));
    let sound = |problems: &Problems| well_formed(&problems.source, problems);
    match (Dump::parse(tables, "dump"), Cables::parse(list, "cables")) {
        (Ok(dump), Ok(cables)) => match Network::new(dump, tables, &cables) {
            Ok(network) => judge(&Report::of(&network)),
            Err(problems) => sound(&problems),
        },
        (dump, cables) => {
            dump.err().iter().for_each(sound);
            cables.err().iter().for_each(sound);
        }
    }
}

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

fn well_formed(text: &str, problems: &Problems) {
    assert!(!problems.problems.is_empty());
    for problem in &problems.problems {
        assert!(text.get(problem.span.clone()).is_some());
        let help = problem.help.as_deref().expect("a problem has advice");
        assert!(!format!("{problem}{help}").contains(char::is_control));
    }
}
