//! Tables of OpenSM, and small ones made by hand: a ring of three switches, a host each.

use super::*;

const DUMP: &str = include_str!("../../../../tests/lfts/opensm-lfts.dump");
const LIST: &str = include_str!("../../../../tests/lfts/opensm-subnet.lst");
const DISCOVERED: &str = include_str!("../../../../tests/lfts/ibnetdiscover.txt");

fn network(dump: &str, cables: &str) -> LftNetwork {
    let cables = Cables::parse(cables, "cables").unwrap();
    LftNetwork::new(Dump::parse(dump, "dump").unwrap(), dump, &cables).unwrap()
}

fn refused(dump: &str, cables: &str) -> String {
    let cables = match Cables::parse(cables, "cables") {
        Ok(cables) => cables,
        Err(problems) => return problems.to_string(),
    };
    let parsed = Dump::parse(dump, "dump");
    let network = parsed.and_then(|parsed| LftNetwork::new(parsed, dump, &cables));
    network.unwrap_err().to_string()
}

/// Switch s has its host at port 1, the next switch at 2 and the one before at 3. Host h has LID h + 1.
fn ring() -> String {
    let end = |kind, guid, name: &str, lid, port| {
        format!(
            "{{ {kind} Ports:03 SystemGUID:{guid:016x} NodeGUID:{guid:016x} PortGUID:{guid:016x} \
             VenID:000000 DevID:0000 Rev:000000A1 {{{name}}} LID:{lid:04X} PN:{port:02X} }}"
        )
    };
    let switch = |s: u64, port| end("SW", 0x20 + s, &format!("S{s}"), 16 + s, port);
    let mut text = String::new();
    for s in 0..3 {
        let host = end("CA", 0x10 + s, &format!("H{s}"), s + 1, 1);
        for (near, far) in [(1, host), (2, switch((s + 1) % 3, 3)), (3, switch((s + 2) % 3, 2))] {
            text += &format!("{} {far} PHY=4x LOG=ACT SPD=25\n", switch(s, near));
        }
    }
    text
}

/// The ports by switch and LID; 255 has no entry.
fn tables(ports: [[u8; 3]; 3]) -> String {
    let mut text = String::new();
    for (s, ports) in ports.iter().enumerate() {
        let (guid, lid) = (0x20 + s, 16 + s);
        text += &format!("Unicast lids [0-3] of switch Lid {lid} guid 0x{guid:016x} ('S{s}'):\n");
        let entries = ports.iter().enumerate().filter(|(_, port)| **port != 255);
        for (h, port) in entries.clone() {
            let (lid, guid) = (h + 1, 0x10 + h);
            text += &format!(
                "0x{lid:04x} {port:03} # Channel Adapter portguid 0x{guid:016x}: 'H{h}'\n"
            );
        }
        text += &format!("{} lids dumped\n", entries.count());
    }
    text
}

const DIRECT: [[u8; 3]; 3] = [[1, 2, 3], [3, 1, 2], [2, 3, 1]];
const ROUND: [[u8; 3]; 3] = [[1, 2, 2], [2, 1, 2], [2, 2, 1]];

fn judged(ports: [[u8; 3]; 3]) -> LftReport {
    LftReport::of(&network(&tables(ports), &ring()))
}

/// Figures by a program of its own, written for this comparison.
#[test]
fn the_updn_of_opensm_is_cyclic_on_a_random_network() {
    let network = network(DUMP, LIST);
    let report = LftReport::of(&network);
    assert_eq!((report.switches, report.nodes), (24, 96));
    assert_eq!((report.pairs, report.reachable), (9120, 9120));
    assert!(report.loop_free && !report.minimal && !report.deadlock_free);
    assert_eq!(report.max_link_load, 852);
    assert!((report.mean_link_load - 232.0).abs() < 1e-9, "{}", report.mean_link_load);
    assert!((report.mean_hops - 2.4421).abs() < 5e-5, "{}", report.mean_hops);
    assert!((report.ideal_throughput - 95.0 / 852.0).abs() < 1e-9);
    let kinds: Vec<_> = report.violations.iter().map(|f| f.kind).collect();
    assert_eq!(kinds, ["deadlock"]);
}

/// Each dependency of a cycle is there in the path that it names.
#[test]
fn the_witness_of_a_cycle_is_in_the_tables() {
    let network = network(DUMP, LIST);
    let report = LftReport::of(&network);
    let (cycle, dependencies) = (report.cycle.unwrap(), report.dependencies.unwrap());
    assert_eq!(cycle.len(), dependencies.len());
    assert!(cycle.len() > 2);
    let number = |name: &String| network.names.iter().position(|n| n == name).unwrap() as u32;
    for (i, dependency) in dependencies.iter().enumerate() {
        assert_eq!(dependency.through[..2], cycle[i]);
        assert_eq!(dependency.through[1..], cycle[(i + 1) % cycle.len()]);
        let host = network.hosts.iter().find(|h| h.name == dependency.destination).unwrap();
        let way = network.follow(number(&dependency.through[0]), host.lids[0]);
        assert_eq!(way[..3], [0, 1, 2].map(|k| number(&dependency.through[k])), "{dependency:?}");
        assert_eq!(*way.last().unwrap(), host.switch);
    }
}

#[test]
fn both_kinds_of_topology_say_the_same() {
    assert_eq!(LftReport::of(&network(DUMP, LIST)), LftReport::of(&network(DUMP, DISCOVERED)));
}

/// The same tables as `dump_fts` writes them.
#[test]
fn what_dump_fts_writes_is_read_too() {
    let mut text = String::new();
    for line in tables(ROUND).lines() {
        text += &if let Some((_, rest)) = line.split_once("guid ").filter(|_| line.starts_with('U'))
        {
            let heads = "  Lid  Out   Destination\n       Port     Info \n";
            let rest = rest.replace('\'', "");
            format!(
                "Unicast lids [0x0-0x3] of switch DR path slid 0; dlid 0; 0,1 guid {rest}\n{heads}"
            )
        } else if let Some((entry, rest)) = line.split_once(" # ") {
            format!("{entry} : ({rest})\n")
        } else {
            line.replace(" lids", " valid lids") + " \n"
        };
    }
    assert_eq!(LftReport::of(&network(&text, &ring())), judged(ROUND));
}

#[test]
fn sound_tables_pass() {
    let report = judged(DIRECT);
    assert!(report.minimal && report.loop_free && report.deadlock_free);
    assert_eq!((report.pairs, report.reachable, report.max_link_load), (6, 6, 1));
    assert!((report.ideal_throughput - 1.0).abs() < 1e-9, "the nodes' own cables");
    assert_eq!((report.violations, report.notes, report.cycle), (vec![], vec![], None));
}

#[test]
fn one_way_round_is_a_cycle_and_longer() {
    let report = judged(ROUND);
    assert_eq!(report.reachable, 6);
    assert_eq!(report.max_link_load, 3);
    assert_eq!(report.cycle.unwrap().len(), 3);
    assert_eq!(report.notes[0].kind, "not-minimal");
    let said = "S1 H0 (LID 1): the path S1 -> S2 -> S0 is longer than the shortest one; 3 pairs of \
                nodes are so";
    assert_eq!(report.notes[0].to_string(), format!("not-minimal {said}"));
}

#[test]
fn a_loop_is_named() {
    let mut ports = DIRECT;
    ports[0][2] = 2;
    ports[1][2] = 3;
    let report = judged(ports);
    assert!(!report.loop_free && report.deadlock_free);
    assert_eq!(report.reachable, 4);
    let said = "loop S0 H2 (LID 3): frames go round S0 -> S1 -> S0; 2 pairs of nodes are so";
    assert_eq!(report.violations[0].to_string(), said);
}

#[test]
fn frames_that_get_lost_are_named_with_the_place() {
    for (port, why) in [
        (255, "has no entry"),
        (0, "keeps them itself"),
        (7, "sends them out of port 7, where no cable is"),
        (1, "sends them out of port 1, to H1"),
    ] {
        let mut ports = ROUND;
        ports[1][2] = port;
        let report = judged(ports);
        assert_eq!(report.reachable, 4, "{why}");
        let said = format!("frames are lost: S1 {why}; 2 pairs of nodes are so");
        assert_eq!(report.violations[0].to_string(), format!("unreachable S0 H2 (LID 3): {said}"));
    }
}

/// LIDs of one port beyond the base LID (LMC): their paths count for loops and cycles, not for loads.
#[test]
fn further_lids_of_a_port_are_followed() {
    let mut text = tables(DIRECT);
    for (s, port) in [2, 2, 1].iter().enumerate() {
        let guid = "Channel Adapter portguid 0x0000000000000012: 'H2'";
        let end = text.match_indices("3 lids dumped").next().unwrap().0;
        text.replace_range(end..=end, &format!("0x0008 00{port} # {guid}\n4"));
        assert!(text.contains("4 lids dumped"), "{s}");
    }
    let report = LftReport::of(&network(&text, &ring()));
    assert_eq!((report.max_link_load, report.reachable), (1, 6));
    assert!(report.deadlock_free);
    let round = text.replace("0x0008 001 ", "0x0008 002 ");
    let report = LftReport::of(&network(&round, &ring()));
    assert!(!report.loop_free);
    assert_eq!(report.reachable, 6);
}

#[test]
fn slower_cables_weigh_more() {
    let slow: String = ring()
        .lines()
        .map(|line| match line.matches("{ SW").count() == 2 {
            true => line.replace("SPD=25", "SPD=10") + "\n",
            false => format!("{line}\n"),
        })
        .collect();
    let report = LftReport::of(&network(&tables(DIRECT), &slow));
    assert!((report.ideal_throughput - 2.0 / (25.0 / 8.0)).abs() < 1e-9);
    let unknown = LftReport::of(&network(&tables(DIRECT), &slow.replace("SPD=10", "SPD=7")));
    assert!((unknown.ideal_throughput - 1.0).abs() < 1e-9);
    assert_eq!(unknown.notes[0].kind, "unknown-rate");
}

#[test]
fn equal_descriptions_get_their_guid() {
    let same = tables(DIRECT).replace("('S1')", "('S0')").replace("('S2')", "('')");
    let network = network(&same, &ring());
    let expected = ["S0 0x0000000000000020", "S0 0x0000000000000021", "0x0000000000000022"];
    assert_eq!(network.names, expected);
}

#[test]
fn what_is_wrong_with_a_dump_is_told_by_place() {
    let good = tables(DIRECT);
    let (file, cables) = (ring(), ring());
    for (from, to, said) in [
        ("0x0001 001", "0x0001 301", "dump:2:8: expected a port from 000 to 255: `301`"),
        (
            "0x0001 001",
            "0xc001 001",
            "dump:2:1: expected a unicast LID from 0x0001 to 0xbfff: `0xc001`",
        ),
        ("0x0002 002", "0x0001 002", "dump:3:1: LID 0x0001 has a second entry in this table"),
        ("0x0002 002", "?", "dump:3:1: expected an entry or the number of entries: `? # Channel"),
        ("3 lids dumped\n", "4 lids dumped\n", "dump:5:1: 3 entries, not 4, were above"),
        ("3 lids dumped\n", "", "dump:1:42: the table of S0 is cut short"),
        ("Unicast", "Multicast", "dump:1:1: expected the head of a switch's table"),
        ("guid 0x0000000000000020", "guid no", "dump:1:1: expected the GUID and name of a switch"),
        (
            "0x0000000000000021 (",
            "0x0000000000000020 (",
            "dump:6:42: switch 0x0000000000000020 has a second table",
        ),
        (
            "0x0000000000000020 (",
            "0x0000000000000029 (",
            "dump:1:1: no table of switch S0 0x0000000000000020 is here",
        ),
        (
            "guid 0x0000000000000010:",
            "guid 0x0000000000000019:",
            "dump:2:41: no cable of host port 0x0000000000000019",
        ),
    ] {
        let bad = good.replacen(from, to, 1);
        let reported = refused(&bad, &file);
        assert!(reported.contains(said), "{said}\n{reported}");
        assert!(reported.contains("\n  help: "), "{reported}");
    }
    let renumbered = ring().replace("LID:0002", "LID:0004");
    let reported = refused(&good, &renumbered);
    assert!(
        reported.contains("host port 0x0000000000000011 has LID 0x0004 in cables, not here"),
        "{reported}"
    );
    assert!(refused("", &cables).starts_with("dump:1:1: no switch's table is here"));
    let garbage = "nonsense\n".repeat(100);
    assert_eq!(refused(&garbage, &cables).matches("help:").count(), FAULTS);
}

#[test]
fn what_is_wrong_with_a_topology_is_told_by_place() {
    let dump = tables(DIRECT);
    for (from, to, said) in [
        ("PN:01", "PN:FF", "cables:1:1: expected an end of a cable"),
        ("NodeGUID:0000000000000020", "NodeGUID:x", "cables:1:1: expected an end of a cable"),
        (" PN:03 } PHY", " PN:01 } PHY", "port 1 of switch 0x0000000000000021 has two cables"),
    ] {
        let reported = refused(&dump, &ring().replacen(from, to, 1));
        assert!(reported.contains(said), "{said}\n{reported}");
    }
    for (from, to, said) in [
        ("[1]\t\"H-", "[one]\t\"H-", "expected a port and what is at it"),
        ("\"S-0000000000200001\"\t\t#", "\"X\"\t\t#", "expected a switch and its GUID"),
        ("vendid=0x0", "vendor 0x0", "expected a switch or a cable"),
    ] {
        let reported = refused(DUMP, &DISCOVERED.replacen(from, to, 1));
        assert!(reported.contains(said), "{said}\n{reported}");
    }
    assert!(refused(&dump, "").starts_with("cables:1:1: no switch with a cable is here"));
}

#[test]
fn two_switches_with_one_lid_are_refused_by_name() {
    let text = tables(DIRECT).replace("Lid 18", "Lid 16");
    let reported = refused(&text, &ring());
    assert!(reported.contains("switches S0 and S2 both have LID 16"), "{reported}");
    // One that the subnet manager has not come to yet has none.
    let none = tables(DIRECT).replace("Lid 18", "Lid 0").replace("Lid 17", "Lid 0");
    assert!(Dump::parse(&none, "dump").is_ok());
}
