//! Encodes and decodes label routes (the kernel's routes for one incoming MPLS label): AF_MPLS in
//! `RTM_NEWROUTE` and `RTM_DELROUTE`, with the types of netlink-packet-route.
//!
//! Source: net/mpls/af_mpls.c (`rtm_to_route_config`), RFC 3032 section 2.1.

use std::net::IpAddr;

use netlink_packet_route::AddressFamily;
use netlink_packet_route::route::{
    MplsLabel, RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteProtocol, RouteScope,
    RouteType, RouteVia,
};
use tresse_base::id::Label;
use tresse_reconcile::PROTOCOL;

use super::message::{MalformedMessage, bytes};
use super::route::Route;

const LABEL_BITS: u8 = 20;

/// The body of a dump request.
pub(super) fn dump() -> Vec<u8> {
    let mut message = RouteMessage::default();
    message.header.address_family = AddressFamily::Mpls;
    bytes(&message)
}

/// One label route as it is encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LabelRoute {
    pub label: Label,
    /// rtm_protocol.
    pub protocol: u8,
    /// RTA_OIF.
    pub ifindex: Option<u32>,
    /// RTA_VIA, if it is an IP address.
    pub via: Option<IpAddr>,
    /// RTA_NEWDST, outermost first.
    pub swap: Vec<Label>,
}

impl LabelRoute {
    /// A label route of ours, which pops its label.
    pub const fn pop(label: Label, ifindex: u32, via: IpAddr) -> Self {
        let (ifindex, via) = (Some(ifindex), Some(via));
        Self { label, protocol: PROTOCOL, ifindex, via, swap: Vec::new() }
    }

    /// The message body.
    pub fn message(&self) -> RouteMessage {
        let mut message = fixed(self.label, self.protocol);
        if !self.swap.is_empty() {
            message.attributes.push(RouteAttribute::NewDestination(stack(&self.swap)));
        }
        message.attributes.extend(self.via.map(|via| RouteAttribute::Via(via.into())));
        message.attributes.extend(self.ifindex.map(RouteAttribute::Oif));
        message
    }

    /// Decodes a message body; `None` if it is of another family.
    pub fn parse(payload: &[u8]) -> Result<Option<Self>, MalformedMessage> {
        let header = RouteHeader::parse(payload)?;
        if header.address_family != AddressFamily::Mpls {
            return Ok(None);
        }
        let route = Route::with(&header, payload)?;
        let label = route.label.ok_or_else(|| MalformedMessage::without("RTA_DST"))?;
        let via = match route.via {
            Some(RouteVia::Inet(via)) => Some(via.into()),
            Some(RouteVia::Inet6(via)) => Some(via.into()),
            _ => None,
        };
        Ok(Some(Self {
            label: Label(label.label),
            protocol: route.protocol,
            ifindex: route.interface,
            via,
            swap: route.swap.iter().map(|entry| Label(entry.label)).collect(),
        }))
    }
}

/// The body of the `RTM_DELROUTE` for a label route of ours.
pub(super) fn delete_message(label: Label) -> RouteMessage {
    fixed(label, PROTOCOL)
}

fn fixed(label: Label, protocol: u8) -> RouteMessage {
    let mut message = RouteMessage::default();
    message.header.address_family = AddressFamily::Mpls;
    message.header.destination_prefix_length = LABEL_BITS;
    message.header.table = RouteHeader::RT_TABLE_MAIN;
    message.header.protocol = RouteProtocol::from(protocol);
    message.header.scope = RouteScope::Universe;
    message.header.kind = RouteType::Unicast;
    message.attributes = vec![RouteAttribute::Destination(RouteAddress::Mpls(entry(label, true)))];
    message
}

/// The label stack of these labels, outermost first, as the kernel's messages have it: without TTL.
pub(super) fn stack(labels: &[Label]) -> Vec<MplsLabel> {
    let entries = labels.iter().enumerate();
    entries.map(|(at, label)| entry(*label, at + 1 == labels.len())).collect()
}

fn entry(label: Label, bottom: bool) -> MplsLabel {
    MplsLabel { label: label.0, traffic_class: 0, bottom_of_stack: bottom, ttl: 0 }
}

#[cfg(test)]
mod tests {
    use super::super::message::write_attribute;
    use super::*;

    #[test]
    fn label_routes_are_the_kernels_bytes() {
        let route = LabelRoute::pop(Label(100), 7, "10.78.0.3".parse().unwrap());
        #[rustfmt::skip]
        let expected = [
            28, 20, 0, 0, 254, 78, 0, 1, 0, 0, 0, 0,
            8, 0, 1, 0, 0, 0x06, 0x41, 0,
            10, 0, 18, 0, 2, 0, 10, 78, 0, 3, 0, 0,
            8, 0, 4, 0, 7, 0, 0, 0,
        ];
        assert_eq!(bytes(&route.message()), expected);
        assert_eq!(LabelRoute::parse(&expected), Ok(Some(route)));
        assert_eq!(bytes(&delete_message(Label(100))), expected[..20]);
        let ipv6 = LabelRoute::pop(Label(16), 7, "fd78::3".parse().unwrap());
        assert_eq!(LabelRoute::parse(&bytes(&ipv6.message())), Ok(Some(ipv6)));
    }

    #[test]
    fn label_routes_of_others_are_told_apart() {
        let via = Some("10.78.0.3".parse().unwrap());
        let swap = vec![Label(17), Label(1_048_575)];
        let swap = LabelRoute { label: Label(16), protocol: 4, ifindex: Some(2), via, swap };
        assert_eq!(LabelRoute::parse(&bytes(&swap.message())), Ok(Some(swap.clone())));
        let by_mac = LabelRoute { via: None, swap: vec![], ..swap };
        let mut buffer = bytes(&by_mac.message());
        write_attribute(&mut buffer, libc::RTA_VIA, &[17, 0, 2, 0, 0, 0, 0, 1]);
        assert_eq!(LabelRoute::parse(&buffer), Ok(Some(by_mac)));
        let mut ipv4 = buffer;
        ipv4[0] = libc::AF_INET as u8;
        ipv4.truncate(12);
        assert_eq!(LabelRoute::parse(&ipv4), Ok(None));
        ipv4[0] = libc::AF_MPLS as u8;
        assert!(LabelRoute::parse(&ipv4).is_err(), "a route without its label");
    }
}
