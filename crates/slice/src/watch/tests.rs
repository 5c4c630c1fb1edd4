use super::*;

fn plan(text: &str) -> Plan {
    Plan::build(tresse_cluster::parse(text, "test.toml").unwrap()).unwrap()
}

const TORUS: &str = "[fabric]\ntopology = { kind = \"torus\", dims = [4, 4], nodes_per_switch = 1 }\n\
                     [routing]\nstrategy = \"dor\"\npaths = 2\n";

/// Two NICs a node, each on a ring of switches of its own.
const FLAT: &str =
    "[fabric]\ntopology = { kind = \"fnn\", wiring = \"0: 0 1 2\\n1: 0 1 2\\n2: 0 1 2\" }\n";

fn all(plan: &Plan) -> Vec<Watches> {
    (0..plan.cluster().nodes.len()).map(|node| Watches::new(plan, node.into())).collect()
}

/// Every crossing of a node's paths that another path of the same pair avoids is watched.
fn covers(watches: &Watches) {
    let active = |crossing| {
        watches.paths().iter().any(|watch| watch.active && watch.wires.contains(crossing))
    };
    for watch in watches.paths() {
        for crossing in &watch.wires {
            let avoided = watches
                .paths()
                .iter()
                .any(|other| other.id.dst == watch.id.dst && !other.wires.contains(crossing));
            assert!(
                !avoided || active(crossing),
                "{} rank {}: {crossing:?}",
                watch.peer,
                watch.id.rank
            );
        }
    }
}

#[test]
fn every_crossing_that_can_be_avoided_is_watched() {
    for text in [TORUS, FLAT] {
        for watches in all(&plan(text)) {
            covers(&watches);
        }
    }
}

#[test]
fn who_answers_knows_the_path_by_where_its_packets_come_in() {
    for text in [TORUS, FLAT, "[fabric]\ntopology = { kind = \"pmesh\", dims = [3, 3] }\n"] {
        let plan = plan(text);
        let all = all(&plan);
        let mut sessions = 0;
        for (node, watches) in plan.cluster().nodes.iter().zip(&all) {
            for watch in watches.paths().iter().filter(|watch| watch.active) {
                let peer = watch.id.dst.index();
                let there: Vec<_> = all[peer]
                    .paths()
                    .iter()
                    .filter(|w| w.destination == watch.source && !w.arrival.is_empty())
                    .filter(|w| w.peer == node.name && w.id.rank == watch.id.rank)
                    .filter(|w| w.source == watch.destination)
                    .collect();
                assert_eq!(
                    there.len(),
                    1,
                    "{} to {} rank {}",
                    node.name,
                    watch.peer,
                    watch.id.rank
                );
                // What this end sends by its path comes in there where the other end expects it.
                let same_way = all[peer]
                    .paths()
                    .iter()
                    .filter(|w| w.destination == watch.source && w.arrival == there[0].arrival);
                assert!(same_way.count() == 1 || there[0].shared);
                sessions += 1;
            }
        }
        assert!(sessions > 0);
    }
}

/// Also the last cable of every path is watched, as others may lead round it; not every path needs a session for that.
#[test]
fn every_peer_has_a_session_and_not_every_path() {
    for watches in all(&plan(TORUS)) {
        assert_eq!(watches.paths().len(), 30, "two paths to each of 15 peers");
        let active = watches.paths().iter().filter(|watch| watch.active);
        let peers: BTreeSet<_> = active.map(|watch| watch.id.dst).collect();
        assert_eq!(peers.len(), 15);
        assert!(watches.active() < 30, "{}", watches.active());
    }
}

/// Also where all paths of a pair come in by one interface.
#[test]
fn pairs_whose_paths_share_an_interface_of_arrival_have_sessions() {
    let text = "[fabric]\ntopology = { kind = \"irregular\", switches = 16, nodes_per_switch = 1, seed = 1, ports = 6 }\n\
                [routing]\nstrategy = \"transit\"\nlossless = true\npaths = 2\n";
    let (mut shared, mut sessions) = (0, 0);
    let seeds = 1..=6;
    let fabrics = seeds.map(|seed| text.replace("seed = 1", &format!("seed = {seed}")));
    for watches in fabrics.flat_map(|text| all(&plan(&text))) {
        let active = watches.paths().iter().filter(|watch| watch.active);
        let peers: BTreeSet<_> = active.map(|watch| watch.id.dst).collect();
        covers(&watches);
        sessions += peers.len();
        shared += watches.paths().iter().filter(|watch| watch.active && watch.shared).count();
    }
    assert!(shared > 0 && sessions > 6 * 16 * 14, "{shared} {sessions}");
}

#[test]
fn a_single_path_is_not_watched() {
    let one = TORUS.replace("paths = 2", "paths = 1");
    assert!(all(&plan(&one)).iter().all(|watches| watches.active() == 0));
}

#[test]
fn neighbours_are_watched_where_nodes_route() {
    let ring = "[fabric]\ntopology = { kind = \"ring\", nodes = 5 }\n";
    for watches in all(&plan(ring)) {
        assert_eq!(watches.active(), 2);
        assert!(watches.paths().iter().all(|watch| watch.nexthop.via == watch.destination));
    }
}

/// In each direction, so that what a kernel's route begins with says which path it is.
#[test]
fn paths_of_a_node_have_names_and_first_hops_of_their_own() {
    let transit = "[fabric]\ntopology = { kind = \"irregular\", switches = 16, ports = 4, seed = 3, nodes_per_switch = 2 }\n\
                   [routing]\nstrategy = \"transit\"\npaths = 3\n";
    let both = "[addressing]\nnodes = [\"10.77.0.0/16\", \"fd77::/64\"]\nnics = [\"10.78.0.0/16\", \"fd78::/64\"]\n";
    let ring = "[fabric]\ntopology = { kind = \"ring\", nodes = 2 }\n";
    let torus = "[fabric]\ntopology = { kind = \"direct-torus\", dims = [2, 3] }\n";
    let dual = format!("{TORUS}{both}");
    for text in [TORUS, FLAT, transit, &dual, ring, torus] {
        let plan = plan(text);
        for (node, watches) in all(&plan).iter().enumerate() {
            let ids: BTreeSet<PathId> = watches.paths().iter().map(|watch| watch.id).collect();
            assert_eq!(ids.len(), watches.paths().len(), "{text}");
            for watch in watches.paths() {
                for nexthop in &watch.nexthops {
                    let used = Nexthop { weight: 7, ..nexthop.clone() };
                    assert_eq!(watches.path_of(&used), Some(watch.id), "{text}");
                }
            }
            let json = serde_json::to_string(watches).unwrap();
            assert_eq!(serde_json::from_str::<Watches>(&json).unwrap(), *watches);
            let peers = (0..plan.cluster().nodes.len()).filter(|peer| *peer != node);
            for path in peers.flat_map(|peer| plan.paths(node.into(), peer.into())) {
                let first = first_hop(&plan, &path, true).unwrap();
                assert_eq!(watches.path_of(&first), Some(watched_path(&plan, &path)), "{text}");
            }
        }
    }
}

/// What one session cannot tell, the others do.
#[test]
fn a_session_that_is_down_takes_the_paths_with_it_that_nothing_shows_to_be_sound() {
    let path = |dst: u32, rank: u32, wires: &[u32]| Watch {
        id: PathId { src: NodeId(9), dst: NodeId(dst), rank },
        peer: String::new(),
        source: [10, 0, 0, 1].into(),
        destination: [10, 0, 0, 2].into(),
        nexthop: Nexthop {
            interface: "e".into(),
            via: [10, 0, 0, 2].into(),
            labels: vec![],
            weight: 1,
        },
        mac: Mac([0; 6]),
        arrival: "e".into(),
        shared: false,
        transits: 0,
        active: true,
        nexthops: Vec::new(),
        wires: wires.iter().copied().map(Crossing::Between).collect(),
        nodes: None,
    };
    let paths = [path(0, 0, &[1, 2]), path(0, 1, &[2, 3]), path(1, 0, &[1]), path(1, 1, &[3, 4])];
    let ids = paths.each_ref().map(|path| path.id);
    let watches = Watches::from_iter(paths);
    let broken = |down: &[usize], up: &[usize]| -> Vec<usize> {
        let [down, up] = [down, up].map(|set| set.iter().map(|at| ids[*at]).collect());
        let broken = watches.broken(&down, &up);
        (0..ids.len()).filter(|at| broken.contains(&ids[*at])).collect()
    };
    assert!(broken(&[], &[0, 1]).is_empty());
    assert_eq!(broken(&[0], &[]), [0], "the peer it may be");
    assert_eq!(broken(&[0, 2], &[]), [0, 2], "1 it may be, that both cross");
    assert_eq!(broken(&[0], &[1]), [0, 2], "2 is sound: 1 it is");
    assert_eq!(broken(&[0], &[1, 2]), [0], "all of it is sound elsewhere: the path itself");
    assert_eq!(broken(&[0, 1], &[2]), [0, 1], "all paths to that peer");
    assert_eq!(broken(&[1, 2], &[0]), [1, 2, 3], "3 it is, 1 is sound");
}

/// What a node's paths cross by a part's name, and by the view of the same paths.
fn crossed(
    plan: &Plan,
    node: NodeId,
    object: &str,
    is: impl Fn(&[tresse_plan::SegmentView]) -> bool,
) {
    let watches = Watches::new(plan, node);
    let part = part::FabricPart::named(plan.cluster(), object).unwrap();
    let found = watches.paths().iter().filter(|watch| part.is_crossed_by(watch));
    let found: BTreeSet<_> = found.map(|watch| (watch.peer.clone(), watch.id.rank)).collect();
    let peers = (0..plan.cluster().nodes.len()).map(NodeId::from).filter(|peer| *peer != node);
    let views = peers.flat_map(|peer| plan.paths(node, peer)).map(|path| plan.path_view(&path));
    let wanted = views.filter(|view| is(&view.segments)).map(|view| (view.dst, view.rank));
    assert_eq!(found, wanted.collect(), "{object}");
}

#[test]
fn paths_cross_the_parts_that_they_are_said_to() {
    /// Nodes 0 and 3 meet by way of others alone.
    const APART: &str =
        "[fabric]\ntopology = { kind = \"fnn\", wiring = \"0: 0 1 2\\n1: 1 2 3\" }\n";
    for text in [TORUS, FLAT, APART] {
        let plan = plan(text);
        let cluster = plan.cluster();
        for switch in &cluster.switches {
            let name = &switch.name;
            crossed(&plan, NodeId(0), name, |s| s.iter().any(|s| s.switches.contains(name)));
        }
        for link in &cluster.links {
            let ends = [link.a, link.b].map(|end| &cluster.switches[end.switch.index()].name);
            let [a, b] = ends;
            let on = |s: &tresse_plan::SegmentView| {
                s.switches
                    .windows(2)
                    .any(|w| w == [a.clone(), b.clone()] || w == [b.clone(), a.clone()])
            };
            let all = |s: &[tresse_plan::SegmentView]| s.iter().any(on);
            crossed(&plan, NodeId(0), &format!("{b}-{a}"), all);
            crossed(&plan, NodeId(0), &format!("{a}:{}", link.a.port), all);
        }
        for node in &cluster.nodes[1..] {
            let name = &node.name;
            let transit = |s: &[tresse_plan::SegmentView]| s[1..].iter().any(|s| s.from == *name);
            crossed(&plan, NodeId(0), name, transit);
            let nic = &node.nics[0].name;
            let by = |s: &tresse_plan::SegmentView| {
                (&s.from, &s.nic) == (name, nic) || (&s.to, &s.to_nic) == (name, nic)
            };
            crossed(&plan, NodeId(0), &format!("{name}:{nic}"), |s| s.iter().any(by));
        }
    }
    let torus = plan(TORUS);
    for unknown in ["", "-", "x9", "s00-", "s00-s99", "n00:eth9", "s00:99", ":", "s00-s22"] {
        let error = part::FabricPart::named(torus.cluster(), unknown).unwrap_err().to_string();
        assert!(error.contains(unknown) && error.contains("name a switch"), "{error}");
    }
}

#[test]
fn every_port_of_a_link_aggregation_group_is_the_link() {
    let plan = plan(
        "[fabric]\ntopology = { kind = \"explicit\" }\n[[switch]]\nname = \"s[0-1]\"\nlag = true\n\
         [[node]]\nname = \"n[0-1]\"\nnics = [{ switch = \"s[0-1]\", port = 1 }]\n\
         [[link]]\na = \"s0:[6-8]\"\nb = \"s1:[2-4]\"\n",
    );
    let named = |object: &str| part::FabricPart::named(plan.cluster(), object).unwrap();
    let link = named("s0-s1");
    assert_eq!(link.wires().len(), 2);
    for port in ["s0:6", "s0:7", "s0:8", "s1:2", "s1:3", "s1:4"] {
        assert_eq!(named(port), link, "{port}");
    }
}
