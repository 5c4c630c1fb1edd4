//! Cables by forwarding tables (Breitbart et al., INFOCOM 2000, direct connections): in a network without loops two
//! ports of two switches are joined by a cable if and only if the stations behind one are exactly those that are not
//! behind the other. Every VLAN is such a network of its own, so the statement is used for each of them.
//!
//! It needs whole tables. Here a pair of switches counts only if both know every station that any switch knows in that
//! VLAN; so a table that has forgotten one gives no cable, rather than a wrong one. A switch without a table and without
//! stations between two others cannot be told from a cable.

use std::collections::{BTreeMap, BTreeSet};

use tresse_base::units::Mac;
use tresse_topology::Components;

use crate::cable::PortAt;
use crate::table::SwitchTable;

/// One switch's ports by station, of one VLAN.
type Ports<'a> = BTreeMap<Mac, &'a str>;

/// What forwarding tables show.
#[derive(Debug, Default)]
pub(super) struct Shown {
    /// Pairs of ports that complement each other in some VLAN, of pairs of switches of which one at least does not tell
    /// its LLDP neighbours.
    pub(super) cables: BTreeSet<(PortAt, PortAt)>,
    /// Switches without LLDP neighbours that do not know all stations of a VLAN that the switches joined to them know,
    /// each with how many it lacks, and of how many. Switches are joined if they know a station in common: each switch of
    /// a flat neighbourhood knows its own NICs alone, and lacks none.
    pub(super) lacking: BTreeMap<String, (usize, usize)>,
    /// Switches without LLDP neighbours that lack none of these, but know others in common with some switch while further
    /// switches know more: with how many.
    pub(super) apart: BTreeMap<String, usize>,
}

/// Compares all tables. Stations that are `left_out` count for nothing. O(VLANs x switches^2 x stations).
pub(super) fn shown(tables: &[SwitchTable], left_out: &BTreeMap<Mac, PortAt>) -> Shown {
    let own: BTreeSet<Mac> = tables.iter().flat_map(|table| table.own.keys().copied()).collect();
    let mut of_vid: BTreeMap<Option<u16>, BTreeMap<usize, Ports<'_>>> = BTreeMap::new();
    for (at, table) in tables.iter().enumerate() {
        let counts = |mac: &Mac| !own.contains(mac) && !left_out.contains_key(mac);
        for learned in table.learned.iter().filter(|learned| counts(&learned.mac)) {
            let ports = of_vid.entry(learned.vid).or_default().entry(at).or_default();
            ports.insert(learned.mac, &learned.port);
        }
    }
    let mut shown = Shown::default();
    for switches in of_vid.values() {
        let stations: BTreeSet<Mac> =
            switches.values().flat_map(|ports| ports.keys().copied()).collect();
        shown.name_lacks(tables, switches, stations.len());
        let all: Vec<(&usize, &Ports<'_>)> =
            switches.iter().filter(|(_, ports)| ports.len() == stations.len()).collect();
        for (k, (a, ports)) in all.iter().enumerate() {
            for (b, others) in &all[k + 1..] {
                let (a_table, b_table) = (&tables[**a], &tables[**b]);
                if a_table.lldp && b_table.lldp {
                    continue;
                }
                let Some((a_port, b_port)) = joined(ports, others) else { continue };
                let end = |table: &SwitchTable, port: &str| PortAt {
                    switch: table.name.clone(),
                    port: port.to_owned(),
                };
                shown.cables.insert((end(a_table, a_port), end(b_table, b_port)));
            }
        }
    }
    shown
}

impl Shown {
    /// Notes which switches lack stations that the switches joined to them know, of `all` in this VLAN.
    fn name_lacks(
        &mut self,
        tables: &[SwitchTable],
        switches: &BTreeMap<usize, Ports<'_>>,
        all: usize,
    ) {
        let mut parts = Components::new(tables.len());
        let mut first: BTreeMap<Mac, usize> = BTreeMap::new();
        for (at, mac) in switches.iter().flat_map(|(at, ports)| ports.keys().map(move |m| (at, m)))
        {
            parts.join(*first.entry(*mac).or_insert(*at), *at);
        }
        let mut of_part: BTreeMap<usize, usize> = BTreeMap::new();
        for at in first.values() {
            *of_part.entry(parts.root(*at)).or_default() += 1;
        }
        for (at, ports) in switches.iter().filter(|(at, _)| !tables[**at].lldp) {
            let (name, of) = (tables[*at].name.clone(), of_part[&parts.root(*at)]);
            let is_alone = switches.keys().all(|b| b == at || parts.root(*b) != parts.root(*at));
            if ports.len() < of {
                let known = self.lacking.entry(name).or_default();
                *known = (of - ports.len(), of).max(*known);
            } else if of < all && !is_alone {
                let known = self.apart.entry(name).or_default();
                *known = (all - of).max(*known);
            }
        }
    }
}

/// The ports of two switches that complement each other: each station is behind one of the two and not behind the
/// other. Both know the same stations. There is at most one such pair: it has stations on both sides.
fn joined<'a>(a: &Ports<'a>, b: &Ports<'a>) -> Option<(&'a str, &'a str)> {
    let pairs: BTreeSet<(&str, &str)> = a.values().zip(b.values()).map(|(p, q)| (*p, *q)).collect();
    let (p0, q0) = *pairs.first()?;
    // Either the first station is behind a's port or behind b's.
    let rest: Vec<(&str, &str)> = pairs.iter().copied().filter(|(p, _)| *p != p0).collect();
    let from_b: Vec<(&str, &str)> = pairs.iter().copied().filter(|(_, q)| *q != q0).collect();
    let fits = |p: &str, q: &str| pairs.iter().all(|(x, y)| (*x == p) != (*y == q));
    let by_a = rest.first().map(|(_, q)| (p0, *q)).filter(|(p, q)| fits(p, q));
    by_a.or_else(|| from_b.first().map(|(p, _)| (*p, q0)).filter(|(p, q)| fits(p, q)))
}
