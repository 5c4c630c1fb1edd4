//! Rules by source address: written as messages of netlink-packet-route, read in place.
//!
//! Source: net/core/fib_rules.c, include/uapi/linux/fib_rules.h; the fixed part is in [`super::turn`].

use netlink_packet_route::AddressFamily;
use netlink_packet_route::route::RouteProtocol;
use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleMessage};
use tresse_fabric::reconcile::{FromRule, PROTOCOL};
use tresse_fabric::units::Prefix;

use super::message::{Attributes, Malformed, word};
use super::turn::{FIB_RULE_INVERT, FR_ACT_TO_TBL, RULE_HEADER};

const FR_ACT_UNREACHABLE: u8 = 7;
const FRA_SRC: u16 = 2;
const FRA_PRIORITY: u16 = 6;
const FRA_SUPPRESS_PREFIXLEN: u16 = 14;
const FRA_TABLE: u16 = 15;
const FRA_PAD: u16 = 18;
const FRA_PROTOCOL: u16 = 21;

/// The body of an RTM_NEWRULE or RTM_DELRULE of ours.
pub(super) fn message(rule: &FromRule) -> RuleMessage {
    let mut message = RuleMessage::default();
    let ipv4 = rule.source.is_ipv4();
    message.header.family = if ipv4 { AddressFamily::Inet } else { AddressFamily::Inet6 };
    message.header.src_len = Prefix::host(rule.source).len;
    message.attributes = vec![
        RuleAttribute::Source(rule.source),
        RuleAttribute::Priority(rule.priority()),
        RuleAttribute::Protocol(RouteProtocol::Other(PROTOCOL)),
    ];
    if rule.unreachable {
        message.header.action = RuleAction::Unreachable;
    } else {
        message.header.action = RuleAction::ToTable;
        message.attributes.push(RuleAttribute::Table(rule.table));
    }
    message
}

/// The rule of ours that a message body tells of, if it does.
pub(super) fn ours(payload: &[u8]) -> Result<Option<FromRule>, Malformed> {
    let attributes = Attributes::after(payload, RULE_HEADER, "fib_rule_hdr")?;
    let (mut table, mut protocol) = (u32::from(payload[4]), 0);
    let (mut source, mut priority) = (None, 0);
    let mut plain = [payload[1], payload[3]] == [0; 2] && word(payload, 8) & FIB_RULE_INVERT == 0;
    for attribute in attributes {
        let attribute = attribute?;
        match attribute.kind {
            FRA_TABLE => table = attribute.u32("FRA_TABLE")?,
            FRA_PROTOCOL => protocol = attribute.u8("FRA_PROTOCOL")?,
            FRA_SRC => source = Some(attribute.address("FRA_SRC")?),
            FRA_PRIORITY => priority = attribute.u32("FRA_PRIORITY")?,
            FRA_PAD => {}
            // The kernel tells it always: of no prefix at all.
            FRA_SUPPRESS_PREFIXLEN => {
                plain &= attribute.u32("FRA_SUPPRESS_PREFIXLEN")? == u32::MAX;
            }
            _ => plain = false,
        }
    }
    let Some(source) = source.filter(|_| plain && protocol == PROTOCOL) else { return Ok(None) };
    let rule = match payload[7] {
        FR_ACT_TO_TBL => FromRule { source, table, unreachable: false },
        FR_ACT_UNREACHABLE => {
            let behind = FromRule { source, table: 0, unreachable: true }.priority();
            FromRule { source, table: priority.saturating_sub(behind), unreachable: true }
        }
        _ => return Ok(None),
    };
    let known = FromRule::TABLES.contains(&rule.table) && rule.priority() == priority;
    Ok(Some(rule).filter(|_| known && payload[2] == Prefix::host(source).len))
}

#[cfg(test)]
mod tests {
    use netlink_packet_core::Emitable;
    use proptest::prelude::*;

    use super::super::message::write_attribute;
    use super::*;

    fn bytes(rule: &FromRule) -> Vec<u8> {
        let message = message(rule);
        let mut bytes = vec![0; message.buffer_len()];
        message.emit(&mut bytes);
        bytes
    }

    #[test]
    fn rules_are_the_kernels_bytes() {
        let source = "10.78.0.1".parse().unwrap();
        #[rustfmt::skip]
        let expected = [
            2, 0, 32, 0, 0, 0, 0, 7, 0, 0, 0, 0,
            8, 0, 2, 0, 10, 78, 0, 1,
            8, 0, 6, 0, 0xf8, 0x1e, 0, 0,
            5, 0, 21, 0, 78, 0, 0, 0,
        ];
        assert_eq!(bytes(&FromRule { source, table: 7864, unreachable: true }), expected);
    }

    #[test]
    fn rules_are_read_as_written_and_others_are_told_apart() {
        for (source, unreachable) in
            [("10.78.0.1", false), ("10.78.0.1", true), ("fd78::1", false), ("fd78::1", true)]
        {
            let rule = FromRule { source: source.parse().unwrap(), table: 7865, unreachable };
            let written = bytes(&rule);
            assert_eq!(ours(&written), Ok(Some(rule)));
            let with = |kind: u16, value: &[u8]| {
                let mut bytes = written.clone();
                write_attribute(&mut bytes, kind, value);
                ours(&bytes).unwrap()
            };
            assert!(with(FRA_SUPPRESS_PREFIXLEN, &[0xff; 4]).is_some());
            assert_eq!(with(FRA_PROTOCOL, &[4]), None);
            assert_eq!(with(FRA_PRIORITY, &[1, 0, 0, 0]), None);
            assert_eq!(with(10, &[1, 0, 0, 0]), None, "FRA_FWMARK");
            let mut subnet = written.clone();
            subnet[2] = 24;
            assert_eq!(ours(&subnet), Ok(None));
            assert!(ours(&written[..written.len() - 4]).is_err());
        }
        assert!(ours(&[2; 11]).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_end_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = ours(&bytes);
        }
    }
}
