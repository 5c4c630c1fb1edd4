//! From the tables as written to a [`Cluster`] with every default filled in and every name resolved.
//! Each part reports all it finds and goes on with the default, so that one fault hides no other.

mod addressing;
mod cables;
mod demand;
mod fabric;
mod nodes;
mod routing;
mod shape;
mod untagged;
mod uplink;
mod values;
mod vlans;

use std::ops::{Range, RangeInclusive};

use tresse_topology::default_name;

use super::file::File;
use super::guess;
use super::hostlist;
use super::limits;
use super::problem::{Found, ProblemKind};
use super::read::{At, Keys, Number};
use super::{Cluster, Strategy};

/// Resolve the whole file. The value is good only if `found` stays empty.
pub(super) fn resolve(file: &File, found: &mut Found) -> Cluster {
    let shape = shape::shape(file.fabric.as_ref(), file.lacks("fabric"), found);
    let kind = shape.kind();
    let topology = file.fabric.as_ref().and_then(|f| f.value.topology.as_ref());
    let topology = topology.map(|t| t.span.clone()).unwrap_or_default();
    let (mut routing, strategy) =
        routing::routing(file.routing.as_ref(), file.lacks("routing"), &shape, found);
    let flat = strategy == Some(Strategy::Direct) || shape.is_fnn();
    let untagged = flat || kind.is_routed();
    let vlans = file.vlans.as_ref().filter(|_| !untagged || kind.shares_switches());
    let vlans = vlans::vlans(vlans, &shape, strategy, &topology, found);
    let mut draft = fabric::Draft::new(&shape, file);
    draft.switches(file.switch.as_ref(), found);
    draft.nodes(file.node.as_ref(), found);
    draft.plug_uplinks(&kind, found);
    if untagged && !kind.shares_switches() {
        untagged::refuse_vlans(file, flat, found);
    }
    if kind.is_routed() {
        untagged::refuse_cables(file, found);
    } else if flat {
        untagged::refuse_links(file, found);
    } else {
        draft.links(file.link.as_ref(), found);
    }
    draft.finish(file, &topology, &kind, flat, found);
    if let Strategy::Updown { root } | Strategy::Transit { root } = &mut routing.strategy {
        let name = file.routing.as_ref().and_then(|r| r.value.root.as_ref());
        *root = name.map(|name| draft.find_switch(&name.value, &name.span, found));
    }
    let known = shape.is_known().then_some(&kind);
    let addressing = addressing::addressing(file.addressing.as_ref(), &draft.nodes, known, found);
    draft.check_mtu(&addressing, found);
    let demand = draft.demand(file.demand.as_ref(), found);
    let name = file.fabric.as_ref().and_then(|f| f.value.name.as_ref());
    if let Some(name) = name
        && !valid_name(&name.value)
    {
        found.add(ProblemKind::BadName, &name.span, bad_name(&name.value), name_help(&name.value));
    }
    Cluster {
        name: name.map_or_else(|| default_name(&kind), |n| n.value.clone()),
        kind,
        switches: draft.switches,
        nodes: draft.nodes,
        links: draft.links,
        routing,
        vlans,
        addressing,
        demand,
    }
}

/// The number, or `default` where the key is absent or out of range (then reported).
fn within(
    number: Option<&At<Number>>,
    what: &str,
    range: RangeInclusive<u32>,
    default: u32,
    found: &mut Found,
) -> u32 {
    let Some(number) = number else { return default };
    let (low, high) = (*range.start(), *range.end());
    let value = number.value.0;
    if let Ok(value) = u32::try_from(value)
        && range.contains(&value)
    {
        return value;
    }
    let message = format!("{what} {value} is not between {low} and {high}");
    let help = format!("the nearest valid value is {}", value.clamp(low.into(), high.into()));
    found.add(ProblemKind::OutOfRange, &number.span, message, help);
    default
}

fn missing(key: &str, place: &str, span: &Range<usize>, help: &str, found: &mut Found) {
    let message = format!("`{key}` is missing in {place}");
    found.add(ProblemKind::MissingKey, span, message, help.to_owned());
}

/// Expand a hostlist of switch or node names; empty where it is bad (then reported).
fn names(text: &At<String>, found: &mut Found) -> Vec<String> {
    let names = hosts(&text.value, &text.span, found);
    if let Some(bad) = names.iter().find(|n| !valid_name(n)) {
        found.add(ProblemKind::BadName, &text.span, bad_name(bad), name_help(bad));
        return Vec::new();
    }
    names
}

fn hosts(text: &str, span: &Range<usize>, found: &mut Found) -> Vec<String> {
    hostlist::expand(text).unwrap_or_else(|error| {
        let help = error.help.unwrap_or_else(|| "such as `n[00-15]`".to_owned());
        found.add(ProblemKind::BadHostlist, span, error.reason, help);
        Vec::new()
    })
}

fn name_help(bad: &str) -> String {
    match guess::name(bad, limits::NAME) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "start with a letter or digit and use letters, digits, `-`, `_` and `.`".to_owned(),
    }
}

fn valid_name(name: &str) -> bool {
    (1..=limits::NAME).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
}

fn bad_name(name: &str) -> String {
    format!("`{name}` is not a name of 1 to {} characters", limits::NAME)
}
