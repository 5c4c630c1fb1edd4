//! `check --lfts` on what OpenSM and ibnetdiscover wrote.

use crate::run::{has, root, tresse};

const DUMP: &str = "tests/lfts/opensm-lfts.dump";
const DISCOVERED: &str = "tests/lfts/ibnetdiscover.txt";

#[test]
fn the_cycle_of_updn_is_a_fault_with_its_witness() {
    let report = tresse(["check", "--lfts", DUMP, "--json"]).exits(1).object();
    has(
        &report,
        "switches nodes pairs reachable minimal loop_free deadlock_free cycle turns mean_hops \
         max_link_load mean_link_load ideal_throughput violations notes",
    );
    assert_eq!(report["deadlock_free"], false);
    assert_eq!(report["violations"][0]["kind"], "deadlock");
    let cycle = report["cycle"].as_array().unwrap();
    assert_eq!(cycle.len(), report["turns"].as_array().unwrap().len());
    let reported = tresse(["check", "--lfts", DUMP]).exits(1).stdout;
    assert!(
        reported.contains("deadlock-free     no (on one lane)\n  cycle           S"),
        "{reported}"
    );
    let other = tresse(["check", "--lfts", DUMP, "--topology", DISCOVERED]).exits(1).stdout;
    assert_eq!(reported, other);
}

#[test]
fn a_wrong_or_missing_file_is_told_with_what_to_give() {
    let folder = tempfile::tempdir().unwrap();
    let alone = folder.path().join("opensm-lfts.dump");
    let text = std::fs::read_to_string(root().join(DUMP)).unwrap();
    std::fs::write(&alone, &text).unwrap();
    let alone = alone.to_str().unwrap();
    let reported = tresse(["check", "--lfts", alone]).exits(3).stderr;
    assert!(reported.contains("give --topology, OpenSM's opensm-subnet.lst"), "{reported}");
    tresse(["check", "--lfts", alone, "--topology", DISCOVERED]).exits(1);
    std::fs::write(alone, text.replacen("0x0001 001 #", "0x0001 1x\u{1b}[31m #", 1)).unwrap();
    let reported = tresse(["check", "--lfts", alone, "--topology", DISCOVERED, "--json"]).exits(3);
    assert!(
        reported.stderr.contains("opensm-lfts.dump:2:8: expected a port"),
        "{}",
        reported.stderr
    );
    assert!(!reported.stderr.contains('\u{1b}'));
    assert_eq!(reported.object()["errors"][0]["kind"], "unexpected-line");
    let reported = tresse(["check", "--lfts", "configs/torus16.toml"]).exits(3).stderr;
    assert!(reported.contains("expected the head of a switch's table"), "{reported}");
}
