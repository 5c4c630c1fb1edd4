//! Adds the uplink cables of a flat neighbourhood: one from each other switch to the uplink switch. Each takes the highest
//! free port of its switch, of a folded uplink too, and the rate of the fastest NIC there, so this is done after all NICs
//! are known.

use std::collections::{BTreeMap, BTreeSet};

use tresse_base::id::SwitchId;
use tresse_base::problem::{Found, ProblemKind};
use tresse_base::units::Rate;
use tresse_topology::cluster::TopologyShape;

use super::fabric::{Draft, NOWHERE};

impl Draft {
    /// Puts the uplink cable of each switch into its highest free port, and reports switches without one.
    pub(super) fn plug_uplinks(&mut self, kind: &TopologyShape, found: &mut Found) {
        let TopologyShape::Fnn { wiring, uplink: Some(uplink), .. } = kind else { return };
        let mut taken: BTreeMap<SwitchId, BTreeSet<u32>> = BTreeMap::new();
        let mut fastest: BTreeMap<SwitchId, Rate> = BTreeMap::new();
        for nic in self.nodes.iter().flat_map(|node| &node.nics) {
            taken.entry(nic.switch).or_default().insert(nic.port);
            let rate = fastest.entry(nic.switch).or_insert(nic.rate);
            *rate = nic.rate.max(*rate);
        }
        let mut wired = self.switches.iter().take(wiring.switches.len());
        let folded = wired.position(|switch| switch.name == *uplink).map(SwitchId::from);
        let mut links = std::mem::take(&mut self.links);
        for link in &mut links {
            link.rate = fastest.get(&link.a.switch).copied().unwrap_or(link.rate);
            let ends = [Some(&mut link.a), Some(&mut link.b).filter(|_| folded.is_some())];
            for end in ends.into_iter().flatten() {
                let used = taken.entry(end.switch).or_default();
                let next = used.last().map_or(1, |last| last + 1);
                let port = match self.given_ports.contains_key(&end.switch.index()) {
                    true => self.free_port(end.switch, uplink, used, found),
                    false if Some(end.switch) == folded => Some(next.max(end.port)),
                    false => Some(next.max(self.switches[end.switch.index()].ports)),
                };
                end.switch = port.map_or(NOWHERE, |_| end.switch);
                end.port = port.unwrap_or(end.port);
                used.extend(port);
            }
        }
        self.links = links;
    }

    /// The highest free port of a switch whose number of ports is given, or reports that it has none.
    fn free_port(
        &self,
        switch: SwitchId,
        uplink: &str,
        used: &BTreeSet<u32>,
        found: &mut Found,
    ) -> Option<u32> {
        let (ports, span) = self.given_ports.get(&switch.index())?;
        let next = used.last().map_or(1, |last| last + 1);
        let free = (1..=*ports).rev().find(|port| !used.contains(port));
        // NICs without a port are reported together with the number of ports needed.
        if free.is_some() || next > ports + 1 {
            return free.or(Some(next));
        }
        let name = &self.switches[switch.index()].name;
        let cable = match name == uplink {
            true => "all cables of the uplink, which it is".to_owned(),
            false => format!("the cable to `{uplink}`"),
        };
        let message = format!("switch `{name}` has no free port for {cable}");
        let help = format!("ports = {next}, or leave `uplink` out");
        found.add(ProblemKind::TooFewPorts, span, message, help);
        None
    }
}
