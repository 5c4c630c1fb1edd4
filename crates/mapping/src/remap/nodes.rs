//! Nodes and their NICs.

use std::collections::BTreeSet;

use tresse_base::id::NodeId;
use tresse_base::units::Mac;

use super::change::{Delta, End, Placed};
use super::look::{Look, There};
use crate::cable::PortAt;

/// What became of a NIC of the file.
enum Fate {
    /// It is where the file has it, or nothing says otherwise.
    Stays,
    Moved(Placed),
    Gone(String),
}

/// Compares nodes and NICs, after the switches.
pub(super) fn compare(look: &mut Look<'_>) -> Vec<Delta> {
    let cluster = look.sight.cluster;
    let mut deltas = Vec::new();
    let mut used = BTreeSet::new();
    for (index, node) in cluster.nodes.iter().enumerate() {
        let id = NodeId::from(index);
        let fates: Vec<Fate> = (0..node.nics.len()).map(|nic| fate(look, id, nic)).collect();
        let gone = fates.iter().filter(|fate| matches!(fate, Fate::Gone(_))).count();
        let stranded = node.nics.iter().any(|nic| look.gone.contains(&nic.switch));
        if gone == fates.len() && look.host(id).is_some() && !stranded {
            look.unknown.push(format!(
                "{}: it answers, and none of its NICs is at a switch that is seen: it stays in the draft",
                node.name
            ));
            continue;
        }
        if gone == fates.len() && !look.kept(&node.name) {
            let whys: BTreeSet<String> = fates.into_iter().filter_map(why).collect();
            let why = whys.into_iter().collect::<Vec<_>>().join("; ");
            deltas.push(Delta::NodeGone { node: id, why });
            continue;
        }
        for (nic, fate) in fates.into_iter().enumerate() {
            match fate {
                Fate::Moved(to) => deltas.push(Delta::NicMoved { node: id, nic, to }),
                Fate::Gone(why) if !look.kept(&node.name) => {
                    deltas.push(Delta::NicGone { node: id, nic, why });
                }
                Fate::Gone(_) | Fate::Stays => {}
            }
        }
        if let Some(host) = look.host(id) {
            used.insert(host);
            let own: BTreeSet<usize> =
                (0..node.nics.len()).filter_map(|nic| look.nic(id, nic, host)).collect();
            for nic in (0..look.sight.hosts[host].nics.len()).filter(|nic| !own.contains(nic)) {
                if let Some(nic) = placed(look, host, nic) {
                    deltas.push(Delta::NicAdded { node: id, nic });
                }
            }
        }
    }
    let hosts = 0..look.sight.hosts.len();
    for host in hosts.filter(|host| !used.contains(host)) {
        let of = &look.sight.hosts[host];
        if cluster.node_named(&of.name).is_some() {
            continue;
        }
        let nics: Vec<Placed> =
            (0..of.nics.len()).filter_map(|nic| placed(look, host, nic)).collect();
        if nics.is_empty() {
            look.unknown.push(format!(
                "{}: it answers, but no NIC of it is at a switch that is seen",
                of.name
            ));
        } else {
            deltas.push(Delta::NodeAdded { name: of.name.clone(), nics });
        }
    }
    strangers(look);
    deltas
}

fn why(fate: Fate) -> Option<String> {
    match fate {
        Fate::Gone(why) => Some(why),
        Fate::Stays | Fate::Moved(_) => None,
    }
}

fn placed(look: &Look<'_>, host: usize, nic: usize) -> Option<Placed> {
    let at = look.place(host, nic)?;
    let nic = &look.sight.hosts[host].nics[nic];
    Some(Placed { name: nic.name.clone(), mac: nic.mac, at })
}

fn fate(look: &mut Look<'_>, node: NodeId, nic: usize) -> Fate {
    let cluster = look.sight.cluster;
    let wanted = &cluster.node(node).nics[nic];
    let name = format!("{} {}", cluster.node(node).name, wanted.name);
    let file = End { switch: cluster.switch(wanted.switch).name.clone(), port: wanted.port };
    let host = look.host(node);
    let own = host.and_then(|host| Some((host, look.nic(node, nic, host)?)));
    let seen = match own {
        Some((host, own)) => placed(look, host, own),
        None => look.sight.wires.stations.get(&wanted.mac).map(|at| Placed {
            name: wanted.name.clone(),
            mac: wanted.mac,
            at: look.end(&at.switch, &at.port),
        }),
    };
    if let Some(to) = seen {
        let stays = to.at.switch == file.switch && [0, file.port].contains(&to.at.port);
        if stays {
            return Fate::Stays;
        }
        // A forwarding table alone does not tell a node from one beyond a switch.
        if let Some(beyond) = look.beyond(&to.at).filter(|_| own.is_none()) {
            look.unknown.push(format!(
                "{name}: its node does not answer, and its MAC is behind {}, where the file has the cable to {beyond}",
                to.at
            ));
            return Fate::Stays;
        }
        return Fate::Moved(to);
    }
    let port = own.and_then(|(host, own)| look.found.left_out(host, own));
    if let Some(port) =
        port.map(PortAt::words).or_else(|| look.is_left_out(&file).then(|| file.to_string()))
    {
        look.unknown
            .push(format!("{name}: {port} is left out, and what the file says of it stays"));
        return Fate::Stays;
    }
    if look.gone.contains(&wanted.switch) {
        return Fate::Gone(format!("{} is gone", file.switch));
    }
    if let Some((host, own)) = own {
        let dark = !look.sight.hosts[host].nics[own].carrier;
        if dark && !look.seen.contains(&file.switch) {
            look.unknown
                .push(format!("{name}: it has no carrier, and {} is not seen", file.switch));
            return Fate::Stays;
        }
        if dark {
            return Fate::Gone(format!("{} has no carrier", wanted.name));
        }
        look.unknown.push(format!("{name}: it has carrier, and nothing says where its cable ends"));
        return Fate::Stays;
    }
    if host.is_some() {
        return Fate::Gone(format!("the node has no NIC {} any more", wanted.name));
    }
    let table = look.sight.wires.table(&file.switch);
    match look.at(&file) {
        There::Stations(others) if !others.contains(&wanted.mac) => {
            Fate::Gone(format!("it does not answer, and another station is at {file}"))
        }
        There::Cable(other) => {
            Fate::Gone(format!("it does not answer, and {file} leads to {other}"))
        }
        There::Nothing if table.is_some_and(|table| table.fdb && !table.learned.is_empty()) => {
            Fate::Gone(format!("it does not answer, and nothing is at {file}"))
        }
        There::Stations(_) | There::Nothing | There::Unseen => {
            if !look.kept(&cluster.node(node).name) {
                look.unknown.push(format!(
                    "{name}: its node does not answer, and nothing shows what is at {file}"
                ));
            }
            Fate::Stays
        }
    }
}

/// Stations at ports of switches that belong to no node.
fn strangers(look: &mut Look<'_>) {
    let file = look.sight.cluster.nodes.iter().flat_map(|node| &node.nics).map(|nic| nic.mac);
    let asked = look.sight.hosts.iter().flat_map(|host| &host.nics).map(|nic| nic.mac);
    let known: BTreeSet<Mac> = file.chain(asked).collect();
    let strange = look.sight.wires.stations.iter().filter(|(mac, _)| !known.contains(mac));
    let words: Vec<String> = strange
        .map(|(mac, at)| {
            format!(
                "{}: {mac} is there, which no node has: name its node, if it is a new one",
                at.words()
            )
        })
        .collect();
    look.unknown.extend(words);
}
