//! Fuzz targets for the parsers of files that people and other programs write.

use tresse_base::problem::Problems;
use tresse_mapping::draft::Discovered;
use tresse_mapping::mib::{self, ROOTS, Row, Value};
use tresse_mapping::table::SwitchTable;
use tresse_mapping::wires::Wires;
use tresse_plan::Plan;
use tresse_plan::lock::{Lock, tree};
use tresse_verify::lfts::{Cables, Dump, LftNetwork, LftReport};

/// Larger fabrics plan slowly under libFuzzer's counters and teach nothing new.
const MOST_SWITCHES: usize = 64;

/// Fuzz target for the parser of the cluster file. It panics if parsing or planning panics, if a
/// reported problem lacks a position in the text or advice or contains terminal control characters, or
/// if formatting a valid file changes its meaning.
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

/// Fuzz target for the parser of the lock, the file that keeps VIDs and addresses as they are while a
/// cluster grows. It panics if parsing panics, if a lock that can be read is not equal to itself after
/// encoding and parsing, or if the comparison of its trees panics.
pub fn lock(text: &str) {
    if let Ok(lock) = Lock::parse(text) {
        assert_eq!(Lock::parse(&lock.emit()).as_ref(), Ok(&lock));
        for vid in lock.vids.values() {
            let _ = tree::compatible(&vid.tree, "s0:1~s1:1 s1:2~s2:1");
        }
    }
    let _ = tree::compatible(text, "torus 4x4 at 1,0 order 0,1");
}

/// Fuzz target for the reader of InfiniBand forwarding tables, which another program dumped. It panics
/// if reading panics, if a reported problem lacks a position in the text or advice or contains terminal
/// control characters, or if the report on tables that can be read contradicts itself. The first line
/// `---` separates the tables from the list of cables.
pub fn lfts(text: &str) {
    let (tables, list) = text.split_once("---\n").unwrap_or((text, text));
    let sound = |problems: &Problems| well_formed(&problems.source, problems);
    match (Dump::parse(tables, "dump"), Cables::parse(list, "cables")) {
        (Ok(dump), Ok(cables)) => match LftNetwork::new(dump, tables, &cables) {
            Ok(network) => judge(&LftReport::of(&network)),
            Err(problems) => sound(&problems),
        },
        (dump, cables) => {
            dump.err().iter().for_each(sound);
            cables.err().iter().for_each(sound);
        }
    }
}

fn judge(report: &LftReport) {
    assert!(report.reachable <= report.pairs);
    assert_eq!(report.deadlock_free, report.cycle.is_none());
    assert_eq!(report.cycle.as_ref().map(Vec::len), report.dependencies.as_ref().map(Vec::len));
    for dependency in report.dependencies.iter().flatten() {
        assert!(!dependency.destination.is_empty(), "a cycle is made by frames");
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

/// What switches printed, a switch after each line `==`: whatever it is, the draft of it is text without characters
/// that act on a terminal, and reading it again gives the same.
pub fn pasted(text: &str) {
    let parts = text.split("\n==\n").take(4).enumerate();
    let tables: Vec<_> = parts
        .filter_map(|(k, part)| tresse_mapping::pasted::read(&format!("s{k}"), part).ok())
        .collect();
    drafted(&tables);
}

/// The tables of two switches by SNMP, a row after the other: switch and root, the index in four bytes each, the value.
/// What is judged is that of [`pasted`].
pub fn mib(bytes: &[u8]) {
    let mut switches = [Vec::new(), Vec::new()];
    let mut rest = bytes;
    while let [head, lengths, tail @ ..] = rest {
        let (indices, length) = (usize::from(lengths & 15), usize::from(lengths >> 4));
        let Some((index, tail)) = tail.split_at_checked(4 * indices) else { break };
        let Some((value, tail)) = tail.split_at_checked(length) else { break };
        let numbers =
            index.chunks_exact(4).map(|n| u32::from_be_bytes(n.try_into().unwrap_or_default()));
        let root = ROOTS[usize::from(head >> 2) % ROOTS.len()].iter().copied();
        let value = match head & 2 {
            0 => Value::Bytes(value.to_vec()),
            _ => Value::Number(value.iter().fold(0, |sum: i64, byte| sum << 8 | i64::from(*byte))),
        };
        switches[usize::from(head & 1)].push(Row { oid: root.chain(numbers).collect(), value });
        rest = tail;
    }
    drafted(&[mib::table("s0", &switches[0]), mib::table("s1", &switches[1])]);
}

fn drafted(tables: &[SwitchTable]) {
    let wires = Wires::of(tables.to_vec(), &[]);
    for cable in &wires.cables {
        assert_ne!(cable.a, cable.b);
    }
    // A port has one cable.
    let named = wires
        .cables
        .iter()
        .flat_map(|cable| [&cable.a, &cable.b])
        .filter(|end| !end.port.is_empty());
    let ends: Vec<_> = named.collect();
    assert_eq!(
        ends.iter().collect::<std::collections::BTreeSet<_>>().len(),
        ends.len(),
        "{:?}",
        wires.cables
    );
    if let Ok(draft) = Discovered::of(&[], &wires).draft() {
        assert!(!draft.contains(|c: char| c.is_control() && c != '\n'), "{draft:?}");
        let again = Wires::of(tables.to_vec(), &[]);
        assert_eq!(Discovered::of(&[], &again).draft().as_ref(), Ok(&draft));
    }
}
