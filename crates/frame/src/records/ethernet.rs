//! The Ethernet frame around a packet of records: from a NIC to that of a neighbour, untagged or on the VLAN of a
//! VLAN interface. EtherType 0x88B6 is the IEEE's Local Experimental EtherType 2 (IEEE 802, clause 9.2.4).
//!
//! All numbers big endian:
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 6 | destination, the neighbour's MAC |
//! | 6 | 6 | source, the NIC's MAC |
//! | 12 | 2 | EtherType 0x88B6 |
//! | 14 | 2 | length of the packet: short frames are padded |
//! | 16 | | the packet, with its tag |

use pnet::packet::Packet as _;
use pnet::packet::ethernet::{EtherType, EthernetPacket, MutableEthernetPacket};
use pnet::util::MacAddr;
use tresse_base::units::Mac;

use self::format::{Length, LengthPacket, MutableLengthPacket};
use super::PACKET_MOST;
use crate::keys::TAG;

/// The EtherType of records, 0x88B6: Local Experimental EtherType 2.
pub const ETHERTYPE: u16 = 0x88b6;
/// The longest frame in bytes, without tag and FCS.
pub const FRAME_MOST: usize = HEADER + PACKET_MOST + TAG;

const HEADER: usize = 16;

/// What follows the Ethernet header, as in the table above.
mod format {
    use pnet_macros::packet;
    use pnet_macros_support::types::u16be;

    #[packet]
    pub struct Length {
        pub length: u16be,
        #[payload]
        pub packet: Vec<u8>,
    }
}

/// A received frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordsFrame {
    /// The neighbour's NIC.
    pub source: Mac,
    /// The NIC that it is meant for.
    pub destination: Mac,
    /// The packet, which is not read yet.
    pub packet: Vec<u8>,
}

impl RecordsFrame {
    /// The whole frame, without padding.
    ///
    /// # Panics
    /// If the packet is longer than [`PACKET_MOST`] and a tag.
    #[must_use]
    pub fn emit(&self) -> Vec<u8> {
        let most = PACKET_MOST + TAG;
        assert!(self.packet.len() <= most, "a packet of records has at most {most} bytes");
        let mut frame = vec![0; HEADER];
        let mut ethernet = MutableEthernetPacket::new(&mut frame).expect("16 bytes");
        ethernet.set_destination(MacAddr::from(self.destination.0));
        ethernet.set_source(MacAddr::from(self.source.0));
        ethernet.set_ethertype(EtherType(ETHERTYPE));
        let mut length = MutableLengthPacket::new(&mut frame[HEADER - 2..]).expect("2 bytes");
        length.populate(&Length { length: self.packet.len() as u16, packet: Vec::new() });
        frame.extend_from_slice(&self.packet);
        frame
    }

    /// Reads a whole frame without tag; `None` if it is none, or ends before its packet. Any bytes give an answer.
    #[must_use]
    pub fn parse(frame: &[u8]) -> Option<Self> {
        let ethernet = EthernetPacket::new(frame)?;
        let EtherType(ethertype) = ethernet.get_ethertype();
        let content = LengthPacket::new(ethernet.payload())?;
        let source = Mac(ethernet.get_source().octets());
        if ethertype != ETHERTYPE || source.0[0] & 1 != 0 {
            return None;
        }
        let packet = content.payload().get(..content.get_length().into())?;
        let destination = Mac(ethernet.get_destination().octets());
        Some(Self { source, destination, packet: packet.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> RecordsFrame {
        let (source, destination) = (Mac([2, 0, 0, 0, 0, 7]), Mac([2, 0, 0, 0, 0, 8]));
        RecordsFrame { source, destination, packet: vec![1, 2, 3] }
    }

    #[test]
    fn frame_is_the_documented_bytes() {
        let frame = sample().emit();
        assert_eq!(frame, [2, 0, 0, 0, 0, 8, 2, 0, 0, 0, 0, 7, 0x88, 0xb6, 0, 3, 1, 2, 3]);
        assert_eq!(RecordsFrame::parse(&frame), Some(sample()));
        let padded = [&frame[..], &[0; 41]].concat();
        assert_eq!(RecordsFrame::parse(&padded), Some(sample()));
    }

    #[test]
    fn what_is_no_frame_of_records_is_none() {
        let frame = sample().emit();
        let with = |at: usize, byte: u8| {
            let mut frame = frame.clone();
            frame[at] = byte;
            RecordsFrame::parse(&frame)
        };
        assert_eq!(with(13, 0xb5), None, "another EtherType");
        assert_eq!(with(6, 3), None, "from a group");
        assert_eq!(with(15, 4), None, "ends before its packet");
        (0..frame.len()).for_each(|length| assert_eq!(RecordsFrame::parse(&frame[..length]), None));
    }
}
