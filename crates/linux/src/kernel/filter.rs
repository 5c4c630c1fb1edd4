//! Encodes and decodes the label filter, which drops labelled frames from foreign MAC addresses
//! (K11): clsact qdiscs, and flower filters on their ingress hook.
//!
//! Source: include/uapi/linux/{rtnetlink,pkt_sched,pkt_cls}.h, tc_act/tc_gact.h. `struct tcmsg`,
//! host byte order:
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 4 | tcm_family and padding |
//! | 4 | 4 | tcm_ifindex |
//! | 8 | 4 | tcm_handle |
//! | 12 | 4 | tcm_parent |
//! | 16 | 4 | tcm_info: preference in the upper half, EtherType in network order in the lower |
//!
//! Fixed part, kind and chain are decoded by the types of netlink-packet-route. Actions are not:
//! the crate has no type for `gact`, and fails on foreign actions that it does not know.
//!
//! On interface IF this project has one filter for each permitted MAC address, `tc filter add dev
//! IF ingress pref 7800 protocol mpls_uc handle N flower src_mac MAC action pass cookie
//! 747265737365`, and one without `src_mac` that drops all other labelled frames. N is the filter's
//! number.

use netlink_packet_core::{NlaBuffer, NlasIterator, ParseableParametrized as _};
use netlink_packet_route::tc::{TcAttribute, TcHeader, TcMessage};
use tresse_base::units::Mac;
use tresse_frame::mpls;
use tresse_reconcile::{FILTER_COOKIE, PREF_DROP, PREF_PASS};

use super::message::{MalformedMessage, attributes, bytes, word, write_attribute};

/// The parents of the two hooks of a clsact qdisc: ingress and egress.
pub(super) const HOOKS: [u32; 2] = [INGRESS, 0xffff_fff3];
/// Bytes of `struct tcmsg`.
const TCMSG: usize = 20;

const TC_H_CLSACT: u32 = 0xffff_fff1;
const CLSACT_HANDLE: u32 = 0xffff_0000;
const INGRESS: u32 = 0xffff_fff2;
const TCA_FLOWER_ACT: u16 = 3;
const TCA_FLOWER_KEY_ETH_SRC: u16 = 6;
const TCA_FLOWER_KEY_ETH_SRC_MASK: u16 = 7;
const TCA_ACT_KIND: u16 = 1;
const TCA_ACT_OPTIONS: u16 = 2;
const TCA_ACT_COOKIE: u16 = 6;
const TCA_GACT_PARMS: u16 = 2;
const TC_ACT_OK: u32 = 0;
const TC_ACT_SHOT: u32 = 2;
/// Bytes of `struct tc_gact`: index, capab, action, refcnt, bindcnt.
const GACT: usize = 20;
const NLA_F_NESTED: u16 = 0x8000;

/// The body of a dump request for the qdiscs of one interface, or of all with 0.
pub(super) fn qdiscs(ifindex: u32) -> Vec<u8> {
    bytes(&TcMessage::with_index(ifindex.cast_signed()))
}

/// The body of a dump request for one hook of one interface.
pub(super) fn hook(ifindex: u32, parent: u32) -> Vec<u8> {
    let mut message = TcMessage::with_index(ifindex.cast_signed());
    message.header.parent = parent.into();
    bytes(&message)
}

/// Appends the body of the message that adds or deletes an interface's clsact qdisc.
pub(super) fn emit_clsact(ifindex: u32, buffer: &mut Vec<u8>) {
    buffer.extend_from_slice(&tcmsg(ifindex, CLSACT_HANDLE, TC_H_CLSACT, 0));
    write_attribute(buffer, libc::TCA_KIND, b"clsact\0");
}

/// A queueing discipline of an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Qdisc {
    pub ifindex: u32,
    pub kind: String,
    /// Does it work on received frames only, or through filters only, so that it never delays a
    /// frame sent?
    pub ingress: bool,
}

impl Qdisc {
    /// Decodes a message body.
    pub fn parse(payload: &[u8]) -> Result<Self, MalformedMessage> {
        let header = TcHeader::parse(payload)?;
        let ingress = u32::from(header.parent) == TC_H_CLSACT;
        let mut kind = String::new();
        for attribute in attributes(payload, TCMSG, "tcmsg")? {
            let attribute = attribute?;
            if attribute.kind() == libc::TCA_KIND
                && let TcAttribute::Kind(found) = TcAttribute::parse_with_param(&attribute, "")?
            {
                kind = found;
            }
        }
        Ok(Self { ifindex: header.index.cast_unsigned(), kind, ingress })
    }

    /// Can ingress filters be attached to it?
    pub fn takes_filters(&self) -> bool {
        matches!(self.kind.as_str(), "clsact" | "ingress")
    }
}

/// One of our filters: its handle, and the MAC address whose labelled frames pass; `None` for the
/// filter that drops all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Filter {
    pub handle: u32,
    pub source: Option<Mac>,
}

/// What a filter message describes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Seen {
    /// A filter of ours.
    Ours(Filter),
    /// A foreign filter, with the preference if that is one of ours.
    Foreign(Option<u16>),
    /// The head of our preference, which the kernel lists before its filters.
    Head,
}

impl Filter {
    fn preference(self) -> u16 {
        if self.source.is_some() { PREF_PASS } else { PREF_DROP }
    }

    /// Appends the body of the message that adds the filter.
    pub fn emit(self, ifindex: u32, buffer: &mut Vec<u8>) {
        self.emit_key(ifindex, buffer);
        nest(buffer, libc::TCA_OPTIONS, |b| {
            if let Some(mac) = self.source {
                write_attribute(b, TCA_FLOWER_KEY_ETH_SRC, &mac.0);
                write_attribute(b, TCA_FLOWER_KEY_ETH_SRC_MASK, &[0xff; 6]);
            }
            nest(b, TCA_FLOWER_ACT, |b| {
                nest(b, 1, |b| {
                    write_attribute(b, TCA_ACT_KIND, b"gact\0");
                    nest(b, TCA_ACT_OPTIONS, |b| {
                        let mut gact = [0; GACT];
                        gact[8..12].copy_from_slice(&self.action().to_ne_bytes());
                        write_attribute(b, TCA_GACT_PARMS, &gact);
                    });
                    write_attribute(b, TCA_ACT_COOKIE, FILTER_COOKIE);
                });
            });
        });
    }

    /// Appends the body of the message that deletes the filter.
    pub fn emit_key(self, ifindex: u32, buffer: &mut Vec<u8>) {
        let info = u32::from(self.preference()) << 16 | u32::from(mpls::ETHERTYPE.to_be());
        buffer.extend_from_slice(&tcmsg(ifindex, self.handle, INGRESS, info));
        write_attribute(buffer, libc::TCA_KIND, b"flower\0");
    }

    const fn action(self) -> u32 {
        if self.source.is_some() { TC_ACT_OK } else { TC_ACT_SHOT }
    }

    /// Decodes a message body.
    pub fn parse(payload: &[u8]) -> Result<Seen, MalformedMessage> {
        let header = TcHeader::parse(payload)?;
        let preference = (header.info >> 16) as u16;
        let (mut kind, mut options, mut chain) = (String::new(), None, 0);
        for attribute in attributes(payload, TCMSG, "tcmsg")? {
            let attribute = attribute?;
            match attribute.kind() {
                libc::TCA_OPTIONS => options = Some(attribute),
                libc::TCA_KIND | libc::TCA_CHAIN => {
                    match TcAttribute::parse_with_param(&attribute, "")? {
                        TcAttribute::Kind(found) => kind = found,
                        TcAttribute::Chain(found) => chain = found,
                        _ => {}
                    }
                }
                _ => {}
            }
        }
        let ingress = u32::from(header.parent) != HOOKS[1] && chain == 0;
        let taken = Some(preference).filter(|p| ingress && [PREF_PASS, PREF_DROP].contains(p));
        let labels = kind == "flower" && u16::from_be(header.info as u16) == mpls::ETHERTYPE;
        if taken.is_none() || !labels {
            return Ok(Seen::Foreign(taken));
        }
        let Some(options) = options else { return Ok(Seen::Head) };
        let filter = Self { handle: header.handle.into(), source: ours(&options)? };
        let seen = (filter.preference() == preference
            && action(&options)? == Some(filter.action()))
        .then_some(Seen::Ours(filter));
        Ok(seen.unwrap_or(Seen::Foreign(taken)))
    }
}

/// The full source MAC address that a flower filter matches.
fn ours(options: &NlaBuffer<&[u8]>) -> Result<Option<Mac>, MalformedMessage> {
    let (mut source, mut mask) = (None, None);
    for attribute in NlasIterator::new(options.value()) {
        let attribute = attribute?;
        let bytes = <[u8; 6]>::try_from(attribute.value()).ok();
        match attribute.kind() {
            TCA_FLOWER_KEY_ETH_SRC => source = bytes.map(Mac),
            TCA_FLOWER_KEY_ETH_SRC_MASK => mask = bytes,
            _ => {}
        }
    }
    Ok(source.filter(|_| mask == Some([0xff; 6])))
}

/// The verdict of a filter's only action, if that bears our cookie.
fn action(options: &NlaBuffer<&[u8]>) -> Result<Option<u32>, MalformedMessage> {
    let (mut verdict, mut ours, mut actions) = (None, false, 0);
    for attribute in NlasIterator::new(options.value()) {
        let attribute = attribute?;
        if attribute.kind() != TCA_FLOWER_ACT {
            continue;
        }
        for action in NlasIterator::new(attribute.value()) {
            actions += 1;
            for field in NlasIterator::new(action?.value()) {
                let field = field?;
                match field.kind() {
                    TCA_ACT_COOKIE => ours = field.value() == FILTER_COOKIE,
                    TCA_ACT_OPTIONS => {
                        for parameter in NlasIterator::new(field.value()) {
                            let parameter = parameter?;
                            let value = parameter.value();
                            if parameter.kind() == TCA_GACT_PARMS && value.len() >= GACT {
                                verdict = Some(word(value, 8));
                            }
                        }
                    }
                    _ => {}
                }
            }
        }
    }
    Ok(verdict.filter(|_| ours && actions == 1))
}

fn tcmsg(ifindex: u32, handle: u32, parent: u32, info: u32) -> [u8; TCMSG] {
    let mut bytes = [0; TCMSG];
    for (at, value) in [(4, ifindex), (8, handle), (12, parent), (16, info)] {
        bytes[at..at + 4].copy_from_slice(&value.to_ne_bytes());
    }
    bytes
}

fn nest(buffer: &mut Vec<u8>, kind: u16, fill: impl FnOnce(&mut Vec<u8>)) {
    let mut inner = Vec::new();
    fill(&mut inner);
    write_attribute(buffer, kind | NLA_F_NESTED, &inner);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MAC: Mac = Mac([2, 0, 0, 0, 0, 7]);

    fn written(filter: Filter) -> Vec<u8> {
        let mut buffer = Vec::new();
        filter.emit(5, &mut buffer);
        buffer
    }

    #[test]
    fn filters_round_trip() {
        for source in [Some(MAC), None] {
            let filter = Filter { handle: 3, source };
            assert_eq!(Filter::parse(&written(filter)), Ok(Seen::Ours(filter)));
        }
    }

    #[test]
    fn filters_of_others_are_told_apart() {
        let filter = Filter { handle: 3, source: Some(MAC) };
        let with = |at: usize, value: u8| {
            let mut bytes = written(filter);
            bytes[at] = value;
            Filter::parse(&bytes)
        };
        let cookie = written(filter).windows(6).position(|w| w == FILTER_COOKIE).unwrap();
        assert_eq!(with(cookie, b'T'), Ok(Seen::Foreign(Some(PREF_PASS))));
        let kind = written(filter).windows(6).position(|w| w == b"flower").unwrap();
        assert_eq!(with(kind, b'F'), Ok(Seen::Foreign(Some(PREF_PASS))));
        assert_eq!(with(18, 1), Ok(Seen::Foreign(None)), "another preference");
        assert_eq!(with(12, 0xf3), Ok(Seen::Foreign(None)), "on egress");
        let mut head = Vec::new();
        filter.emit_key(5, &mut head);
        assert_eq!(Filter::parse(&head), Ok(Seen::Head));
    }

    #[test]
    fn an_ingress_qdisc_names_its_interface() {
        let mut buffer = Vec::new();
        emit_clsact(9, &mut buffer);
        let clsact = Qdisc::parse(&buffer).unwrap();
        assert_eq!((clsact.ifindex, clsact.kind.as_str()), (9, "clsact"));
        assert!(clsact.ingress && clsact.takes_filters());
        let mut other = hook(9, 0);
        write_attribute(&mut other, libc::TCA_KIND, b"noqueue\0");
        let other = Qdisc::parse(&other).unwrap();
        assert!(other.kind == "noqueue" && !other.ingress && !other.takes_filters());
        assert!(Qdisc::parse(&buffer[..19]).is_err());
    }

    #[test]
    fn dumps_ask_by_the_kernels_bytes() {
        assert_eq!(hook(9, HOOKS[1]), tcmsg(9, 0, HOOKS[1], 0));
        assert_eq!(qdiscs(0), [0; TCMSG]);
    }

    proptest! {
        #[test]
        fn any_bytes_end_without_panic(
            noise in proptest::collection::vec((0usize..120, any::<u8>()), 0..9),
            cut in 0usize..140,
        ) {
            let mut bytes = written(Filter { handle: 1, source: Some(MAC) });
            for (at, value) in noise {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = value;
                }
            }
            bytes.truncate(cut);
            let _ = Filter::parse(&bytes);
        }
    }
}
