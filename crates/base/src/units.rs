//! Quantities with their units: MAC addresses, link rates, address prefixes.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A 48-bit MAC address; the bytes are in transmission order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Mac(pub [u8; 6]);

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl fmt::Debug for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The error of a text that is not a MAC address, a rate or a prefix: the text, and what was expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {expected}")]
pub struct UnitError {
    /// The offending text.
    pub text: String,
    /// What was expected, with an example.
    pub expected: &'static str,
}

impl FromStr for Mac {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let error =
            || UnitError { text: text.into(), expected: "a MAC address such as 02:00:00:00:00:01" };
        let mut bytes = [0; 6];
        let mut parts = text.split([':', '-']);
        for byte in &mut bytes {
            let hex = |p: &&str| p.len() == 2 && p.bytes().all(|b| b.is_ascii_hexdigit());
            let part = parts.next().filter(hex).ok_or_else(error)?;
            *byte = u8::from_str_radix(part, 16).map_err(|_| error())?;
        }
        if parts.next().is_some() { Err(error()) } else { Ok(Self(bytes)) }
    }
}

/// A link rate in bits per second, written `1G`, `100M`, `2.5G`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(pub u64);

impl Rate {
    /// 1 Gbit/s, the default of the cluster file.
    pub const GIGABIT: Self = Self(1_000_000_000);
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (unit, name) in [(1_000_000_000, "G"), (1_000_000, "M"), (1_000, "K")] {
            if self.0 >= unit && self.0.is_multiple_of(unit / 1000) {
                let (whole, part) = (self.0 / unit, self.0 % unit / (unit / 1000));
                return if part == 0 {
                    write!(f, "{whole}{name}")
                } else {
                    let part = format!("{part:03}");
                    write!(f, "{whole}.{}{name}", part.trim_end_matches('0'))
                };
            }
        }
        write!(f, "{}", self.0)
    }
}

impl FromStr for Rate {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let error = || UnitError { text: text.into(), expected: "a rate such as 1G, 2.5G or 100M" };
        let unit = match text.chars().last() {
            Some('G') => 1_000_000_000,
            Some('M') => 1_000_000,
            Some('K') => 1_000,
            _ => 1,
        };
        let number = if unit == 1 { text } else { &text[..text.len() - 1] };
        let (whole, part) = number.split_once('.').unwrap_or((number, ""));
        let digits = |t: &str| t.bytes().all(|b| b.is_ascii_digit());
        if whole.is_empty() || !digits(whole) || !digits(part) || part.len() > 3 {
            return Err(error());
        }
        let thousandths: u64 = format!("{part:0<3}").parse().map_err(|_| error())?;
        let whole: u64 = whole.parse().map_err(|_| error())?;
        whole
            .checked_mul(unit)
            .and_then(|bps| bps.checked_add(thousandths * unit / 1000))
            .filter(|bps| *bps > 0)
            .map(Self)
            .ok_or_else(error)
    }
}

/// An IPv4 or IPv6 address prefix, such as `10.77.0.0/16`, with no host bits set.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefix {
    /// The network address.
    pub address: IpAddr,
    /// The number of network bits: at most 32 or 128.
    pub len: u8,
}

impl Prefix {
    /// All addresses of IPv4 or of IPv6: the destination of a default route.
    #[must_use]
    pub const fn everything(ipv4: bool) -> Self {
        let address = match ipv4 {
            true => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            false => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        Self { address, len: 0 }
    }

    /// Returns the /32 or /128 prefix of one address.
    #[must_use]
    pub const fn host(address: IpAddr) -> Self {
        Self { address, len: if address.is_ipv4() { 32 } else { 128 } }
    }

    /// Returns the prefix of length `len` that contains `address`. `len` is at most the width of the family.
    #[must_use]
    pub fn containing(address: IpAddr, len: u8) -> Self {
        let bits = mask(address, len);
        let address = match address {
            IpAddr::V4(_) => Ipv4Addr::from(bits as u32).into(),
            IpAddr::V6(_) => Ipv6Addr::from(bits).into(),
        };
        Self { address, len }
    }

    /// Returns the number of bits of an address of this family: 32 or 128.
    #[must_use]
    pub const fn width(&self) -> u8 {
        if self.address.is_ipv4() { 32 } else { 128 }
    }

    /// Whether `address` is of the same family and within this prefix.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        address.is_ipv4() == self.address.is_ipv4() && mask(address, self.len) == bits(self.address)
    }

    /// The fewest prefixes that hold the same addresses as `prefixes`, in ascending order.
    #[must_use]
    pub fn merged(prefixes: impl IntoIterator<Item = Self>) -> Vec<Self> {
        let mut all: Vec<Self> = prefixes.into_iter().collect();
        all.sort_unstable();
        let mut merged: Vec<Self> = Vec::new();
        for prefix in all {
            if merged
                .last()
                .is_some_and(|last| last.len <= prefix.len && last.contains(prefix.address))
            {
                continue;
            }
            merged.push(prefix);
            while let [.., first, second] = merged[..]
                && first.len == second.len
                && first.len > 0
                && Self::containing(first.address, first.len - 1).contains(second.address)
            {
                merged.truncate(merged.len() - 2);
                merged.push(Self::containing(first.address, first.len - 1));
            }
        }
        merged
    }

    /// Whether the two prefixes share an address.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        self.contains(other.address) || other.contains(self.address)
    }

    /// Returns the `n`-th address of the prefix (0 is the network address); `None` past its end.
    #[must_use]
    pub fn nth(&self, n: u128) -> Option<IpAddr> {
        let room = u32::from(self.width() - self.len);
        if room < 128 && n >> room != 0 {
            return None;
        }
        let bits = bits(self.address) | n;
        Some(match self.address {
            IpAddr::V4(_) => Ipv4Addr::from(bits as u32).into(),
            IpAddr::V6(_) => Ipv6Addr::from(bits).into(),
        })
    }

    /// Returns the number of host addresses: all but the network address and, in IPv4, the broadcast address.
    #[must_use]
    pub fn hosts(&self) -> u128 {
        let host_bits = u32::from(self.width().saturating_sub(self.len));
        let all = if host_bits >= 128 { u128::MAX } else { (1 << host_bits) - 1 };
        if self.address.is_ipv4() { all.saturating_sub(1) } else { all }
    }

    /// Returns the `n`-th host address, counted from 0; `None` past the last one.
    #[must_use]
    pub fn nth_host(&self, n: u128) -> Option<IpAddr> {
        (n < self.hosts()).then(|| self.nth(n + 1)).flatten()
    }

    /// Whether `address` is in this prefix and is neither its network nor its broadcast address.
    #[must_use]
    pub fn is_host(&self, address: IpAddr) -> bool {
        self.contains(address)
            && address != self.address
            && (address.is_ipv6() || Some(address) != self.nth(self.hosts() + 1))
    }

    /// Returns the longest prefix length of this family that has room for `count` hosts; 0 if none has.
    #[must_use]
    pub fn len_for(&self, count: u128) -> u8 {
        let fits = |len: &u8| Self::containing(self.address, *len).hosts() >= count;
        (0..=self.width()).rev().find(fits).unwrap_or(0)
    }
}

fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(a) => u128::from(u32::from(a)),
        IpAddr::V6(a) => a.into(),
    }
}

fn mask(address: IpAddr, len: u8) -> u128 {
    let width: u8 = if address.is_ipv4() { 32 } else { 128 };
    let host = u32::from(width.saturating_sub(len));
    if host >= 128 { 0 } else { bits(address) >> host << host }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.len)
    }
}

impl fmt::Debug for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Prefix {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let error = |expected| UnitError { text: text.into(), expected };
        let shape = "a prefix such as 10.77.0.0/16 or fd77::/64";
        let (address, len) = text.split_once('/').ok_or_else(|| error(shape))?;
        let address: IpAddr = address.parse().map_err(|_| error(shape))?;
        let digits = !len.is_empty() && len.bytes().all(|b| b.is_ascii_digit());
        let len: u8 = len.parse().ok().filter(|_| digits).ok_or_else(|| error(shape))?;
        let prefix = Self { address, len };
        if len > prefix.width() {
            return Err(error("a prefix: the length is larger than the address"));
        }
        if mask(address, len) != bits(address) {
            return Err(error("a prefix: bits are set after the prefix length"));
        }
        Ok(prefix)
    }
}

macro_rules! as_text {
    ($($name:ident),*) => {$(
        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                String::deserialize(d)?.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}
as_text!(Mac, Rate, Prefix);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_round_trip() {
        for text in ["1G", "2.5G", "100M", "64K", "1.25M"] {
            assert_eq!(text.parse::<Rate>().unwrap().to_string(), text);
        }
        for text in ["10.77.0.0/16", "fd77::/64", "0.0.0.0/0", "::/0", "10.0.0.1/32"] {
            assert_eq!(text.parse::<Prefix>().unwrap().to_string(), text);
        }
        assert_eq!("02:AB:00:00:00:01".parse::<Mac>().unwrap().to_string(), "02:ab:00:00:00:01");
    }

    #[test]
    fn neighbouring_prefixes_are_one() {
        let merged = |texts: &[&str]| -> Vec<String> {
            let all = texts.iter().map(|text| text.parse().unwrap());
            Prefix::merged(all).iter().map(ToString::to_string).collect()
        };
        assert_eq!(
            merged(&["10.0.3.0/24", "10.0.0.0/24", "10.0.2.0/24", "10.0.1.0/24", "10.0.1.7/32"]),
            ["10.0.0.0/22"]
        );
        assert_eq!(merged(&["10.0.1.0/24", "10.0.2.0/24"]), ["10.0.1.0/24", "10.0.2.0/24"]);
        assert_eq!(
            merged(&["fd00::/64", "0.0.0.0/1", "128.0.0.0/1", "fd00:0:0:1::/64"]),
            ["0.0.0.0/0", "fd00::/63"]
        );
        assert_eq!(merged(&["::/0", "0.0.0.0/0"]), ["0.0.0.0/0", "::/0"]);
    }

    #[test]
    fn bad_texts_are_refused() {
        for text in ["", "G", "1.2345G", "-1G", "0", "99999999999999999999G", "1 G"] {
            assert!(text.parse::<Rate>().is_err(), "{text}");
        }
        for text in ["10.77.0.0", "10.77.0.1/16", "10.0.0.0/33", "x/8", "fd77::1/64", "10.0.0.0/+8"]
        {
            assert!(text.parse::<Prefix>().is_err(), "{text}");
        }
        for text in
            ["", "02:00:00:00:00", "02:00:00:00:00:01:02", "zz:00:00:00:00:01", "02:+f:00:00:00:01"]
        {
            assert!(text.parse::<Mac>().is_err(), "{text}");
        }
    }

    #[test]
    fn nth_stays_inside() {
        let prefix: Prefix = "10.77.0.0/30".parse().unwrap();
        assert_eq!(prefix.nth(3), Some("10.77.0.3".parse().unwrap()));
        assert_eq!(prefix.nth(4), None);
        let all: Prefix = "::/0".parse().unwrap();
        assert!(all.nth(u128::MAX).is_some());
    }

    #[test]
    fn hosts_exclude_network_and_broadcast() {
        let of = |text: &str| text.parse::<Prefix>().unwrap().hosts();
        assert_eq!((of("10.0.0.0/24"), of("10.0.0.0/30"), of("10.0.0.0/31")), (254, 2, 0));
        assert_eq!((of("10.0.0.0/32"), of("fd00::/120"), of("fd00::/128")), (0, 255, 0));
        assert_eq!(of("::/0"), u128::MAX);
    }
}
