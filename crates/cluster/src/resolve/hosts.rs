//! Names of their own for the nodes of a generated fabric: those of the hosts that they are.
//!
//! Either all `[[node]]` entries of such a fabric have names that it generates, and change these nodes, or none has:
//! then the entries say in their order which place each has, or by `place`, which all of them have. Entries with
//! `switch` and `port` and a name that is not generated are nodes beside the fabric, and do not count.

use tresse_base::problem::{Found, ProblemKind};

use super::fabric::{Draft, duplicate};
use crate::file::Node as Entry;
use crate::read::At;

/// An entry of `[[node]]`, with the names of its hostlist.
pub(super) type Named<'a> = (&'a At<Entry>, Vec<String>);

impl Draft {
    /// Gives the generated nodes the names of the entries, if these have names of their own.
    pub(super) fn name_hosts(&mut self, entries: &[Named<'_>], found: &mut Found) {
        let placed = entries.iter().any(|(entry, _)| entry.value.place.is_some());
        if !self.generated || self.listed {
            if placed && self.known {
                refuse_places(entries, found);
            }
            return;
        }
        let is_known = |name: &String| self.node_index.contains_key(name);
        let hosts: Vec<&Named<'_>> = match placed {
            true => entries.iter().filter(|(entry, _)| entry.value.place.is_some()).collect(),
            false => entries.iter().filter(|(entry, _)| !has_cable(&entry.value)).collect(),
        };
        let mut names: Vec<(&String, &At<String>)> = Vec::new();
        for (entry, of) in &hosts {
            names.extend(of.iter().filter_map(|name| Some((name, entry.value.name.as_ref()?))));
        }
        if names.is_empty() || !placed && names.iter().any(|(name, _)| is_known(name)) {
            return;
        }
        let generated: Vec<usize> = (0..self.nodes.len())
            .filter(|at| !self.spares.contains(&self.nodes[*at].name))
            .collect();
        if placed && !self.all_placed(entries, found) {
            return;
        }
        if names.len() != generated.len() {
            self.hosts = Some((names.len(), generated.len()));
            if placed {
                let (has, wants) = (names.len(), generated.len());
                let message = format!("{has} nodes have a `place`, and the fabric has {wants}");
                let help = "an entry for each node, or none with a `place`".to_owned();
                found.add(ProblemKind::CountMismatch, &names[0].1.span, message, help);
            }
            return;
        }
        let Some(places) = places(&hosts, generated.len(), placed, found) else { return };
        for at in &generated {
            self.node_index.remove(&self.nodes[*at].name);
        }
        for ((name, written), place) in names.into_iter().zip(places) {
            let at = generated[place];
            if self.node_index.insert(name.clone(), at).is_some() {
                duplicate("node", name, written, found);
            }
            self.nodes[at].name.clone_from(name);
        }
    }

    /// Has every node of the fabric itself a place? If not, that is reported.
    fn all_placed(&self, entries: &[Named<'_>], found: &mut Found) -> bool {
        let beside = |(entry, names): &Named<'_>| {
            has_cable(&entry.value) && !names.iter().any(|name| self.node_index.contains_key(name))
                || names.iter().all(|name| self.spares.contains(name))
        };
        let mut without =
            entries.iter().filter(|named| named.0.value.place.is_none() && !beside(named));
        let Some((entry, _)) = without.next() else { return true };
        let message = "`place` is missing in [[node]], and other nodes have one".to_owned();
        let help = "one for each node, or for none".to_owned();
        found.add(ProblemKind::MissingKey, &entry.span, message, help);
        false
    }
}

/// The place of each name, from 0: as the entries say, or in their order. What is wrong is reported.
fn places(
    hosts: &[&Named<'_>],
    count: usize,
    placed: bool,
    found: &mut Found,
) -> Option<Vec<usize>> {
    if !placed {
        return Some((0..count).collect());
    }
    let (mut places, mut taken) = (Vec::new(), vec![false; count]);
    for (entry, names) in hosts {
        let place = entry.value.place.as_ref()?;
        let first = usize::try_from(place.value.near).unwrap_or(usize::MAX);
        for following in 0..names.len() {
            let at = first.saturating_add(following);
            let message = match taken.get_mut(at) {
                None if at == usize::MAX => format!("there is no place {}", place.value.text),
                None => format!("there is no place {at}: the fabric has {count} nodes"),
                Some(true) => format!("place {at} is another node's already"),
                Some(free) => {
                    *free = true;
                    places.push(at);
                    continue;
                }
            };
            let help = match taken.iter().position(|taken| !taken) {
                Some(near) => format!("place {near} is free; places begin with 0"),
                None => "places begin with 0".to_owned(),
            };
            found.add(ProblemKind::OutOfRange, &place.span, message, help);
            return None;
        }
    }
    Some(places)
}

fn refuse_places(entries: &[Named<'_>], found: &mut Found) {
    for place in entries.iter().filter_map(|(entry, _)| entry.value.place.as_ref()) {
        let message = "`place` is for nodes of generated fabrics".to_owned();
        let help = "leave it out: where the file lists everything, names say which node is which"
            .to_owned();
        found.add(ProblemKind::UnknownKey, &place.key, message, help);
    }
}

/// Does an entry say to which switches it is cabled?
pub(super) fn has_cable(entry: &Entry) -> bool {
    entry.nics.iter().flat_map(|nics| &nics.value).any(|nic| nic.value.switch.is_some())
}
