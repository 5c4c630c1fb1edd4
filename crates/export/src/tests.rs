use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use tresse_base::id::{Label, LinkId, NodeId, TreeId, Vid};
use tresse_reconcile::WantedLabel;
use tresse_slice::Slice;
use tresse_topology::cluster::{Cluster, Strategy, TopologyShape};

use tresse_plan::{Plan, base_vlan};

use super::render::Writer;
use super::*;

fn torus() -> Plan {
    let kind = TopologyShape::Torus { dims: vec![4, 4] };
    let mut cluster = Cluster::generated(kind, 1, 1, Strategy::Dor, 1);
    cluster.vlans.ranges = vec![(100, 199)];
    Plan::build(cluster).unwrap()
}

fn mesh_with_base() -> Plan {
    let kind = TopologyShape::Mesh { dims: vec![3, 2] };
    let mut cluster = Cluster::generated(kind, 1, 2, Strategy::Pdor, 2);
    cluster.vlans.ranges = vec![(100, 199)];
    cluster.vlans.base = Some(1);
    Plan::build(cluster).unwrap()
}

/// Compares with `tests/golden/export/<directory>/<file>`, or writes it with TRESSE_BLESS=1.
#[expect(clippy::disallowed_methods, reason = "golden files are what this test is about")]
fn golden(directory: &str, file: &ExportFile) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/golden/export")
        .join(directory)
        .join(&file.name);
    if std::env::var_os("TRESSE_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &file.text).unwrap();
    }
    let want = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        want == file.text,
        "{} differs; bless with TRESSE_BLESS=1 and read the change",
        path.display()
    );
}

#[test]
fn every_format_of_the_torus_and_the_mesh_is_as_read() {
    for (directory, plan, options) in [
        ("torus-4x4-dor", torus(), ExportOptions::default()),
        ("mesh-3x2-base", mesh_with_base(), ExportOptions { cyclic: false, static_fdb: true }),
    ] {
        for format in Format::all() {
            let object = match Writer::of(format) {
                Writer::Switch(_) => Some(plan.cluster().switches[1].name.clone()),
                Writer::Node(_) => Some(plan.cluster().nodes[1].name.clone()),
                Writer::Drawing | Writer::Fabric(_) => None,
            };
            for file in render(&plan, format, object.as_deref(), options).unwrap() {
                golden(directory, &file);
            }
        }
    }
}

/// Two switches with three cables that are one link.
fn lag() -> Plan {
    let text = "[fabric]\nname = \"t\"\ntopology = { kind = \"explicit\" }\n\
                [[switch]]\nname = \"s[0-1]\"\nlag = true\n\
                [[node]]\nname = \"a[0-1]\"\nnics = [{ switch = \"s0\", port = \"[1-2]\" }]\n\
                [[node]]\nname = \"b[0-1]\"\nnics = [{ switch = \"s1\", port = \"[1-2]\" }]\n\
                [[link]]\na = \"s0:[6-8]\"\nb = \"s1:[6-8]\"\n";
    Plan::build(tresse_cluster::parse(text, "t.toml").unwrap()).unwrap()
}

#[test]
fn a_link_aggregation_group_is_one_port_in_every_format() {
    let plan = lag();
    let options = ExportOptions { cyclic: true, static_fdb: true };
    for format in Format::all() {
        let object = match Writer::of(format) {
            Writer::Switch(_) => Some("s1"),
            Writer::Node(_) => continue,
            Writer::Drawing | Writer::Fabric(_) => None,
        };
        let files = render(&plan, format, object, options).unwrap();
        files.iter().for_each(|file| golden("lag", file));
    }
}

#[test]
fn a_cable_that_joins_a_group_keeps_its_vlans() {
    let plan = lag();
    let before = Plan::build(plan.cluster().unbundled()).unwrap();
    let configs = switch_configs_keeping(&plan, &before, ExportOptions::default()).unwrap();
    let old = switch_configs(&before, ExportOptions::default());
    for (new, old) in configs.iter().zip(&old) {
        assert_eq!(new.cabled(), old.cabled());
        let group = new.groups().next().unwrap();
        let members = old.ports.iter().filter(|port| group.group.contains(&port.port));
        assert!(members.flat_map(|port| &port.tagged).all(|vid| group.tagged.contains(vid)));
    }
}

#[test]
fn every_format_of_fabrics_whose_nodes_route_is_as_read_or_refused() {
    as_read_or_refused("ring-4", "kind = \"ring\", nodes = 4");
    as_read_or_refused("pmesh-3x2", "kind = \"pmesh\", dims = [3, 2]");
    let topology = "kind = \"pmesh\", dims = [4, 4], lines_per_switch = 4";
    as_read_or_refused("pmesh-4x4-two-switches", topology);
}

/// An uplink is a cable like any other, and no path's.
#[test]
fn an_uplink_is_drawn_and_cabled() {
    let text = "[fabric]\nname = \"t\"\n\
                topology = { kind = \"fnn\", wiring = \"0: 0 1\\n1: 0 1\", uplink = \"u0\" }\n";
    let plan = Plan::build(tresse_cluster::parse(text, "t.toml").unwrap()).unwrap();
    for format in [Format::Dot, Format::Containerlab] {
        let files = render(&plan, format, None, ExportOptions::default()).unwrap();
        files.iter().for_each(|file| golden("flat-uplink", file));
    }
}

fn as_read_or_refused(directory: &str, topology: &str) {
    let text = format!(
        "[fabric]\nname = \"t\"\ntopology = {{ {topology} }}\n[addressing]\n\
        nodes = [\"10.77.0.0/24\", \"fd77::/64\"]\nnics = [\"10.78.0.0/24\", \"fd78::/64\"]\n"
    );
    let plan = Plan::build(tresse_cluster::parse(&text, "t.toml").unwrap()).unwrap();
    let mut refused = BTreeSet::new();
    for format in Format::all() {
        let object = match Writer::of(format) {
            Writer::Switch(_) => Some("s0"),
            Writer::Node(_) => Some(plan.cluster().nodes[1].name.as_str()),
            Writer::Drawing | Writer::Fabric(_) => None,
        };
        match render(&plan, format, object, ExportOptions::default()) {
            Ok(files) => files.iter().for_each(|file| golden(directory, file)),
            Err(ExportError::NothingToSet | ExportError::NoSwitches) => {
                assert!(matches!(Writer::of(format), Writer::Switch(_)));
            }
            Err(_) => drop(refused.insert(format.name())),
        }
    }
    assert_eq!(refused, BTreeSet::new());
}

/// The links of every VID as the scripts of all switches have them: both ends must agree.
fn trees_of_scripts(plan: &Plan, scripts: &[ExportFile]) -> BTreeMap<u16, BTreeSet<LinkId>> {
    let cluster = plan.cluster();
    let mut port_vids: BTreeMap<(usize, u32), BTreeSet<u16>> = BTreeMap::new();
    for (switch, script) in scripts.iter().enumerate() {
        for text in script.text.lines() {
            let words: Vec<_> = text.split(' ').collect();
            let ["vlan", "add", "dev", port, "vid", vids, ..] = words[..] else { continue };
            let Some(port) = port.strip_prefix("${port}") else { continue };
            let (first, last) = vids.split_once('-').unwrap_or((vids, vids));
            let range = first.parse::<u16>().unwrap()..=last.parse().unwrap();
            port_vids.entry((switch, port.parse().unwrap())).or_default().extend(range);
        }
    }
    let mut trees: BTreeMap<u16, BTreeSet<LinkId>> = BTreeMap::new();
    for (i, link) in cluster.links.iter().enumerate() {
        let [a, b] = [link.a, link.b]
            .map(|p| port_vids.get(&(p.switch.index(), p.port)).cloned().unwrap_or_default());
        assert_eq!(a, b, "both ends of link {i} carry the same VLANs");
        for vid in a {
            trees.entry(vid).or_default().insert(LinkId::from(i));
        }
    }
    trees
}

#[test]
fn bridge_scripts_say_exactly_the_trees_of_the_plan() {
    for plan in [torus(), mesh_with_base()] {
        let scripts = render(&plan, Format::Bridge, None, ExportOptions::default()).unwrap();
        assert_eq!(scripts.len(), plan.cluster().switches.len());
        let mut want: BTreeMap<u16, BTreeSet<LinkId>> = (0..plan.specs().len())
            .map(TreeId::from)
            .map(|t| (plan.vid(t).0, plan.tree(t).links(plan.graph()).into_iter().collect()))
            .collect();
        if let Some((vid, links)) = base_vlan(&plan) {
            assert_eq!(links.len(), plan.cluster().switches.len() - 1);
            want.insert(vid.0, links.into_iter().collect());
        }
        assert_eq!(trees_of_scripts(&plan, &scripts), want);
    }
}

#[test]
fn node_ports_carry_what_the_node_uses() {
    for plan in [torus(), mesh_with_base()] {
        let configs = switch_configs(&plan, ExportOptions::default());
        for (k, node) in plan.cluster().nodes.iter().enumerate() {
            let uses = plan.uses(NodeId::from(k));
            for (i, nic) in node.nics.iter().enumerate() {
                let config = &configs[nic.switch.index()];
                let port = config.ports.iter().find(|p| p.port == nic.port).unwrap();
                let want: Vec<_> =
                    uses.keys().filter(|u| u.0 == i).map(|u| plan.vid(u.1)).collect();
                assert_eq!((port.role, &port.tagged), (PortRole::Node, &want));
            }
        }
    }
}

#[test]
fn forwarding_entries_lead_every_planned_frame_home() {
    for plan in [torus(), mesh_with_base()] {
        let configs = switch_configs(&plan, ExportOptions::default());
        let cluster = plan.cluster();
        for (src, dst) in plan.pairs() {
            for segment in plan.paths(src, dst).iter().flat_map(|p| &p.segments) {
                let to = plan.receiver(segment);
                let mut at = plan.sender(segment).switch;
                loop {
                    let entry = configs[at.index()]
                        .fdb
                        .iter()
                        .find(|e| e.vid == plan.vid(segment.tree) && e.mac == to.mac)
                        .unwrap();
                    if (at, entry.port) == (to.switch, to.port) {
                        break;
                    }
                    let cable = cluster.links.iter().find_map(|l| {
                        let ends = [(l.a, l.b), (l.b, l.a)];
                        ends.into_iter().find(|(p, _)| (p.switch, p.port) == (at, entry.port))
                    });
                    at = cable.unwrap().1.switch;
                }
            }
        }
    }
}

#[test]
fn k3_spanning_tree_goes_off_last_and_the_default_vlan_first() {
    let scripts = render(&torus(), Format::Bridge, None, ExportOptions::default()).unwrap();
    for script in scripts {
        assert!(!script.text.contains("$port1"), "the shell reads the variable port1");
        let at = |text: &str| script.text.find(text).unwrap();
        assert!(at("vlan del dev ${port}1 vid 1-") < at("vlan add"));
        assert!(at("vlan add") < at("fdb replace"));
        assert!(at("fdb replace") < at("stp_state 0"));
        assert!(script.text.trim_end().ends_with("stp_state 0"));
    }
}

#[test]
fn k18_flow_control_goes_off_where_the_graph_is_cyclic() {
    let off = |cyclic| {
        let options = ExportOptions { cyclic, static_fdb: false };
        render(&torus(), Format::Bridge, Some("s00"), options).unwrap()[0]
            .text
            .contains("ethtool -A")
    };
    assert!(off(true));
    assert!(!off(false));
}

#[test]
fn formats_have_names_and_errors_list_them() {
    for format in Format::all() {
        assert_eq!(format.name().parse::<Format>(), Ok(format));
    }
    let error = "visio".parse::<Format>().unwrap_err().to_string();
    assert!(error.contains("`visio`") && error.contains("bridge, "), "{error}");
    let error =
        render(&torus(), Format::Bridge, Some("s99"), ExportOptions::default()).unwrap_err();
    let error = error.to_string();
    assert!(error.starts_with("the plan has no switch `s99`: did you mean `s"), "{error}");
    let vlan = render(&torus(), Format::Dot, Some("4000"), ExportOptions::default()).unwrap_err();
    assert_eq!(vlan.to_string(), "the plan has no VLAN `4000`: `tresse plan FILE` lists them");
}

/// (text that ends the spanning tree, in whose block nothing but it may stand) per dialect.
#[test]
fn k3_holds_in_every_dialect() {
    for (format, off, vlan) in [
        (Format::Ios, "no spanning-tree vlan 100-107", "allowed vlan 100-10"),
        (Format::Eos, "no spanning-tree vlan-id 100-107", "allowed vlan 100-10"),
        (Format::Junos, "set protocols rstp", "set vlans tresse-107 vlan-id 107"),
        (Format::RouterOs, "protocol-mode=none", "vlan-ids=107"),
        (Format::OpenVswitch, "stp_enable=false", "trunks=100,"),
    ] {
        for file in render(&torus(), format, None, ExportOptions::default()).unwrap() {
            let last = file.text.find(off).unwrap_or_else(|| panic!("{}", file.name));
            assert!(file.text.find(vlan).unwrap_or(usize::MAX) < last, "{}", file.name);
            let block: Vec<_> = file.text[last..].lines().collect();
            let start = off.split('=').next().unwrap();
            assert!(
                block.iter().all(|l| l.contains(start) || l.contains("end")),
                "{}: {block:?}",
                file.name
            );
        }
    }
}

#[test]
fn sonic_is_json_with_the_members_of_the_plan() {
    let plan = mesh_with_base();
    let configs = switch_configs(&plan, ExportOptions::default());
    let files = render(&plan, Format::Sonic, None, ExportOptions::default()).unwrap();
    for config in configs {
        let file = |end: &str| {
            let name = format!("{}.{end}", config.name);
            &files.iter().find(|f| f.name == name).unwrap().text
        };
        let database: serde_json::Value = serde_json::from_str(file("config_db.json")).unwrap();
        let members = database["VLAN_MEMBER"].as_object().unwrap();
        let tagged = members.values().filter(|m| m["tagging_mode"] == "tagged").count();
        assert_eq!(tagged, config.ports.iter().map(|p| p.tagged.len()).sum::<usize>());
        for key in members.keys() {
            let (vlan, port) = key.split_once('|').unwrap();
            assert!(database["VLAN"][vlan]["vlanid"] == vlan["Vlan".len()..], "{key}");
            assert!(database["PORT"][port].is_object(), "{key}");
            assert_ne!(vlan, "Vlan1");
        }
        let fdb: serde_json::Value = serde_json::from_str(file("fdb.json")).unwrap();
        assert_eq!(fdb.as_array().unwrap().len(), config.fdb.len());
    }
}

/// Every port of a switch that holds several lines: in the VLAN of its line, with the line's other nodes,
/// and in no dialect tagged.
#[test]
fn lines_on_one_switch_are_access_ports_of_vlans_of_their_own() {
    for per_switch in [2, 4, 8] {
        let dims = vec![4, 4];
        let kind = TopologyShape::Pmesh {
            dims: dims.clone(),
            grow_to: dims,
            lines_per_switch: per_switch,
        };
        let mut cluster = Cluster::generated(kind, 1, 1, Strategy::Xy, 2);
        cluster.vlans.ranges = vec![(101, 103), (105, 120)];
        let plan = Plan::build(cluster).unwrap();
        let layout = plan.layout().unwrap();
        let mut members: BTreeMap<Vid, BTreeSet<(usize, usize)>> = BTreeMap::new();
        for config in switch_configs(&plan, ExportOptions::default()) {
            assert_eq!((config.base, config.fdb.len()), (None, 0));
            assert_eq!(config.vlans.len(), per_switch as usize);
            for port in &config.ports {
                assert_eq!((port.role, port.tagged.len()), (PortRole::Access, 0));
                let vlan = config.vlans.iter().find(|v| Some(v.vid) == port.untagged).unwrap();
                assert!(vlan.tagged.is_empty() && vlan.untagged.contains(&port.port));
            }
            let ports = config.vlans.iter().map(|v| v.untagged.len()).sum::<usize>();
            assert_eq!(ports, config.ports.len());
        }
        for (k, node) in plan.cluster().nodes.iter().enumerate() {
            for nic in 0..node.nics.len() {
                let vid = plan.line_vid(k.into(), nic).unwrap();
                members.entry(vid).or_default().insert((layout.line(k.into(), nic), nic));
            }
        }
        assert_eq!(
            members.keys().map(|v| v.0).collect::<Vec<_>>(),
            [101, 102, 103, 105, 106, 107, 108, 109]
        );
        assert!(members.values().all(|lines| lines.len() == 1), "a VID is one line's");
        for file in render(&plan, Format::Bridge, None, ExportOptions::default()).unwrap() {
            let adds = file.text.lines().filter(|line| line.starts_with("vlan add"));
            assert!(adds.clone().all(|line| line.ends_with("pvid untagged")), "{}", file.text);
            assert_eq!(adds.count(), 4 * per_switch as usize);
        }
        for (format, tagged) in [
            (Format::Ios, "allowed vlan"),
            (Format::Eos, "allowed vlan"),
            (Format::Junos, "interface-mode trunk"),
            (Format::RouterOs, " tagged="),
            (Format::OpenVswitch, "trunks="),
            (Format::Sonic, "\"tagged\""),
        ] {
            for file in render(&plan, format, None, ExportOptions::default()).unwrap() {
                assert!(!file.text.contains(tagged), "{}", file.text);
            }
        }
    }
}

#[test]
fn whole_fabric_formats_refuse_an_object() {
    let error = render(&torus(), Format::Hosts, Some("n00"), ExportOptions::default()).unwrap_err();
    assert!(error.to_string().contains("takes no object"), "{error}");
    let drawn = render(&torus(), Format::Dot, Some("VL(-:1,0)"), ExportOptions::default()).unwrap();
    assert_eq!(drawn[0].text.matches("style=bold").count(), 15 + 16);
    assert!(render(&torus(), Format::Dot, Some("99"), ExportOptions::default()).is_err());
    let dims = vec![4, 4];
    let kind = TopologyShape::Pmesh { dims: dims.clone(), grow_to: dims, lines_per_switch: 4 };
    let plan = Plan::build(Cluster::generated(kind, 1, 1, Strategy::Xy, 2)).unwrap();
    for name in ["line(1,-)", "7"] {
        let drawn = render(&plan, Format::Dot, Some(name), ExportOptions::default()).unwrap();
        assert_eq!(drawn[0].text.matches("style=bold").count(), 4, "{name}");
    }
}

#[test]
fn vlans_that_switches_keep_for_themselves_are_refused() {
    let mut cluster =
        Cluster::generated(TopologyShape::Torus { dims: vec![4, 4] }, 1, 1, Strategy::Dor, 1);
    cluster.vlans.ranges = vec![(998, 1010)];
    let plan = Plan::build(cluster.clone()).unwrap();
    let options = ExportOptions { cyclic: true, static_fdb: false };
    let reported = render(&plan, Format::Ios, None, options).unwrap_err().to_string();
    assert!(reported.contains("IOS keeps VLAN 1002 for itself"), "{reported}");
    assert!(render(&plan, Format::Eos, None, options).is_ok());
    cluster.vlans.ranges = vec![(998, 1001), (1006, 1010)];
    assert!(render(&Plan::build(cluster.clone()).unwrap(), Format::Ios, None, options).is_ok());
    cluster.vlans.ranges = vec![(1, 8)];
    let plan = Plan::build(cluster).unwrap();
    for (format, taken) in [(Format::Ios, false), (Format::Sonic, false), (Format::Bridge, true)] {
        assert_eq!(render(&plan, format, None, options).is_ok(), taken);
    }
}

/// A cable of the base tree is gone: the old and the new tree together are a ring of four.
#[test]
fn a_base_tree_that_moves_is_told_in_every_file() {
    use tresse_plan::lock::Lock;

    let build = |kind: fn(Vec<u32>) -> TopologyShape, lock: &Lock| {
        let mut cluster = Cluster::generated(kind(vec![4]), 1, 1, Strategy::Stp, 1);
        cluster.vlans.base = Some(1);
        Plan::build_with(cluster, lock).unwrap()
    };
    let mesh = build(|dims| TopologyShape::Mesh { dims }, &Lock::default());
    let torus = build(|dims| TopologyShape::Torus { dims }, &mesh.lock(&Lock::default()));
    let moved = |plan: &Plan, old: &Plan| {
        let reported = keep::configs(plan, old, ExportOptions::default()).unwrap();
        reported.iter().filter(|c| c.notes.iter().any(|n| n.contains("another tree"))).count()
    };
    assert_eq!((moved(&torus, &mesh), moved(&mesh, &mesh)), (0, 0), "the tree only grows");
    let mut cut = build(|dims| TopologyShape::Torus { dims }, &Lock::default()).cluster().clone();
    let (_, links) = base_vlan(&torus).unwrap();
    cut.kind = TopologyShape::Explicit;
    cut.links.remove(links[0].index());
    let cut = Plan::build_with(cut, &torus.lock(&Lock::default())).unwrap();
    assert_eq!(moved(&cut, &torus), 4);
}

/// A cable that the new plan lacks is unplugged when nobody has the plan before any more.
#[test]
fn switches_keep_the_cables_that_the_new_plan_does_not_have() {
    use tresse_plan::lock::Lock;

    let kind = TopologyShape::Torus { dims: vec![3, 3] };
    let mut cluster = Cluster::generated(kind, 1, 1, Strategy::Minimal, 1);
    cluster.kind = TopologyShape::Explicit;
    let first = Plan::build(cluster).unwrap();
    let lock = first.lock(&Lock::default());
    let mut fewer = first.cluster().clone();
    let gone = fewer.links.remove(0);
    let second = Plan::build_with(fewer, &lock).unwrap();
    let options = ExportOptions::default();
    let vids = |configs: &[SwitchConfig], port: tresse_topology::cluster::Port| -> BTreeSet<Vid> {
        let config = configs.iter().find(|config| config.switch == port.switch).unwrap();
        let port = config.ports.iter().find(|other| other.port == port.port);
        port.into_iter().flat_map(|port| port.tagged.iter().copied()).collect()
    };
    let (before, after) = (switch_configs(&first, options), switch_configs(&second, options));
    let both = keep::configs(&second, &first, options).unwrap();
    for end in [gone.a, gone.b] {
        assert_eq!(vids(&both, end), vids(&before, end));
        assert!(!vids(&before, end).is_empty() && vids(&after, end).is_empty());
    }
}

/// For the time of a change every cable carries the trees of both plans, and no VID has a loop.
#[test]
fn switches_keep_the_plan_before_during_a_change() {
    use tresse_plan::lock::{Lock, place};

    let build = |dims: &[u32], lock: &Lock| {
        let kind = TopologyShape::Torus { dims: dims.into() };
        let mut cluster = Cluster::generated(kind, 1, 1, Strategy::Dor, 1);
        cluster.vlans.base = Some(1);
        Plan::build_with(cluster, lock).unwrap()
    };
    let first = build(&[4, 4], &Lock::default());
    let lock = first.lock(&Lock::default());
    let second = build(&[4, 5], &lock);
    let options = ExportOptions { cyclic: false, static_fdb: true };
    let both = keep::configs(&second, &first, options).unwrap();
    let at = |plan: &Plan, configs: &[SwitchConfig]| -> BTreeMap<(String, u32), BTreeSet<Vid>> {
        let ports = configs.iter().flat_map(|c| c.ports.iter().map(move |p| (c.switch, p)));
        ports
            .map(|(s, p)| {
                ((place::switch(plan.cluster(), s), p.port), p.tagged.iter().copied().collect())
            })
            .collect()
    };
    let has = at(&second, &both);
    for (port, vids) in at(&second, &switch_configs(&second, options)) {
        assert!(vids.is_subset(&has[&port]), "{port:?}");
    }
    let mut carried = 0;
    for (port, vids) in at(&first, &switch_configs(&first, options)) {
        // The wrap cables of dimension 1 go elsewhere now.
        carried += usize::from(vids.is_subset(&has[&port]));
    }
    assert!(carried >= 16 * 5 - 8, "{carried} ports");
    for vid in both[0].vlans.iter().map(|v| v.vid) {
        let mut part: Vec<usize> = (0..second.graph().switches()).collect();
        let on = |end: tresse_topology::cluster::Port| {
            has[&(place::switch(second.cluster(), end.switch), end.port)].contains(&vid)
        };
        for link in second.cluster().links.iter().filter(|l| on(l.a) && on(l.b)) {
            let (a, b) = (part[link.a.switch.index()], part[link.b.switch.index()]);
            assert_ne!(a, b, "{vid} has a loop");
            part.iter_mut().filter(|p| **p == b).for_each(|p| *p = a);
        }
    }
    // A cable that the new plan alone would prune carries the old one's VLANs and is not called pruned.
    for config in &both {
        let pruned = config.ports.iter().any(|p| p.role == PortRole::Pruned);
        assert_eq!(config.notes.iter().any(|n| n.contains("is pruned")), pruned, "{config:?}");
    }
    // The lock of after the change gives the same.
    let later = second.lock(&lock);
    let (first, second) = (build(&[4, 4], &later), build(&[4, 5], &later));
    assert_eq!(keep::configs(&second, &first, options).unwrap(), both);
    let mut small = second.cluster().clone();
    small.switches[3].max_vlans = 12;
    let small = Plan::build_with(small, &later).unwrap();
    let reported = keep::configs(&small, &first, options).unwrap_err().to_string();
    assert!(reported.starts_with("switch `s03` would have"), "{reported}");
}

#[test]
fn k11_a_script_of_a_transit_node_filters_before_it_takes_labels() {
    let plan = torus();
    let mut slice = Slice::of(&plan, NodeId(1));
    let ((interface, via), neighbour) = slice.wanted.neighbours.first_key_value().unwrap();
    let (interface, via, mac) = (interface.clone(), *via, neighbour.mac);
    slice.wanted.label_sources.insert(interface.clone(), [mac].into());
    slice.wanted.labels.insert(Label(16), WantedLabel { interface: interface.clone(), via });
    let text = &iproute2::render(&plan, &slice)[0].text;
    let at = |line: &str| text.find(line).unwrap_or_else(|| panic!("no `{line}` in:\n{text}"));
    assert!(at("    raise net/mpls/platform_labels 17") > at("    drop_rest "));
    assert!(at(&format!("    put net/mpls/conf/{interface}/input 1")) > at("    drop_rest "));
    at(&format!("    pass {interface} 1 {mac}\n    drop_rest {interface}\n"));
    at(
        "ingress pref 7801 handle 1 protocol mpls_uc flower \\\n        action drop cookie 747265737365",
    );
    let route = format!("\nroute replace 16 via inet {via} dev {interface} protocol 78\n");
    assert!(at(&route) > at("neigh replace"));
    let networkd = networkd::render(&plan, &slice);
    assert!(matches!(networkd, Err(ExportError::Labels { .. })));
}
