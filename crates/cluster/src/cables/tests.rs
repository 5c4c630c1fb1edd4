//! Cabling by rule, moved by hand: every NIC hears whoever is on its switch, or at its cable.

use tresse_base::id::SwitchId;

use super::place::Place;
use super::*;

/// Three switches with three nodes each, two NICs a node: n0 and n1 on s0 and s1, n2 on s0 and s2, ...
const FLAT: &str = "kind = \"fnn\", wiring = \"0: 0 1 2 3\\n1: 0 1 4 5\\n2: 2 3 4 5\\n\"";
/// The same with an uplink.
const UPLINK: &str =
    "kind = \"fnn\", wiring = \"0: 0 1 2 3\\n1: 0 1 4 5\\n2: 2 3 4 5\\n\", uplink = \"u0\"";
const RING: &str = "kind = \"ring\", nodes = 4";
/// Rows on s0, columns on s1.
const SHARED: &str = "kind = \"pmesh\", dims = [4, 4], lines_per_switch = 4";
const TORUS: &str = "kind = \"torus\", dims = [3, 3]";

/// A cluster, and where each cable really ends.
struct World {
    cluster: Cluster,
    at: BTreeMap<NicEnd, Place>,
}

const fn end(node: u32, nic: usize) -> NicEnd {
    NicEnd { node: NodeId(node), nic }
}

const fn port(switch: u32, port: u32) -> Place {
    Place::Port { switch: SwitchId(switch), port: Some(port), line: None }
}

impl World {
    fn new(topology: &str) -> Self {
        let text = format!("[fabric]\ntopology = {{ {topology} }}\n");
        let cluster = crate::parse(&text, "x").unwrap();
        let reader = Reader::new(&cluster);
        let ends = cluster
            .nodes
            .iter()
            .zip(0..)
            .flat_map(|(n, k)| (0..n.nics.len()).map(move |nic| end(k, nic)));
        let at = ends.map(|end| (end, reader.expected(end))).collect();
        Self { cluster, at }
    }

    fn moved(mut self, from: NicEnd, to: Place) -> Self {
        self.at.insert(from, to);
        self
    }

    /// Each at the other's place.
    fn swapped(self, a: NicEnd, b: NicEnd) -> Self {
        let (at_a, at_b) = (self.at[&a].clone(), self.at[&b].clone());
        self.moved(a, at_b).moved(b, at_a)
    }

    /// What a node sees by announcements.
    fn announced(&self, node: u32) -> Vec<HostInterface> {
        self.interfaces(node, |me, there| match (there, self.at.get(&me)) {
            (Place::Port { switch, line, .. }, _) => {
                let here = |other: &Place| {
                    matches!(other, Place::Port { switch: s, line: l, .. } if (s, l) == (switch, line))
                };
                let others = self.at.iter().filter(|(end, at)| **end != me && here(at));
                others.map(|(end, _)| self.announcement(*end)).collect()
            }
            (Place::Nic(peer), _) => vec![self.announcement(*peer)],
            (Place::Unknown(_), _) => Vec::new(),
        })
    }

    /// What a node sees by LLDP.
    fn reported(&self, node: u32) -> Vec<HostInterface> {
        self.interfaces(node, |_, there| match there {
            Place::Port { switch, port, .. } => {
                let system = Some(format!("{}.example", self.cluster.switch(*switch).name));
                vec![lldp(system, &format!("swp{}", port.unwrap()))]
            }
            Place::Nic(peer) => {
                let node = self.cluster.node(peer.node);
                vec![lldp(Some(node.name.clone()), &node.nics[peer.nic].name)]
            }
            Place::Unknown(name) => vec![lldp(Some(name.clone()), "7")],
        })
    }

    fn interfaces(
        &self,
        node: u32,
        hears: impl Fn(NicEnd, &Place) -> Vec<Sign>,
    ) -> Vec<HostInterface> {
        let nics = self.cluster.nodes[node as usize].nics.iter().enumerate();
        nics.map(|(nic, of_nic)| HostInterface {
            name: of_nic.name.clone(),
            mac: Some(of_nic.mac),
            carrier: true,
            patient: true,
            signs: hears(end(node, nic), &self.at[&end(node, nic)]),
        })
        .collect()
    }

    fn announcement(&self, from: NicEnd) -> Sign {
        let mac = self.cluster.node(from.node).nics[from.nic].mac;
        Sign::Announcement { mac, foreign: false }
    }

    fn compare(&self, node: u32, interfaces: &[HostInterface]) -> CableReport {
        compare(&self.cluster, NodeId(node), interfaces)
    }
}

fn lldp(system: Option<String>, port: &str) -> Sign {
    Sign::Lldp { system, port: port.into(), port_mac: None, description: None }
}

/// Verdict and partners of each NIC.
fn verdicts(report: &CableReport) -> Vec<(Verdict, Vec<&str>)> {
    let of = |r: &'_ NicReport| r.verdict;
    report.nics.iter().map(|r| (of(r), r.with.iter().map(String::as_str).collect())).collect()
}

fn kinds(report: &CableReport) -> Vec<Verdict> {
    report.nics.iter().map(|nic| nic.verdict).collect()
}

fn order(report: &CableReport) -> Vec<(&str, &str)> {
    report.order.iter().map(|n| (n.interface.as_str(), n.nic.as_str())).collect()
}

const OK: (Verdict, Vec<&str>) = (Verdict::Ok, Vec::new());

#[test]
fn what_is_in_its_place_is_fine_by_either_evidence() {
    for topology in [FLAT, RING, TORUS, "kind = \"pmesh\", dims = [3, 3]", SHARED] {
        let world = World::new(topology);
        for node in 0..world.cluster.nodes.len() as u32 {
            let report = world.compare(node, &world.reported(node));
            assert!(report.fine && verdicts(&report).iter().all(|v| *v == OK), "{report:?}");
            assert!(report.nics.iter().all(|r| r.by == Some(By::Lldp)));
            if world.cluster.is_untagged() {
                let report = world.compare(node, &world.announced(node));
                assert!(report.fine && verdicts(&report).iter().all(|v| *v == OK), "{report:?}");
                assert!(report.nics.iter().all(|r| r.by == Some(By::Announcements)));
                assert!(report.nics.iter().all(|r| r.silent.is_empty()), "{report:?}");
            }
        }
    }
}

#[test]
fn two_cables_swapped_on_one_node_name_each_other() {
    for topology in [FLAT, RING] {
        let world = World::new(topology).swapped(end(0, 0), end(0, 1));
        for interfaces in [world.reported(0), world.announced(0)] {
            let report = world.compare(0, &interfaces);
            let [first, second] =
                [0, 1].map(|nic| format!("n0 {}", world.cluster.nodes[0].nics[nic].name));
            let expected = [&second, &first].map(|with| (Verdict::Swapped, vec![with.as_str()]));
            assert_eq!(verdicts(&report), expected, "{report:?}");
            assert!(!report.fine);
            let [a, b] = [0, 1].map(|nic| world.cluster.nodes[0].nics[nic].name.as_str());
            assert_eq!(
                (order(&report), report.order_by),
                (vec![(a, b), (b, a)], Some(OrderBy::Cable))
            );
        }
    }
}

#[test]
fn cables_swapped_between_nodes_name_the_other_node() {
    // n0 belongs on s0 and s1, n4 on s1 and s2.
    let world = World::new(FLAT).swapped(end(0, 0), end(4, 1));
    for (node, nic, other) in [(0, 0, "n4 eth1"), (4, 1, "n0 eth0")] {
        for interfaces in [world.reported(node), world.announced(node)] {
            let report = world.compare(node, &interfaces);
            let mut expected = vec![OK, OK];
            expected[nic] = (Verdict::Swapped, vec![other]);
            assert_eq!(verdicts(&report), expected, "{report:?}");
            assert!(report.order.is_empty() && !report.fine);
        }
    }
    // Who stayed misses the one and hears the other.
    let report = world.compare(1, &world.announced(1));
    assert_eq!(verdicts(&report), [OK, OK]);
    assert_eq!(report.nics[0].silent, ["n0 eth0"]);
    let extra: Vec<_> = report.extra.iter().map(|e| (&*e.interface, &*e.message)).collect();
    assert_eq!(extra, [("eth0", "n4 eth1 is heard, which belongs at s2 port 3")]);
}

/// n00's and n04's first NICs are on one switch, and on different lines of it.
#[test]
fn cables_swapped_between_lines_of_one_switch_are_told() {
    let world = World::new(SHARED).swapped(end(0, 0), end(4, 0));
    for (node, other) in [(0, "n04 eth0"), (4, "n00 eth0")] {
        for interfaces in [world.reported(node), world.announced(node)] {
            let report = world.compare(node, &interfaces);
            assert_eq!(verdicts(&report), [(Verdict::Swapped, vec![other]), OK], "{report:?}");
        }
    }
    let report = world.compare(0, &world.announced(0));
    let found = report.nics[0].found.as_ref().unwrap();
    assert_eq!(
        (found.to_string(), &*found.line.clone().unwrap()),
        ("s0 line(-,1)".into(), "line(-,1)")
    );
    assert_eq!(report.nics[0].message, "at s0 line(-,1), swapped with n04 eth0");
    // Who stayed misses the one and hears the other, which belongs on the same switch.
    let report = world.compare(1, &world.announced(1));
    assert_eq!(report.nics[0].silent, ["n00 eth0"]);
    assert_eq!(report.extra[0].message, "n04 eth0 is heard, which belongs at s0 port 5");
}

/// All six lines are on one switch, and so both NICs of a node.
#[test]
fn two_lines_on_a_switch_are_two_places() {
    let world = World::new("kind = \"pmesh\", dims = [3, 3], lines_per_switch = 6");
    let world = world.swapped(end(0, 0), end(0, 1));
    for interfaces in [world.reported(0), world.announced(0)] {
        let report = world.compare(0, &interfaces);
        let swapped = |with| (Verdict::Swapped, vec![with]);
        assert_eq!(verdicts(&report), [swapped("n0 eth1"), swapped("n0 eth0")], "{report:?}");
    }
}

#[test]
fn a_port_that_is_a_links_is_named_by_the_link() {
    let world = World::new(TORUS);
    let link = world.cluster.links[0];
    let names = [link.a, link.b].map(|p| world.cluster.switch(p.switch).name.clone());
    let place = port(link.a.switch.0, link.a.port);
    let world = world.moved(end(5, 0), place);
    let report = world.compare(5, &world.reported(5));
    assert_eq!(verdicts(&report), [(Verdict::Swapped, vec![names.join("-").as_str()])]);
}

#[test]
fn missing_is_no_interface_no_carrier_or_nobody() {
    let world = World::new(FLAT);
    let with = |change: &dyn Fn(&mut Vec<HostInterface>)| {
        let mut interfaces = world.announced(0);
        change(&mut interfaces);
        let report = world.compare(0, &interfaces);
        (report.nics[0].verdict, report.nics[0].message.clone(), report.fine)
    };
    let gone = with(&|i| drop(i.remove(0)));
    assert!(gone.0 == Verdict::Missing && gone.1.starts_with("no interface"), "{gone:?}");
    let down = with(&|i| i[0].carrier = false);
    assert_eq!(down, (Verdict::Missing, "no carrier".into(), false));
    let silent = with(&|i| i[0].signs.clear());
    assert_eq!(silent, (Verdict::Missing, "carrier, but nothing is received".into(), false));
    let stranger = "02:00:00:00:00:99".parse().unwrap();
    let foreign = with(&|i| {
        i[0].signs = vec![Sign::Announcement { mac: stranger, foreign: true }];
    });
    let words = format!("{stranger} of another fabric is heard, and nobody of this one");
    assert_eq!(foreign, (Verdict::Missing, words, false));
    let early = with(&|i| {
        i[0].signs.clear();
        i[0].patient = false;
    });
    assert_eq!(early, (Verdict::Unknown, "nothing received yet: ask again later".into(), true));
}

#[test]
fn on_vlans_only_lldp_tells() {
    let world = World::new(TORUS);
    let mut interfaces = world.reported(0);
    interfaces[0].signs.clear();
    assert_eq!(world.compare(0, &interfaces).nics[0].verdict, Verdict::Unknown);
    let world = world.swapped(end(0, 0), end(1, 0));
    let report = world.compare(0, &world.reported(0));
    let other = format!("{} eth0", world.cluster.nodes[1].name);
    assert_eq!(verdicts(&report), [(Verdict::Swapped, vec![other.as_str()])]);
}

/// Announcements cross an uplink: everybody is heard, wherever his cable ends.
#[test]
fn with_an_uplink_only_lldp_tells() {
    let world = World::new(UPLINK);
    let everybody = |node: u32| {
        world.interfaces(node, |me, _| {
            world.at.keys().filter(|end| **end != me).map(|end| world.announcement(*end)).collect()
        })
    };
    for node in 0..6 {
        let report = world.compare(node, &everybody(node));
        assert!(report.fine && report.extra.is_empty() && report.order.is_empty(), "{report:?}");
        let unknown = |nic: &NicReport| nic.verdict == Verdict::Unknown && nic.found.is_none();
        assert!(report.nics.iter().all(unknown), "{report:?}");
        assert!(report.nics[0].message.contains("cross an uplink"), "{report:?}");
        assert!(
            world
                .compare(node, &world.reported(node))
                .nics
                .iter()
                .all(|nic| nic.verdict == Verdict::Ok)
        );
    }
    // By LLDP a cable is told that was moved, be it to the place of an uplink's.
    let uplink = world.cluster.links[0].a;
    let place = Place::Port { switch: uplink.switch, line: None, port: Some(uplink.port) };
    let moved = World::new(UPLINK).moved(end(4, 0), place);
    let mut interfaces = moved.reported(4);
    interfaces[0].signs.extend(everybody(4)[0].signs.clone());
    let expected = [(Verdict::Swapped, vec!["s0-u0"]), OK];
    assert_eq!(verdicts(&moved.compare(4, &interfaces)), expected);
    // Nobody at all, another fabric, and what the file does not have, are told as elsewhere.
    let mut interfaces = everybody(0);
    interfaces[0].signs.clear();
    let stranger = Mac([2, 9, 9, 9, 9, 9]);
    interfaces[1].signs.push(Sign::Announcement { mac: stranger, foreign: true });
    let report = world.compare(0, &interfaces);
    assert_eq!(kinds(&report), [Verdict::Missing, Verdict::Unknown]);
    assert!(report.extra[0].message.contains("another fabric"), "{report:?}");
    // What another network sends by LLDP may come by the uplink too.
    interfaces[1].signs = everybody(0)[1].signs.clone();
    interfaces[0].signs = vec![lldp(Some("office".into()), "7")];
    interfaces[1].signs.push(lldp(Some("office".into()), "7"));
    let report = world.compare(0, &interfaces);
    assert_eq!(kinds(&report), [Verdict::Extra, Verdict::Unknown]);
}

#[test]
fn what_the_file_does_not_have_is_extra() {
    let world = World::new(FLAT).moved(end(0, 0), Place::Unknown("office".into()));
    let report = world.compare(0, &world.reported(0));
    assert_eq!(verdicts(&report)[0].0, Verdict::Extra);
    assert_eq!(report.nics[0].message, "at office 7, where the file has no cable");
    let world = World::new(FLAT).moved(end(0, 0), port(2, 40));
    assert_eq!(verdicts(&world.compare(0, &world.reported(0)))[0].0, Verdict::Extra);

    // A NIC that the file lacks counts where it hears the fabric, and is nobody's business elsewhere.
    let world = World::new(FLAT);
    let mut interfaces = world.announced(0);
    let spare = |signs| HostInterface {
        name: "eth9".into(),
        mac: Some(Mac([2, 9, 9, 9, 9, 9])),
        carrier: true,
        patient: true,
        signs,
    };
    interfaces.push(spare(vec![lldp(Some("office".into()), "7")]));
    assert!(world.compare(0, &interfaces).fine);
    interfaces[2] = spare(vec![world.announcement(end(1, 0))]);
    let report = world.compare(0, &interfaces);
    assert_eq!(report.extra[0].message, "at s0, but no NIC of this node in the file");
    assert!(!report.fine);
}

#[test]
fn strangers_on_a_switch_are_extra() {
    let world = World::new(FLAT);
    let mut interfaces = world.announced(0);
    let stranger = Mac([2, 9, 9, 9, 9, 9]);
    interfaces[0].signs.push(Sign::Announcement { mac: stranger, foreign: false });
    interfaces[1].signs.push(Sign::Announcement { mac: stranger, foreign: true });
    let report = world.compare(0, &interfaces);
    let extra: Vec<&str> = report.extra.iter().map(|e| e.message.as_str()).collect();
    assert!(extra[0].contains("no NIC of the file") && extra[1].contains("another fabric"));
    assert_eq!(verdicts(&report), [OK, OK]);
}

/// The classic trap: the kernel found the NICs in another order, and the file knows their MACs.
#[test]
fn a_wrong_order_is_told_by_macs_and_the_cables_are_right() {
    let world = World::new(FLAT);
    let mut interfaces = world.announced(0);
    interfaces[0].name = "eth1".into();
    interfaces[1].name = "eth0".into();
    let report = world.compare(0, &interfaces);
    assert_eq!(verdicts(&report), [OK, OK]);
    let names = vec![("eth1", "eth0"), ("eth0", "eth1")];
    assert_eq!((order(&report), report.order_by), (names, Some(OrderBy::Mac)));
    assert!(!report.fine);
}

/// Without MACs in the file the places tell.
#[test]
fn a_wrong_order_is_told_by_places() {
    let world = World::new(FLAT).swapped(end(0, 0), end(0, 1));
    let mut interfaces = world.announced(0);
    interfaces.iter_mut().for_each(|i| i.mac = None);
    let report = world.compare(0, &interfaces);
    assert_eq!(order(&report), [("eth0", "eth1"), ("eth1", "eth0")]);
    // One at another node's place is no order.
    let world = World::new(FLAT).swapped(end(0, 0), end(4, 1));
    assert!(world.compare(0, &world.reported(0)).order.is_empty());
}

#[test]
fn ports_are_known_by_number_or_by_the_exported_description() {
    let world = World::new(TORUS);
    let nic = &world.cluster.nodes[0].nics[0];
    let verdict = |port: &str, description: Option<String>| {
        let system = Some(world.cluster.switch(nic.switch).name.clone());
        let sign = Sign::Lldp { system, port: port.into(), port_mac: None, description };
        let mut interfaces = world.reported(0);
        interfaces[0].signs = vec![sign];
        world.compare(0, &interfaces).nics[0].verdict
    };
    let n = nic.port;
    for name in [format!("swp{n}"), format!("Gi1/0/{n}"), format!("ge-0/0/{}", n - 1), "up".into()]
    {
        assert_eq!(verdict(&name, None), Verdict::Ok, "{name}");
    }
    let own = format!("{} {}", world.cluster.nodes[0].name, nic.name);
    assert_eq!(verdict("Ethernet0", Some(own)), Verdict::Ok);
    assert_eq!(verdict("517", Some(format!("port {n}"))), Verdict::Ok);
    assert_ne!(verdict(&format!("swp{}", n + 1), None), Verdict::Ok);
    assert_eq!(verdict("swp99999999999", None), Verdict::Ok, "no number of a port");
}
