use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use tresse_base::random::Random;
use tresse_base::units::Mac;
use tresse_plan::Comparison;
use tresse_plan::lock::Lock;
use tresse_topology::cluster::{Cluster, Port};

use super::*;
use crate::host::{DiscoveredHost, DiscoveredNic, LldpSender};
use crate::table::{Learned, Neighbour, SwitchTable};
use crate::wires::Wires;

const FILE: &str = "# Ours.\n[fabric]\ntopology = { kind = \"irregular\", switches = 16, ports = 8, nodes_per_switch = 4, seed = 1 }\n\
    [routing]\nstrategy = \"transit\" # as measured\n[[switch]]\nname = \"s[00-15]\"\nports = 24\n";

/// What is plugged where.
#[derive(Clone)]
struct World {
    switches: Vec<String>,
    cables: Vec<[(String, u32); 2]>,
    /// Name, MAC, switch and port of each node's NIC.
    nodes: Vec<(String, Mac, String, u32)>,
}

impl World {
    fn of(cluster: &Cluster) -> Self {
        let end = |port: Port| (cluster.switch(port.switch).name.clone(), port.port);
        let nic = |node: &tresse_topology::cluster::Node| {
            let nic = &node.nics[0];
            (node.name.clone(), nic.mac, cluster.switch(nic.switch).name.clone(), nic.port)
        };
        Self {
            switches: cluster.switches.iter().map(|switch| switch.name.clone()).collect(),
            cables: cluster.links.iter().map(|link| [end(link.a), end(link.b)]).collect(),
            nodes: cluster.nodes.iter().map(nic).collect(),
        }
    }

    fn table(&self, switch: &str, fdb: bool) -> SwitchTable {
        let mut table = SwitchTable { lldp: true, fdb, ..SwitchTable::new(switch) };
        for [a, b] in &self.cables {
            for (near, far) in [(a, b), (b, a)].into_iter().filter(|(near, _)| near.0 == switch) {
                table.hear(Neighbour {
                    port: format!("p{}", near.1),
                    system: Some(far.0.clone()),
                    far: vec![format!("p{}", far.1)],
                    ..Neighbour::default()
                });
                // Of those beyond, one has just sent.
                let beyond = self.nodes.iter().find(|(_, _, at, _)| *at == far.0 && fdb);
                if let Some((_, mac, ..)) = beyond {
                    table.learn(Learned {
                        port: format!("p{}", near.1),
                        mac: *mac,
                        vid: Some(100),
                    });
                }
            }
        }
        for (_, mac, _, port) in self.nodes.iter().filter(|(_, _, at, _)| at == switch && fdb) {
            table.learn(Learned { port: format!("p{port}"), mac: *mac, vid: Some(100) });
        }
        table
    }

    /// The same of a switch that does not speak LLDP.
    fn deaf(&self, switch: &str) -> SwitchTable {
        let mut table = self.table(switch, true);
        (table.lldp, table.neighbours) = (false, Vec::new());
        table
    }

    /// What a node says; it hears its switch if that speaks.
    fn host(&self, node: usize, hears: bool) -> DiscoveredHost {
        let (name, mac, switch, port) = &self.nodes[node];
        let speaks = LldpSender {
            device: switch.clone(),
            port: format!("p{port}"),
            mac: Mac([2, 9, 0, 0, 0, 1]),
            station: false,
            flooded: false,
        };
        let heard = if hears { vec![speaks] } else { vec![] };
        let nic = DiscoveredNic { name: "eth0".into(), mac: *mac, carrier: true, heard };
        DiscoveredHost { name: name.clone(), nics: vec![nic] }
    }

    fn without(&mut self, switch: &str) {
        self.switches.retain(|name| name != switch);
        self.cables.retain(|ends| ends.iter().all(|end| end.0 != switch));
        self.nodes.retain(|(_, _, at, _)| at != switch);
    }
}

fn cluster() -> Cluster {
    tresse_cluster::parse(FILE, "f").unwrap()
}

fn words(remap: &Remap) -> Vec<String> {
    let word = |change: &Change| {
        let to = change.to.as_ref().map_or_else(String::new, |to| format!(" to {to}"));
        format!("{:?} {:?} {}{to}", change.kind, change.part, change.name)
    };
    remap.changes.iter().map(word).collect()
}

/// Everything is seen: tables of all switches, answers of all nodes that are there.
fn all(world: &World) -> (Vec<DiscoveredHost>, Wires) {
    let hosts: Vec<_> = (0..world.nodes.len()).map(|node| world.host(node, true)).collect();
    let tables = world.switches.iter().map(|switch| world.table(switch, true)).collect();
    let wires = Wires::of(tables, &hosts);
    (hosts, wires)
}

fn places(world: &World) -> (Vec<[String; 2]>, Vec<String>) {
    let end = |(switch, port): &(String, u32)| format!("{switch}:{port}");
    let mut cables: Vec<[String; 2]> = world
        .cables
        .iter()
        .map(|ends| {
            let mut ends = [end(&ends[0]), end(&ends[1])];
            ends.sort();
            ends
        })
        .collect();
    cables.sort();
    let mut nodes: Vec<String> = world
        .nodes
        .iter()
        .map(|(name, mac, switch, port)| format!("{name} {mac} {switch}:{port}"))
        .collect();
    nodes.sort();
    (cables, nodes)
}

/// One switch and four nodes more, a cable moved, a switch gone.
fn changed(cluster: &Cluster) -> World {
    let mut world = World::of(cluster);
    world.without("s05");
    world.switches.push("s16".into());
    world.cables.push([("s16".into(), 1), ("s03".into(), 20)]);
    world.cables.push([("s16".into(), 2), ("s09".into(), 20)]);
    for k in 0..4_u32 {
        let mac = Mac([2, 0x77, 0, 0, 0, k as u8]);
        world.nodes.push((format!("n{}", 64 + k), mac, "s16".into(), 10 + k));
    }
    let moved = world.cables.iter_mut().find(|ends| ends[0].0 == "s00").unwrap();
    moved[1] = ("s12".into(), 21);
    world
}

#[test]
fn what_came_went_and_moved_is_named_exactly() {
    let cluster = cluster();
    let before = World::of(&cluster);
    let world = changed(&cluster);
    let moved = world.cables.iter().find(|ends| ends[1] == ("s12".into(), 21)).unwrap();
    let old = before.cables.iter().find(|ends| ends[0] == moved[0]).unwrap();
    let moved = format!(
        "Moved Cable s00:{} - {}:{} to s00:{} - s12:21",
        old[0].1, old[1].0, old[1].1, old[0].1
    );
    let (hosts, wires) = all(&world);
    let keep = BTreeSet::new();
    let sight = Sight { cluster: &cluster, hosts: &hosts, keep: &keep, wires: &wires };
    let mut remap = Remap::of(sight).unwrap();
    let of_s05 = |k: u32| format!("Gone Node n{}", 20 + k);
    let mut wanted = vec![
        "Added Switch s16 to s03:20 - s16:1, s09:20 - s16:2".to_owned(),
        "Gone Switch s05".into(),
        moved,
    ];
    wanted.extend((0..4).map(of_s05));
    wanted.extend((0..4).map(|k| format!("Added Node n{} to eth0 at s16:{}", 64 + k, 10 + k)));
    assert_eq!(words(&remap), wanted, "{:?}", remap.unknown);
    assert_eq!(remap.unknown, [""; 0]);

    let text = remap.draft(sight, FILE).unwrap();
    assert!(
        text.contains("# Ours.") && text.contains("strategy = \"transit\" # as measured"),
        "{text}"
    );
    let new = tresse_cluster::parse(&text, "new").unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(places(&World::of(&new)), places(&world));
    assert_eq!((new.name.as_str(), new.switches[0].ports), (cluster.name.as_str(), 24));
    // Another look finds nothing.
    let sight = Sight { cluster: &new, ..sight };
    assert_eq!(words(&Remap::of(sight).unwrap()), [""; 0]);

    let lock = Lock::default();
    let old_plan = Plan::build_with(cluster, &lock).unwrap();
    let lock = old_plan.lock(&lock);
    let new_plan = Plan::build_with(new, &lock).unwrap();
    remap.count(&old_plan, &new_plan);
    let pairs: BTreeMap<&str, usize> =
        remap.changes.iter().map(|change| (&*change.name, change.pairs.unwrap())).collect();
    // A node that comes or goes has 63 pairs each way at least, with those that it leads on.
    assert!(pairs["n64"] >= 2 * 63 && pairs["n20"] >= 2 * 63, "{pairs:?}");
    assert!(pairs["s16"] >= 4 * 2 * 60 && pairs["s05"] >= 4 * 2 * 60, "{pairs:?}");
    let whole = Comparison::of(&old_plan, &new_plan);
    assert_eq!((whole.added_pairs, whole.removed_pairs), (64 * 63 - 60 * 59, 64 * 63 - 60 * 59));
}

/// Nothing changed; some tables were not given, some hold no stations, some nodes do not answer.
#[test]
fn an_unchanged_fabric_has_no_changes() {
    let cluster = cluster();
    let (hosts, wires) = all(&World::of(&cluster));
    let keep = BTreeSet::new();
    let sight = Sight { cluster: &cluster, hosts: &hosts, keep: &keep, wires: &wires };
    let remap = Remap::of(sight).unwrap();
    assert!(remap.changes.is_empty() && remap.unknown.is_empty(), "{:?}", remap.unknown);
    // Nothing was asked at all.
    let wires = Wires::default();
    let remap = Remap::of(Sight { hosts: &[], wires: &wires, ..sight }).unwrap();
    assert!(remap.changes.is_empty());
    assert_eq!(remap.unknown.len(), 16 + cluster.links.len() + 64, "{:?}", remap.unknown);
}

#[test]
fn nics_move_and_what_is_kept_stays() {
    let cluster = cluster();
    let mut world = World::of(&cluster);
    // n07 is cabled to another switch, n08 is away, s05 too.
    world.nodes[7].2 = "s12".into();
    world.nodes[7].3 = 22;
    world.nodes.remove(8);
    world.without("s05");
    let (hosts, wires) = all(&world);
    let keep = BTreeSet::from(["n08", "s05", "n20", "n21", "n22", "n23"].map(str::to_owned));
    let none = BTreeSet::new();
    let sight = Sight { cluster: &cluster, hosts: &hosts, keep: &none, wires: &wires };
    let remap = Remap::of(sight).unwrap();
    let gone = remap.changes.iter().filter(|change| change.kind == ChangeKind::Gone);
    let gone: Vec<(&str, &str)> =
        gone.map(|change| (&*change.name, change.why.as_deref().unwrap())).collect();
    assert_eq!(gone[1].0, "n08");
    assert_eq!(gone[1].1, "it does not answer, and nothing is at s02:1");
    assert_eq!((gone[0].0, gone[2]), ("s05", ("n20", "s05 is gone")));
    let sight = Sight { keep: &keep, ..sight };
    let remap = Remap::of(sight).unwrap();
    assert_eq!(words(&remap), ["Moved Nic n07 eth0 to s12:22"], "{:?}", remap.changes);
    let text = remap.draft(sight, FILE).unwrap();
    let new = tresse_cluster::parse(&text, "new").unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(
        (new.nodes.len(), new.switches.len(), new.links.len()),
        (64, 16, cluster.links.len())
    );
}

/// What is left out is not looked at: what the file says of it stays, and what is there does not come.
#[test]
fn what_is_left_out_stays_as_the_file_has_it() {
    let cluster = cluster();
    let mut world = World::of(&cluster);
    // Another switch, and the ports that lead to it; a cable and a NIC of the file at ports that are left out.
    world.switches.push("core".into());
    world.cables.push([("core".into(), 1), ("s03".into(), 22)]);
    world.cables.push([("core".into(), 2), ("s09".into(), 22)]);
    let link = cluster.links[0];
    let end = |port: Port| format!("{}:{}", cluster.switch(port.switch).name, port.port);
    let nic = &cluster.nodes[7].nics[0];
    let port = format!("{}:{}", cluster.switch(nic.switch).name, nic.port);
    let names = ["core".to_owned(), end(link.a), port];
    let hosts: Vec<_> = (0..world.nodes.len()).map(|node| world.host(node, true)).collect();
    let tables: Vec<_> = world.switches.iter().map(|switch| world.table(switch, true)).collect();
    let known: Vec<String> = cluster.switches.iter().map(|switch| switch.name.clone()).collect();
    let keep = BTreeSet::new();
    let of = |without: &crate::without::Without| {
        let wires = Wires::without(tables.clone(), &hosts, known.clone(), without).unwrap();
        let sight = Sight { cluster: &cluster, hosts: &hosts, keep: &keep, wires: &wires };
        let remap = Remap::of(sight).unwrap();
        (words(&remap), remap.unknown.join("\n"), wires.left_out)
    };
    let (changes, _, left_out) = of(&crate::without::Without::default());
    assert_eq!((changes.len(), left_out.len()), (1, 0), "{changes:?}");
    assert!(changes[0].starts_with("Added Switch core"));
    let (changes, unknown, left_out) = of(&crate::without::Without::new(names));
    assert!(changes.is_empty(), "{changes:?}");
    assert!(left_out.iter().any(|words| words == "core with all its ports"), "{left_out:?}");
    assert!(unknown.contains("it is left out, and stays in the draft"), "{unknown}");
    assert!(
        unknown.contains("n07 eth0: ")
            && unknown.contains("is left out, and what the file says of it stays")
    );
}

/// One station alone behind the port of a cable says nothing of the cable where nobody tells whom he hears, nor does an empty
/// forwarding table say anything of nodes.
#[test]
fn what_a_forwarding_table_shows_is_no_proof_against_a_cable() {
    let cluster = cluster();
    let (world, keep) = (World::of(&cluster), BTreeSet::new());
    let known: Vec<String> = world.switches.clone();
    let of = |tables: Vec<SwitchTable>| {
        let wires = Wires::beside(tables, &[], known.clone());
        Remap::of(Sight { cluster: &cluster, hosts: &[], keep: &keep, wires: &wires }).unwrap()
    };
    let one = of(vec![world.deaf("s00")]);
    assert!(one.changes.is_empty(), "{:?}", one.changes);
    assert!(one.unknown.iter().any(|words| words.contains("its MAC is behind s00:")));
    let mut fresh: Vec<_> = known.iter().map(|name| world.table(name, false)).collect();
    fresh.iter_mut().for_each(|table| table.fdb = true);
    let fresh = of(fresh);
    assert!(fresh.changes.is_empty(), "{:?}", fresh.changes);
}

/// Switches that call themselves by another case, or with a domain, are those of the file.
#[test]
fn a_switch_has_the_name_of_the_file() {
    let cluster = cluster();
    let (world, keep) = (World::of(&cluster), BTreeSet::new());
    for name in [|name: &str| format!("{name}.example.com"), |name: &str| name.to_uppercase()] {
        let mut tables: Vec<_> =
            world.switches.iter().skip(3).map(|switch| world.table(switch, true)).collect();
        for table in &mut tables {
            table.name = name(&table.name);
            for neighbour in &mut table.neighbours {
                neighbour.system = neighbour.system.as_deref().map(name);
            }
        }
        let wires = Wires::beside(tables, &[], world.switches.clone());
        let remap =
            Remap::of(Sight { cluster: &cluster, hosts: &[], keep: &keep, wires: &wires }).unwrap();
        assert!(remap.changes.is_empty(), "{:?}", remap.changes);
    }
}

#[test]
fn kinds_that_route_are_refused() {
    let cluster =
        tresse_cluster::parse("[fabric]\ntopology = { kind = \"ring\", nodes = 4 }\n", "f")
            .unwrap();
    let (keep, wires) = (BTreeSet::new(), Wires::default());
    let error =
        Remap::of(Sight { cluster: &cluster, hosts: &[], keep: &keep, wires: &wires }).unwrap_err();
    assert!(error.to_string().contains("tresse discover"), "{error}");
}

#[test]
fn demand_of_what_is_gone_is_left_out() {
    let text = format!(
        "{FILE}[[demand]]\nfrom = \"n[20-24]\"\nto = \"n00\"\n[[demand]]\nfrom = \"s05\"\nto = \"n01\"\n"
    );
    let cluster = tresse_cluster::parse(&text, "f").unwrap();
    let (hosts, wires) = all(&changed(&cluster));
    let keep = BTreeSet::new();
    let sight = Sight { cluster: &cluster, hosts: &hosts, keep: &keep, wires: &wires };
    let draft = Remap::of(sight).unwrap().draft(sight, &text).unwrap();
    let new = tresse_cluster::parse(&draft, "new").unwrap_or_else(|e| panic!("{e}\n{draft}"));
    assert_eq!((new.demand.len(), new.demand[0].from.len()), (1, 1));
}

/// What somebody sees of the wires.
#[derive(Debug, Clone, Copy)]
struct Seen {
    /// Odd: of those of [`changed`].
    seed: u64,
    /// How many switches give their tables, and whether with the stations that they have learned.
    tables: usize,
    with_stations: bool,
    /// How many nodes answer, and whether they hear their switches.
    answers: usize,
    hears: bool,
}

/// What is still there is never called gone, and nothing comes that is not there.
fn nothing_there_is_gone(seen: Seen) -> Result<(), TestCaseError> {
    let Seen { seed, tables, with_stations, answers, hears } = seen;
    let cluster = cluster();
    let world = if seed.is_multiple_of(2) { World::of(&cluster) } else { changed(&cluster) };
    let mut random = Random::new(seed);
    let nodes: Vec<usize> = (0..world.nodes.len()).collect();
    let hosts: Vec<_> = random
        .some(&nodes, answers.min(nodes.len()))
        .into_iter()
        .map(|node| world.host(node, hears))
        .collect();
    let given = random.some(&world.switches, tables.min(world.switches.len()));
    let given = given.iter().map(|switch| world.table(switch, with_stations)).collect();
    let wires = Wires::of(given, &hosts);
    let keep = BTreeSet::new();
    let sight = Sight { cluster: &cluster, hosts: &hosts, keep: &keep, wires: &wires };
    let remap = Remap::of(sight).unwrap();
    let (before, after) = (places(&World::of(&cluster)), places(&world));
    for change in &remap.changes {
        let name = &change.name;
        let is_there = match change.part {
            Part::Switch => world.switches.contains(name),
            Part::Node => world.nodes.iter().any(|(node, ..)| node == name),
            Part::Nic => false,
            Part::Cable => {
                let ends: Vec<String> = name.split(" - ").map(str::to_owned).collect();
                after.0.iter().any(|cable| ends.iter().all(|end| cable.contains(end)))
            }
        };
        prop_assert_eq!(is_there, change.kind == ChangeKind::Added, "{:?}", change);
    }
    if before == after {
        prop_assert!(remap.changes.is_empty());
    }
    let text = remap.draft(sight, FILE).unwrap();
    prop_assert!(tresse_cluster::parse(&text, "new").is_ok() || seed % 2 == 1, "{text}");
    Ok(())
}

/// Of a switch with several cables one was moved, and only the table of the switch at its old end was given.
#[test]
fn one_neighbour_of_many_does_not_show_that_a_switch_is_gone() {
    let seed = 17_601_371_731_983_819_379;
    let seen = Seen { seed, tables: 1, with_stations: false, answers: 0, hears: false };
    nothing_there_is_gone(seen).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn what_is_not_seen_is_not_gone(seed: u64, tables in 0_usize..=16, with_stations: bool, answers in 0_usize..=64, hears: bool) {
        nothing_there_is_gone(Seen { seed, tables, with_stations, answers, hears })?;
    }
}
