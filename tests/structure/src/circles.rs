//! Finds circular dependencies, called circles: groups of files or modules in which each depends on
//! every other, directly or indirectly.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::arrows::{Arrow, Arrows};

/// A circular dependency: two or more files or modules, each of which depends on every other, directly
/// or indirectly (a strongly connected component).
pub struct Circle {
    /// Its files or modules.
    pub members: BTreeSet<String>,
    /// The arrows among its members, with the names used.
    pub arrows: Vec<(Arrow, BTreeSet<String>)>,
}

impl Circle {
    /// The members, and for each arrow the names to move or to hand over another way.
    pub fn describe(&self) -> String {
        let mut text = String::new();
        for (arrow, names) in &self.arrows {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let both = self
                .arrows
                .iter()
                .any(|(other, _)| other.from == arrow.to && other.to == arrow.from);
            let sign = if both { "<->" } else { "-->" };
            let _ = writeln!(text, "    {} {sign} {}: {}", arrow.from, arrow.to, names.join(", "));
        }
        text
    }
}

/// Returns all circular dependencies among `arrows`: the strongly connected components with two or more
/// members, sorted by their first member.
pub fn circles(arrows: &Arrows) -> Vec<Circle> {
    let mut next: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (arrow, _) in arrows.iter() {
        next.entry(&arrow.from).or_default().push(&arrow.to);
        next.entry(&arrow.to).or_default();
    }
    let mut reached: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for start in next.keys() {
        reached.insert(start, reach(&next, start));
    }
    let mut found: Vec<Circle> = Vec::new();
    for (start, targets) in &reached {
        let members: BTreeSet<String> = targets
            .iter()
            .filter(|target| reached[*target].contains(start))
            .map(|target| (*target).to_owned())
            .collect();
        if members.first().map(String::as_str) == Some(start) {
            found.push(Circle { arrows: among(arrows, &members), members });
        }
    }
    found
}

/// What can be reached from `start` along at least one arrow.
fn reach<'a>(next: &BTreeMap<&'a str, Vec<&'a str>>, start: &str) -> BTreeSet<&'a str> {
    let mut seen = BTreeSet::new();
    let mut open: Vec<&str> = next[start].clone();
    while let Some(at) = open.pop() {
        if seen.insert(at) {
            open.extend(&next[at]);
        }
    }
    seen
}

fn among(arrows: &Arrows, members: &BTreeSet<String>) -> Vec<(Arrow, BTreeSet<String>)> {
    let inside = |arrow: &Arrow| members.contains(&arrow.from) && members.contains(&arrow.to);
    arrows
        .iter()
        .filter(|(arrow, _)| inside(arrow))
        .map(|(arrow, names)| (arrow.clone(), names.clone()))
        .collect()
}
