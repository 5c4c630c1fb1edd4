//! What slow cables cost where paths have the fewest hops.

use tresse_plan::Plan;
use tresse_topology::random;
use tresse_verify::{self as verify, Finding};

use super::shapes::{explicit, routing};

fn slow_cables(plan: &Plan) -> (f64, Option<Finding>) {
    let report = verify::check(plan);
    assert!(report.violations.is_empty(), "{:?}", report.violations);
    let note = report.notes.into_iter().find(|note| note.kind == "slow-cables");
    (report.ideal_throughput, note)
}

/// The rate and the factor that a note names.
fn gain(note: &Finding) -> (&str, f64) {
    let (_, after) = note.message.split_once(" slower than ").unwrap();
    let (rate, after) = after.split_once(", ").unwrap();
    let (_, after) = after.split_once("throughput is ").unwrap();
    (rate, after.split_once(" times").unwrap().0.parse().unwrap())
}

/// Two switches have a slow cable, and fast ones by a third switch.
#[test]
fn a_slow_short_cut_is_named_with_its_price() {
    let cables = [(0, 1, "100M"), (0, 2, "10G"), (1, 2, "10G")];
    for strategy in ["minimal", "updown", "transit"] {
        let (throughput, note) = slow_cables(&explicit(&[2; 3], &cables, &routing(strategy, 2)));
        let note = note.unwrap_or_else(|| panic!("{strategy} {throughput}"));
        assert_eq!(note.object, "s00-s01", "{strategy}");
        let (without, none) = slow_cables(&explicit(&[2; 3], &cables[1..], &routing(strategy, 1)));
        assert_eq!((gain(&note).0, none), ("10G", None), "{strategy}");
        assert!((gain(&note).1 - without / throughput).abs() < 0.01, "{note:?} {without}");
    }
    let (throughput, note) = slow_cables(&explicit(&[2; 3], &cables, &routing("stp", 1)));
    assert!(throughput > 0.999 && note.is_none(), "{throughput} {note:?}");
}

/// A note is right where there is one, and where there is none nothing was to be gained.
#[test]
fn what_a_note_promises_is_what_the_other_plan_has() {
    let mut noted = 0;
    for seed in 0..24 {
        let graph = random::regular(8, 2 + seed as u32 % 2, seed);
        let rates = ["100M", "1G", "10G"];
        let cables: Vec<(u32, u32, &str)> = graph
            .iter()
            .enumerate()
            .map(|(k, &(a, b))| (a, b, rates[[2, 2, 1, 2, 0, 2, 1][(k + seed as usize) % 7]]))
            .collect();
        let strategy = ["minimal", "updown", "transit"][seed as usize % 3];
        let (here, note) = slow_cables(&explicit(&[1; 8], &cables, &routing(strategy, 2)));
        let mut best = 1.0;
        for least in 1..3 {
            let fast: Vec<_> =
                cables.iter().filter(|cable| rates[least..].contains(&cable.2)).copied().collect();
            let mut parts = tresse_topology::Components::new(8);
            for (a, b, _) in &fast {
                parts.join(*a as usize, *b as usize);
            }
            if (0..8).all(|s| parts.root(s) == parts.root(0)) {
                let (other, _) = slow_cables(&explicit(&[1; 8], &fast, &routing(strategy, 1)));
                best = f64::max(best, other / here);
            }
        }
        let told = note.as_ref().map_or(1.0, |note| gain(note).1);
        assert!((told - best).abs() < 0.051, "{seed} {strategy}: {note:?} {best}");
        noted += usize::from(note.is_some());
    }
    assert!((4..24).contains(&noted), "{noted}");
}

/// Nodes that are cabled to each other: NICs of the slow cables are left out too, and throughputs count in another unit then.
#[test]
fn a_slow_cable_between_nodes_is_named() {
    let text = "[fabric]\ntopology = { kind = \"explicit\" }\n\
                [[link]]\na = \"a:eth0\"\nb = \"b:eth0\"\nrate = \"1G\"\n\
                [[link]]\na = \"a:eth1\"\nb = \"c:eth0\"\nrate = \"10G\"\n\
                [[link]]\na = \"b:eth1\"\nb = \"c:eth1\"\nrate = \"10G\"\n";
    let plan = |text: &str| Plan::build(tresse_cluster::parse(text, "slow.toml").unwrap()).unwrap();
    let (_, note) = slow_cables(&plan(text));
    let note = note.unwrap();
    assert_eq!(note.object, "a:eth0-b:eth0");
    // a and b each send over 1G; without it three pairs share 10G twice, so two nodes get 5G each.
    assert_eq!(gain(&note), ("10G", 5.0));
    let (_, note) = slow_cables(&plan(&text.replace("\"1G\"", "\"5G\"")));
    assert_eq!(note, None);
}
