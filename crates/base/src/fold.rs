//! Folds addresses that are treated alike into prefixes, so that one route serves many of them.
//!
//! The prefixes are disjoint. Each is the longest one that holds its addresses, and holds no other address that is
//! known; addresses that nobody has may lie between. So an address that must not be covered is given with `None`.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::units::Prefix;

/// Returns disjoint prefixes that hold exactly the addresses with `Some`, each with the value that all its addresses
/// have. They are the fewest that divide the known addresses, which are ascending and distinct, by halving ranges of bits.
/// O(addresses x bits).
#[must_use]
pub fn fold<T: PartialEq + Clone>(all: &[(IpAddr, Option<T>)]) -> BTreeMap<Prefix, T> {
    let mut found = BTreeMap::new();
    // IPv4 addresses sort before IPv6 ones.
    let (v4, v6) = all.split_at(all.partition_point(|(address, _)| address.is_ipv4()));
    let mut open = vec![v4, v6];
    while let Some(part) = open.pop() {
        let (Some((low, value)), Some((high, _))) = (part.first(), part.last()) else { continue };
        let prefix = around(*low, *high);
        if part.iter().all(|(_, other)| other == value) {
            found.extend(value.clone().map(|value| (prefix, value)));
            continue;
        }
        let half = Prefix::containing(*low, prefix.len + 1);
        let (lower, upper) = part.split_at(part.partition_point(|(a, _)| half.contains(*a)));
        open.extend([lower, upper]);
    }
    found
}

/// The longest prefix that holds two addresses of one family.
fn around(low: IpAddr, high: IpAddr) -> Prefix {
    let mut prefix = Prefix::host(low);
    while !prefix.contains(high) {
        prefix = Prefix::containing(low, prefix.len - 1);
    }
    prefix
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(of: &[(&str, Option<u32>)]) -> Vec<String> {
        let of = of.iter().map(|(address, value)| (address.parse().unwrap(), *value));
        fold(&of.collect::<Vec<_>>())
            .iter()
            .map(|(prefix, value)| format!("{prefix} {value}"))
            .collect()
    }

    #[test]
    fn what_is_alike_becomes_one_prefix_and_holes_are_covered() {
        let block = [("10.0.0.1", Some(1)), ("10.0.0.2", Some(1)), ("10.0.0.4", Some(1))];
        assert_eq!(folded(&block), ["10.0.0.0/29 1"]);
        let both = [("10.0.0.1", Some(1)), ("10.0.0.9", Some(2)), ("10.0.0.10", Some(2))];
        assert_eq!(folded(&both), ["10.0.0.1/32 1", "10.0.0.8/30 2"]);
        let families = [("10.0.0.1", Some(1)), ("fd77::1", Some(1)), ("fd77::2", Some(1))];
        assert_eq!(folded(&families), ["10.0.0.1/32 1", "fd77::/126 1"]);
        assert_eq!(folded(&[]), [""; 0]);
    }

    #[test]
    fn an_address_without_a_value_is_in_no_prefix() {
        let block = [
            ("10.0.0.0", Some(1)),
            ("10.0.0.1", None),
            ("10.0.0.2", Some(1)),
            ("10.0.0.3", Some(1)),
        ];
        assert_eq!(folded(&block), ["10.0.0.0/32 1", "10.0.0.2/31 1"]);
    }

    /// All 3^6 ways to give six addresses two values or none.
    #[test]
    fn every_known_address_is_in_the_one_prefix_of_its_value() {
        let addresses: [IpAddr; 6] =
            ["10.0.0.0", "10.0.0.1", "10.0.0.3", "10.0.0.4", "10.0.0.6", "10.0.0.9"]
                .map(|text| text.parse().unwrap());
        for code in 0..3_u32.pow(6) {
            let value = |at: u32| Some(code / 3_u32.pow(at) % 3).filter(|value| *value > 0);
            let of: Vec<(IpAddr, Option<u32>)> =
                addresses.iter().zip(0..).map(|(a, at)| (*a, value(at))).collect();
            let prefixes = fold(&of);
            for (address, value) in &of {
                let mut held = prefixes.iter().filter(|(prefix, _)| prefix.contains(*address));
                assert_eq!(held.next().map(|(_, v)| *v), *value);
                assert!(held.next().is_none());
            }
        }
    }
}
