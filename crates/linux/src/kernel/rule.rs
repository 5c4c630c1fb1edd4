//! Encodes and decodes policy rules by arrival interface or by source address, with the types of
//! netlink-packet-route. Source: net/core/fib_rules.c, include/uapi/linux/fib_rules.h.

use std::net::IpAddr;

use netlink_packet_core::Parseable as _;
use netlink_packet_route::AddressFamily;
use netlink_packet_route::route::RouteProtocol;
use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleFlags, RuleHeader, RuleMessage};
use tresse_base::units::Prefix;
use tresse_reconcile::{PROTOCOL, Rule, SourceRule, TABLES};

use super::message::{MalformedMessage, attributes};

/// Bytes of `struct fib_rule_hdr`.
const RULE_HEADER: usize = 12;
/// Attribute that only aligns the next one.
const FRA_PAD: u16 = 18;

/// The body of the RTM_NEWRULE or RTM_DELRULE for a rule by arrival interface.
pub(super) fn rule_message(rule: &Rule) -> RuleMessage {
    let arriving = RuleAttribute::Iifname(rule.interface.clone());
    message(rule.ipv4, arriving, Some(rule.table), rule.table)
}

/// The body of the RTM_NEWRULE or RTM_DELRULE for a rule by source address.
pub(super) fn source_rule_message(rule: &SourceRule) -> RuleMessage {
    let table = Some(rule.table).filter(|_| !rule.unreachable);
    let source = RuleAttribute::Source(rule.source);
    let mut message = message(rule.source.is_ipv4(), source, table, rule.priority());
    message.header.src_len = Prefix::host(rule.source).len;
    message
}

/// The body of a rule that looks up `table`, or without a table makes matching packets unreachable.
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

/// The parts of a rule message that concern us. A rule with more conditions than ours have is not
/// ours: undo could not restore it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SeenRule {
    /// FRA_TABLE; 0 if the rule leads to no table.
    pub table: u32,
    /// FRA_PROTOCOL.
    pub protocol: u8,
    /// The rule, if it has the form of our rules by arrival interface.
    pub arriving: Option<Rule>,
    /// The rule, if it has the form of our rules by source address.
    pub from: Option<SourceRule>,
}

impl SeenRule {
    /// Decodes a message body. An attribute that cannot be decoded is one that our rules do not
    /// have.
    pub fn parse(payload: &[u8]) -> Result<Self, MalformedMessage> {
        let header = RuleHeader::parse(payload)?;
        let mut seen = Fields {
            table: header.table.into(),
            plain: [header.dst_len, header.tos] == [0; 2]
                && !header.flags.contains(RuleFlags::Invert),
            ..Fields::default()
        };
        for attribute in attributes(payload, RULE_HEADER, "fib_rule_hdr")? {
            let attribute = attribute?;
            match RuleAttribute::parse(&attribute) {
                Ok(RuleAttribute::Table(table)) => seen.table = table,
                Ok(RuleAttribute::Protocol(protocol)) => seen.protocol = protocol.into(),
                Ok(RuleAttribute::Source(source)) => seen.source = Some(source),
                Ok(RuleAttribute::Iifname(name)) => seen.interface = Some(name),
                Ok(RuleAttribute::Priority(priority)) => seen.priority = priority,
                // The kernel always sends it; this value means no prefix.
                Ok(RuleAttribute::SuppressPrefixLen(u32::MAX)) => {}
                _ => seen.plain &= attribute.kind() == FRA_PAD,
            }
        }
        let (arriving, from) = match seen.plain && seen.protocol == PROTOCOL {
            true => (seen.arriving(&header), seen.from(&header)),
            false => (None, None),
        };
        Ok(Self { table: seen.table, protocol: seen.protocol, arriving, from })
    }
}

/// The attributes that our rules have.
#[derive(Default)]
struct Fields {
    table: u32,
    protocol: u8,
    priority: u32,
    source: Option<IpAddr>,
    interface: Option<String>,
    /// Does the rule have no other attributes?
    plain: bool,
}

impl Fields {
    fn arriving(&self, header: &RuleHeader) -> Option<Rule> {
        let ipv4 = match header.family {
            AddressFamily::Inet => true,
            AddressFamily::Inet6 => false,
            _ => return None,
        };
        let alone = self.source.is_none() && header.src_len == 0;
        let looks_up = header.action == RuleAction::ToTable;
        let known = self.priority == self.table && TABLES.contains(&self.table);
        let interface = self.interface.clone().filter(|_| alone && looks_up && known)?;
        Some(Rule { table: self.table, ipv4, interface })
    }

    fn from(&self, header: &RuleHeader) -> Option<SourceRule> {
        let source = self.source.filter(|_| self.interface.is_none())?;
        let rule = match header.action {
            RuleAction::ToTable => SourceRule { source, table: self.table, unreachable: false },
            RuleAction::Unreachable => {
                let behind = SourceRule { source, table: 0, unreachable: true }.priority();
                let table = self.priority.saturating_sub(behind);
                SourceRule { source, table, unreachable: true }
            }
            _ => return None,
        };
        let known = SourceRule::TABLES.contains(&rule.table) && rule.priority() == self.priority;
        Some(rule).filter(|_| known && header.src_len == Prefix::host(source).len)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::message::{bytes, write_attribute};
    use super::*;

    const FRA_SRC: u16 = 2;
    const FRA_IIFNAME: u16 = 3;
    const FRA_PRIORITY: u16 = 6;
    const FRA_SUPPRESS_PREFIXLEN: u16 = 14;
    const FRA_TABLE: u16 = 15;
    const FRA_PROTOCOL: u16 = 21;

    fn rule(table: u32, ipv4: bool) -> Rule {
        Rule { table, ipv4, interface: "eth0".into() }
    }

    fn from(source: &str, unreachable: bool) -> SourceRule {
        SourceRule { source: source.parse().unwrap(), table: 7865, unreachable }
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
        assert_eq!(bytes(&source_rule_message(&from("10.78.0.1", true))), expected);
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
            let written = bytes(&source_rule_message(&rule));
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
