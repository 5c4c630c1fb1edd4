//! Rules by arriving interface or source address: written as messages of netlink-packet-route, read in
//! place.
//!
//! Source: net/core/fib_rules.c, include/uapi/linux/fib_rules.h. `struct fib_rule_hdr`, host byte order:
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 4 | family, dst_len, src_len, tos |
//! | 4 | 1 | table, 0: see FRA_TABLE |
//! | 5 | 2 | reserved |
//! | 7 | 1 | action, FR_ACT_TO_TBL or FR_ACT_UNREACHABLE |
//! | 8 | 4 | flags |

use std::net::IpAddr;

use netlink_packet_route::AddressFamily;
use netlink_packet_route::route::RouteProtocol;
use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleMessage};
use tresse_fabric::reconcile::{FromRule, PROTOCOL, Rule, TABLES};
use tresse_fabric::units::Prefix;

use super::message::{Attributes, Malformed, word};

pub(super) const RTM_NEWRULE: u16 = 32;
pub(super) const RTM_DELRULE: u16 = 33;
pub(super) const RTM_GETRULE: u16 = 34;
/// Bytes of `struct fib_rule_hdr`.
pub(super) const RULE_HEADER: usize = 12;

const FR_ACT_TO_TBL: u8 = 1;
const FR_ACT_UNREACHABLE: u8 = 7;
const FIB_RULE_INVERT: u32 = 2;
const FRA_SRC: u16 = 2;
const FRA_IIFNAME: u16 = 3;
const FRA_PRIORITY: u16 = 6;
const FRA_SUPPRESS_PREFIXLEN: u16 = 14;
const FRA_TABLE: u16 = 15;
const FRA_PAD: u16 = 18;
const FRA_PROTOCOL: u16 = 21;

/// The body of an RTM_NEWRULE or RTM_DELRULE of ours.
pub(super) fn rule_message(rule: &Rule) -> RuleMessage {
    let arriving = RuleAttribute::Iifname(rule.interface.clone());
    message(rule.ipv4, arriving, Some(rule.table), rule.table)
}

/// The same of a rule by source address.
pub(super) fn from_rule_message(rule: &FromRule) -> RuleMessage {
    let table = Some(rule.table).filter(|_| !rule.unreachable);
    let source = RuleAttribute::Source(rule.source);
    let mut message = message(rule.source.is_ipv4(), source, table, rule.priority());
    message.header.src_len = Prefix::host(rule.source).len;
    message
}

/// What matches is looked up in a table, or without one is unreachable.
fn message(ipv4: bool, matches: RuleAttribute, table: Option<u32>, priority: u32) -> RuleMessage {
    let mut message = RuleMessage::default();
    message.header.family = family(ipv4);
    message.header.action =
        if table.is_some() { RuleAction::ToTable } else { RuleAction::Unreachable };
    message.attributes.push(matches);
    message.attributes.extend(table.map(RuleAttribute::Table));
    message.attributes.push(RuleAttribute::Priority(priority));
    message.attributes.push(RuleAttribute::Protocol(RouteProtocol::Other(PROTOCOL)));
    message
}

pub(super) const fn family(ipv4: bool) -> AddressFamily {
    if ipv4 { AddressFamily::Inet } else { AddressFamily::Inet6 }
}

/// What a rule message tells that concerns us. A rule that asks for anything more than ours do is not
/// ours: undo could not restore it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SeenRule {
    /// FRA_TABLE; 0 where the rule leads to none.
    pub table: u32,
    /// FRA_PROTOCOL.
    pub protocol: u8,
    /// The rule, where it is one of ours by arriving interface.
    pub arriving: Option<Rule>,
    /// The rule, where it is one of ours by source address.
    pub from: Option<FromRule>,
}

impl SeenRule {
    /// Reads a message body.
    pub fn parse(payload: &[u8]) -> Result<Self, Malformed> {
        let attributes = Attributes::after(payload, RULE_HEADER, "fib_rule_hdr")?;
        let mut seen = Fields {
            table: u32::from(payload[4]),
            plain: [payload[1], payload[3]] == [0; 2] && word(payload, 8) & FIB_RULE_INVERT == 0,
            ..Fields::default()
        };
        for attribute in attributes {
            let attribute = attribute?;
            match attribute.kind {
                FRA_TABLE => seen.table = attribute.u32("FRA_TABLE")?,
                FRA_PROTOCOL => seen.protocol = attribute.u8("FRA_PROTOCOL")?,
                FRA_SRC => seen.source = Some(attribute.address("FRA_SRC")?),
                FRA_IIFNAME => seen.interface = Some(attribute.text()),
                FRA_PRIORITY => seen.priority = attribute.u32("FRA_PRIORITY")?,
                FRA_PAD => {}
                // The kernel tells it always: of no prefix at all.
                FRA_SUPPRESS_PREFIXLEN => {
                    seen.plain &= attribute.u32("FRA_SUPPRESS_PREFIXLEN")? == u32::MAX;
                }
                _ => seen.plain = false,
            }
        }
        let (family, src_len, action) = (i32::from(payload[0]), payload[2], payload[7]);
        let (arriving, from) = match seen.plain && seen.protocol == PROTOCOL {
            true => (seen.arriving(family, src_len, action), seen.from(src_len, action)),
            false => (None, None),
        };
        Ok(Self { table: seen.table, protocol: seen.protocol, arriving, from })
    }
}

/// The attributes that ours have.
#[derive(Default)]
struct Fields {
    table: u32,
    protocol: u8,
    priority: u32,
    source: Option<IpAddr>,
    interface: Option<String>,
    /// Is there none that ours do not have?
    plain: bool,
}

impl Fields {
    fn arriving(&self, family: i32, src_len: u8, action: u8) -> Option<Rule> {
        let ipv4 = match family {
            libc::AF_INET => true,
            libc::AF_INET6 => false,
            _ => return None,
        };
        let alone = self.source.is_none() && src_len == 0 && action == FR_ACT_TO_TBL;
        let known = alone && self.priority == self.table && TABLES.contains(&self.table);
        let interface = self.interface.clone().filter(|_| known)?;
        Some(Rule { table: self.table, ipv4, interface })
    }

    fn from(&self, src_len: u8, action: u8) -> Option<FromRule> {
        let source = self.source.filter(|_| self.interface.is_none())?;
        let rule = match action {
            FR_ACT_TO_TBL => FromRule { source, table: self.table, unreachable: false },
            FR_ACT_UNREACHABLE => {
                let behind = FromRule { source, table: 0, unreachable: true }.priority();
                let table = self.priority.saturating_sub(behind);
                FromRule { source, table, unreachable: true }
            }
            _ => return None,
        };
        let known = FromRule::TABLES.contains(&rule.table) && rule.priority() == self.priority;
        Some(rule).filter(|_| known && src_len == Prefix::host(source).len)
    }
}

#[cfg(test)]
mod tests {
    use netlink_packet_core::Emitable;
    use proptest::prelude::*;

    use super::super::message::write_attribute;
    use super::*;

    fn bytes(message: &RuleMessage) -> Vec<u8> {
        let mut bytes = vec![0; message.buffer_len()];
        message.emit(&mut bytes);
        bytes
    }

    fn rule(table: u32, ipv4: bool) -> Rule {
        Rule { table, ipv4, interface: "eth0".into() }
    }

    fn from(source: &str, unreachable: bool) -> FromRule {
        FromRule { source: source.parse().unwrap(), table: 7865, unreachable }
    }

    /// What is read of a message with one more attribute.
    fn with(message: &[u8], kind: u16, value: &[u8]) -> SeenRule {
        let mut bytes = message.to_vec();
        write_attribute(&mut bytes, kind, value);
        SeenRule::parse(&bytes).unwrap()
    }

    #[test]
    fn rules_are_the_kernels_bytes() {
        #[rustfmt::skip]
        let expected = [
            2, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0,
            9, 0, 3, 0, b'e', b't', b'h', b'0', 0, 0, 0, 0,
            8, 0, 15, 0, 0x79, 0x1e, 0, 0,
            8, 0, 6, 0, 0x79, 0x1e, 0, 0,
            5, 0, 21, 0, 78, 0, 0, 0,
        ];
        assert_eq!(bytes(&rule_message(&rule(7801, true))), expected);
        #[rustfmt::skip]
        let expected = [
            2, 0, 32, 0, 0, 0, 0, 7, 0, 0, 0, 0,
            8, 0, 2, 0, 10, 78, 0, 1,
            8, 0, 6, 0, 0xf9, 0x1e, 0, 0,
            5, 0, 21, 0, 78, 0, 0, 0,
        ];
        assert_eq!(bytes(&from_rule_message(&from("10.78.0.1", true))), expected);
    }

    #[test]
    fn rules_of_others_are_told_apart() {
        for ipv4 in [true, false] {
            let written = bytes(&rule_message(&rule(7800, ipv4)));
            let arriving = Some(rule(7800, ipv4));
            let seen = SeenRule { table: 7800, protocol: PROTOCOL, arriving, from: None };
            assert_eq!(SeenRule::parse(&written), Ok(seen.clone()));
            assert_eq!(with(&written, FRA_SUPPRESS_PREFIXLEN, &[0xff; 4]), seen);
            assert_eq!(with(&written, FRA_SUPPRESS_PREFIXLEN, &[0; 4]).arriving, None);
            assert_eq!(with(&written, 10, &[1, 0, 0, 0]).arriving, None, "FRA_FWMARK");
            assert_eq!(with(&written, FRA_PROTOCOL, &[4]).arriving, None);
            assert_eq!(with(&written, FRA_PRIORITY, &[1, 0, 0, 0]).arriving, None);
            assert_eq!(with(&written, FRA_TABLE, &[254, 0, 0, 0]).arriving, None);
            assert_eq!(with(&written, FRA_SRC, &[10, 78, 0, 1]).arriving, None);
        }
        assert!(SeenRule::parse(&[2; 11]).is_err());
    }

    #[test]
    fn rules_by_source_are_read_as_written_and_others_are_told_apart() {
        for (source, unreachable) in
            [("10.78.0.1", false), ("10.78.0.1", true), ("fd78::1", false), ("fd78::1", true)]
        {
            let rule = from(source, unreachable);
            let written = bytes(&from_rule_message(&rule));
            let seen = SeenRule::parse(&written).unwrap();
            assert_eq!((seen.from, seen.arriving), (Some(rule), None));
            assert!(with(&written, FRA_SUPPRESS_PREFIXLEN, &[0xff; 4]).from.is_some());
            assert_eq!(with(&written, FRA_PROTOCOL, &[4]).from, None);
            assert_eq!(with(&written, FRA_PRIORITY, &[1, 0, 0, 0]).from, None);
            assert_eq!(with(&written, 10, &[1, 0, 0, 0]).from, None, "FRA_FWMARK");
            assert_eq!(with(&written, FRA_IIFNAME, b"eth0\0").from, None);
            let mut subnet = written.clone();
            subnet[2] = 24;
            assert_eq!(SeenRule::parse(&subnet).unwrap().from, None);
            assert!(SeenRule::parse(&written[..written.len() - 4]).is_err());
        }
    }

    proptest! {
        #[test]
        fn any_bytes_end_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = SeenRule::parse(&bytes);
        }
    }
}
