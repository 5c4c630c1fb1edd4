//! Rules by arriving interface, and the routes of the tables that they lead to.
//!
//! Written as messages of netlink-packet-route, read in place. Source: net/core/fib_rules.c,
//! include/uapi/linux/{fib_rules,rtnetlink}.h. After the header, host byte order:
//!
//! | offset | bytes | `struct fib_rule_hdr` | `struct rtmsg` |
//! |---|---|---|---|
//! | 0 | 4 | family, dst_len, src_len, tos | the same |
//! | 4 | 1 | table, 0: see FRA_TABLE | table, 0 or RT_TABLE_COMPAT: see RTA_TABLE |
//! | 5 | 2 | reserved | protocol, scope |
//! | 7 | 1 | action, FR_ACT_TO_TBL | type |
//! | 8 | 4 | flags | flags, RTNH_F_ONLINK |

use std::net::IpAddr;

use netlink_packet_route::AddressFamily;
use netlink_packet_route::route::{
    RouteAttribute, RouteFlags, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleMessage};
use tresse_fabric::reconcile::{METRIC_PRIMARY, PROTOCOL, Rule, TURN_TABLES, TurnKey};
use tresse_fabric::units::Prefix;

use super::message::{Attributes, Malformed, word};
use super::observe::{RTA_DST, RTA_NH_ID, RTA_OIF, RTA_PRIORITY, RTMSG};

pub(super) const RTM_NEWRULE: u16 = 32;
pub(super) const RTM_DELRULE: u16 = 33;
pub(super) const RTM_GETRULE: u16 = 34;
/// Bytes of `struct fib_rule_hdr`.
pub(super) const RULE_HEADER: usize = 12;

pub(super) const FR_ACT_TO_TBL: u8 = 1;
pub(super) const FIB_RULE_INVERT: u32 = 2;
const FRA_IIFNAME: u16 = 3;
const FRA_PRIORITY: u16 = 6;
const FRA_SUPPRESS_PREFIXLEN: u16 = 14;
const FRA_TABLE: u16 = 15;
const FRA_PAD: u16 = 18;
const FRA_PROTOCOL: u16 = 21;
const RTA_GATEWAY: u16 = 5;
const RTA_TABLE: u16 = 15;
const RTA_ENCAP: u16 = 22;

/// The body of an RTM_NEWRULE or RTM_DELRULE of ours.
pub(super) fn rule_message(rule: &Rule) -> RuleMessage {
    let mut message = RuleMessage::default();
    message.header.family = family(rule.ipv4);
    message.header.action = RuleAction::ToTable;
    message.attributes = vec![
        RuleAttribute::Iifname(rule.interface.clone()),
        RuleAttribute::Table(rule.table),
        RuleAttribute::Priority(rule.table),
        RuleAttribute::Protocol(RouteProtocol::Other(PROTOCOL)),
    ];
    message
}

/// The body of an RTM_NEWROUTE to go `way` (ifindex, gateway), or without one of the RTM_DELROUTE.
pub(super) fn route_message(table: u32, dst: Prefix, way: Option<(u32, IpAddr)>) -> RouteMessage {
    let mut message = RouteMessage::default();
    message.header.address_family = family(dst.address.is_ipv4());
    message.header.destination_prefix_length = dst.len;
    message.header.protocol = RouteProtocol::Other(PROTOCOL);
    message.header.scope = RouteScope::NoWhere;
    message.header.kind = RouteType::Unicast;
    message.attributes = vec![
        RouteAttribute::Destination(dst.address.into()),
        RouteAttribute::Table(table),
        RouteAttribute::Priority(METRIC_PRIMARY),
    ];
    if let Some((ifindex, via)) = way {
        message.header.scope = RouteScope::Universe;
        message.header.flags = RouteFlags::Onlink;
        let gateway = RouteAttribute::Gateway(via.into());
        message.attributes.extend([gateway, RouteAttribute::Oif(ifindex)]);
    }
    message
}

const fn family(ipv4: bool) -> AddressFamily {
    if ipv4 { AddressFamily::Inet } else { AddressFamily::Inet6 }
}

/// What a rule message tells that concerns us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SeenRule {
    /// FRA_TABLE; 0 where the rule leads to none.
    pub table: u32,
    /// FRA_PROTOCOL.
    pub protocol: u8,
    /// The rule, where it is one for what arrives by an interface with the table's number for priority.
    pub rule: Option<Rule>,
    /// Does it ask for nothing else?
    pub plain: bool,
}

impl SeenRule {
    /// The rule, where it is one of ours: undo could not restore another.
    pub fn ours(self) -> Option<Rule> {
        self.rule.filter(|_| self.plain && self.protocol == PROTOCOL)
    }

    /// Reads a message body.
    pub fn parse(payload: &[u8]) -> Result<Self, Malformed> {
        let attributes = Attributes::after(payload, RULE_HEADER, "fib_rule_hdr")?;
        let (mut table, mut protocol) = (u32::from(payload[4]), 0);
        let (mut interface, mut priority) = (None, 0);
        let any = payload[1..4] == [0; 3] && word(payload, 8) & FIB_RULE_INVERT == 0;
        let mut plain = any && payload[7] == FR_ACT_TO_TBL;
        for attribute in attributes {
            let attribute = attribute?;
            match attribute.kind {
                FRA_TABLE => table = attribute.u32("FRA_TABLE")?,
                FRA_PROTOCOL => protocol = attribute.u8("FRA_PROTOCOL")?,
                FRA_IIFNAME => interface = Some(attribute.text()),
                FRA_PRIORITY => priority = attribute.u32("FRA_PRIORITY")?,
                FRA_PAD => {}
                // The kernel tells it always: of no prefix at all.
                FRA_SUPPRESS_PREFIXLEN => {
                    plain &= attribute.u32("FRA_SUPPRESS_PREFIXLEN")? == u32::MAX;
                }
                _ => plain = false,
            }
        }
        let ipv4 = match i32::from(payload[0]) {
            libc::AF_INET => Some(true),
            libc::AF_INET6 => Some(false),
            _ => None,
        };
        let known = ipv4.zip(interface);
        let known = known.filter(|_| priority == table && TURN_TABLES.contains(&table));
        let rule = known.map(|(ipv4, interface)| Rule { table, ipv4, interface });
        Ok(Self { table, protocol, rule, plain })
    }
}

/// A unicast route of a table of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SeenTurn {
    pub key: TurnKey,
    /// rtm_protocol.
    pub protocol: u8,
    /// ifindex and gateway, where there is one way and nothing is put before the packet.
    pub way: Option<(u32, IpAddr)>,
}

impl SeenTurn {
    /// Reads a message body; `None` where it is another route.
    pub fn parse(payload: &[u8]) -> Result<Option<Self>, Malformed> {
        let attributes = Attributes::after(payload, RTMSG, "rtmsg")?;
        let unspecified = match i32::from(payload[0]) {
            libc::AF_INET => IpAddr::from([0; 4]),
            libc::AF_INET6 => IpAddr::from([0; 16]),
            _ => return Ok(None),
        };
        let mut dst = Prefix { address: unspecified, len: payload[1] };
        let (mut table, mut metric) = (u32::from(payload[4]), 0);
        let (mut oif, mut gateway, mut plain) = (None, None, true);
        for attribute in attributes {
            let attribute = attribute?;
            match attribute.kind {
                RTA_DST => dst.address = attribute.address("RTA_DST")?,
                RTA_TABLE => table = attribute.u32("RTA_TABLE")?,
                RTA_PRIORITY => metric = attribute.u32("RTA_PRIORITY")?,
                RTA_OIF => oif = Some(attribute.u32("RTA_OIF")?),
                RTA_GATEWAY => gateway = Some(attribute.address("RTA_GATEWAY")?),
                RTA_NH_ID | RTA_ENCAP => plain = false,
                _ => {}
            }
        }
        if payload[7] != libc::RTN_UNICAST || !TURN_TABLES.contains(&table) {
            return Ok(None);
        }
        let way = oif.zip(gateway).filter(|_| plain);
        Ok(Some(Self { key: (table, dst, metric), protocol: payload[5], way }))
    }
}

#[cfg(test)]
mod tests {
    use netlink_packet_core::Emitable;
    use proptest::prelude::*;

    use super::super::message::write_attribute;
    use super::*;

    fn bytes(message: &impl Emitable) -> Vec<u8> {
        let mut bytes = vec![0; message.buffer_len()];
        message.emit(&mut bytes);
        bytes
    }

    fn rule(table: u32, ipv4: bool) -> Rule {
        Rule { table, ipv4, interface: "eth0".into() }
    }

    #[test]
    fn rules_are_the_kernels_bytes() {
        let written = bytes(&rule_message(&rule(7801, true)));
        #[rustfmt::skip]
        let expected = [
            2, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0,
            9, 0, 3, 0, b'e', b't', b'h', b'0', 0, 0, 0, 0,
            8, 0, 15, 0, 0x79, 0x1e, 0, 0,
            8, 0, 6, 0, 0x79, 0x1e, 0, 0,
            5, 0, 21, 0, 78, 0, 0, 0,
        ];
        assert_eq!(written, expected);
    }

    #[test]
    fn rules_of_others_are_told_apart() {
        for ipv4 in [true, false] {
            let ours = bytes(&rule_message(&rule(7800, ipv4)));
            let seen = SeenRule::parse(&ours).unwrap();
            let rule = Some(rule(7800, ipv4));
            assert_eq!(seen, SeenRule { table: 7800, protocol: PROTOCOL, rule, plain: true });
            let with = |kind: u16, value: &[u8]| {
                let mut bytes = ours.clone();
                write_attribute(&mut bytes, kind, value);
                SeenRule::parse(&bytes).unwrap()
            };
            assert!(with(FRA_SUPPRESS_PREFIXLEN, &[0xff; 4]).plain);
            assert!(!with(FRA_SUPPRESS_PREFIXLEN, &[0; 4]).plain);
            assert!(!with(10, &[1, 0, 0, 0]).plain, "FRA_FWMARK");
            assert_eq!(with(FRA_PRIORITY, &[1, 0, 0, 0]).rule, None);
            assert_eq!(with(FRA_TABLE, &[254, 0, 0, 0]).rule, None);
        }
        assert!(SeenRule::parse(&[2; 11]).is_err());
    }

    #[test]
    fn routes_are_what_is_written() {
        for (dst, via) in [("10.77.0.2/32", "10.78.0.9"), ("fd77::2/128", "fd78::9")] {
            let (dst, via) = (dst.parse().unwrap(), via.parse().unwrap());
            let written = bytes(&route_message(7863, dst, Some((3, via))));
            let key = (7863, dst, METRIC_PRIMARY);
            let turn = SeenTurn { key, protocol: PROTOCOL, way: Some((3, via)) };
            assert_eq!(SeenTurn::parse(&written), Ok(Some(turn)));
            let mut object = written.clone();
            write_attribute(&mut object, RTA_NH_ID, &[1, 0, 0, 0]);
            assert_eq!(SeenTurn::parse(&object).unwrap().unwrap().way, None);
            let mut main = written;
            write_attribute(&mut main, RTA_TABLE, &[254, 0, 0, 0]);
            assert_eq!(SeenTurn::parse(&main), Ok(None));
        }
    }

    proptest! {
        #[test]
        fn any_bytes_end_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = SeenRule::parse(&bytes);
            let _ = SeenTurn::parse(&bytes);
        }
    }
}
