//! Switches and the cables between them.

use std::collections::BTreeSet;

use tresse_base::id::{LinkId, SwitchId};

use super::change::{Delta, End};
use super::look::{Look, There};

/// Compares switches and cables.
pub(super) fn compare(look: &mut Look<'_>) -> Vec<Delta> {
    let mut deltas = switches(look);
    let (gone, added) = differences(look);
    for (link, _) in &gone {
        let link = look.sight.cluster.link(*link);
        look.free.extend([link.a, link.b].map(|at| End::of(look.sight.cluster, at)));
    }
    deltas.extend(moved(look, gone, added));
    deltas
}

fn switches(look: &mut Look<'_>) -> Vec<Delta> {
    let cluster = look.sight.cluster;
    let mut deltas = Vec::new();
    for name in look.seen.iter().filter(|name| cluster.switch_named(name).is_none()) {
        let cables = look.cables.iter().filter(|[a, b]| a.switch == *name || b.switch == *name);
        deltas.push(Delta::SwitchAdded { name: name.clone(), cables: cables.cloned().collect() });
    }
    for (index, switch) in cluster.switches.iter().enumerate() {
        if look.seen.contains(&switch.name) || look.kept(&switch.name) {
            continue;
        }
        if look.sight.wires.is_switch_left_out(&switch.name) {
            look.unknown.push(format!("{}: it is left out, and stays in the draft", switch.name));
            continue;
        }
        match gone(look, index.into()) {
            Ok(why) => {
                look.gone.insert(index.into());
                deltas.push(Delta::SwitchGone { switch: index.into(), why });
            }
            Err(why) => look.unknown.push(format!("{}: {why}", switch.name)),
        }
    }
    deltas
}

/// Why a switch that nothing hears is gone, or why that is not known. Switches that nothing hears are judged with those
/// cabled to them that nothing hears either: whatever is cabled to one of them may lead to all.
fn gone(look: &Look<'_>, switch: SwitchId) -> Result<String, String> {
    let cluster = look.sight.cluster;
    let unheard = unheard_with(look, switch);
    let mut silent = BTreeSet::new();
    for link in &cluster.links {
        let far = match [link.a, link.b].map(|end| unheard.contains(&end.switch)) {
            [true, false] => End::of(cluster, link.b),
            [false, true] => End::of(cluster, link.a),
            _ => continue,
        };
        if !look.seen.contains(&far.switch) {
            continue;
        }
        if !look.hears(&far.switch) {
            return Err(format!("it is not heard, and {} does not tell whom it hears", far.switch));
        }
        match look.at(&far) {
            There::Cable(_) | There::Nothing => _ = silent.insert(far.to_string()),
            There::Stations(_) | There::Unseen => {
                return Err(format!("it is not heard, but something is at {far}"));
            }
        }
    }
    if silent.is_empty() {
        return Err("no neighbour of it was asked".into());
    }
    for (index, node) in cluster.nodes.iter().enumerate() {
        let Some(host) = look.host(index.into()) else { continue };
        for nic in (0..node.nics.len()).filter(|nic| unheard.contains(&node.nics[*nic].switch)) {
            let Some(own) = look.nic(index.into(), nic, host) else { continue };
            if look.sight.hosts[host].nics[own].carrier && look.place(host, own).is_none() {
                let nic = &node.nics[nic].name;
                return Err(format!("it is not heard, but {} {nic} has carrier", node.name));
            }
        }
    }
    let silent: Vec<String> = silent.into_iter().collect();
    Ok(format!("not heard at {}", silent.join(", ")))
}

/// A switch that nothing hears, and all such that the file's cables join to it. Those that are kept or left out are no way.
fn unheard_with(look: &Look<'_>, switch: SwitchId) -> BTreeSet<SwitchId> {
    let cluster = look.sight.cluster;
    let is_unheard = |switch: SwitchId| {
        let name = &cluster.switch(switch).name;
        !look.seen.contains(name) && !look.kept(name) && !look.sight.wires.is_switch_left_out(name)
    };
    let mut unheard = BTreeSet::from([switch]);
    let mut next = vec![switch];
    while let Some(at) = next.pop() {
        let ends = cluster.links.iter().map(|link| [link.a.switch, link.b.switch]);
        let beyond = ends.filter_map(|[a, b]| match (a == at, b == at) {
            (true, _) => Some(b),
            (_, true) => Some(a),
            _ => None,
        });
        next.extend(beyond.filter(|switch| is_unheard(*switch) && unheard.insert(*switch)));
    }
    unheard
}

/// Cables of the file that are gone, and cables that the file lacks, between switches that stay.
fn differences(look: &mut Look<'_>) -> (Vec<(LinkId, String)>, Vec<[End; 2]>) {
    let cluster = look.sight.cluster;
    let mut left = look.cables.clone();
    let mut gone = Vec::new();
    let mut words = Vec::new();
    for (index, link) in cluster.links.iter().enumerate() {
        let ends = [End::of(cluster, link.a), End::of(cluster, link.b)];
        if let Some(at) = left.iter().position(|seen| is_same(seen, &ends)) {
            left.remove(at);
            continue;
        }
        if look.gone.contains(&link.a.switch) || look.gone.contains(&link.b.switch) {
            continue;
        }
        if ends.iter().any(|end| look.kept(&end.switch)) {
            continue;
        }
        match missing(look, &ends) {
            Ok(why) => gone.push((index.into(), why)),
            Err(why) => words.push(format!("{} - {}: {why}", ends[0], ends[1])),
        }
    }
    look.unknown.extend(words);
    let known = |end: &End| cluster.switch_named(&end.switch).is_some();
    left.retain(|[a, b]| known(a) && known(b));
    (gone, left)
}

/// Whether a cable that was seen is that of the file. One whose far end has no number fits by the near one.
fn is_same(seen: &[End; 2], file: &[End; 2]) -> bool {
    let fits = |seen: &End, file: &End| {
        seen.switch == file.switch && (seen.port == file.port || seen.port == 0)
    };
    let [a, b] = seen;
    let [c, d] = file;
    (a.port != 0 || b.port != 0) && (fits(a, c) && fits(b, d) || fits(a, d) && fits(b, c))
}

/// Why a cable that is not seen is gone, or why that is not known.
fn missing(look: &Look<'_>, ends: &[End; 2]) -> Result<String, String> {
    if ends.iter().any(|end| look.is_left_out(end)) {
        return Err("it is left out, and stays in the draft".into());
    }
    let mut deaf = Vec::new();
    for (here, there) in [(&ends[0], &ends[1]), (&ends[1], &ends[0])] {
        match look.at(here) {
            There::Cable(other) => return Ok(format!("{here} leads to {other}")),
            There::Stations(of) if look.is_direct(here, &of) => {
                return Ok(format!("a station is at {here}"));
            }
            // It may be beyond a switch that nothing shows.
            There::Stations(_) => {}
            There::Nothing if look.hears(&here.switch) && look.speaks(&there.switch) => {
                deaf.push(here)
            }
            There::Nothing | There::Unseen => {}
        }
    }
    let can_hear =
        ends.iter().filter(|end| look.sight.wires.table(&end.switch).is_some_and(|t| t.lldp));
    if !deaf.is_empty() && deaf.len() == can_hear.count() {
        let deaf: Vec<String> = deaf.iter().map(ToString::to_string).collect();
        return Ok(format!("nothing is heard at {}", deaf.join(" and ")));
    }
    Err("no end of it tells what it hears".into())
}

/// Takes a cable that went and one that came with one end or both switches in common for one that moved.
fn moved(look: &Look<'_>, gone: Vec<(LinkId, String)>, mut added: Vec<[End; 2]>) -> Vec<Delta> {
    let cluster = look.sight.cluster;
    let mut deltas = Vec::new();
    let mut left = Vec::new();
    let ends = |link: LinkId| {
        let link = cluster.link(link);
        [End::of(cluster, link.a), End::of(cluster, link.b)]
    };
    for (link, why) in gone {
        let old = ends(link);
        match added.iter().position(|new| new.iter().any(|end| old.contains(end))) {
            Some(at) => deltas.push(Delta::CableMoved { link, to: added.remove(at) }),
            None => left.push((link, why)),
        }
    }
    for (link, why) in left {
        let switches = |ends: &[End; 2]| -> BTreeSet<String> {
            ends.iter().map(|end| end.switch.clone()).collect()
        };
        let old = switches(&ends(link));
        match added.iter().position(|new| switches(new) == old) {
            Some(at) => deltas.push(Delta::CableMoved { link, to: added.remove(at) }),
            None => deltas.push(Delta::CableGone { link, why }),
        }
    }
    deltas.extend(added.into_iter().map(Delta::CableAdded));
    deltas
}
