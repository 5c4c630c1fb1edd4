//! The files under `configs/` and `tests/broken/`.

#![expect(clippy::disallowed_methods, reason = "tests read the example files, and a clock")]

mod mutated;
mod schema;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use tresse_base::problem::{ProblemKind, Problems};
use tresse_topology::cluster::{Cluster, Strategy, TopologyShape};

use super::*;

fn files(folder: &str) -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "toml"));
    paths.retain(|path| path.file_name().is_some_and(|n| n != "tressed.toml"));
    paths.sort();
    assert!(!paths.is_empty());
    let text = |path| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
    paths.into_iter().map(|path| (path.clone(), text(path))).collect()
}

/// What is said about each broken file.
fn broken() -> Vec<(PathBuf, Problems)> {
    let reported = |(path, _): (PathBuf, String)| {
        let bytes = fs::read(&path).unwrap();
        let read = text_of(&bytes, &name(&path)).and_then(|text| parse(text, &name(&path)));
        let problems = read.expect_err(&name(&path));
        (path, problems)
    };
    files("tests/broken").into_iter().map(reported).collect()
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

fn kinds(text: &str) -> Vec<ProblemKind> {
    parse(text, "x").unwrap_err().problems.iter().map(|p| p.kind).collect()
}

#[test]
fn every_example_parses_plans_and_is_in_canonical_form() {
    for (path, text) in files("configs") {
        let beside = |wiring: &str| fs::read_to_string(path.with_file_name(wiring));
        let whole = with_wiring(text.clone(), beside).unwrap();
        let cluster = parse(&whole, &name(&path)).unwrap_or_else(|problems| panic!("{problems}"));
        assert_eq!(cluster.name, name(&path).trim_end_matches(".toml"));
        assert_eq!(format(&text), text, "{}", path.display());
        if let Err(error) = tresse_plan::Plan::build(cluster) {
            panic!("{}: {error}", path.display());
        }
    }
}

/// One file per kind of fault; what is said about it is beside it. `TRESSE_BLESS=1` rewrites.
#[test]
fn every_broken_file_is_told_as_agreed() {
    let bless = std::env::var_os("TRESSE_BLESS").is_some();
    for (path, problems) in broken() {
        let reported = format!("{problems}\n");
        let golden = path.with_extension("stderr");
        if bless {
            fs::write(&golden, &reported).unwrap();
        }
        let expected = fs::read_to_string(&golden).unwrap_or_default();
        assert_eq!(reported, expected, "{}: read it, then TRESSE_BLESS=1", path.display());
    }
}

#[test]
fn places_point_at_the_offending_text() {
    for (path, problems) in broken() {
        let text = problems.source;
        for problem in problems.problems {
            assert_eq!(text[problem.span.clone()], problem.text);
            let line = text.lines().nth(problem.line - 1).unwrap_or_default();
            let rest: String = line.chars().skip(problem.column - 1).collect();
            let first = problem.text.lines().next().unwrap_or_default();
            assert!(rest.starts_with(first), "{}: {problem}: {rest:?} {first:?}", path.display());
        }
    }
}

/// DESIGN section 3: file, line, column, the offending text and the nearest valid value.
#[test]
fn every_problem_has_the_offending_text_and_advice() {
    for (path, problems) in broken() {
        for problem in &problems.problems {
            let bare = problem.text.trim_matches(['"', '\'']).lines().next().unwrap_or_default();
            let shown: String = bare.chars().take(50).filter(|c| !c.is_control()).collect();
            assert!(problem.message.contains(&shown), "{}: {problem}", path.display());
            assert!(problem.help.is_some(), "{}: {problem} has no advice", path.display());
            let all = format!("{problem} {}", problem.help.as_deref().unwrap_or_default());
            assert!(!all.contains(char::is_control), "{}: {all:?}", path.display());
        }
    }
}

#[test]
fn absent_keys_take_their_defaults() {
    let cluster = parse("[fabric]\ntopology = { kind = \"torus\", dims = [4, 4] }\n", "x").unwrap();
    let kind = TopologyShape::Torus { dims: vec![4, 4] };
    assert_eq!(cluster, Cluster::generated(kind, 1, 1, Strategy::Dor, 2));
    let text = "[fabric]\ntopology = { kind = \"clique\", ports = 8 }\n";
    let clique = Cluster::generated(TopologyShape::Clique { ports: 8 }, 0, 1, Strategy::Stp, 2);
    assert_eq!(parse(text, "x").unwrap(), clique);
}

/// Every family of switch fabrics, with its defaults and with all its keys.
#[test]
fn families_are_read_with_their_defaults() {
    let minimal = Strategy::Minimal;
    let clos = |cables| TopologyShape::Clos { spines: 4, leaves: 8, cables };
    let dragonfly = TopologyShape::Dragonfly { groups: 9, routers: 4, global: 2 };
    for (keys, kind, nodes, nics, strategy) in [
        ("\"clos\", spines = 4, leaves = 8", clos(1), 8, 1, minimal),
        (
            "\"clos\", spines = 4, leaves = 8, cables = 2, nodes_per_switch = 2",
            clos(2),
            16,
            1,
            minimal,
        ),
        ("\"fat-tree\", k = 6", TopologyShape::FatTree { k: 6 }, 54, 1, minimal),
        ("\"fat-tree\", k = 4, nics_per_node = 2", TopologyShape::FatTree { k: 4 }, 8, 2, minimal),
        (
            "\"hypercube\", dimensions = 6",
            TopologyShape::Hypercube { dimensions: 6 },
            64,
            1,
            Strategy::Stp,
        ),
        (
            "\"hyperx\", dims = [4, 3]",
            TopologyShape::Hyperx { dims: vec![4, 3] },
            12,
            1,
            Strategy::Stp,
        ),
        ("\"dragonfly\", groups = 9, routers = 4, global = 2", dragonfly, 36, 1, Strategy::Stp),
        (
            "\"slim-fly\", q = 5, nodes_per_switch = 3",
            TopologyShape::SlimFly { q: 5 },
            150,
            1,
            Strategy::Stp,
        ),
    ] {
        let cluster = parse(&format!("[fabric]\ntopology = {{ kind = {keys} }}\n"), "x").unwrap();
        let per_switch = if keys.contains("nodes_per_switch") {
            nodes
                / cluster.nodes.iter().map(|n| n.nics[0].switch).collect::<BTreeSet<_>>().len()
                    as u32
        } else {
            0
        };
        assert_eq!(cluster, Cluster::generated(kind, per_switch, nics, strategy, 2), "{keys}");
        assert_eq!(cluster.nodes.len() as u32, nodes, "{keys}");
    }
}

#[test]
fn an_absent_prefix_takes_the_families_of_the_other() {
    let parse = |addressing: &str| {
        let text = format!(
            "[fabric]\ntopology = {{ kind = \"torus\", dims = [4] }}\n[addressing]\n{addressing}\n"
        );
        let addressing = parse(&text, "x").unwrap().addressing;
        let list = |prefixes: &[tresse_base::units::Prefix]| {
            prefixes.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
        };
        (list(&addressing.nodes), list(&addressing.nics))
    };
    let both = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(parse("nodes = \"fd01::/64\""), both("fd01::/64", "fd78::/64"));
    assert_eq!(parse("nics = \"10.1.0.0/16\""), both("10.77.0.0/16", "10.1.0.0/16"));
    assert_eq!(
        parse("nodes = [\"10.1.0.0/16\", \"fd01::/64\"]"),
        both("10.1.0.0/16 fd01::/64", "10.78.0.0/16 fd78::/64")
    );
}

#[test]
fn overrides_change_what_they_name() {
    let (_, text) = files("configs").into_iter().find(|f| name(&f.0) == "dual-stack.toml").unwrap();
    let cluster = parse(&text, "x").unwrap();
    assert_eq!((cluster.switches[5].ports, cluster.switches[5].max_vlans), (24, 64));
    assert_eq!(cluster.switches[6].max_vlans, 4094);
    assert_eq!(cluster.nodes[1].nics[0].rate.to_string(), "2.5G");
    assert_eq!(cluster.nodes[2].nics[0].rate.to_string(), "1G");
    assert_eq!(cluster.links.len(), 33);
    assert_eq!(cluster.links[32].b.port, 24);
}

#[test]
fn generated_nics_are_renamed_by_position_and_matched_by_name() {
    let text = |nics: &str| {
        format!(
            "[fabric]\ntopology = {{ kind = \"torus\", dims = [4], nics_per_node = 2 }}\n\
             [[node]]\nname = \"n1\"\nnics = [{nics}]\n"
        )
    };
    let cluster = parse(&text("{ name = \"enp1s0\", mac = \"02:00:00:00:00:07\" }"), "x").unwrap();
    let nics = &cluster.nodes[1].nics;
    assert_eq!((nics[0].name.as_str(), nics[0].mac_derived), ("enp1s0", false));
    assert_eq!((nics[1].name.as_str(), nics[1].mac_derived), ("eth1", true));
    let cluster = parse(&text("{ name = \"eth1\", rate = \"10G\" }"), "x").unwrap();
    assert_eq!(cluster.nodes[1].nics[1].rate.to_string(), "10G");
    assert_eq!(cluster.nodes[1].nics[0].rate.to_string(), "1G");
    let port = cluster.nodes[1].nics[0].port;
    let cluster = parse(&text("{ name = \"eth1\" }, { name = \"eth0\" }"), "x").unwrap();
    let first = &cluster.nodes[1].nics[0];
    assert_eq!((first.name.as_str(), first.port), ("eth1", port), "all of them are in order");
    let third = "{}, {}, { switch = \"s3\", port = 9 }";
    let cluster = parse(&text(third), "x").unwrap();
    assert_eq!((cluster.nodes[1].nics.len(), cluster.switches[3].ports), (3, 9));
    assert_eq!(kinds(&text("{}, {}, { rate = \"1G\" }")), [ProblemKind::MissingKey]);
}

fn ring_of(nodes: &str) -> String {
    format!("[fabric]\ntopology = {{ kind = \"ring\", nodes = 4 }}\n{nodes}")
}

#[test]
fn generated_nodes_take_the_names_of_hosts() {
    let names = |nodes: &str| -> Vec<String> {
        let cluster = parse(&ring_of(nodes), "x").unwrap();
        cluster.nodes.into_iter().map(|node| node.name).collect()
    };
    let entry = |name: &str| format!("[[node]]\nname = \"{name}\"\n");
    let in_order = ["b", "a", "d", "c"].map(entry).concat();
    assert_eq!(names(&in_order), ["b", "a", "d", "c"]);
    assert_eq!(names(&entry("spark[1-4]")), ["spark1", "spark2", "spark3", "spark4"]);
    // By place, whatever names the kind generates.
    let placed = [("n3", 0), ("n0", 2), ("x", 3), ("n1", 1)];
    let placed = placed.map(|(name, place)| format!("{}place = {place}\n", entry(name)));
    assert_eq!(names(&placed.concat()), ["n3", "n1", "n0", "x"]);
    let two = "[[node]]\nname = \"a[0-1]\"\nplace = 2\n[[node]]\nname = \"b[0-1]\"\nplace = 0\n";
    assert_eq!(names(two), ["b0", "b1", "a0", "a1"]);
    // Generated names are changes, as ever.
    assert_eq!(names(&entry("n2")), ["n0", "n1", "n2", "n3"]);
    let cluster = parse(&ring_of(&placed.concat()), "x").unwrap();
    let plain = parse(&ring_of(""), "x").unwrap();
    let nics = |cluster: &Cluster| -> Vec<_> {
        cluster.nodes.iter().map(|node| node.nics.clone()).collect()
    };
    assert_eq!(nics(&cluster), nics(&plain), "only the names differ");
}

#[test]
fn names_of_hosts_are_for_all_nodes_or_none() {
    let entry = |name: &str, more: &str| format!("[[node]]\nname = \"{name}\"\n{more}\n");
    let told = |nodes: &[String]| parse(&ring_of(&nodes.concat()), "x").unwrap_err().to_string();
    let two = told(&[entry("alpha", ""), entry("beta", "")]);
    assert!(two.contains("an entry for each of the 4 nodes, and 2 are named"), "{two}");
    let mixed = told(&["n0", "n1", "n2", "alpha"].map(|name| entry(name, "")));
    assert!(mixed.contains("no node is called `alpha`"), "{mixed}");
    let twice = told(&["a", "b", "c", "a"].map(|name| entry(name, "")));
    assert!(twice.contains("node `a` is listed twice"), "{twice}");
    let some = told(&[entry("a", "place = 0"), entry("b", ""), entry("c[0-1]", "place = 2")]);
    assert!(some.contains("`place` is missing in [[node]]"), "{some}");
    let same = told(&[entry("a[0-2]", "place = 0"), entry("b", "place = 1")]);
    assert!(same.contains("place 1 is another node's already"), "{same}");
    let far = told(&[entry("a[0-2]", "place = 0"), entry("b", "place = 4")]);
    assert!(far.contains("there is no place 4: the fabric has 4 nodes"), "{far}");
    let below = told(&[entry("a[0-2]", "place = 0"), entry("b", "place = -1")]);
    assert!(below.contains("there is no place -1"), "{below}");
    let few = told(&[entry("a[0-1]", "place = 0")]);
    assert!(few.contains("2 nodes have a `place`, and the fabric has 4"), "{few}");
    let text = "[fabric]\ntopology = { kind = \"explicit\" }\n[[switch]]\nname = \"s0\"\n\
                [[node]]\nname = \"a\"\nplace = 0\nnics = [{ switch = \"s0\", port = 1 }]\n";
    assert_eq!(kinds(text), [ProblemKind::UnknownKey]);
}

#[test]
fn a_node_beside_a_generated_fabric_is_added() {
    let text = "[fabric]\ntopology = { kind = \"torus\", dims = [4] }\n\
                [[node]]\nname = \"gw\"\ngateway = true\nnics = [{ switch = \"s2\", port = 4 }]\n";
    let cluster = parse(text, "x").unwrap();
    assert_eq!((cluster.nodes.len(), cluster.nodes[4].gateway), (5, true));
    assert_eq!(cluster.nodes[4].nics[0].switch.0, 2);
}

#[test]
fn networks_behind_nodes_are_apart_and_of_one_node() {
    let of =
        |entries: &str| format!("[fabric]\ntopology = {{ kind = \"ring\", nodes = 4 }}\n{entries}");
    let behind = |name: &str, prefixes: &str| {
        format!("[[node]]\nname = \"{name}\"\nprefixes = {prefixes}\n")
    };
    let good = of(&[
        behind("n0", "[\"192.168.2.0/24\", \"192.168.1.0/24\"]"),
        behind("n1", "\"192.168.3.0/24\"") + "gateway = 2\n",
    ]
    .concat());
    let cluster = parse(&good, "x").unwrap();
    let prefixes: Vec<String> = cluster.nodes[0].prefixes.iter().map(ToString::to_string).collect();
    assert_eq!(prefixes, ["192.168.1.0/24", "192.168.2.0/24"]);
    assert_eq!((cluster.nodes[1].gateway, cluster.nodes[1].gateway_order), (true, 2));
    for (entries, kind) in [
        (behind("n[0-1]", "\"192.168.1.0/24\""), ProblemKind::CountMismatch),
        (behind("n0", "[]"), ProblemKind::EmptyList),
        (behind("n0", "\"192.168.1.1/24\""), ProblemKind::BadPrefix),
        (behind("n0", "\"0.0.0.0/0\""), ProblemKind::BadPrefix),
        (behind("n0", "\"10.77.3.0/24\""), ProblemKind::PrefixOverlap),
        (behind("n0", "\"fd00::/64\""), ProblemKind::BadPrefix),
        (behind("n0", "7"), ProblemKind::WrongType),
        ("[[node]]\nname = \"n0\"\ngateway = 0\n".into(), ProblemKind::OutOfRange),
        ("[[node]]\nname = \"n0\"\ngateway = \"yes\"\n".into(), ProblemKind::WrongType),
        (
            behind("n0", "\"192.168.0.0/16\"")
                + &behind("n1", "\"192.168.1.0/24\"")
                + &behind("n2", "\"192.169.0.0/16\""),
            ProblemKind::PrefixOverlap,
        ),
    ] {
        assert_eq!(kinds(&of(&entries)), [kind], "{entries}");
    }
}

#[test]
fn a_moved_nic_frees_its_port() {
    let text = |port: u32| {
        format!(
            "[fabric]\ntopology = {{ kind = \"torus\", dims = [4] }}\n\
             [[node]]\nname = \"n0\"\nnics = [{{ switch = \"s0\", port = 9 }}]\n\
             [[node]]\nname = \"n1\"\nnics = [{{ switch = \"s0\", port = {port} }}]\n"
        )
    };
    assert!(parse(&text(1), "x").is_ok());
    assert_eq!(kinds(&text(9)), [ProblemKind::PortInUse]);
    assert_eq!(kinds(&text(2)), [ProblemKind::PortInUse]);
}

#[test]
fn long_hostlists_of_unknown_names_are_told_once_and_fast() {
    let started = std::time::Instant::now();
    let text = "[fabric]\ntopology = { kind = \"torus\", dims = [16, 16, 16] }\n\
                [[switch]]\nname = \"x[0-99999]\"\n[[node]]\nname = \"y[0-99999]\"\n\
                [[link]]\na = \"s0000:[100-20000]\"\nb = \"s0001:[1-19901]\"\n";
    let problems = parse(text, "x").unwrap_err();
    assert_eq!(problems.problems.len(), 3, "{problems}");
    assert!(started.elapsed().as_secs() < 5, "{:?}", started.elapsed());
}

#[test]
fn the_shipped_schema_is_the_generated_one() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/cluster.schema.json");
    if std::env::var_os("TRESSE_BLESS").is_some() {
        fs::write(&path, schema()).unwrap();
    }
    assert_eq!(fs::read_to_string(&path).unwrap_or_default(), schema(), "TRESSE_BLESS=1");
}

#[test]
fn the_largest_example_is_read_quickly() {
    let (_, text) = files("configs").into_iter().find(|f| name(&f.0) == "torus4096.toml").unwrap();
    let started = std::time::Instant::now();
    assert_eq!(parse(&text, "x").unwrap().nodes.len(), 4096);
    eprintln!("4096 switches read in {:?}", started.elapsed());
    assert!(started.elapsed().as_secs() < 2);
}

/// What `format` must not change: the cluster, or what is said about it, and every comment.
fn assert_format_keeps(text: &str) {
    let formatted = format(text);
    assert_eq!(format(&formatted), formatted, "not stable:\n{text}\n---\n{formatted}");
    match (parse(text, "x"), parse(&formatted, "x")) {
        (Ok(a), Ok(b)) => assert_eq!(a, b),
        (Err(a), Err(b)) => {
            let reported = |problems: &Problems| {
                problems
                    .problems
                    .iter()
                    .map(|p| (p.kind, p.text.clone()))
                    .collect::<BTreeSet<_>>()
                    .len()
            };
            assert_eq!(reported(&a), reported(&b), "{a}\n---\n{b}\n---\n{formatted}");
        }
        (a, b) => panic!("{a:?}\n{b:?}\n{text}\n---\n{formatted}"),
    }
    let comments = |text: &str| text.matches('#').count();
    assert_eq!(comments(text), comments(&formatted), "{text}\n---\n{formatted}");
}

#[test]
fn format_keeps_the_content_of_every_file() {
    for (_, text) in files("configs").into_iter().chain(files("tests/broken")) {
        assert_format_keeps(&text);
    }
}

#[test]
fn a_root_is_a_switch_of_the_fabric() {
    let text = |root: &str| {
        format!(
            "[fabric]\ntopology = {{ kind = \"irregular\", switches = 16, ports = 5 }}\n[routing]\n\
             strategy = \"updown\"\nroot = \"{root}\"\n"
        )
    };
    let cluster = parse(&text("s07"), "x").unwrap();
    assert_eq!(
        cluster.routing.strategy,
        Strategy::Updown { root: Some(tresse_base::id::SwitchId(7)) }
    );
    assert_eq!(kinds(&text("s16")), [ProblemKind::UnknownName]);
}

/// A file of a few kilobytes must not fill the memory.
#[test]
fn hostlists_of_one_file_name_so_many_things_in_all() {
    let mut text = "[fabric]\ntopology = { kind = \"explicit\" }\n".to_owned();
    for table in 0..200 {
        text += &format!("[[node]]\nname = \"n{table}-[0-99999]\"\n");
    }
    let found = parse(&text, "bomb.toml").unwrap_err();
    let told = found.problems.iter().filter(|p| p.message.contains("at most 524288"));
    assert_eq!(told.count(), 1, "{found}");
}

#[test]
fn the_largest_families_are_read_quickly() {
    for keys in [
        "\"slim-fly\", q = 83",
        "\"hypercube\", dimensions = 16",
        "\"fat-tree\", k = 48",
        "\"clos\", spines = 1024, leaves = 1024",
        "\"clos\", spines = 1, leaves = 65535, cables = 16",
        "\"hyperx\", dims = [1448]",
        "\"dragonfly\", groups = 65, routers = 64, global = 5",
        "\"dragonfly\", groups = 2, routers = 1024, global = 1",
    ] {
        let addressing = "[addressing]\nnodes = \"10.0.0.0/8\"\nnics = \"11.0.0.0/8\"\n";
        let text = format!("[fabric]\ntopology = {{ kind = {keys} }}\n{addressing}");
        let started = std::time::Instant::now();
        let cluster = parse(&text, "x").unwrap_or_else(|problems| panic!("{problems}"));
        let took = started.elapsed();
        eprintln!(
            "{keys}: {} switches, {} cables, {took:?}",
            cluster.switches.len(),
            cluster.links.len()
        );
        assert!(took.as_secs() < 5, "{keys}: {took:?}");
    }
}
