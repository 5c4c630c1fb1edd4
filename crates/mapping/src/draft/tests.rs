use std::collections::BTreeSet;

use proptest::prelude::*;
use tresse_base::random::Random;
use tresse_topology::Planes;
use tresse_topology::cluster::Cluster;

use super::emit::DraftError;
use super::*;
use crate::table::{Neighbour, SwitchTable};
use crate::wires::Wires;

fn mac(host: usize, nic: usize) -> Mac {
    Mac([2, 0, 0, host as u8, 0, nic as u8])
}

fn introduced(from: Mac, flooded: bool) -> LldpSender {
    LldpSender { device: "host".into(), port: "eth0".into(), mac: from, station: true, flooded }
}

/// What hosts hear that are cabled as a cluster file says, each with its NICs and the hosts in another order.
fn cabled(file: &str, seed: u64) -> (Cluster, Vec<DiscoveredHost>) {
    let cluster = tresse_cluster::parse(file, "truth").unwrap();
    let mut hosts: Vec<DiscoveredHost> = (0..cluster.nodes.len())
        .map(|node| {
            let nics = cluster.nodes[node].nics.iter().enumerate().map(|(k, nic)| DiscoveredNic {
                name: nic.name.clone(),
                mac: nic.mac,
                carrier: true,
                heard: heard(&cluster, node, k),
            });
            DiscoveredHost { name: format!("h{node}.lab"), nics: nics.collect() }
        })
        .collect();
    let mut random = Random::new(seed);
    random.shuffle(&mut hosts);
    hosts.iter_mut().for_each(|host| random.shuffle(&mut host.nics));
    (cluster, hosts)
}

fn heard(cluster: &Cluster, node: usize, nic: usize) -> Vec<LldpSender> {
    let own = &cluster.nodes[node].nics[nic];
    if let Some(peer) = own.peer {
        let mac = cluster.node(peer.node).nics[peer.nic].mac;
        return [false, true].map(|flooded| introduced(mac, flooded)).into();
    }
    let all = cluster.nodes.iter().flat_map(|node| &node.nics);
    let beside = all.filter(|nic| nic.switch == own.switch && nic.mac != own.mac);
    beside.map(|nic| introduced(nic.mac, true)).collect()
}

/// MACs by which cables join nodes, and MACs of each switch.
fn wires(cluster: &Cluster) -> BTreeSet<BTreeSet<Mac>> {
    let nics = cluster.nodes.iter().flat_map(|node| &node.nics);
    let on = |own: &tresse_topology::cluster::Nic| -> BTreeSet<Mac> {
        match own.peer {
            Some(peer) => [own.mac, cluster.node(peer.node).nics[peer.nic].mac].into(),
            None => {
                let all = cluster.nodes.iter().flat_map(|node| &node.nics);
                all.filter(|nic| nic.switch == own.switch).map(|nic| nic.mac).collect()
            }
        }
    };
    nics.map(on).collect()
}

fn draft(hosts: &[DiscoveredHost]) -> String {
    Discovered::of(hosts, &Wires::default()).draft().unwrap()
}

/// As an operator edits it.
fn with_links(text: &str) -> String {
    ["[[link]]", "a =", "b ="]
        .iter()
        .fold(text.to_owned(), |text, line| text.replace(&format!("# {line}"), line))
}

fn parsed(text: &str) -> Cluster {
    tresse_cluster::parse(text, "draft").unwrap_or_else(|e| panic!("{e}\n{text}"))
}

#[test]
fn fabrics_without_switches_are_recognised() {
    for topology in [
        "kind = \"ring\", nodes = 3",
        "kind = \"ring\", nodes = 4",
        "kind = \"ring\", nodes = 8",
        "kind = \"full-mesh\", nodes = 5",
        "kind = \"direct-torus\", dims = [3, 3]",
        "kind = \"direct-torus\", dims = [4, 4]",
        "kind = \"direct-torus\", dims = [3, 4, 5]",
        "kind = \"direct-mesh\", dims = [3, 2]",
        "kind = \"direct-mesh\", dims = [4, 5]",
    ] {
        for seed in 0..3 {
            let (truth, hosts) = cabled(&format!("[fabric]\ntopology = {{ {topology} }}\n"), seed);
            let text = draft(&hosts);
            let found = parsed(&text);
            assert_eq!(wires(&found), wires(&truth), "{topology}\n{text}");
            assert_eq!(found.nodes.len(), truth.nodes.len());
        }
    }
}

#[test]
fn switches_that_say_nothing_are_told_by_who_hears_whom() {
    for topology in [
        "kind = \"pmesh\", dims = [3, 3]",
        "kind = \"fnn\", wiring = \"0: 0 1 2\\n1: 2 3 4\\n2: 4 5 0\\n3: 1 3 5\\n\"",
    ] {
        let (truth, hosts) = cabled(&format!("[fabric]\ntopology = {{ {topology} }}\n"), 7);
        let text = draft(&hosts);
        assert_eq!(wires(&parsed(&text)), wires(&truth), "{text}");
        assert!(text.contains("strategy = \"direct\""), "{text}");
        assert!(text.contains("does not tell its name"), "{text}");
    }
}

/// A frame that one NIC lost does not move it to a switch of its own.
#[test]
fn one_lost_frame_changes_nothing() {
    let (truth, mut hosts) = cabled("[fabric]\ntopology = { kind = \"pmesh\", dims = [4] }\n", 1);
    hosts[2].nics[0].heard.truncate(1);
    assert_eq!(wires(&parsed(&draft(&hosts))), wires(&truth));
}

/// A host that was not asked is no switch, and what is cabled to it is told.
#[test]
fn a_host_that_was_forgotten_is_no_switch() {
    let (_, mut hosts) = cabled("[fabric]\ntopology = { kind = \"ring\", nodes = 4 }\n", 1);
    let told = |hosts: &[DiscoveredHost]| {
        let wires = Wires::default();
        let found = Discovered::of(hosts, &wires);
        (found.loose(), found.draft().unwrap())
    };
    assert_eq!(told(&hosts).0, [""; 0]);
    let forgotten = hosts.remove(0);
    let (loose, text) = told(&hosts);
    assert_eq!(loose.len(), 2);
    assert!(
        loose.iter().all(|words| words.ends_with("ends at the host host, which was not asked"))
    );
    assert!(text.contains(&format!("# {}: left out\n", loose[0])), "{text}");
    assert!(parsed(&text).switches.is_empty());
    let its: Vec<Mac> = forgotten.nics.iter().map(|nic| nic.mac).collect();
    for nic in hosts.iter_mut().flat_map(|host| &mut host.nics) {
        nic.heard.retain(|sender| !its.contains(&sender.mac));
    }
    let (loose, _) = told(&hosts);
    assert_eq!(loose.len(), 2);
    assert!(loose.iter().all(|words| words.ends_with("nothing says where its cable ends")));
}

/// Two switches that speak, with ports of their own manners, and a third NIC that is not plugged in.
#[test]
fn switches_that_speak_are_named_with_their_ports() {
    let speaks = |device: &str, port: &str| LldpSender {
        device: device.into(),
        port: port.into(),
        mac: Mac([2, 9, 9, 9, 9, device.len() as u8]),
        station: false,
        flooded: false,
    };
    let nic = |host: usize, nic: usize, heard: Vec<LldpSender>| DiscoveredNic {
        name: format!("eth{nic}"),
        mac: mac(host, nic),
        carrier: nic < 2,
        heard,
    };
    let host = |k: usize, ports: [&str; 2]| DiscoveredHost {
        name: format!("node{k}"),
        nics: vec![
            nic(k, 0, vec![speaks("core sw", ports[0]), introduced(mac(1 - k, 0), true)]),
            nic(k, 1, vec![speaks("core-sw-2", ports[1]), introduced(mac(1 - k, 0), true)]),
            nic(k, 2, vec![]),
        ],
    };
    let hosts = [host(0, ["Gi1/0/3", "swp7"]), host(1, ["Gi2/0/3", "08:00:00:00:00:00"])];
    let text = draft(&hosts);
    // As long as nobody says which cables there are, these are two planes.
    let apart = tresse_cluster::parse(&text, "draft").unwrap();
    assert_eq!(Planes::of(&apart).map(|planes| planes.count()), Some(2), "{text}");
    let cluster = parsed(&with_links(&text));
    let place = |node: usize, nic: usize| {
        let nic = &cluster.nodes[node].nics[nic];
        (&*cluster.switch(nic.switch).name, nic.port)
    };
    assert_eq!(place(0, 0), ("core-sw", 3));
    assert_eq!(place(0, 1), ("core-sw-2", 7));
    // The port of another module: numbered by what is left.
    assert_eq!(place(1, 0), ("core-sw", 1));
    assert_eq!(place(1, 1), ("core-sw-2", 1));
    assert!(text.contains("# a = \"core-sw:4\"\n# b = \"core-sw-2:8\""), "{text}");
    assert!(text.contains("# node0:eth2 has no carrier: left out"), "{text}");
}

#[test]
fn what_cannot_be_drafted_says_why() {
    let (_, mut hosts) = cabled("[fabric]\ntopology = { kind = \"ring\", nodes = 4 }\n", 1);
    for nic in hosts.iter_mut().flat_map(|host| &mut host.nics) {
        nic.heard.clear();
    }
    assert_eq!(
        Discovered::of(&hosts, &Wires::default()).draft(),
        Err(DraftError::Nothing { hosts: 4 })
    );
    // Two opposite cables of a ring are missing.
    let file = "[fabric]\ntopology = { kind = \"ring\", nodes = 4 }\n";
    let truth = tresse_cluster::parse(file, "truth").unwrap();
    let (_, mut hosts) = cabled(file, 1);
    let ends = |node: usize| {
        let peer = truth.nodes[node].nics[0].peer.unwrap();
        [truth.nodes[node].nics[0].mac, truth.node(peer.node).nics[peer.nic].mac]
    };
    let cut: Vec<_> = [0, 2].into_iter().flat_map(ends).collect();
    for nic in hosts.iter_mut().flat_map(|host| &mut host.nics) {
        nic.carrier &= !cut.contains(&nic.mac);
    }
    let error = Discovered::of(&hosts, &Wires::default()).draft().unwrap_err();
    assert!(
        matches!(&error, DraftError::Parts { hosts: 4, cables } if cables.lines().count() == 2)
    );
}

/// One cable of a full mesh is missing, and two nodes have two cables: no kind has either.
#[test]
fn cables_that_form_no_kind_are_listed() {
    let links: String = [
        ("a:eth0", "b:eth0"),
        ("a:eth1", "b:eth1"),
        ("b:eth2", "c:eth0"),
        ("c:eth1", "d:eth0"),
        ("d:eth1", "a:eth2"),
        ("a:eth3", "c:eth2"),
        ("d:eth2", "e:eth0"),
    ]
    .iter()
    .map(|(a, b)| format!("[[link]]\na = \"{a}\"\nb = \"{b}\"\n"))
    .collect();
    let file = format!("[fabric]\ntopology = {{ kind = \"explicit\" }}\n{links}");
    for seed in 0..3 {
        let (truth, hosts) = cabled(&file, seed);
        let text = draft(&hosts);
        let found = parsed(&text);
        assert_eq!(wires(&found), wires(&truth), "{text}");
        assert!(text.contains("form no ring"), "{text}");
        assert!(tresse_plan::Plan::build(found).is_ok(), "{text}");
    }
}

/// An irregular fabric whose switches tell their neighbours: the draft has its cables and places, to the port.
#[test]
fn tables_of_switches_give_the_whole_fabric() {
    let file = "[fabric]\ntopology = { kind = \"irregular\", switches = 16, ports = 8, nodes_per_switch = 4, seed = 1 }\n";
    let truth = tresse_cluster::parse(file, "truth").unwrap();
    let name = |id: tresse_base::id::SwitchId| truth.switch(id).name.clone();
    let table = |switch: usize| {
        let mut table =
            SwitchTable { lldp: true, ..SwitchTable::new(&truth.switches[switch].name) };
        let here = |link: &tresse_topology::cluster::Link| [(link.a, link.b), (link.b, link.a)];
        for (a, b) in truth.links.iter().flat_map(here).filter(|(a, _)| a.switch.index() == switch)
        {
            table.hear(Neighbour {
                port: format!("p{}", a.port),
                system: Some(name(b.switch)),
                far: vec![format!("p{}", b.port)],
                ..Neighbour::default()
            });
        }
        table
    };
    let hosts: Vec<DiscoveredHost> = truth
        .nodes
        .iter()
        .map(|node| {
            let speaks = |nic: &tresse_topology::cluster::Nic| LldpSender {
                device: name(nic.switch),
                port: format!("p{}", nic.port),
                mac: Mac([2, 9, 0, 0, 0, nic.switch.0 as u8]),
                station: false,
                flooded: false,
            };
            let nic = |nic: &tresse_topology::cluster::Nic| DiscoveredNic {
                name: nic.name.clone(),
                mac: nic.mac,
                carrier: true,
                heard: vec![speaks(nic)],
            };
            DiscoveredHost { name: node.name.clone(), nics: node.nics.iter().map(nic).collect() }
        })
        .collect();
    let wires = Wires::of((0..truth.switches.len()).map(table).collect(), &hosts);
    let text = Discovered::of(&hosts, &wires).draft().unwrap();
    let found = parsed(&text);
    let links = |cluster: &Cluster| -> BTreeSet<BTreeSet<(String, u32)>> {
        let end = |port: tresse_topology::cluster::Port| {
            (cluster.switch(port.switch).name.clone(), port.port)
        };
        cluster.links.iter().map(|link| [end(link.a), end(link.b)].into()).collect()
    };
    let places = |cluster: &Cluster| -> Vec<(String, Mac, String, u32)> {
        let nics =
            cluster.nodes.iter().flat_map(|node| node.nics.iter().map(move |nic| (node, nic)));
        nics.map(|(node, nic)| {
            (node.name.clone(), nic.mac, cluster.switch(nic.switch).name.clone(), nic.port)
        })
        .collect()
    };
    assert_eq!(links(&found), links(&truth), "{text}");
    assert_eq!(places(&found), places(&truth), "{text}");
    assert!(!text.contains("not seen") && !text.contains("# [[link]]"), "{text}");
}

fn any_host() -> impl Strategy<Value = DiscoveredHost> {
    let heard = ("\\PC{0,8}", "\\PC{0,6}", 0..4_usize, 0..3_usize, any::<[bool; 2]>());
    let heard = heard.prop_map(|(device, port, host, nic, [station, flooded])| LldpSender {
        device,
        port,
        mac: mac(host, nic),
        station,
        flooded,
    });
    let nic = (any::<bool>(), proptest::collection::vec(heard, 0..4));
    ("\\PC{1,9}", proptest::collection::vec(nic, 1..3)).prop_map(|(name, nics)| DiscoveredHost {
        name,
        nics: nics
            .into_iter()
            .enumerate()
            .map(|(k, (carrier, heard))| DiscoveredNic {
                name: format!("eth{k}"),
                mac: mac(0, k),
                carrier,
                heard,
            })
            .collect(),
    })
}

fn any_table() -> impl Strategy<Value = SwitchTable> {
    let heard = (
        "[a-z0-9/]{0,5}",
        proptest::option::of("\\PC{0,9}"),
        proptest::collection::vec("\\PC{0,6}", 0..3),
    );
    let heard = heard.prop_map(|(port, system, far)| Neighbour {
        port,
        system,
        far,
        ..Neighbour::default()
    });
    let learned = ("[a-z0-9]{1,3}", 0..5_usize).prop_map(|(port, nic)| crate::table::Learned {
        port,
        mac: mac(0, nic),
        vid: None,
    });
    let of = (
        "\\PC{1,9}",
        proptest::collection::vec(heard, 0..4),
        proptest::collection::vec(learned, 0..6),
    );
    of.prop_map(|(name, heard, learned)| {
        let mut table = SwitchTable::new(&name);
        heard.into_iter().for_each(|heard| table.hear(heard));
        learned.into_iter().for_each(|learned| table.learn(learned));
        table.lldp = !table.neighbours.is_empty();
        table.fdb = !table.learned.is_empty();
        table
    })
}

proptest! {
    /// Outsiders can say what they like.
    #[test]
    fn every_draft_with_tables_is_a_cluster_file(
        mut hosts in proptest::collection::vec(any_host(), 1..4),
        tables in proptest::collection::vec(any_table(), 0..4),
    ) {
        for (host, of) in hosts.iter_mut().enumerate() {
            for (nic, it) in of.nics.iter_mut().enumerate() {
                it.mac = mac(host, nic);
            }
        }
        let wires = Wires::of(tables, &hosts);
        if let Ok(text) = Discovered::of(&hosts, &wires).draft() {
            let read = tresse_cluster::parse(&with_links(&text), "draft");
            let words = read.as_ref().err().map(ToString::to_string).unwrap_or_default();
            let apart = words.lines().filter(|line| !line.starts_with(' '));
            let apart = apart.clone().all(|line| line.contains("no cable joins") || line.contains("fabric without nodes"));
            prop_assert!(apart, "{words}\n{text}");
        }
    }

    /// Outsiders can say what they like.
    #[test]
    fn every_draft_is_a_cluster_file(mut hosts in proptest::collection::vec(any_host(), 1..4)) {
        for (host, of) in hosts.iter_mut().enumerate() {
            for (nic, it) in of.nics.iter_mut().enumerate() {
                it.mac = mac(host, nic);
            }
        }
        if let Ok(text) = Discovered::of(&hosts, &Wires::default()).draft() {
            let read = tresse_cluster::parse(&with_links(&text), "draft");
            // Where nobody hears of a cable between two switches, the draft cannot have one.
            let words = read.as_ref().err().map(ToString::to_string).unwrap_or_default();
            let apart = words.lines().filter(|line| !line.starts_with(' '));
            let apart = apart.clone().all(|line| line.contains("no cable joins"));
            prop_assert!(apart, "{words}\n{text}");
        }
    }
}

/// NICs at ports that are left out, by what they hear and by the forwarding table, are no part of the draft, and named.
#[test]
fn nics_at_ports_that_are_left_out_are_named() {
    let sender = LldpSender {
        device: "core.lab".into(),
        port: "Gi1/0/7".into(),
        mac: Mac([2, 9, 0, 0, 0, 1]),
        station: false,
        flooded: false,
    };
    let nic = |name: &str, last, heard: Vec<LldpSender>| DiscoveredNic {
        name: name.into(),
        mac: mac(0, last),
        carrier: true,
        heard,
    };
    let nics = vec![nic("eth0", 1, vec![]), nic("eth1", 2, vec![sender]), nic("eth2", 3, vec![])];
    let hosts = [DiscoveredHost { name: "n0".into(), nics }];
    let mut table = SwitchTable { fdb: true, ..SwitchTable::new("s0") };
    for (port, last) in [("p1", 1), ("p48", 3)] {
        let learned = crate::table::Learned { port: port.into(), mac: mac(0, last), vid: None };
        table.learn(learned);
    }
    let without = crate::without::Without::new(["core", "s0:48"].map(str::to_owned));
    let wires = Wires::without(vec![table], &hosts, vec![], &without).unwrap();
    let text = Discovered::of(&hosts, &wires).draft().unwrap();
    for words in [
        "# left out: core.lab with all its ports\n",
        "# left out: s0 port p48\n",
        "# left out: n0:eth1, which is at core.lab port Gi1/0/7 or behind it\n",
        "# left out: n0:eth2, which is at s0 port p48 or behind it\n",
    ] {
        assert!(text.contains(words), "{words} in {text}");
    }
    let cluster = parsed(&text);
    assert_eq!((cluster.switches.len(), cluster.nodes[0].nics.len()), (1, 1));
}
