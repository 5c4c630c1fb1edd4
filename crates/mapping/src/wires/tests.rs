use std::collections::BTreeMap;

use proptest::prelude::*;
use tresse_base::random::Random;

use super::*;
use crate::host::{DiscoveredNic, LldpSender};
use crate::table::{Learned, Neighbour};

/// A fabric: cables between switches, and at which port of which switch each station is.
struct Truth {
    cables: Vec<[(usize, u32); 2]>,
    stations: Vec<(usize, u32)>,
    switches: usize,
}

fn mac(station: usize) -> Mac {
    Mac([2, 0x54, 0, 0, (station >> 8) as u8, station as u8])
}

fn name(switch: usize) -> String {
    format!("s{switch}")
}

impl Truth {
    /// A random tree of switches with some more cables, each switch with `each` stations.
    fn random(switches: usize, more: usize, each: usize, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut next = vec![0; switches];
        let mut port = |switch: usize| {
            next[switch] += 1;
            (switch, next[switch])
        };
        let mut cables = Vec::new();
        for to in 1..switches {
            cables.push([port(random.below(to)), port(to)]);
        }
        for _ in 0..more {
            let (a, b) = (random.below(switches), random.below(switches));
            if a != b {
                cables.push([port(a), port(b)]);
            }
        }
        let stations = (0..switches * each).map(|station| port(station % switches)).collect();
        Self { cables, stations, switches }
    }

    fn words(&self) -> Vec<[String; 2]> {
        let mut all: Vec<[String; 2]> = self.cables.iter().map(|ends| words(*ends)).collect();
        all.sort();
        all
    }

    /// The tables that switches have which tell their neighbours.
    fn lldp(&self) -> Vec<SwitchTable> {
        let mut tables: Vec<SwitchTable> = (0..self.switches)
            .map(|s| SwitchTable { lldp: true, ..SwitchTable::new(&name(s)) })
            .collect();
        for ends in &self.cables {
            for ((here, port), (there, far)) in [(ends[0], ends[1]), (ends[1], ends[0])] {
                tables[here].hear(Neighbour {
                    port: format!("p{port}"),
                    system: Some(name(there)),
                    far: vec![format!("p{far}")],
                    ..Neighbour::default()
                });
            }
        }
        tables
    }

    /// The forwarding tables, where the first `switches - 1` cables carry frames.
    fn learned(&self) -> Vec<SwitchTable> {
        let mut tables: Vec<SwitchTable> = (0..self.switches)
            .map(|s| SwitchTable { fdb: true, ..SwitchTable::new(&name(s)) })
            .collect();
        let tree = &self.cables[..self.switches - 1];
        for (station, at) in self.stations.iter().enumerate() {
            // From the station on outwards, each switch learns it at the port that the frame comes in by.
            let mut open = vec![*at];
            let mut seen = vec![false; self.switches];
            while let Some((switch, port)) = open.pop() {
                if std::mem::replace(&mut seen[switch], true) {
                    continue;
                }
                let learned = Learned { port: format!("p{port}"), mac: mac(station), vid: None };
                tables[switch].learn(learned);
                let out = tree.iter().flat_map(|[a, b]| [(a, b), (b, a)]);
                open.extend(out.filter(|(a, _)| a.0 == switch).map(|(_, b)| *b));
            }
        }
        tables
    }
}

fn words([a, b]: [(usize, u32); 2]) -> [String; 2] {
    let mut ends = [a, b].map(|(switch, port)| format!("s{switch} port p{port}"));
    ends.sort();
    ends
}

fn found(wires: &Wires) -> Vec<[String; 2]> {
    let one = |cable: &SeenCable| {
        let mut ends = [cable.a.words(), cable.b.words()];
        ends.sort();
        ends
    };
    let mut all: Vec<_> = wires.cables.iter().map(one).collect();
    all.sort();
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Every cable, parallel ones too, from both ends.
    #[test]
    fn lldp_shows_every_cable(switches in 1_usize..12, more in 0_usize..12, seed: u64) {
        let truth = Truth::random(switches, more, 1, seed);
        let wires = Wires::of(truth.lldp(), &[]);
        prop_assert_eq!(found(&wires), truth.words());
        prop_assert!(wires.cables.iter().all(|cable| cable.by == SeenBy::BothEnds));
        prop_assert!(wires.unseen.is_empty(), "{:?}", wires.unseen);
    }

    /// With a station on every switch, forwarding tables show the tree, exactly, and where each station is.
    #[test]
    fn forwarding_tables_show_the_tree(switches in 2_usize..12, each in 1_usize..3, seed: u64) {
        let truth = Truth::random(switches, 0, each, seed);
        let wires = Wires::of(truth.learned(), &[]);
        prop_assert_eq!(found(&wires), truth.words());
        for (station, (switch, port)) in truth.stations.iter().enumerate() {
            let at = PortAt { switch: name(*switch), port: format!("p{port}") };
            prop_assert_eq!(wires.stations.get(&mac(station)), Some(&at));
        }
    }

    /// Where tables have forgotten stations there are fewer cables, never wrong ones.
    #[test]
    fn what_was_forgotten_makes_no_cable(switches in 2_usize..9, gone in 0_usize..40, seed: u64) {
        let truth = Truth::random(switches, 0, 2, seed);
        let mut tables = truth.learned();
        let mut random = Random::new(seed ^ 1);
        for _ in 0..gone {
            let table = &mut tables[random.below(switches)];
            if !table.learned.is_empty() {
                let at = random.below(table.learned.len());
                table.learned.remove(at);
            }
        }
        let known = truth.words();
        for cable in found(&Wires::of(tables, &[])) {
            prop_assert!(known.contains(&cable), "{cable:?} of {known:?}");
        }
    }
}

/// Switches name their ports by MACs, or not at all; one has no table.
#[test]
fn ends_are_told_by_macs_and_by_being_alone() {
    let mut tables = Truth { cables: vec![], stations: vec![], switches: 2 }.lldp();
    let own = [(mac(1), "p1"), (mac(2), "p2")].map(|(mac, port)| (mac, port.to_owned()));
    tables[1].own = BTreeMap::from(own);
    let heard = |port: &str, system: &str, far: &[&str]| Neighbour {
        port: port.into(),
        system: Some(system.into()),
        far: far.iter().map(|text| (*text).to_owned()).collect(),
        ..Neighbour::default()
    };
    // s0 hears s1 at two ports, by MACs; s1 hears s0 at one of them.
    tables[0].hear(heard("p8", "s1.lab", &[&mac(2).to_string()]));
    tables[0].hear(heard("p7", "s1.lab", &[&mac(1).to_string()]));
    tables[0].hear(heard("p6", "core", &["Gi1/0/3"]));
    tables[1].hear(heard("p2", "s0", &["p8"]));
    let wires = Wires::of(tables, &[]);
    let pairs = [
        ["core port Gi1/0/3", "s0 port p6"],
        ["s0 port p7", "s1 port p1"],
        ["s0 port p8", "s1 port p2"],
    ];
    assert_eq!(found(&wires), pairs.map(|pair| pair.map(str::to_owned)));
    let by: Vec<SeenBy> = wires.cables.iter().map(|cable| cable.by).collect();
    assert_eq!(by, [SeenBy::OneEnd, SeenBy::OneEnd, SeenBy::BothEnds]);
    assert_eq!(wires.switches().collect::<Vec<_>>(), ["s0", "s1", "core"]);
    assert!(
        wires.unseen[0].starts_with("core is heard by LLDP, but its own tables were not given")
    );
    assert!(
        wires.unseen[1].starts_with("s0 port p7 hears s1 port p1, which does not hear it"),
        "{:?}",
        wires.unseen
    );
}

/// Nodes that were asked are no switches, whatever their frames say, and an unmanaged switch is named.
#[test]
fn nodes_and_unmanaged_switches() {
    let host = DiscoveredHost {
        name: "n0".into(),
        nics: vec![DiscoveredNic {
            name: "eth0".into(),
            mac: mac(9),
            carrier: true,
            heard: Vec::<LldpSender>::new(),
        }],
    };
    let mut table = SwitchTable { lldp: true, fdb: true, ..SwitchTable::new("s0") };
    let heard = |port: &str, system: &str, far: String| Neighbour {
        port: port.into(),
        system: Some(system.into()),
        chassis: Some(system.into()),
        far: vec![far],
        bridge: None,
    };
    table.hear(heard("p1", "n0", mac(9).to_string()));
    table.hear(heard("p2", "another", mac(10).to_string()));
    table.hear(heard("p3", "s8", "p1".into()));
    table.hear(heard("p3", "s9", "p1".into()));
    for station in [20, 21] {
        table.learn(Learned { port: "p4".into(), mac: mac(station), vid: None });
    }
    let wires = Wires::of(vec![table], &[host]);
    assert!(wires.cables.is_empty(), "{:?}", wires.cables);
    let stations: Vec<(Mac, &str)> =
        wires.stations.iter().map(|(mac, at)| (*mac, &*at.port)).collect();
    assert_eq!(stations, [(mac(9), "p1")]);
    let unseen = wires.unseen.join("\n");
    assert!(unseen.contains("s0 port p3 hears s8, s9 at once"), "{unseen}");
    assert!(unseen.contains("s0 port p4 has 2 stations behind it"), "{unseen}");
}

/// Two switches behind a third, which has no stations and knows all: one cannot tell in which order they are.
#[test]
fn a_switch_without_stations_is_named_as_open() {
    let mut truth = Truth::random(3, 0, 0, 1);
    truth.cables = vec![[(0, 1), (1, 1)], [(1, 2), (2, 1)]];
    truth.stations = vec![(0, 5), (2, 5)];
    let wires = Wires::of(truth.learned(), &[]);
    assert!(wires.cables.is_empty(), "{:?}", wires.cables);
    assert!(
        wires
            .unseen
            .iter()
            .any(|words| words.starts_with("s0 port p1 leads to s1 port p1 or s2 port p1"))
    );
}

fn hears(port: &str, system: &str, far: &str) -> Neighbour {
    Neighbour {
        port: port.into(),
        system: Some(system.into()),
        far: vec![far.into()],
        ..Neighbour::default()
    }
}

fn lldp(name: &str, all: &[(&str, &str, &str)]) -> SwitchTable {
    let mut table = SwitchTable { lldp: true, ..SwitchTable::new(name) };
    all.iter().for_each(|(port, system, far)| table.hear(hears(port, system, far)));
    table
}

/// One cable each way between two switches, and each end names another port of the other: neither says what the other says.
#[test]
fn ends_that_contradict_each_other_do_not_agree() {
    let wires =
        Wires::of(vec![lldp("s0", &[("p1", "s1", "p5")]), lldp("s1", &[("p7", "s0", "p3")])], &[]);
    assert_eq!(found(&wires).len(), 2, "{:?}", wires.cables);
    assert!(wires.cables.iter().all(|cable| cable.by == SeenBy::OneEnd), "{:?}", wires.cables);
    // At one port, that is one claim too many; the other end answers the first.
    let wires =
        Wires::of(vec![lldp("s0", &[("p1", "s1", "p5")]), lldp("s1", &[("p5", "s0", "p3")])], &[]);
    assert_eq!(found(&wires), [["s0 port p1", "s1 port p5"].map(str::to_owned)]);
    let text = wires.unseen.join("\n");
    assert!(
        text.contains(
            "the cable from s1 port p5 to s0 port p3 (one end alone says so) is left out"
        ),
        "{text}"
    );
    // What cannot be compared contradicts nothing.
    let wires = Wires::of(
        vec![lldp("s0", &[("p1", "s1", "502")]), lldp("s1", &[("p5", "s0", "to the first floor")])],
        &[],
    );
    assert_eq!(wires.cables[0].by, SeenBy::BothEnds);
}

/// Forwarding tables join two switches where LLDP shows another cable.
#[test]
fn a_forwarding_table_against_lldp_is_named() {
    let mut s0 = lldp("s0", &[("p1", "s2", "p1")]);
    let s2 = lldp("s2", &[("p1", "s0", "p1")]);
    let mut s1 = SwitchTable { fdb: true, ..SwitchTable::new("s1") };
    let learn = |table: &mut SwitchTable, port: &str, station: usize| {
        table.learn(Learned { port: port.into(), mac: mac(station), vid: None });
    };
    for (table, own, far) in [(&mut s0, 0, 1), (&mut s1, 1, 0)] {
        table.fdb = true;
        learn(table, "p9", own);
        learn(table, "p1", far);
    }
    let wires = Wires::of(vec![s0, s1, s2], &[]);
    assert_eq!(found(&wires), [["s0 port p1", "s2 port p1"].map(str::to_owned)]);
    let text = wires.unseen.join("\n");
    let words = "the cable from s0 port p1 to s1 port p1 (forwarding tables say so) is left out: LLDP shows the cable from s0 port p1 \
                 to s2 port p1 (both ends say so), which is believed";
    assert!(text.contains(words), "{text}");
}

/// Each switch of a flat neighbourhood knows its own NICs alone, and has forgotten none.
#[test]
fn switches_without_common_stations_have_forgotten_nothing() {
    let mut truth = Truth::random(2, 0, 4, 1);
    truth.cables.clear();
    truth.switches = 2;
    let mut tables: Vec<SwitchTable> =
        (0..2).map(|s| SwitchTable { fdb: true, ..SwitchTable::new(&name(s)) }).collect();
    for (station, (switch, port)) in truth.stations.iter().enumerate() {
        let port = format!("p{port}");
        tables[*switch].learn(Learned { port, mac: mac(station), vid: None });
    }
    let wires = Wires::of(tables.clone(), &[]);
    assert!(!wires.unseen.iter().any(|words| words.contains("forgotten")), "{:?}", wires.unseen);
    assert_eq!(wires.stations.len(), 8);
    // One that knows a station of the other, and not all.
    let cable = Learned { port: "p30".into(), mac: mac(0), vid: None };
    tables[1].learn(cable);
    let wires = Wires::of(tables, &[]);
    let words: Vec<&String> = wires.unseen.iter().filter(|w| w.contains("has forgotten")).collect();
    assert_eq!(words.len(), 2);
    assert!(words[0].starts_with("s0 has forgotten 4 of 8 stations"), "{words:?}");
}

/// Two switches of the fabric, a third of management that both lead to, and a node's NIC there.
fn with_management() -> (Vec<SwitchTable>, Vec<DiscoveredHost>) {
    let mut s0 = lldp("s0", &[("Gi1/0/1", "s1", "Gi1/0/1"), ("Gi1/0/48", "core", "Gi1/0/3")]);
    let mut s1 = lldp("s1", &[("Gi1/0/1", "s0", "Gi1/0/1"), ("Gi1/0/48", "core", "Gi1/0/4")]);
    let core = lldp("core", &[("Gi1/0/3", "s0", "Gi1/0/48"), ("Gi1/0/4", "s1", "Gi1/0/48")]);
    for (table, ports) in [(&mut s0, ["Gi1/0/9", "Gi1/0/48"]), (&mut s1, ["Gi1/0/1", "Gi1/0/48"])] {
        table.fdb = true;
        for (port, station) in ports.into_iter().zip([1, 2]) {
            table.learn(Learned { port: port.into(), mac: mac(station), vid: None });
        }
    }
    let nic = |name: &str, station| DiscoveredNic {
        name: name.into(),
        mac: mac(station),
        carrier: true,
        heard: Vec::new(),
    };
    let host = DiscoveredHost { name: "n0".into(), nics: vec![nic("eth0", 1), nic("mgmt0", 2)] };
    (vec![s0, s1, core], vec![host])
}

#[test]
fn what_leads_into_another_network_is_left_out_and_named() {
    let (tables, hosts) = with_management();
    let of = |names: &[&str]| {
        let without = Without::new(names.iter().map(|name| (*name).to_owned()));
        Wires::without(tables.clone(), &hosts, Vec::new(), &without)
    };
    let whole = of(&[]).unwrap();
    assert_eq!((whole.cables.len(), whole.left_out.len()), (3, 0));
    let fabric = [["s0 port Gi1/0/1", "s1 port Gi1/0/1"].map(str::to_owned)];
    // A switch; ports of both by name and by number; ports of the other switch.
    for names in [&["core"][..], &["s0:GigabitEthernet1/0/48", "s1:48"], &["core:3", "core:4"]] {
        let wires = of(names).unwrap();
        assert_eq!(found(&wires), fabric, "{names:?}");
        let words = wires.left_out.join("\n");
        assert!(words.contains("s0 port Gi1/0/48, which leads to core port Gi1/0/3"), "{words}");
        assert!(words.contains("s1 port Gi1/0/48, which leads to core port Gi1/0/4"), "{words}");
        assert!(wires.stations.contains_key(&mac(1)) && !wires.stations.contains_key(&mac(2)));
        assert_eq!(wires.behind_left_out(mac(2)).unwrap().port, "Gi1/0/48");
        let unseen = wires.unseen.join("\n");
        assert!(!unseen.contains("Gi1/0/48") && !unseen.contains("stations behind"), "{unseen}");
    }
    assert!(of(&["core"]).unwrap().switches().all(|name| name != "core"));
    let error = of(&["s7:1"]).unwrap_err().to_string();
    assert!(error.contains("no switch `s7` was seen") && error.contains("core, s0, s1"), "{error}");
    assert!(of(&["s0:"]).unwrap_err().to_string().contains("write SWITCH:PORT"));
    // A NIC of one node is its own business, which has looked.
    assert_eq!(of(&["n0:mgmt0"]).unwrap().cables.len(), 3);
    // A NIC's name is no switch, and a port that nothing names is named.
    assert_eq!(of(&["eth0"]).unwrap().cables.len(), 3);
    assert_eq!(of(&["s0:17"]).unwrap().left_out, ["s0 port 17"]);
}
