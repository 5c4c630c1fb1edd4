//! Adds the uplink cables of a flat neighbourhood: one from each switch to the uplink switch. Each takes the highest
//! free port of its switch, and the rate of the fastest NIC there, so this is done after all NICs are known.

use std::collections::{BTreeMap, BTreeSet};

use tresse_base::id::SwitchId;
use tresse_base::problem::{Found, ProblemKind};
use tresse_base::units::Rate;
use tresse_topology::cluster::TopologyShape;

use super::fabric::{Draft, NOWHERE};

impl Draft {
    /// Puts the uplink cable of each switch into its highest free port, and reports switches without one.
    pub(super) fn plug_uplinks(&mut self, kind: &TopologyShape, found: &mut Found) {
        let TopologyShape::Fnn { uplink: Some(uplink), .. } = kind else { return };
        let mut taken: BTreeMap<SwitchId, BTreeSet<u32>> = BTreeMap::new();
        let mut fastest: BTreeMap<SwitchId, Rate> = BTreeMap::new();
        for nic in self.nodes.iter().flat_map(|node| &node.nics) {
            taken.entry(nic.switch).or_default().insert(nic.port);
            let rate = fastest.entry(nic.switch).or_insert(nic.rate);
            *rate = nic.rate.max(*rate);
        }
        for link in &mut self.links {
            link.rate = fastest.get(&link.a.switch).copied().unwrap_or(link.rate);
            let switch = &self.switches[link.a.switch.index()];
            let used = taken.remove(&link.a.switch).unwrap_or_default();
            let next = used.last().map_or(1, |last| last + 1);
            let Some((ports, span)) = self.given_ports.get(&link.a.switch.index()) else {
                link.a.port = next.max(switch.ports);
                continue;
            };
            match (1..=*ports).rev().find(|port| !used.contains(port)) {
                Some(port) => link.a.port = port,
                // NICs without a port are reported together with the number of ports needed.
                None if next > ports + 1 => link.a.port = next,
                None => {
                    let name = &switch.name;
                    let message =
                        format!("switch `{name}` has no free port for the cable to `{uplink}`");
                    let help = format!("ports = {next}, or leave `uplink` out");
                    found.add(ProblemKind::TooFewPorts, span, message, help);
                    link.a.switch = NOWHERE;
                }
            }
        }
    }
}
