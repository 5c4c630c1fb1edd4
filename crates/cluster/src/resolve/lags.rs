//! Checks the cables that form link aggregation groups.

use std::collections::HashMap;

use tresse_base::problem::{Found, ProblemKind};
use tresse_topology::cluster::Port;

use super::fabric::Draft;

impl Draft {
    /// Reports cables whose rate differs from that of the first of their group: LACP makes groups of one speed (Linux,
    /// `Documentation/networking/bonding.rst`, mode 802.3ad).
    pub(super) fn check_lags(&self, found: &mut Found) {
        let aggregates =
            |port: &Port| self.switches.get(port.switch.index()).is_some_and(|s| s.lag);
        let mut first = HashMap::new();
        for (i, link) in self.links.iter().enumerate() {
            let ends = [link.a, link.b];
            if !ends.iter().all(aggregates) {
                continue;
            }
            let between = ends.map(|end| end.switch);
            let between = [between[0].min(between[1]), between[0].max(between[1])];
            let before = *first.entry(between).or_insert(link.rate);
            let Some((span, _)) = self.link_ends.get(&i).filter(|_| before != link.rate) else {
                continue;
            };
            let [a, b] = between.map(|switch| &self.switches[switch.index()].name);
            let message = format!(
                "a cable of {} between switches `{a}` and `{b}`, and another of {before}",
                link.rate
            );
            let help = format!(
                "with lag = true all cables between them have one rate, such as rate = \"{before}\""
            );
            found.add(ProblemKind::MixedRates, span, message, help);
        }
    }
}
