//! The fewest parts that explain what is broken.

use std::collections::{BTreeMap, BTreeSet};

use tresse_base::hostlist::collapse;
use tresse_base::id::NodeId;
use tresse_control::StateLine;
use tresse_plan::Plan;
use tresse_slice::watch::part::FabricParts;
use tresse_topology::path::Crossing;

use super::Report;
use super::evidence::{BrokenPath, Dated, Evidence};
use super::hearsay::hearsay;
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
    let fabric = FabricParts::of(plan.cluster(), plan.graph());
    let (evidence, parts) = (Evidence::of(plan, reports), parts(plan, &fabric));
    let heard = hearsay(plan, &fabric, reports);
    let left = evidence.broken.iter().collect();
    let mut search = Search { plan, evidence: &evidence, parts: &parts, left, found: Vec::new() };
    search.silent_nodes();
    search.left.extend(&heard);
    search.dark_parts();
    search.parts_of_broken_paths();
    search.unexplained_paths();
    let mut found = search.found;
    found.extend(own(plan, reports));
    found.sort_by(|a, b| (a.kind, &a.object).cmp(&(b.kind, &b.object)));
    found
}

/// A search for suspects: each step takes what it explains out of the broken paths that are left.
struct Search<'a> {
    plan: &'a Plan,
    evidence: &'a Evidence,
    parts: &'a [Part],
    left: Vec<&'a BrokenPath>,
    found: Vec<Suspect>,
}

impl<'a> Search<'a> {
    fn silent_nodes(&mut self) {
        for node in &self.evidence.silent {
            let Some(part) = self.parts.iter().find(|part| part.node == Some(*node)) else {
                continue;
            };
            let name = &part.name;
            let (explained, seen, remedy) = match self.evidence.reached.contains(node) {
                // Its daemon answers others, so that what is broken there is a cable.
                true => (
                    Vec::new(),
                    "does not answer, but paths to it work",
                    format!(
                        "`systemctl status tressed` on {name}; or the way there for ssh is broken"
                    ),
                ),
                false => (
                    self.take(&part.crossings),
                    "does not answer: its state is unknown",
                    of_node(name),
                ),
            };
            self.suspect(part, &explained, Dated::default(), (seen.into(), remedy));
        }
    }

    /// Cables without carrier. Where none of a switch's NICs has carrier it is the switch.
    fn dark_parts(&mut self) {
        let evidence = self.evidence;
        let is_dark = |part: &&Part| part.crossings.iter().any(|at| evidence.dark.contains_key(at));
        let of_kind = |kind: Kind| self.parts.iter().filter(move |part| part.kind == kind);
        let of_nic =
            |part: &&Part| part.crossings.iter().any(|at| !matches!(at, Crossing::Between(_)));
        let mut dark: Vec<&'a Part> = of_kind(Kind::Cable).filter(is_dark).collect();
        let mut switches = Vec::new();
        for switch in of_kind(Kind::Switch) {
            let is_at = |part: &&Part| part.crossings.is_subset(&switch.crossings);
            let nics: Vec<&Part> = of_kind(Kind::Cable).filter(is_at).filter(of_nic).collect();
            let works = !evidence.sound.is_disjoint(&switch.crossings);
            if nics.len() > 1 && !works && nics.iter().all(is_dark) {
                dark.retain(|part| !nics.contains(part));
                switches.push(switch);
            }
        }
        for part in switches.into_iter().chain(dark) {
            let ends = part.crossings.iter().filter_map(|at| Some(evidence.dark.get(at)?.0));
            let dated = ends.reduce(Dated::and).unwrap_or_default();
            let words = match part.kind {
                Kind::Switch => ("none of its NICs has carrier".into(), of_switch(&part.name)),
                _ => self.of_dark_cable(part),
            };
            let explained = self.take(&part.crossings);
            self.suspect(part, &explained, dated, words);
            // What is dark breaks paths, whether or not they are watched.
            if let Some(seen) = self.found.last_mut() {
                seen.pairs = seen.pairs.max(crossing(self.plan, &part.crossings));
            }
        }
    }

    /// What is seen of a cable of which an end is down, and what to do: a NIC may be at fault itself.
    fn of_dark_cable(&self, cable: &Part) -> (String, String) {
        for (at, (_, why)) in
            cable.crossings.iter().filter_map(|at| self.evidence.dark.get_key_value(at))
        {
            let Crossing::Out(node, nic) = at else { continue };
            let node = self.plan.cluster().node(*node);
            let (node, nic) = (&node.name, &node.nics[*nic].name);
            match why.as_str() {
                StateLine::SET_DOWN => {
                    return (
                        format!("{nic} of {node} is set down"),
                        format!("`ip link set {nic} up` on {node}"),
                    );
                }
                StateLine::ABSENT => {
                    let remedy = format!(
                        "`ip link` on {node}: has its driver loaded, and has the NIC this name? `tresse macs` there prints them"
                    );
                    return (format!("{node} has no interface {nic}"), remedy);
                }
                _ => {}
            }
        }
        ("no carrier".into(), of_cable())
    }

    fn parts_of_broken_paths(&mut self) {
        while let Some(part) = self.likeliest() {
            let unsound = part.crossings.difference(&self.evidence.sound).copied().collect();
            let explained = self.take(&unsound);
            let one_way = part.kind == Kind::Cable && unsound.len() < part.crossings.len();
            // Whether it has carrier is known of nodes that answered.
            let heard: Option<Vec<&str>> = explained.iter().map(|at| at.by.as_deref()).collect();
            let seen = match (heard, one_way) {
                (Some(by), _) => {
                    let by: BTreeSet<&str> = by.iter().flat_map(|by| by.split(", ")).collect();
                    let by = collapse(&by.into_iter().collect::<Vec<_>>()).join(",");
                    format!("no packet crosses it, others have heard from {by}")
                }
                (None, true) => "carries packets one way alone, though it has carrier".into(),
                (None, false) => {
                    // What comes and goes is used again only after it has held for a while.
                    let changes = explained.iter().map(|at| at.dated.count).max();
                    match changes.filter(|changes| *changes > 2) {
                        Some(n) => format!(
                            "no packet crosses it, though it has carrier; or it rests, as it changed {n} times today"
                        ),
                        None => "no packet crosses it, though it has carrier".into(),
                    }
                }
            };
            let remedy = match part.kind {
                Kind::Switch => of_switch(&part.name),
                Kind::Node => of_node(&part.name),
                _ => of_cable(),
            };
            self.suspect(part, &explained, Dated::default(), (seen, remedy));
        }
    }

    fn unexplained_paths(&mut self) {
        let mut pairs: BTreeMap<(NodeId, NodeId), Vec<&BrokenPath>> = BTreeMap::new();
        for path in std::mem::take(&mut self.left) {
            pairs.entry((path.src, path.dst)).or_default().push(path);
        }
        for ((src, dst), paths) in pairs {
            let [src, dst] = [src, dst].map(|node| &self.plan.cluster().node(node).name);
            let name = format!("{src} > {dst}");
            let part = Part { kind: Kind::Path, name, crossings: BTreeSet::new(), node: None };
            let seen = "broken, while all that it crosses carries other packets".into();
            let remedy = format!("`tresse failures` on {src} says more");
            self.suspect(&part, &paths, Dated::default(), (seen, remedy));
        }
    }

    /// Takes the paths that cross any of `crossings`.
    fn take(&mut self, crossings: &BTreeSet<Crossing>) -> Vec<&'a BrokenPath> {
        let crosses = |path: &mut &BrokenPath| path.crosses.iter().any(|at| crossings.contains(at));
        self.left.extract_if(.., crosses).collect()
    }

    /// The part that explains most of the broken paths that are left. What a working path crosses is sound; a switch or
    /// node is suspected if nothing of it is.
    fn likeliest(&self) -> Option<&'a Part> {
        let sound = &self.evidence.sound;
        let explains = |part: &Part| {
            if part.kind != Kind::Cable && !sound.is_disjoint(&part.crossings) {
                return 0;
            }
            let unsound = |at: &Crossing| part.crossings.contains(at) && !sound.contains(at);
            self.left.iter().filter(|path| path.crosses.iter().any(unsound)).count()
        };
        let counted = self.parts.iter().map(|part| (explains(part), part));
        // The first of equal ones, so a cable before its switch.
        let best = counted.reduce(|best, next| if next.0 > best.0 { next } else { best });
        best.filter(|(count, _)| *count > 0).map(|(_, part)| part)
    }

    fn suspect(
        &mut self,
        part: &Part,
        explained: &[&BrokenPath],
        seen: Dated,
        (words, remedy): (String, String),
    ) {
        let pairs: BTreeSet<(NodeId, NodeId)> =
            explained.iter().map(|path| (path.src, path.dst)).collect();
        let dated = explained.iter().map(|path| path.dated).fold(seen, Dated::and);
        self.found.push(Suspect {
            since: dated.since,
            count: dated.count,
            pairs: pairs.len(),
            cut: pairs.intersection(&self.evidence.cut).count(),
            unprotected: pairs.intersection(&self.evidence.unprotected).count(),
            ..Suspect::new(part.kind, part.name.clone(), words, remedy)
        });
    }
}

/// How many pairs' first planned paths cross any of these.
fn crossing(plan: &Plan, crossings: &BTreeSet<Crossing>) -> usize {
    let crosses = |(src, dst): &(NodeId, NodeId)| {
        let paths = plan.paths(*src, *dst);
        let first = paths.first().map(|path| plan.path_crossings(path));
        first.is_some_and(|first| first.iter().any(|at| crossings.contains(at)))
    };
    plan.pairs().filter(crosses).count()
}

fn of_cable() -> String {
    "plug it in again at both ends, or replace it; `tresse cables` on a node says what is heard there".into()
}

fn of_switch(name: &str) -> String {
    format!(
        "has {name} power? Does it pass frames on its ports? `tresse drain {name} --all FILE` keeps paths off it"
    )
}

fn of_node(name: &str) -> String {
    format!("is {name} up? Then `systemctl status tressed` there")
}
