//! Resolves `gateway` and `prefixes` of `[[node]]`: the networks behind nodes, to which all nodes get routes.

use tresse_base::problem::{Found, ProblemKind};
use tresse_base::units::Prefix;
use tresse_topology::cluster::{Addressing, Node};

use super::addressing::unicast;
use super::fabric::Draft;
use super::values::within;
use crate::file::Node as Entry;
use crate::forms::{Gateway, Networks};
use crate::limits;
use crate::read::At;

/// Unicast addresses that no network behind a node has (RFC 3927, RFC 4291 section 2.5.5.2).
const SPECIAL: [(&str, &str); 2] = [
    ("169.254.0.0/16", "addresses of one link"),
    ("::ffff:0:0/96", "IPv4 addresses as programs write them for IPv6"),
];

/// What an entry says to be behind its nodes.
pub(super) struct Behind {
    /// Is it a gateway, and at which place?
    gateway: Option<(bool, u32)>,
    prefixes: Vec<Prefix>,
}

impl Behind {
    pub(super) fn lay(&self, node: &mut Node) {
        if let Some(gateway) = self.gateway {
            (node.gateway, node.gateway_order) = gateway;
        }
        node.prefixes.extend(&self.prefixes);
        node.prefixes.sort_unstable();
    }
}

impl Draft {
    /// Reads what an entry for `width` nodes says to be behind them.
    pub(super) fn read_behind(&mut self, entry: &Entry, width: usize, found: &mut Found) -> Behind {
        let gateway = entry.gateway.as_ref().map(|gateway| match &gateway.value {
            Gateway::Is(is) => (*is, 0),
            Gateway::Place(place) => {
                let places = 1..=limits::GATEWAY_ORDER;
                (true, within(Some(&gateway.with(place.clone())), "gateway", places, 1, found))
            }
        });
        let prefixes = entry.prefixes.as_ref();
        let prefixes = prefixes.map(|key| self.read_networks(key, width, found));
        Behind { gateway, prefixes: prefixes.unwrap_or_default() }
    }

    fn read_networks(
        &mut self,
        key: &At<Networks>,
        width: usize,
        found: &mut Found,
    ) -> Vec<Prefix> {
        if key.value.0.is_empty() && key.whole {
            let help = "a prefix such as \"192.168.10.0/24\", or leave it out".to_owned();
            found.add(ProblemKind::EmptyList, &key.span, "`prefixes` is empty", help);
        }
        if width > 1 {
            let message = format!("`prefixes` are behind one node, and this entry is for {width}");
            let help = "an entry for each node: [[node]] with its name and its prefixes".to_owned();
            found.add(ProblemKind::CountMismatch, &key.span, message, help);
            return Vec::new();
        }
        let mut network = |text: &At<String>| {
            if let Ok(all @ Prefix { len: 0, .. }) = text.value.parse() {
                let message = format!("`{all}` is no network, but all that there are");
                let help = "`gateway = true` for a node that routes to all networks that the plan does not know";
                found.add(ProblemKind::BadPrefix, &text.span, message, help.to_owned());
                return None;
            }
            let prefix = unicast(text, found)?;
            let special =
                SPECIAL.iter().filter_map(|(special, what)| Some((special.parse().ok()?, what)));
            let Some((_, what)) =
                special.into_iter().find(|(s, _): &(Prefix, _)| s.overlaps(&prefix))
            else {
                return Some(prefix);
            };
            let message = format!("`{prefix}` has {what}, to which nobody routes");
            let help = "a prefix such as 192.168.10.0/24 or fd00:10::/64".to_owned();
            found.add(ProblemKind::BadPrefix, &text.span, message, help);
            None
        };
        let read = key.value.0.iter().filter_map(|text| Some((network(text)?, &text.span)));
        let read: Vec<_> = read.collect();
        self.networks.extend(read.iter().map(|(prefix, span)| (*prefix, (*span).clone())));
        read.into_iter().map(|(prefix, _)| prefix).collect()
    }

    /// Reports networks that overlap others or addresses of the fabric, and those of a family that the fabric lacks.
    pub(super) fn check_behind(&mut self, addressing: &Addressing, found: &mut Found) {
        if let Some((_, span)) = self.networks.get(limits::NETWORKS) {
            let message = format!("more than {} networks behind nodes", limits::NETWORKS);
            let help = "give prefixes that hold several of them".to_owned();
            found.add(ProblemKind::TooLarge, span, message, help);
            return;
        }
        self.networks.sort_by_key(|(prefix, span)| (*prefix, span.start));
        let mut last = None;
        for (prefix, span) in &self.networks {
            let Addressing { nodes, nics, .. } = addressing;
            let (ipv4, apart) = (prefix.address.is_ipv4(), "give them prefixes apart".to_owned());
            if let Some(own) = nodes.iter().chain(nics).find(|own| own.overlaps(prefix)) {
                let message =
                    format!("{prefix} behind a node and {own} of `[addressing]` share addresses");
                found.add(ProblemKind::PrefixOverlap, span, message, apart);
            } else if !nodes.is_empty() && !nodes.iter().any(|own| own.address.is_ipv4() == ipv4) {
                let family = if ipv4 { "IPv4" } else { "IPv6" };
                let message = format!("{prefix} is behind a node of a fabric without {family}");
                let help = format!("give nodes and NICs {family} addresses too, in [addressing]");
                found.add(ProblemKind::BadPrefix, span, message, help);
            } else if let Some(other) = last.filter(|other| prefix.overlaps(other)) {
                let message = format!("{prefix} and {other} behind nodes share addresses");
                found.add(ProblemKind::PrefixOverlap, span, message, apart);
            }
            // The widest so far: all that overlap it follow it.
            if last.is_none_or(|other| !prefix.overlaps(&other)) {
                last = Some(*prefix);
            }
        }
    }
}
