//! The codec of the label filter (K11): clsact qdiscs, and flower filters on their ingress hook.
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
//! What we make is `tc filter add dev IF ingress pref 7800 protocol mpls_uc handle N flower src_mac
//! MAC action pass cookie 747265737365`, and one such without `src_mac` that drops.

use tresse_fabric::reconcile::{FILTER_COOKIE, PREF_DROP, PREF_PASS};
use tresse_fabric::units::Mac;

use super::message::{Attributes, Malformed, word, write_attribute};

pub(super) const RTM_NEWQDISC: u16 = 36;
pub(super) const RTM_DELQDISC: u16 = 37;
pub(super) const RTM_GETQDISC: u16 = 38;
pub(super) const RTM_NEWTFILTER: u16 = 44;
pub(super) const RTM_DELTFILTER: u16 = 45;
pub(super) const RTM_GETTFILTER: u16 = 46;

/// The hooks of a clsact qdisc.
pub(super) const HOOKS: [u32; 2] = [INGRESS, 0xffff_fff3];
/// Bytes of `struct tcmsg`.
pub(super) const TCMSG: usize = 20;

const TC_H_CLSACT: u32 = 0xffff_fff1;
const CLSACT_HANDLE: u32 = 0xffff_0000;
const INGRESS: u32 = 0xffff_fff2;
const ETH_P_MPLS_UC: u16 = 0x8847;
const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const TCA_CHAIN: u16 = 11;
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

/// `struct tcmsg` of a dump of one hook of one interface.
pub(super) fn hook(ifindex: u32, parent: u32) -> [u8; TCMSG] {
    tcmsg(ifindex, 0, parent, 0)
}

/// Appends the body of the message that adds (or deletes) an interface's clsact.
pub(super) fn emit_clsact(ifindex: u32, buffer: &mut Vec<u8>) {
    buffer.extend_from_slice(&tcmsg(ifindex, CLSACT_HANDLE, TC_H_CLSACT, 0));
    write_attribute(buffer, TCA_KIND, b"clsact\0");
}

/// The interface of a qdisc that filters hang on at ingress.
pub(super) fn ingress_of(payload: &[u8]) -> Result<Option<u32>, Malformed> {
    for attribute in Attributes::after(payload, TCMSG, "tcmsg")? {
        let attribute = attribute?;
        if attribute.kind == TCA_KIND && matches!(&*attribute.text(), "clsact" | "ingress") {
            return Ok(Some(word(payload, 4)));
        }
    }
    Ok(None)
}

/// One of our filters: its handle, and the MAC whose labelled frames it passes, or none where it
/// drops all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Filter {
    pub handle: u32,
    pub source: Option<Mac>,
}

/// What a filter message tells of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Seen {
    /// One of ours.
    Ours(Filter),
    /// Somebody else's, and which preference of ours it holds.
    Foreign(Option<u16>),
    /// The head of our preference, which is listed before its filters.
    Head,
}

impl Filter {
    fn preference(self) -> u16 {
        if self.source.is_some() { PREF_PASS } else { PREF_DROP }
    }

    /// Appends the body of the message that adds it.
    pub fn emit(self, ifindex: u32, buffer: &mut Vec<u8>) {
        self.emit_key(ifindex, buffer);
        nest(buffer, TCA_OPTIONS, |b| {
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

    /// Appends what names it: the body of the message that deletes it.
    pub fn emit_key(self, ifindex: u32, buffer: &mut Vec<u8>) {
        let info = u32::from(self.preference()) << 16 | u32::from(ETH_P_MPLS_UC.to_be());
        buffer.extend_from_slice(&tcmsg(ifindex, self.handle, INGRESS, info));
        write_attribute(buffer, TCA_KIND, b"flower\0");
    }

    const fn action(self) -> u32 {
        if self.source.is_some() { TC_ACT_OK } else { TC_ACT_SHOT }
    }

    /// Reads a message body as the kernel sends it.
    pub fn parse(payload: &[u8]) -> Result<Seen, Malformed> {
        let attributes = Attributes::after(payload, TCMSG, "tcmsg")?;
        let (handle, parent, info) = (word(payload, 8), word(payload, 12), word(payload, 16));
        let preference = (info >> 16) as u16;
        let (mut kind, mut options, mut chain) = (String::new(), None, 0);
        for attribute in attributes {
            let attribute = attribute?;
            match attribute.kind {
                TCA_KIND => kind = attribute.text(),
                TCA_OPTIONS => options = Some(attribute.value),
                TCA_CHAIN => chain = attribute.u32("TCA_CHAIN")?,
                _ => {}
            }
        }
        let ingress = parent != HOOKS[1] && chain == 0;
        let taken = Some(preference).filter(|p| ingress && [PREF_PASS, PREF_DROP].contains(p));
        let labels = kind == "flower" && u16::from_be(info as u16) == ETH_P_MPLS_UC;
        if taken.is_none() || !labels {
            return Ok(Seen::Foreign(taken));
        }
        let Some(options) = options else { return Ok(Seen::Head) };
        let filter = Self { handle, source: ours(options)? };
        let seen = (filter.preference() == preference && action(options)? == Some(filter.action()))
            .then_some(Seen::Ours(filter));
        Ok(seen.unwrap_or(Seen::Foreign(taken)))
    }
}

/// The source MAC that a flower filter asks for, whole.
fn ours(options: &[u8]) -> Result<Option<Mac>, Malformed> {
    let (mut source, mut mask) = (None, None);
    for attribute in Attributes(options) {
        let attribute = attribute?;
        let octets = <[u8; 6]>::try_from(attribute.value).ok();
        match attribute.kind {
            TCA_FLOWER_KEY_ETH_SRC => source = octets.map(Mac),
            TCA_FLOWER_KEY_ETH_SRC_MASK => mask = octets,
            _ => {}
        }
    }
    Ok(source.filter(|_| mask == Some([0xff; 6])))
}

/// The verdict of a filter's one action, where that bears our cookie.
fn action(options: &[u8]) -> Result<Option<u32>, Malformed> {
    let (mut verdict, mut ours, mut actions) = (None, false, 0);
    for attribute in Attributes(options) {
        let attribute = attribute?;
        if attribute.kind != TCA_FLOWER_ACT {
            continue;
        }
        for action in Attributes(attribute.value) {
            actions += 1;
            for field in Attributes(action?.value) {
                let field = field?;
                match field.kind {
                    TCA_ACT_COOKIE => ours = field.value == FILTER_COOKIE,
                    TCA_ACT_OPTIONS => {
                        for parameter in Attributes(field.value) {
                            let parameter = parameter?;
                            if parameter.kind == TCA_GACT_PARMS && parameter.value.len() >= GACT {
                                verdict = Some(word(parameter.value, 8));
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

    fn bytes(filter: Filter) -> Vec<u8> {
        let mut buffer = Vec::new();
        filter.emit(5, &mut buffer);
        buffer
    }

    #[test]
    fn filters_round_trip() {
        for source in [Some(MAC), None] {
            let filter = Filter { handle: 3, source };
            assert_eq!(Filter::parse(&bytes(filter)), Ok(Seen::Ours(filter)));
        }
    }

    #[test]
    fn filters_of_others_are_told_apart() {
        let filter = Filter { handle: 3, source: Some(MAC) };
        let with = |at: usize, value: u8| {
            let mut bytes = bytes(filter);
            bytes[at] = value;
            Filter::parse(&bytes)
        };
        let cookie = bytes(filter).windows(6).position(|w| w == FILTER_COOKIE).unwrap();
        assert_eq!(with(cookie, b'T'), Ok(Seen::Foreign(Some(PREF_PASS))));
        let kind = bytes(filter).windows(6).position(|w| w == b"flower").unwrap();
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
        assert_eq!(ingress_of(&buffer), Ok(Some(9)));
        let mut other = hook(9, 0).to_vec();
        write_attribute(&mut other, TCA_KIND, b"noqueue\0");
        assert_eq!(ingress_of(&other), Ok(None));
    }

    proptest! {
        #[test]
        fn any_bytes_end_without_panic(
            noise in proptest::collection::vec((0usize..120, any::<u8>()), 0..9),
            cut in 0usize..140,
        ) {
            let mut bytes = bytes(Filter { handle: 1, source: Some(MAC) });
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
