//! Encodes and decodes policy rules by arrival interface or by source address, and those that keep packets of the
//! fabric inside it, with the types of
//! netlink-packet-route. Source: net/core/fib_rules.c, include/uapi/linux/fib_rules.h.

use std::net::IpAddr;

use netlink_packet_core::Parseable as _;
use netlink_packet_route::AddressFamily;
use netlink_packet_route::IpProtocol;
use netlink_packet_route::route::RouteProtocol;
use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleFlags, RuleHeader, RuleMessage};
use tresse_base::units::Prefix;
use tresse_reconcile::{GuardAction, GuardParts, GuardRule, PROTOCOL, Rule, SourceRule, TABLES};

use super::message::{MalformedMessage, attributes};

/// Bytes of `struct fib_rule_hdr`.
const RULE_HEADER: usize = 12;
/// What a rule for the table `local` (RT_TABLE_LOCAL) does.
const LOCAL: (RuleAction, Option<RuleAttribute>) =
    (RuleAction::ToTable, Some(RuleAttribute::Table(RT_TABLE_LOCAL)));
pub(super) const RT_TABLE_LOCAL: u32 = 255;
/// Attribute that only aligns the next one.
const FRA_PAD: u16 = 18;

/// The body of the RTM_NEWRULE or RTM_DELRULE for a rule by arrival interface.
pub(super) fn rule_message(rule: &Rule) -> RuleMessage {
    let arriving = RuleAttribute::Iifname(rule.interface.clone());
    let action = (RuleAction::ToTable, Some(RuleAttribute::Table(rule.table)));
    message(rule.ipv4, [arriving], action, rule.table)
}

/// The body of the RTM_NEWRULE or RTM_DELRULE for a rule by source address.
pub(super) fn source_rule_message(rule: &SourceRule) -> RuleMessage {
    let action = match rule.unreachable {
        true => (RuleAction::Unreachable, None),
        false => (RuleAction::ToTable, Some(RuleAttribute::Table(rule.table))),
    };
    let source = RuleAttribute::Source(rule.source);
    let mut message = message(rule.source.is_ipv4(), [source], action, rule.priority());
    message.header.src_len = Prefix::host(rule.source).len;
    message
}

/// The body of the RTM_NEWRULE or RTM_DELRULE for a rule that keeps packets of the fabric inside it.
pub(super) fn guard_rule_message(rule: &GuardRule) -> RuleMessage {
    let GuardParts { ipv4, priority, from, to, interface, icmp: is_icmp, action } = rule.parts();
    let action = match action {
        GuardAction::Nop => (RuleAction::Nop, None),
        GuardAction::Goto(target) => (RuleAction::Goto, Some(RuleAttribute::Goto(target))),
        GuardAction::Blackhole => (RuleAction::Blackhole, None),
        GuardAction::Table(table) => (RuleAction::ToTable, Some(RuleAttribute::Table(table))),
    };
    let matches = [
        from.map(|from| RuleAttribute::Source(from.address)),
        to.map(|to| RuleAttribute::Destination(to.address)),
        interface.map(RuleAttribute::Iifname),
        is_icmp.then(|| RuleAttribute::IpProtocol(icmp(ipv4))),
    ];
    let mut message = message(ipv4, matches.into_iter().flatten(), action, priority);
    let len = |prefix: Option<Prefix>| prefix.map_or(0, |prefix| prefix.len);
    (message.header.src_len, message.header.dst_len) = (len(from), len(to));
    message
}

const fn icmp(ipv4: bool) -> IpProtocol {
    if ipv4 { IpProtocol::Icmp } else { IpProtocol::Other(libc::IPPROTO_ICMPV6) }
}

/// The body of the RTM_NEWRULE or RTM_DELRULE for the kernel's own rule for the table `local`. `protocol`: none in a
/// deletion, which then fits whoever made the rule.
pub(super) fn local_rule_message(ipv4: bool, protocol: Option<RouteProtocol>) -> RuleMessage {
    let mut message = message(ipv4, [], LOCAL, 0);
    message.attributes.retain(|attribute| !matches!(attribute, RuleAttribute::Protocol(_)));
    message.attributes.extend(protocol.map(RuleAttribute::Protocol));
    message
}

/// The body of a rule. `action`: what it does, and with what.
fn message(
    ipv4: bool,
    matches: impl IntoIterator<Item = RuleAttribute>,
    action: (RuleAction, Option<RuleAttribute>),
    priority: u32,
) -> RuleMessage {
    let mut message = RuleMessage::default();
    message.header.family = family(ipv4);
    message.header.action = action.0;
    message.attributes.extend(matches);
    message.attributes.extend(action.1);
    message.attributes.push(RuleAttribute::Priority(priority));
    message.attributes.push(RuleAttribute::Protocol(RouteProtocol::Other(PROTOCOL)));
    message
}

pub(super) const fn family(ipv4: bool) -> AddressFamily {
    if ipv4 { AddressFamily::Inet } else { AddressFamily::Inet6 }
}

/// The parts of a rule message that concern us. A rule with more conditions than ours have is not
/// ours: undo could not restore it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct SeenRule {
    /// FRA_TABLE; 0 if the rule leads to no table.
    pub table: u32,
    /// FRA_PROTOCOL.
    pub protocol: u8,
    /// The rule, if it has the form of our rules by arrival interface.
    pub arriving: Option<Rule>,
    /// The rule, if it has the form of our rules by source address.
    pub from: Option<SourceRule>,
    /// The rule, if it has the form of those that keep packets of the fabric inside it.
    pub guard: Option<GuardRule>,
    /// Is it the rule for the table `local` at priority 0 that kernels have, of IPv4 (`true`) or IPv6?
    pub local: Option<bool>,
    /// Is it such a rule of somebody else at another priority?
    pub local_elsewhere: Option<bool>,
}

impl SeenRule {
    /// Decodes a message body. An attribute that cannot be decoded is one that our rules do not
    /// have.
    pub fn parse(payload: &[u8]) -> Result<Self, MalformedMessage> {
        let header = RuleHeader::parse(payload)?;
        let mut seen = Fields {
            table: header.table.into(),
            plain: header.tos == 0 && !header.flags.contains(RuleFlags::Invert),
            ..Fields::default()
        };
        for attribute in attributes(payload, RULE_HEADER, "fib_rule_hdr")? {
            let attribute = attribute?;
            match RuleAttribute::parse(&attribute) {
                Ok(RuleAttribute::Table(table)) => seen.table = table,
                Ok(RuleAttribute::Protocol(protocol)) => seen.protocol = protocol.into(),
                Ok(RuleAttribute::Source(source)) => seen.source = Some(source),
                Ok(RuleAttribute::Destination(to)) => seen.destination = Some(to),
                Ok(RuleAttribute::Goto(priority)) => seen.goto = Some(priority),
                Ok(RuleAttribute::Iifname(name)) => seen.interface = Some(name),
                Ok(RuleAttribute::Priority(priority)) => seen.priority = priority,
                Ok(RuleAttribute::IpProtocol(protocol)) => seen.ip_protocol = Some(protocol),
                // The kernel always sends it; this value means no prefix.
                Ok(RuleAttribute::SuppressPrefixLen(u32::MAX)) => {}
                _ => seen.plain &= attribute.kind() == FRA_PAD,
            }
        }
        let mut rule = Self { table: seen.table, protocol: seen.protocol, ..Self::default() };
        if seen.plain && seen.protocol == PROTOCOL {
            rule.guard = seen.guard(&header);
            let looks_up = header.dst_len == 0
                && (seen.destination, seen.goto, seen.ip_protocol) == (None, None, None);
            if looks_up {
                (rule.arriving, rule.from) = (seen.arriving(&header), seen.from(&header));
            }
        }
        if seen.plain && seen.protocol != PROTOCOL && seen.is_local(&header) {
            match seen.priority {
                0 => rule.local = is_ipv4(&header),
                _ => rule.local_elsewhere = is_ipv4(&header),
            }
        }
        Ok(rule)
    }
}

/// The attributes that our rules have.
#[derive(Default)]
struct Fields {
    table: u32,
    protocol: u8,
    priority: u32,
    source: Option<IpAddr>,
    destination: Option<IpAddr>,
    goto: Option<u32>,
    interface: Option<String>,
    ip_protocol: Option<IpProtocol>,
    /// Does the rule have no other attributes?
    plain: bool,
}

impl Fields {
    fn guard(&self, header: &RuleHeader) -> Option<GuardRule> {
        let ipv4 = is_ipv4(header)?;
        let prefix = |address: Option<IpAddr>, len| match address {
            Some(address) => Some(Some(Prefix { address, len })),
            None => (len == 0).then_some(None),
        };
        let (from, to) =
            (prefix(self.source, header.src_len)?, prefix(self.destination, header.dst_len)?);
        let action = match (header.action, self.goto) {
            (RuleAction::Nop, None) => GuardAction::Nop,
            (RuleAction::Goto, Some(target)) => GuardAction::Goto(target),
            (RuleAction::Blackhole, None) => GuardAction::Blackhole,
            (RuleAction::ToTable, None) => GuardAction::Table(self.table),
            _ => return None,
        };
        let is_icmp = match &self.ip_protocol {
            Some(protocol) if *protocol == icmp(ipv4) => true,
            None => false,
            Some(_) => return None,
        };
        let interface = self.interface.clone();
        let priority = self.priority;
        GuardRule::of_parts(&GuardParts {
            ipv4,
            priority,
            from,
            to,
            interface,
            icmp: is_icmp,
            action,
        })
    }

    /// Does every packet look up the table `local`?
    fn is_local(&self, header: &RuleHeader) -> bool {
        let all = self.is_of_all(header) && self.ip_protocol.is_none();
        all && header.action == RuleAction::ToTable && self.table == RT_TABLE_LOCAL
    }

    /// Does it match packets of all addresses and interfaces?
    fn is_of_all(&self, header: &RuleHeader) -> bool {
        self.interface.is_none()
            && (self.source, self.destination, self.goto) == (None, None, None)
            && (header.src_len, header.dst_len) == (0, 0)
    }

    fn arriving(&self, header: &RuleHeader) -> Option<Rule> {
        let ipv4 = is_ipv4(header)?;
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

fn is_ipv4(header: &RuleHeader) -> Option<bool> {
    match header.family {
        AddressFamily::Inet => Some(true),
        AddressFamily::Inet6 => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

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
            let seen =
                SeenRule { table: 7800, protocol: PROTOCOL, arriving, ..SeenRule::default() };
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

    #[test]
    fn rules_that_guard_are_read_as_written_and_others_are_told_apart() {
        let prefixes: Vec<Prefix> =
            ["10.77.0.0/16", "10.78.0.0/15", "fd77::/64"].map(|text| text.parse().unwrap()).into();
        let icmp = [true, false].map(|ipv4| GuardRule::Icmp { ipv4 });
        let rules: BTreeSet<GuardRule> = GuardRule::of("eth0", &prefixes).chain(icmp).collect();
        let words: Vec<_> = rules.iter().map(ToString::to_string).collect();
        assert_eq!(
            words,
            [
                "IPv6 nop",
                "IPv4 nop",
                "IPv4 from 10.77.0.0/16 to 10.77.0.0/16 goto 7799",
                "IPv4 from 10.77.0.0/16 to 10.78.0.0/15 goto 7799",
                "IPv4 from 10.78.0.0/15 to 10.77.0.0/16 goto 7799",
                "IPv4 from 10.78.0.0/15 to 10.78.0.0/15 goto 7799",
                "IPv6 from fd77::/64 to fd77::/64 goto 7799",
                "IPv6 iif eth0 blackhole",
                "IPv4 iif eth0 blackhole",
                "IPv6 ipproto ipv6-icmp lookup 7992",
                "IPv4 ipproto icmp lookup 7992",
            ]
        );
        let networks = ["192.168.1.0/24".parse().unwrap()];
        let with_networks = |open| GuardRule::of_all("eth0", &prefixes, &networks, open);
        let hide = GuardRule::Hide { interface: "eth0".into(), address: "::7".parse().unwrap() };
        let rules = rules.into_iter().chain(with_networks(true)).chain(with_networks(false));
        for rule in rules.chain([hide]) {
            let written = bytes(&guard_rule_message(&rule));
            let seen = SeenRule::parse(&written).unwrap();
            assert_eq!((seen.guard, seen.arriving, seen.from), (Some(rule), None, None));
            assert!(with(&written, FRA_SUPPRESS_PREFIXLEN, &[0xff; 4]).guard.is_some());
            assert_eq!(with(&written, FRA_PROTOCOL, &[4]).guard, None);
            assert_eq!(with(&written, FRA_PRIORITY, &[1, 0, 0, 0]).guard, None);
            assert_eq!(with(&written, 10, &[1, 0, 0, 0]).guard, None, "FRA_FWMARK");
            assert_eq!(with(&written, 4, &[1, 0, 0, 0]).guard, None, "FRA_GOTO");
            assert_eq!(with(&written, 22, &[17]).guard, None, "FRA_IP_PROTO");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_end_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = SeenRule::parse(&bytes);
        }
    }
}
