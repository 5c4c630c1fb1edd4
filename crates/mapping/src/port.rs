//! Names of switch ports, as each vendor spells them: which number of the cluster file a name stands for, whether two
//! spellings are one port, and what a MAC looks like.

use std::collections::BTreeSet;

use tresse_base::units::Mac;

/// The largest port number of a cluster file.
const MOST: u32 = 65_535;

/// How the last number in a port's name becomes the number in the cluster file, which counts from 1. It is the inverse
/// of what the export formats write.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Numbering {
    /// `Gi1/0/3`, `Ethernet3`, `ether3` and `swp3` are port 3.
    #[default]
    FromOne,
    /// `ge-0/0/2` is port 3.
    FromZero,
    /// `Ethernet8` is port 9, or 3 where every port has four lanes.
    Sonic,
}

/// Returns the number in the cluster file of a switch's port; `None` without a number in the name. `all` are the
/// ports that the switch names.
pub(crate) fn number(port: &str, numbering: Numbering, all: &BTreeSet<&str>) -> Option<u32> {
    let last = last_number(port)?;
    let number = match numbering {
        Numbering::FromOne if is_junos(port) => last.checked_add(1)?,
        Numbering::FromOne => last,
        Numbering::FromZero => last.checked_add(1)?,
        Numbering::Sonic => {
            let lanes = all.iter().filter(|name| name.starts_with("Ethernet"));
            let by_four = lanes.filter_map(|name| last_number(name)).all(|n| n % 4 == 0);
            if by_four { last / 4 + 1 } else { last.checked_add(1)? }
        }
    };
    (1..=MOST).contains(&number).then_some(number)
}

/// Junos counts ports from 0; its names of ports are `ge-0/0/0` and the like.
fn is_junos(port: &str) -> bool {
    ["ge-", "mge-", "xe-", "et-", "fe-"].iter().any(|prefix| port.starts_with(prefix))
}

/// The last number of a name, without a Junos unit: 3 of `Gi1/0/3`, 0 of `ge-0/0/0.0`.
fn last_number(port: &str) -> Option<u32> {
    let port = without_unit(port);
    let end = port.trim_end_matches(|c: char| !c.is_ascii_digit());
    let digits = end.len() - end.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    end[end.len() - digits..].parse().ok()
}

/// `ge-0/0/0` of `ge-0/0/0.0`.
pub(crate) fn without_unit(port: &str) -> &str {
    match port.rsplit_once('.') {
        Some((name, unit)) if name.contains('/') && unit.bytes().all(|b| b.is_ascii_digit()) => {
            name
        }
        _ => port,
    }
}

/// Whether two spellings are one port of one switch: `Gi1/0/7` and `GigabitEthernet1/0/7`.
pub(crate) fn same(a: &str, b: &str) -> bool {
    let (a, b) = (without_unit(a), without_unit(b));
    a.eq_ignore_ascii_case(b)
        || is_short(letters(a), letters(b))
            && !number_part(a).is_empty()
            && number_part(a) == number_part(b)
}

/// Whether two names are spelt alike and have other numbers, so that they are two ports: `Gi1/0/7` and `Gi1/0/8`. Numbers
/// alone say nothing: one may count otherwise than the other.
pub(crate) fn differ(a: &str, b: &str) -> bool {
    let (a, b) = (without_unit(a), without_unit(b));
    let (x, y) = (letters(a), letters(b));
    let alike = !x.is_empty() && x.eq_ignore_ascii_case(y) || is_short(x, y);
    let number = |name: &str| {
        let number = number_part(name);
        !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit() || b"/:.-".contains(&b))
    };
    alike && number(a) && number(b) && number_part(a) != number_part(b)
}

/// What comes before the first digit of a port's name.
fn letters(name: &str) -> &str {
    name[..digit(name)].trim_end()
}

/// A port's name from its first digit on: `1/0/7` of `Gi1/0/7`. Names that are the [`same`] have the same.
pub(crate) fn number_part(name: &str) -> &str {
    let name = without_unit(name);
    &name[digit(name)..]
}

/// Where the first digit of a name is; its end if it has none.
fn digit(name: &str) -> usize {
    name.find(|c: char| c.is_ascii_digit()).unwrap_or(name.len())
}

/// Whether one of two words is the beginning of the other.
fn is_short(a: &str, b: &str) -> bool {
    let (a, b) = (a.to_ascii_lowercase(), b.to_ascii_lowercase());
    a.len().min(b.len()) >= 2 && (a.starts_with(&b) || b.starts_with(&a))
}

/// A MAC in any of the spellings of switches: `02:00:00:00:00:01`, `02-00-00-00-00-01`, `0200.0000.0001`.
pub(crate) fn mac(text: &str) -> Option<Mac> {
    if let Ok(mac) = text.parse() {
        return Some(mac);
    }
    let groups: Vec<&str> = text.split(['.', '-', ':']).collect();
    let whole = groups.len() == 3 && groups.iter().all(|group| group.len() == 4);
    if !whole || !groups.iter().all(|group| group.bytes().all(|b| b.is_ascii_hexdigit())) {
        return None;
    }
    let number = u64::from_str_radix(&groups.concat(), 16).ok()?;
    let [_, _, bytes @ ..] = number.to_be_bytes();
    Some(Mac(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_that_exports_write() {
        let none = BTreeSet::new();
        for (name, numbering, wanted) in [
            ("GigabitEthernet1/0/3", Numbering::FromOne, Some(3)),
            ("Ethernet3", Numbering::FromOne, Some(3)),
            ("ether12", Numbering::FromOne, Some(12)),
            ("p7", Numbering::FromOne, Some(7)),
            ("ge-0/0/0", Numbering::FromOne, Some(1)),
            ("ge-0/0/0.0", Numbering::FromZero, Some(1)),
            ("Ethernet0", Numbering::Sonic, Some(1)),
            ("mgmt", Numbering::FromOne, None),
            ("Ethernet0", Numbering::FromOne, None),
            ("p4294967295", Numbering::FromZero, None),
            ("p99999999999", Numbering::FromOne, None),
        ] {
            assert_eq!(number(name, numbering, &none), wanted, "{name}");
        }
        let one_lane = BTreeSet::from(["Ethernet0", "Ethernet1", "Ethernet8"]);
        assert_eq!(number("Ethernet8", Numbering::Sonic, &one_lane), Some(9));
        let four_lanes = BTreeSet::from(["Ethernet0", "Ethernet4", "Ethernet8", "eth0"]);
        assert_eq!(number("Ethernet8", Numbering::Sonic, &four_lanes), Some(3));
    }

    #[test]
    fn spellings_of_one_port() {
        assert!(same("Gi1/0/7", "GigabitEthernet1/0/7") && same("Et3/1", "ethernet3/1"));
        assert!(same("xe-0/0/3.0", "xe-0/0/3") && same("p1", "p1"));
        assert!(!same("Gi1/0/7", "Gi1/0/17") && !same("Gi1/0/7", "Te1/0/7") && !same("7", "17"));
        assert!(differ("Gi1/0/7", "GigabitEthernet1/0/8") && differ("p7", "p17"));
        assert!(!differ("Gi1/0/7", "GigabitEthernet1/0/7") && !differ("502", "7"));
        assert!(!differ("p5-to-s0", "p7") && !differ("Gi1/0/7", "502"));
        let wanted = Mac([2, 0, 0x5e, 0, 0x10, 1]);
        for text in ["02:00:5e:00:10:01", "02-00-5E-00-10-01", "0200.5e00.1001"] {
            assert_eq!(mac(text), Some(wanted));
        }
        assert_eq!(mac("0200.5e00"), None);
        assert_eq!(mac("+200.5e00.1001"), None);
    }
}
