//! Designs against what is published: bounds, constructions, the instances of the literature.

use std::collections::BTreeMap;

use serde_json::Value;
use tresse_base::wiring::Wiring;

use super::answer::{Answer, judge};
use super::construct::{construct, families};
use super::*;

fn problem(pcs: u32, nics: u32, ports: &[u32]) -> WiringProblem {
    WiringProblem {
        nics: vec![nics; pcs as usize],
        ports: ports.to_vec(),
        required: Required::All,
        minimum_pattern_links: 1,
        maximize: Maximize::None,
        weights: BTreeMap::new(),
        patterns: Vec::new(),
    }
}

/// No limit broken, every required pair covered.
fn assert_holds(problem: &WiringProblem, wiring: &Wiring) {
    for (members, ports) in wiring.switches.iter().zip(&problem.ports) {
        assert!(members.len() <= *ports as usize, "{members:?} on {ports} ports");
        assert!(members.is_sorted_by(|a, b| a < b), "{members:?}");
    }
    for (row, nics) in wiring.rows(problem.pcs()).iter().zip(&problem.nics) {
        assert!(row.len() <= *nics as usize, "{row:?} with {nics} NICs");
    }
    assert_eq!(judge(problem, wiring).0, 0);
}

#[test]
fn two_sets_of_a_family_always_meet() {
    for family in families(9, 80) {
        for (i, a) in family.sets.iter().enumerate() {
            for b in &family.sets[..i] {
                assert!(a.iter().any(|s| b.contains(s)), "{}: {a:?} {b:?}", family.name);
            }
        }
    }
}

/// N_plane(k, S) = S (k - 1) + ceil(S / k) - j PCs, and no more are possible (docs/references.md,
/// "The plane formula").
#[test]
fn planes_hold_as_many_pcs_as_the_closed_form_says() {
    for k in [2u32, 3, 4, 5, 6, 8] {
        let switches = (k * k - k + 1) as usize;
        // With fewer ports than k - 1 the lines left out would have a point in common.
        for ports in k - 1..=48 {
            let copies = ports.div_ceil(k);
            let out = copies * k - ports;
            let most = ports * (k - 1) + copies - out;
            let full = problem(most, k, &vec![ports; switches]);
            let (wiring, _) = construct(&full).unwrap_or_else(|| panic!("{k} NICs {ports} ports"));
            assert_holds(&full, &wiring);
            let more = problem(most.max(ports * (k - 1)) + 1, k, &vec![ports; switches]);
            assert!(bound::violated(&more).is_some(), "{k} NICs {ports} ports {most}");
        }
    }
}

/// How many PCs few switches hold, as (switches, NICs, PCs, ports): bound B5 of
/// docs/references.md, "B1 to B7".
/// Multiples of the ports hold as many times the PCs; between them rounding takes two at most, which
/// the search is left with.
#[test]
fn few_switches_hold_as_many_pcs_as_known() {
    for (switches, nics, pcs, on) in [
        (3u32, 2, 3u32, 2u32),
        (4, 3, 5, 3),
        (5, 3, 9, 5),
        (6, 3, 6, 3),
        (7, 3, 7, 3),
        (8, 4, 24, 10),
        (9, 4, 10, 4),
        (10, 4, 16, 6),
        (11, 4, 28, 10),
        (12, 4, 9, 3),
        (13, 4, 13, 4),
    ] {
        for ports in on..=48 {
            let rounding = if ports % on == 0 { 0 } else { 2 };
            let most = pcs * ports / on - rounding;
            let problem = problem(most, nics, &vec![ports; switches as usize]);
            let made = construct(&problem);
            let (wiring, _) = made.unwrap_or_else(|| panic!("{switches} x {ports} ports: {most}"));
            assert_holds(&problem, &wiring);
        }
    }
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let mixed = |few: u32, nics: u32, rest: u32, pcs: u32, ports: &[u32]| {
        let mut problem = problem(pcs, rest, ports);
        problem.nics[..few as usize].fill(nics);
        problem
    };
    for (problem, name) in [
        (mixed(4, 1, 3, 64, &[32; 12]), "reach"),
        (mixed(12, 2, 4, 48, &[24; 9]), "reach"),
        (problem(105, 4, &[32; 40]), "furedi"),
        (problem(33, 5, &[8; 30]), "griesmer"),
        (problem(38, 2, &[24; 9]), "furedi"),
        (problem(65, 3, &[32; 6]), "ports"),
        (problem(97, 4, &[32; 12]), "ports"),
        (problem(61, 7, &[10; 60]), "furedi"),
        (problem(64, 4, &[16; 16]), "reach"),
        (problem(64, 5, &[16; 19]), "ports"),
    ] {
        let violation = bound::violated(&problem).expect(name);
        assert_eq!(violation.name, name, "{}", violation.proof);
    }
    for (pcs, nics, ports) in [(104, 4, vec![32; 13]), (64, 5, vec![16; 20]), (37, 2, vec![25; 3])]
    {
        assert_eq!(bound::violated(&problem(pcs, nics, &ports)), None);
    }
}

/// Section 4.1 of the paper: 1.859 links per pair, precisely.
#[test]
fn klat2_has_the_average_of_the_paper() {
    let mut klat2 = problem(64, 4, &[31, 31, 31, 31, 31, 31, 31, 31, 8]);
    klat2.maximize = Maximize::All;
    assert_eq!(bound::links(&klat2), 3748);
    let mut designer = Designer::new(klat2, 1).unwrap();
    while !designer.is_done() {
        let progress = designer.step(10_000);
        assert!(progress.moves < 50_000_000, "{progress:?}");
    }
    let answer = Answer::of(&designer, 0.0, 1);
    assert_holds(designer.problem(), &designer.wiring().unwrap());
    assert_eq!(answer.feasible, Some(true));
    assert_eq!(format!("{:.4}", answer.mean_links_per_pair), "1.8591");
}

#[test]
fn lindsey_is_what_all_subsets_say() {
    for (a, b) in [(3u64, 4), (4, 4), (3, 5)] {
        let pairs = |set: u32| {
            let on = |p: u64| set & (1 << p) != 0;
            let all = (0..a * b).flat_map(|p| (0..p).map(move |q| (p, q)));
            all.filter(|(p, q)| on(*p) && on(*q) && (p % a == q % a || p / a == q / a)).count()
        };
        let mut most = vec![0; (a * b + 1) as usize];
        for set in 0u32..1 << (a * b) {
            let size = set.count_ones() as usize;
            most[size] = pairs(set).max(most[size]);
        }
        for (places, most) in most.iter().enumerate() {
            assert_eq!(bound::lindsey(a, b, places as u64), *most as u64, "{a}x{b}, {places}");
        }
    }
}

fn instance(value: &Value) -> WiringProblem {
    instances::problem(value).unwrap()
}

/// Every instance: what is feasible is found, what is not is refused, in few moves.
#[test]
fn public_instances_are_solved() {
    let instances = instances::all();
    for value in &instances {
        let id = value["id"].as_str().unwrap();
        let problem = instance(value);
        let mut designer = Designer::new(problem, 1).unwrap();
        if value["best"] == "INFEASIBLE" {
            assert!(designer.impossible().is_some(), "{id}");
            continue;
        }
        assert!(designer.impossible().is_none(), "{id}");
        let satisfied = |d: &Designer| d.is_done() || d.progress().uncovered == 0;
        while !satisfied(&designer) {
            let progress = designer.step(5_000);
            assert!(progress.moves < 20_000_000, "{id}: {progress:?}");
        }
        assert_holds(designer.problem(), &designer.wiring().unwrap());
    }
}

/// KASY0 as published: 1536 pairs, degrees 23 to 25.
#[test]
fn kasy0_has_the_pairs_of_its_page() {
    let instances = instances::all();
    let kasy0 = instances.iter().find(|v| v["id"] == "kasy0-17").unwrap();
    let problem = instance(kasy0);
    assert_eq!(problem.weights.len(), 1536);
    let degrees = problem.degrees();
    assert_eq!((degrees.iter().min(), degrees.iter().max()), (Some(&23), Some(&25)));
}

/// The counts that the search keeps are those of the wiring, whatever it did.
#[test]
fn search_counts_what_is_there() {
    let instances = instances::all();
    for id in ["klat2-rowcol-min2", "kasy0-17", "het-100", "klat2-rowcol-avg"] {
        let problem = instance(instances.iter().find(|v| v["id"] == id).unwrap());
        let mut search =
            WiringSearch::new(&problem, &search::lowest(&problem), 7, 300_000, None).unwrap();
        for _ in 0..5 {
            let progress = search.step(20_000);
            let (uncovered, _, pattern) = judge(&problem, &search.best());
            assert_eq!(u64::from(progress.uncovered), uncovered, "{id}");
            if problem.maximize == Maximize::Patterns {
                assert_eq!(progress.links, pattern.total as f64, "{id}");
            }
            if progress.lacking > 0 {
                assert!(pattern.min < 2, "{id}");
            }
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_wiring() {
    let design = || {
        let mut designer =
            Designer::new(WiringProblem { maximize: Maximize::All, ..problem(40, 3, &[16; 9]) }, 5)
                .unwrap();
        for _ in 0..10 {
            designer.step(5_000);
        }
        designer.wiring()
    };
    assert_eq!(design(), design());
}

#[test]
fn tables_are_read_back_and_told_what_is_wrong() {
    let text = "0: 0 1 2\n# by hand\n2: 2 0\n\n1: 5 # the last\n";
    let wiring = Wiring::parse(text).unwrap();
    assert_eq!(wiring.switches, [vec![0, 1, 2], vec![5], vec![0, 2]]);
    assert_eq!(Wiring::parse(&wiring.to_string()), Ok(wiring));
    for (text, said) in [
        ("0 1 2", "line 1: expected `switch: pc pc ...`, found `0 1 2`"),
        ("0: 1\nx: 2", "line 2: expected `switch: pc pc ...`, found `x: 2`"),
        ("0: 1 k2", "line 1: expected the number of a PC (at most 65535), found `k2`"),
        ("0: 1 1", "line 1: PC 1 is twice on switch 0: take one of them away"),
        ("0: 1\n0: 2", "line 2: switch 0 has a line already (line 1): join them"),
        ("# nothing", "there is no line `switch: pc pc ...`"),
    ] {
        assert_eq!(Wiring::parse(text).unwrap_err().to_string(), said);
    }
}

#[test]
fn specifications_are_told_what_is_wrong() {
    for (text, said) in [
        ("[design]\npcs = 1\nnics = 1\nswitches = [4]", "pcs = 1: expected 2 to 2048"),
        ("[design]\npcs = 4\nnics = [1, 2]\nswitches = [4]", "one entry for each of the 4 PCs"),
        ("[design]\npcs = 4\nnics = 16\nswitches = [4]", "nics = 16: expected 0 to 15"),
        ("[design]\npcs = 4\nnics = 1", "switch_types"),
        ("[design]\npcs = 4\nnics = 1\nswitches = [4]\nrequire = \"patterns\"", "at least one"),
        ("[design]\npcs = 4\nnics = 1\nports = [4]", "unknown field `ports`"),
        (
            "[design]\npcs = 6\nnics = 1\nswitches = [6]\n[[pattern]]\nkind = \"hypercube\"\ndims = [6]",
            "number 1, hypercube: hypercube needs a power of two of PCs, found 6",
        ),
        (
            "[design]\npcs = 6\nnics = 1\nswitches = [6]\n[[pattern]]\nkind = \"ring\"\ndims = [5]",
            "dims = [5] make 5 places for 6 PCs",
        ),
    ] {
        let error = Spec::parse(text).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

/// The paper's k00, k01, k02 and k63: on 1, 2, 3, 4; 1, 3, 5 and 2 give the tuple 1-3-4-0 where
/// k01's NICs are on 1, 0 and so on in ascending order.
#[test]
fn tuples_are_those_of_the_paper() {
    // k00 on switches 1 4 6 8, k01 on 1 3 4 6: NIC 1 meets NIC 1, NIC 2 NIC 3, NIC 3 NIC 4, NIC 4 none.
    let mut rows = vec![vec![1, 4, 6, 8], vec![1, 3, 4, 6], vec![0, 1, 2, 6], vec![0, 2, 3, 8]];
    rows.resize(64, vec![0, 2, 5, 8]);
    let wiring = Wiring::from_rows(9, &rows);
    let tuples = tuple::Tuples::of(&wiring, 64, 0).unwrap();
    assert_eq!(tuples.tuple(1), [1, 3, 4, 0]);
    assert_eq!(tuples.tuple(2), [2, 0, 4, 0]);
    assert_eq!(tuples.tuple(3), [0, 0, 0, 4]);
    assert_eq!(tuples.tuple(0), [0, 0, 0, 0]);
    assert_eq!((tuples.bytes(), tuples.mac_bytes()), (128, 1536));
}

#[test]
fn labels_show_every_cable_once() {
    let wiring = Wiring::parse("0: 0 1\n1: 1 2\n2: 0 2\n").unwrap();
    let page = labels::html(&wiring, 3, "a <small> one", |pc| format!("k{pc:02}"));
    assert_eq!(page.matches("class=\"nic\"").count(), 6);
    assert_eq!(page.matches("class=\"label\"").count(), 3);
    assert!(page.contains("<title>a &lt;small&gt; one</title>") && !page.contains("http"));
}

#[test]
fn a_table_of_fewer_than_two_pcs_is_refused() {
    for text in ["0:\n", "0:\n1:\n", "0: 0\n1:\n"] {
        let error = Designer::judged(Wiring::parse(text).unwrap()).unwrap_err();
        assert!(error.to_string().ends_with("expected at least two"), "{error}");
    }
    // A line left out is a switch without cables.
    let designer = Designer::judged(Wiring::parse("2: 0 1\n").unwrap()).unwrap();
    assert_eq!(Answer::of(&designer, 0.0, 0).switches.len(), 3);
}

/// A number out of its range, a pattern that does not fit, a key that is none: each at its line.
#[test]
fn specifications_are_told_where_they_are_wrong() {
    let reported = |text: &str| Spec::parse(text).unwrap_err().to_string();
    let table = "[design]\npcs = 8\nnics = 2\nswitches = [8, 8]\n";
    assert!(reported("[design]\npcs = 1\n").starts_with("line 1, column 1: missing field `nics`"));
    let pcs = reported(&table.replace("pcs = 8", "pcs =  1"));
    assert!(pcs.starts_with("line 2, column 8: pcs = 1: expected 2 to"), "{pcs}");
    let ports = reported(&table.replace("[8, 8]", "[8, 0]"));
    assert!(ports.starts_with("line 4, column 12: ports = 0: expected 1 to"), "{ports}");
    let nan = reported(&format!("{table}seconds = nan\n"));
    assert!(nan.starts_with("line 5, column 11: seconds = NaN: expected 0 to"), "{nan}");
    let pattern = "[[pattern]]\nkind = \"ring\"\ndims = [8]\n";
    let second = reported(&format!("{table}{pattern}{}", pattern.replace("8", "9")));
    assert!(second.starts_with("line 8, column 1: [[pattern]] number 2, ring"), "{second}");
    let key = reported(&format!("{table}nic = 3\n"));
    assert!(key.starts_with("line 5, column 1: unknown field `nic`"), "{key}");
    let spec = Spec::parse(&format!("{table}uplinks = \"folded\"\nspares = 9\n")).unwrap();
    let text = format!("{table}uplinks = \"folded\"\n");
    let spares = reported(&format!("{table}spares = 2\n"));
    assert!(spares.starts_with("line 5, column 10: spares = 2: expected 0, or"), "{spares}");
    let racks = reported(&format!("{table}placement = {{ rack = 0 }}\n"));
    assert!(racks.starts_with("line 5, column 13: placement = 0 PCs to a rack"), "{racks}");
    let folded = spec.problem(&[8, 8], 0).unwrap_err().in_text(&text).to_string();
    assert!(folded.starts_with("line 5, column 11: uplinks = folded"), "{folded}");
}

/// Two neighbourhoods whose PCs are numbered in turn: each gets a rack of its own.
#[test]
fn pcs_of_one_switch_stand_together() {
    let wiring = Wiring::parse("0: 0 2 4 6\n1: 1 3 5 7\n").unwrap();
    let placement = placement::place(&wiring, 8, 4, 1);
    assert_eq!((placement.length, placement.length_by_number), (0, 4));
    assert!(placement.pcs.iter().step_by(2).all(|rack| *rack == placement.switches[0]));
    assert_ne!(placement.switches[0], placement.switches[1]);
    // The last rack may have room, no rack may have too many.
    let wiring = Wiring::parse("0: 0 3 6\n1: 1 4\n2: 2 5\n3: 0 1 2 3 4 5 6\n").unwrap();
    let placement = placement::place(&wiring, 7, 3, 1);
    for rack in 0..3 {
        let there = placement.pcs.iter().filter(|at| **at == rack).count();
        assert!(there == if rack == 2 { 1 } else { 3 }, "{placement:?}");
    }
    assert!(placement.length <= placement.length_by_number);
}
