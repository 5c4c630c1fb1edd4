//! Gateways: one that has no way out says so to all others, which then use it after those that have one.

use std::collections::BTreeSet;
use std::net::IpAddr;

use tresse_base::units::Prefix;
use tresse_control::GatewayLine;
use tresse_reconcile::{GuardRule, METRIC_BACKUP, METRIC_PRIMARY, ObservedRoute, PROTOCOL};

use super::Engine;
use super::healed::origin;
use super::prepared::Prepared;

/// How long a way out that was lost has to be there before it counts again: the port of a switch that comes up may listen
/// and learn, 15 s each (IEEE 802.1D-2004, table 17-1).
const HOLD_MS: u64 = 30_000;

impl Engine {
    /// The families, 0 for IPv4 and 1 for IPv6, for which this node is a gateway of the plan and has no way out, or had none
    /// [`HOLD_MS`] ago: no default route of somebody else's by an interface with carrier.
    pub(super) fn shut(&mut self, plan: &Prepared) -> BTreeSet<usize> {
        let Some(view) = &self.view else { return BTreeSet::new() };
        let leads = |route: &ObservedRoute| {
            let by_object = route.nexthop.and_then(|id| view.observed.nexthops.get(&id));
            let interface = by_object.map_or(&route.interface, |object| &object.interface);
            // Of several nexthops at once nothing is known.
            let link = interface.as_ref().and_then(|name| view.observed.links.get(name));
            route.protocol != PROTOCOL && link.is_none_or(|link| link.up && link.carrier)
        };
        let is_open = |ipv4| view.observed.routes.to(Prefix::everything(ipv4)).any(leads);
        let is_gateway = |ipv4| plan.wanted.guard.contains(&GuardRule::Past { ipv4 });
        for (until, ipv4) in self.healing.shut_until.iter_mut().zip([true, false]) {
            if !is_gateway(ipv4) {
                *until = 0;
            } else if !is_open(ipv4) {
                *until = self.now + HOLD_MS;
            }
        }
        let families = self.healing.shut_until.iter().enumerate();
        families.filter(|(_, until)| **until > self.now).map(|(family, _)| family).collect()
    }

    /// When a way out that is there again may count.
    pub(super) fn way_out_at(&self) -> Option<u64> {
        self.healing.shut_until.into_iter().filter(|until| *until > self.now).min()
    }

    /// The addresses of gateways that say that they have no way out.
    pub(super) fn shut_gateways(&self, plan: &Prepared) -> BTreeSet<IpAddr> {
        let reports = &self.healing.reports;
        if reports.values().all(|report| report.shut.is_empty()) {
            return BTreeSet::new();
        }
        let everything = plan.wanted.behind.iter().filter(|(dst, _)| dst.len == 0);
        let gateways = everything.flat_map(|(_, nodes)| nodes);
        let is_shut = |address: &&IpAddr| {
            let family = usize::from(address.is_ipv6());
            let nodes = plan.index.owners(&[address.to_string()]);
            let said = nodes.iter().filter_map(|node| reports.get(&origin(node)));
            said.into_iter().any(|report| report.shut.contains(&family))
        };
        gateways.filter(is_shut).copied().collect()
    }

    /// The gateways in the order of the plan. The kernel goes by the first to which a route of ours leads, of those that have a
    /// way out if there is one.
    pub(super) fn gateways(&self, current: &Prepared) -> Vec<GatewayLine> {
        let is_reached = |address: &IpAddr| {
            let dst = Prefix::host(*address);
            [METRIC_PRIMARY, METRIC_BACKUP].into_iter().any(|metric| self.holds((dst, metric)))
        };
        let shut = &self.healing.healed.shut;
        let mut lines = Vec::new();
        for (dst, nodes) in current.wanted.behind.iter().filter(|(dst, _)| dst.len == 0) {
            let reached = || nodes.iter().filter(|address| is_reached(address));
            let used = reached().find(|address| !shut.contains(address));
            let used = used.or_else(|| reached().next());
            lines.extend(nodes.iter().map(|address| GatewayLine {
                dst: dst.to_string(),
                node: current.index.owners(&[address.to_string()]).concat(),
                reached: is_reached(address),
                shut: shut.contains(address),
                used: used == Some(address),
            }));
        }
        lines
    }
}
