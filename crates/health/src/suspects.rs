//! The fewest parts that explain what is broken.

use std::collections::BTreeSet;

use tresse_base::id::NodeId;
use tresse_plan::Plan;
use tresse_topology::path::Crossing;

use super::Report;
use super::evidence::{BrokenPath, Dated, Evidence};
use super::own::own;
use super::parts::{Part, parts};
use super::suspect::{Kind, Suspect};

/// What is at fault, by kind and name; empty if all nodes answered and nothing is wrong.
///
/// A part is suspected if nodes say so of their own NICs, if a node is silent, or if broken paths cross it and no
/// working one does. Of parts that explain equally many broken paths the smallest is taken: a cable before its
/// switch. O(parts x broken paths) for each suspect.
#[must_use]
pub fn suspects(plan: &Plan, reports: &[Report]) -> Vec<Suspect> {
    let evidence = Evidence::of(plan, reports);
    let parts = parts(plan);
    let mut left: Vec<&BrokenPath> = evidence.broken.iter().collect();
    let mut found = Vec::new();
    for node in &evidence.silent {
        let part = parts.iter().find(|part| part.node == Some(*node));
        let name = plan.cluster().node(*node).name.clone();
        let works = part.is_some_and(|part| !evidence.sound.is_disjoint(&part.crossings));
        let explained = part.map(|part| take(&mut left, &part.crossings)).unwrap_or_default();
        let (seen, remedy) = match works {
            true => (
                "does not answer, but paths to it work".to_owned(),
                format!("`systemctl status tressed` on {name}; or the way there for ssh is broken"),
            ),
            false => (
                "does not answer: its state is unknown".to_owned(),
                format!("is {name} up? Then `systemctl status tressed` there"),
            ),
        };
        let part = Part { kind: Kind::Node, name, crossings: BTreeSet::new(), node: None };
        found.push(suspect(&part, &explained, Dated::default(), &evidence, (seen, remedy)));
    }
    // Where all cables of a switch are dark it is the switch.
    let is_dark = |part: &Part| part.crossings.iter().any(|at| evidence.dark.contains_key(at));
    let dark: Vec<&Part> =
        parts.iter().filter(|part| part.kind == Kind::Cable && is_dark(part)).collect();
    let mut by_switch = BTreeSet::new();
    for switch in parts.iter().filter(|part| part.kind == Kind::Switch) {
        let at: Vec<&Part> = parts
            .iter()
            .filter(|part| part.kind == Kind::Cable)
            .filter(|part| part.crossings.is_subset(&switch.crossings))
            .filter(|part| part.crossings.iter().any(|at| !matches!(at, Crossing::Between(_))))
            .collect();
        let unsound = evidence.sound.is_disjoint(&switch.crossings);
        if at.len() > 1 && unsound && at.iter().all(|part| is_dark(part)) {
            by_switch.extend(at.iter().map(|part| part.name.as_str()));
            let dated = at.iter().map(|part| dated(part, &evidence)).reduce(Dated::and);
            let explained = take(&mut left, &switch.crossings);
            let words = ("none of its NICs has carrier".into(), of_switch(&switch.name));
            let mut seen = suspect(switch, &explained, dated.unwrap_or_default(), &evidence, words);
            seen.pairs = seen.pairs.max(crossing(plan, &switch.crossings));
            found.push(seen);
        }
    }
    for cable in dark.into_iter().filter(|part| !by_switch.contains(part.name.as_str())) {
        let explained = take(&mut left, &cable.crossings);
        let words = ("no carrier".into(), of_cable(&cable.name));
        let mut seen = suspect(cable, &explained, dated(cable, &evidence), &evidence, words);
        seen.pairs = seen.pairs.max(crossing(plan, &cable.crossings));
        found.push(seen);
    }
    while let Some(part) = likeliest(&parts, &left, &evidence) {
        let unsound: BTreeSet<Crossing> =
            part.crossings.difference(&evidence.sound).copied().collect();
        let explained = take(&mut left, &unsound);
        let one_way = part.kind == Kind::Cable && unsound.len() < part.crossings.len();
        let seen = match one_way {
            true => "carries packets one way alone, though it has carrier",
            false => "no packet crosses it, though it has carrier",
        };
        let remedy = match part.kind {
            Kind::Switch => of_switch(&part.name),
            Kind::Node => format!("is {0} up? Then `systemctl status tressed` there", part.name),
            _ => of_cable(&part.name),
        };
        let words = (seen.into(), remedy);
        found.push(suspect(part, &explained, Dated::default(), &evidence, words));
    }
    for path in left {
        let name = |node: NodeId| plan.cluster().node(node).name.clone();
        let object = format!("{} > {}", name(path.src), name(path.dst));
        if found.iter().any(|other: &Suspect| other.object == object) {
            continue;
        }
        let part = Part { kind: Kind::Path, name: object, crossings: BTreeSet::new(), node: None };
        let remedy = format!("`tresse failures` on {} says more", name(path.src));
        let words = ("broken, while all that it crosses carries other packets".into(), remedy);
        found.push(suspect(&part, &[path], Dated::default(), &evidence, words));
    }
    found.extend(own(plan, reports));
    found.sort_by(|a, b| (a.kind, &a.object).cmp(&(b.kind, &b.object)));
    found
}

/// Takes those paths out of `left` that cross any of `crossings`.
fn take<'a>(left: &mut Vec<&'a BrokenPath>, crossings: &BTreeSet<Crossing>) -> Vec<&'a BrokenPath> {
    let crosses = |path: &mut &BrokenPath| path.crosses.iter().any(|at| crossings.contains(at));
    left.extract_if(.., crosses).collect()
}

/// The part that explains most of the broken paths that are left. What a working path crosses is sound; a switch or
/// node is suspected if nothing of it is.
fn likeliest<'a>(parts: &'a [Part], left: &[&BrokenPath], evidence: &Evidence) -> Option<&'a Part> {
    let explains = |part: &Part| {
        if part.kind != Kind::Cable && !evidence.sound.is_disjoint(&part.crossings) {
            return 0;
        }
        let unsound = |at: &Crossing| part.crossings.contains(at) && !evidence.sound.contains(at);
        left.iter().filter(|path| path.crosses.iter().any(unsound)).count()
    };
    let counted = parts.iter().map(|part| (explains(part), part));
    // The first of equal ones, so a cable before its switch.
    let best = counted.reduce(|best, next| if next.0 > best.0 { next } else { best });
    best.filter(|(count, _)| *count > 0).map(|(_, part)| part)
}

/// How many pairs' first planned paths cross any of these: what is dark breaks them, whether or not they are watched.
fn crossing(plan: &Plan, crossings: &BTreeSet<Crossing>) -> usize {
    let crosses = |(src, dst): &(NodeId, NodeId)| {
        let paths = plan.paths(*src, *dst);
        let first = paths.first().map(|path| plan.path_crossings(path));
        first.is_some_and(|first| first.iter().any(|at| crossings.contains(at)))
    };
    plan.pairs().filter(crosses).count()
}

fn dated(part: &Part, evidence: &Evidence) -> Dated {
    let ends = part.crossings.iter().filter_map(|at| evidence.dark.get(at).copied());
    ends.reduce(Dated::and).unwrap_or_default()
}

fn suspect(
    part: &Part,
    explained: &[&BrokenPath],
    seen: Dated,
    evidence: &Evidence,
    (words, remedy): (String, String),
) -> Suspect {
    let pairs: BTreeSet<(NodeId, NodeId)> =
        explained.iter().map(|path| (path.src, path.dst)).collect();
    let dated = explained.iter().map(|path| path.dated).fold(seen, Dated::and);
    Suspect {
        kind: part.kind,
        object: part.name.clone(),
        since: dated.since,
        count: dated.count,
        pairs: pairs.len(),
        cut: pairs.intersection(&evidence.cut).count(),
        unprotected: pairs.intersection(&evidence.unprotected).count(),
        seen: words,
        remedy,
    }
}

fn of_cable(name: &str) -> String {
    let (a, b) = name.split_once('-').unwrap_or((name, ""));
    format!(
        "plug it in again at {a} and {b}, or replace it; `tresse cables` on a node says what is heard there"
    )
}

fn of_switch(name: &str) -> String {
    format!(
        "has {name} power? Does it pass frames on its ports? `tresse drain {name} --all` keeps paths off it"
    )
}
