//! Resolves the table `[addressing]`: the IPv4 and IPv6 prefixes of node and NIC addresses. Checks that they have room
//! for every node and NIC.

use std::ops::Range;

use tresse_base::problem::{Found, ProblemKind};
use tresse_base::units::Prefix;
use tresse_topology::cluster::{AddressLayout, Addressing, Node, TopologyShape};
use tresse_topology::coordinates::NodeEncoding;
use tresse_topology::pmesh::{self, BaseTooSmall};

use crate::file::{Addressing as Table, LayoutName};
use crate::forms::Prefixes;
use crate::read::{At, Keys};

type Placed = (Prefix, Option<Range<usize>>);

pub(super) fn addressing(
    table: Option<&At<Table>>,
    nodes: &[Node],
    kind: Option<&TopologyShape>,
    found: &mut Found,
) -> Addressing {
    let table = table.map(|t| &t.value);
    let given = |key: Option<&At<Prefixes>>, name, found: &mut Found| {
        key.map(|key| prefixes(key, name, found)).unwrap_or_default()
    };
    let node_key = table.and_then(|t| t.nodes.as_ref());
    let nic_key = table.and_then(|t| t.nics.as_ref());
    let before = found.len();
    let read = table.is_none_or(|t| {
        let unread = |key: Option<&At<Prefixes>>, name| key.map_or(!t.lacks(name), |k| !k.whole);
        !unread(node_key, "nodes") && !unread(nic_key, "nics")
    });
    let mut node = given(node_key, "nodes", found);
    let mut nic = given(nic_key, "nics", found);
    if read && found.len() == before {
        default_families(node_key, &mut node, &nic, &Addressing::default().nodes[0], "fd77::/64");
        default_families(nic_key, &mut nic, &node, &Addressing::default().nics[0], "fd78::/64");
        same_families(node_key, nic_key, &node, &nic, found);
    }
    let layout_key = table.and_then(|t| t.layout.as_ref());
    let by_coordinates = layout_key.is_some_and(|key| key.value == LayoutName::Coordinates);
    if let (Some(kind), Some(key)) = (kind, layout_key)
        && by_coordinates
    {
        coordinates(&node, kind, &key.key, found);
    }
    if let Some(kind) = kind {
        let nics = nodes.iter().map(|n| n.nics.len()).sum();
        big_enough(&node, "node", nodes.len(), found);
        match kind {
            TopologyShape::Pmesh { grow_to, .. } => base_network(&nic, grow_to, found),
            _ => big_enough(&nic, "NIC", nics, found),
        }
    }
    for (a, at) in &node {
        for (b, other) in &nic {
            if a.overlaps(b) {
                let message = format!("`nodes` {a} and `nics` {b} share addresses");
                let help = "give them prefixes apart".to_owned();
                let span = other.as_ref().or(at.as_ref()).cloned().unwrap_or_default();
                found.add(ProblemKind::PrefixOverlap, &span, message, help);
            }
        }
    }
    let bare = |placed: Vec<Placed>| placed.into_iter().map(|(prefix, _)| prefix).collect();
    let layout = layout_key.map(|key| match key.value {
        LayoutName::Coordinates => AddressLayout::Coordinates,
        LayoutName::Sequential => AddressLayout::Sequential,
    });
    Addressing { nodes: bare(node), nics: bare(nic), layout }
}

/// Reports node addresses by coordinates where nodes have none, and prefixes that are too small for them.
fn coordinates(prefixes: &[Placed], kind: &TopologyShape, key: &Range<usize>, found: &mut Found) {
    let Some(encoding) = NodeEncoding::of(kind) else {
        let word = LayoutName::Coordinates.word();
        let message = format!("`layout = \"{word}\"` belongs to fabrics whose nodes route");
        let help = "remove it".to_owned();
        found.add(ProblemKind::UnknownKey, key, message, help);
        return;
    };
    for (prefix, span) in prefixes.iter().filter(|(prefix, _)| !encoding.fits(prefix)) {
        let bits = encoding.bits();
        let message = format!("{prefix} is too small for addresses by coordinates: {bits} bits");
        let help = format!("needs /{} or larger", encoding.longest_prefix(prefix));
        let span = span.as_ref().unwrap_or(key);
        found.add(ProblemKind::PrefixTooSmall, span, message, help);
    }
}

fn prefixes(key: &At<Prefixes>, name: &str, found: &mut Found) -> Vec<Placed> {
    if key.value.0.is_empty() && key.whole {
        let message = format!("`{name}` is empty");
        let help = "a prefix such as \"10.77.0.0/16\", or leave it out".to_owned();
        found.add(ProblemKind::EmptyList, &key.span, message, help);
    }
    let mut good: Vec<Placed> = Vec::new();
    for text in &key.value.0 {
        let Some(prefix) = unicast(text, found) else { continue };
        if let Some((other, _)) =
            good.iter().find(|(p, _)| p.address.is_ipv4() == prefix.address.is_ipv4())
        {
            let family = if prefix.address.is_ipv4() { "IPv4" } else { "IPv6" };
            let message = format!("`{name}` has two {family} prefixes: {other} and {prefix}");
            let help = "one prefix, or one IPv4 and one IPv6".to_owned();
            found.add(ProblemKind::PrefixOverlap, &text.span, message, help);
        } else {
            good.push((prefix, Some(text.span.clone())));
        }
    }
    good
}

/// Reads a prefix of addresses for unicast between hosts.
pub(super) fn unicast(text: &At<String>, found: &mut Found) -> Option<Prefix> {
    let (message, help) = match text.value.parse::<Prefix>() {
        Ok(prefix) if is_unicast(&prefix) => return Some(prefix),
        Ok(prefix) => {
            let help = "a private prefix such as 10.77.0.0/16 or fd77::/64".to_owned();
            (format!("`{prefix}` is not for unicast between hosts"), help)
        }
        Err(error) => {
            let help = nearest_prefix(&text.value)
                .unwrap_or_else(|| "such as \"10.77.0.0/16\" or \"fd77::/64\"".to_owned());
            (error.to_string(), help)
        }
    };
    found.add(ProblemKind::BadPrefix, &text.span, message, help);
    None
}

fn is_unicast(prefix: &Prefix) -> bool {
    let special =
        ["127.0.0.0/8", "224.0.0.0/4", "240.0.0.0/4", "0.0.0.0/8", "ff00::/8", "fe80::/10"];
    let special = special.iter().filter_map(|text| text.parse::<Prefix>().ok());
    !special.into_iter().any(|s| s.overlaps(prefix)) && !prefix.address.is_loopback()
}

/// Returns the prefix that was probably meant by a text with host bits set or with too large a length.
fn nearest_prefix(text: &str) -> Option<String> {
    let (address, len) = text.split_once('/').unwrap_or((text, ""));
    let address: std::net::IpAddr = address.trim().parse().ok()?;
    let width = Prefix::host(address).len;
    let usual = match address {
        // As many octets as are set, of a network that has some hosts.
        std::net::IpAddr::V4(v4) => (32 - v4.to_bits().trailing_zeros() as u8 / 8 * 8).clamp(8, 24),
        std::net::IpAddr::V6(_) => 64,
    };
    let len = len.trim().parse().ok().filter(|len| *len <= width).unwrap_or(usual);
    Some(format!("did you mean \"{}\"?", Prefix::containing(address, len)))
}

/// Gives an absent key its default prefix in each family of the other key.
fn default_families(
    key: Option<&At<Prefixes>>,
    mine: &mut Vec<Placed>,
    other: &[Placed],
    v4: &Prefix,
    v6: &str,
) {
    if key.is_some() {
        return;
    }
    if other.is_empty() || other.iter().any(|(p, _)| p.address.is_ipv4()) {
        mine.push((*v4, None));
    }
    if other.iter().any(|(p, _)| p.address.is_ipv6())
        && let Ok(v6) = v6.parse()
    {
        mine.push((v6, None));
    }
}

fn same_families(
    node_key: Option<&At<Prefixes>>,
    nic_key: Option<&At<Prefixes>>,
    nodes: &[Placed],
    nics: &[Placed],
    found: &mut Found,
) {
    let has = |list: &[Placed], v4: bool| list.iter().any(|(p, _)| p.address.is_ipv4() == v4);
    for (v4, family, example) in [(true, "IPv4", "10.78.0.0/16"), (false, "IPv6", "fd78::/64")] {
        let (with, without, span) = match (has(nodes, v4), has(nics, v4)) {
            (true, false) => ("nodes", "nics", nic_key),
            (false, true) => ("nics", "nodes", node_key),
            _ => continue,
        };
        let message = format!("`{with}` has an {family} prefix, `{without}` has none");
        let help = format!("add one such as {example} to `{without}`");
        let span = span.map(|key| key.span.clone()).unwrap_or_default();
        found.add(ProblemKind::BadPrefix, &span, message, help);
    }
}

/// Reports a base network that is too small for the NIC addresses of a P-Mesh.
fn base_network(prefixes: &[Placed], grow_to: &[u32], found: &mut Found) {
    for (prefix, span) in prefixes {
        if let Err(BaseTooSmall { prefix, sizes, bits, longest }) = pmesh::fits(prefix, grow_to) {
            let message = format!("{prefix} is too small for a P-Mesh of {sizes}: {bits} bits");
            let help = format!("use a /{longest} or larger");
            let span = span.clone().unwrap_or_default();
            found.add(ProblemKind::PrefixTooSmall, &span, message, help);
        }
    }
}

fn big_enough(prefixes: &[Placed], what: &str, count: usize, found: &mut Found) {
    for (prefix, span) in prefixes {
        let room = prefix.hosts();
        if room < count as u128 {
            let message = format!("{prefix} has {room} addresses for {count} {what}s");
            let help = format!("use a /{} or larger", prefix.len_for(count as u128));
            let span = span.clone().unwrap_or_default();
            found.add(ProblemKind::PrefixTooSmall, &span, message, help);
        }
    }
}
