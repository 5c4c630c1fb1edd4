//! Decides what a transit node does with one received frame: pops the top label of its MPLS label
//! stack and rewrites the Ethernet header in place, or drops the frame.
//!
//! Reading and writing the frame in place is our own code, not pnet's: the new Ethernet header begins
//! at another byte than the old one, over what was the label, and no packet type covers both.
//!
//! In the figure, `D` and `S` are bytes of the destination and source MAC address, `[..]` are label
//! stack entries and the IP packet. The VLAN tag of a received frame may still be in it, or the
//! kernel may have removed it ([`Arrival`]).
//!
//! ```text
//! received  DDDDDD SSSSSS 8847 [top] [next .. or IP ..]
//! sent          DDDDDD SSSSSS 8847 [next ..                  untagged: begins 4 bytes later
//!           DDDDDD SSSSSS 8100 vid 0800 [IP ..               tagged: begins at the same byte
//! ```

use pnet::packet::ethernet::EtherTypes;
use tresse_base::id::{Label, Vid};

use crate::forward::table::{C_TAG, ETHERNET, S_TAG, TAG, Written};
use crate::forward::{DropReason, ForwardingTable, Ttl};
use crate::mpls::{self, ENTRY_LEN, LabelStackEntry};

const IPV4: u16 = EtherTypes::Ipv4.0;
const IPV6: u16 = EtherTypes::Ipv6.0;
const IPV4_HEADER: usize = 20;
const IPV6_HEADER: usize = 40;
const VID_BITS: u16 = 0x0fff;

/// A VLAN tag: its protocol identifier (TPID) and its control information (TCI: priority, drop
/// eligibility and VID).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tag {
    /// Its protocol identifier, 0x8100 for 802.1Q.
    pub tpid: u16,
    /// Priority, drop eligibility, VID.
    pub tci: u16,
}

/// What is known of a received frame besides its bytes: the VLAN tag that the kernel removed,
/// whether the capture cut the frame off, and the longest frame that segmentation will make of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Arrival {
    /// The tag that the kernel took off.
    pub tag: Option<Tag>,
    /// Whether the frame was longer on the wire than the bytes captured. Such a frame is never
    /// forwarded.
    pub cut: bool,
    /// Bytes of the longest frame that will be made of this one, if that is not its own length
    /// (segmentation offload).
    pub longest: Option<usize>,
}

/// The decision to send a received frame on: the NIC that it leaves by, the popped label, where in
/// the buffer the rewritten frame begins, and whether that was the last label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Forward {
    /// Index of the NIC it leaves by, in the table's NICs.
    pub nic: usize,
    /// Where in the bytes the frame now begins; it ends where it ended.
    pub start: usize,
    /// The popped label.
    pub label: Label,
    /// Whether it leaves without labels.
    pub plain: bool,
}

impl ForwardingTable {
    /// Judges a frame, destination MAC first, that came in by NIC number `nic`, and rewrites it where
    /// it lies. The bytes of a frame that is not forwarded stay as they are. O(label stack).
    ///
    /// # Errors
    /// Why it is dropped.
    pub fn decide(
        &self,
        nic: usize,
        arrival: Arrival,
        frame: &mut [u8],
    ) -> Result<Forward, DropReason> {
        let nic = self.nic(nic).ok_or(DropReason::NotForUs)?;
        let (destination, rest) = frame.split_first_chunk::<6>().ok_or(DropReason::Truncated)?;
        if *destination != nic.mac.0 {
            return Err(DropReason::NotForUs);
        }
        let source = *rest.first_chunk::<6>().ok_or(DropReason::Truncated)?;
        let (tag, before) = tag(arrival.tag, frame)?;
        let vid = match tag {
            None => None,
            Some(Tag { tpid: C_TAG, tci }) => Vid::tag(tci & VID_BITS),
            Some(_) => return Err(DropReason::DoubleTag),
        };
        if !nic.knows(vid, source) {
            return Err(DropReason::ForeignMac);
        }
        let stack = frame.get(before..).ok_or(DropReason::Truncated)?;
        let top = LabelStackEntry::parse(stack).ok_or(DropReason::Truncated)?;
        let exit = self.exit(top.label).ok_or(DropReason::UnknownLabel)?;
        if top.ttl <= 1 {
            return Err(DropReason::TtlExpired);
        }
        if !top.bottom && mpls::stack_len(&stack[ENTRY_LEN..]).is_none() {
            return Err(DropReason::Truncated);
        }
        let length = arrival.longest.unwrap_or(frame.len());
        if arrival.cut || length.saturating_sub(before + ENTRY_LEN) > exit.mtu_bytes as usize {
            return Err(DropReason::TooBig);
        }
        let ethertype = match top.bottom {
            true => expose(&mut frame[before + ENTRY_LEN..], top.ttl - 1, self.ttl)?,
            false => mpls::ETHERTYPE,
        };
        let start = write(exit, ethertype, before + ENTRY_LEN, frame);
        Ok(Forward { nic: usize::from(exit.nic), start, label: top.label, plain: top.bottom })
    }
}

/// The tag of a labelled frame, and how many bytes are before its label stack.
fn tag(beside: Option<Tag>, frame: &[u8]) -> Result<(Option<Tag>, usize), DropReason> {
    match (word(frame, 12)?, beside) {
        (mpls::ETHERTYPE, tag) => Ok((tag, ETHERNET)),
        (C_TAG | S_TAG, Some(_)) => Err(DropReason::DoubleTag),
        (tpid @ (C_TAG | S_TAG), None) => {
            let tag = Tag { tpid, tci: word(frame, ETHERNET)? };
            match word(frame, ETHERNET + 2)? {
                mpls::ETHERTYPE => Ok((Some(tag), ETHERNET + TAG)),
                C_TAG | S_TAG => Err(DropReason::DoubleTag),
                _ => Err(DropReason::NotMpls),
            }
        }
        _ => Err(DropReason::NotMpls),
    }
}

/// Readies an IP packet whose last label is gone; its EtherType.
fn expose(packet: &mut [u8], label_ttl: u8, ttl: Ttl) -> Result<u16, DropReason> {
    let next = |own: u8| match ttl {
        Ttl::Propagate => label_ttl,
        Ttl::Keep => own.saturating_sub(1),
    };
    match packet.first().map(|b| b >> 4) {
        None => Err(DropReason::Truncated),
        Some(4) => {
            let header: &mut [u8; IPV4_HEADER] =
                packet.first_chunk_mut().ok_or(DropReason::Truncated)?;
            let new = next(header[8]);
            let sum = u16::from_be_bytes([header[10], header[11]]);
            let sum = corrected(sum, u16::from(header[8]) << 8, u16::from(new) << 8);
            header[10..12].copy_from_slice(&sum.to_be_bytes());
            header[8] = new;
            Ok(IPV4)
        }
        Some(6) => {
            let header: &mut [u8; IPV6_HEADER] =
                packet.first_chunk_mut().ok_or(DropReason::Truncated)?;
            header[7] = next(header[7]);
            Ok(IPV6)
        }
        Some(_) => Err(DropReason::NoIp),
    }
}

/// RFC 1624, equation 3: the checksum after one of the words that it covers has changed.
fn corrected(sum: u16, old: u16, new: u16) -> u16 {
    let mut total = u32::from(!sum) + u32::from(!old) + u32::from(new);
    total = (total & 0xffff) + (total >> 16);
    total = (total & 0xffff) + (total >> 16);
    !(total as u16)
}

/// Writes the new Ethernet header before `end`, where the popped entry ended; where it begins.
fn write(exit: &Written, ethertype: u16, end: usize, frame: &mut [u8]) -> usize {
    let addresses = if exit.tagged { ETHERNET + 2 } else { ETHERNET - 2 };
    let start = end - addresses - 2;
    frame[start..start + addresses].copy_from_slice(&exit.header[..addresses]);
    frame[end - 2..end].copy_from_slice(&ethertype.to_be_bytes());
    start
}

fn word(frame: &[u8], at: usize) -> Result<u16, DropReason> {
    let bytes = frame.get(at..).and_then(|rest| rest.first_chunk()).ok_or(DropReason::Truncated)?;
    Ok(u16::from_be_bytes(*bytes))
}
