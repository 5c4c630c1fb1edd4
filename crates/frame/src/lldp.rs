//! LLDP frames (IEEE 802.1AB-2016, clauses 7 to 9), by which a switch or node describes the port at
//! its end of a cable. Decoding keeps only the fields that identify the device and port; of all
//! others it checks only the length.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 6 | destination, one of [`GROUPS`], or [`ALL`] |
//! | 6 | 6 | source, the port's MAC |
//! | 12 | 2 | EtherType 0x88CC |
//! | 14 | | TLVs: type (7 bits), length of the value (9 bits, big endian), value |
//!
//! First come chassis (type 1: subtype, id), port (2: subtype, id) and time to live (3: seconds, 2
//! bytes, big endian), in this order and once each. Port description (4) and system name (5) come
//! at most once. System capabilities (7: what the device can be, and what it is, 2 bytes each, big endian) say which
//! devices are hosts. The type 0 ends the frame; what follows it is padding.

#[cfg(test)]
mod tests;

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use pnet::packet::ethernet::{EtherType, EtherTypes, EthernetPacket, MutableEthernetPacket};
use pnet::util::MacAddr;
use tresse_base::units::Mac;

use self::format::{MutableTlvPacket, Tlv, TlvPacket};

/// The EtherType of LLDP frames.
pub const ETHERTYPE: u16 = EtherTypes::Lldp.0;
/// The three standard destination MAC addresses of LLDP: nearest bridge, nearest non-TPMR bridge,
/// nearest customer bridge.
pub const GROUPS: [Mac; 3] = [
    Mac([0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e]),
    Mac([0x01, 0x80, 0xc2, 0x00, 0x00, 0x03]),
    Mac([0x01, 0x80, 0xc2, 0x00, 0x00, 0x00]),
];
/// Destination MAC address of the LLDP frames that daemons send for `tresse discover`: broadcast,
/// which switches forward to every node. (Clause 7.1 also allows individual destinations.)
pub const ALL: Mac = Mac([0xff; 6]);
/// Length of the longest LLDP frame in bytes, without 802.1Q tag and FCS.
pub const MOST_BYTES: usize = 1514;

const HEADER: usize = 14;
const END: u8 = 0;
const CHASSIS: u8 = 1;
const PORT: u8 = 2;
const TTL: u8 = 3;
const DESCRIPTION: u8 = 4;
const SYSTEM: u8 = 5;
const CAPABILITIES: u8 = 7;
/// Of the capabilities (table 8-4): a host that forwards nothing.
const STATION_ONLY: [u8; 2] = [0, 0x80];
/// The longest text or identifier.
const MOST_TEXT: usize = 255;
const PORT_ADDRESS: u8 = 4;
const CHASSIS_MAC: u8 = 4;
const CHASSIS_ADDRESS: u8 = 5;

/// The head of a TLV. Its value is cut out of what follows by a checked split, which no frame can
/// bring to panic.
mod format {
    use pnet_macros::packet;
    use pnet_macros_support::types::{u7, u9be};

    #[packet]
    pub struct Tlv {
        pub kind: u7,
        pub length: u9be,
        #[payload]
        pub rest: Vec<u8>,
    }
}

/// Bytes of a TLV's head.
const TLV_HEAD: usize = 2;

/// The fields of one LLDP frame: the device and port that sent it, and for how long this holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lldp {
    /// The device.
    pub chassis: Chassis,
    /// Its port.
    pub port: Port,
    /// For how many seconds this holds; 0: no longer.
    pub ttl_seconds: u16,
    /// The port's description, as sent.
    pub description: Option<Vec<u8>>,
    /// The device's name, as sent.
    pub system: Option<Vec<u8>>,
    /// Is the device a host that forwards nothing, as it says (clause 8.5.8)?
    pub station: bool,
    /// Was it sent to all stations, so that it may have crossed switches?
    pub flooded: bool,
}

/// The chassis ID of an LLDP frame, which names the device that sent it: subtype and value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chassis {
    /// Its subtype (table 8-2): 4 is a MAC.
    pub subtype: u8,
    /// The id, 1 to 255 bytes.
    pub id: Vec<u8>,
}

/// The port ID of an LLDP frame, which names the port that sent it: subtype and value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Port {
    /// Its subtype (table 8-3): 3 is a MAC, 5 an interface's name.
    pub subtype: u8,
    /// The id, 1 to 255 bytes.
    pub id: Vec<u8>,
}

/// Why a received frame is not a valid LLDP frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LldpError {
    /// Too short for the header.
    #[error("LLDP frame has {found} bytes, expected at least {HEADER}")]
    Short {
        /// Bytes there are.
        found: usize,
    },
    /// Longer than any.
    #[error("LLDP frame has {found} bytes, expected at most {MOST_BYTES}")]
    Long {
        /// Bytes there are.
        found: usize,
    },
    /// Sent elsewhere than to one of the groups.
    #[error("LLDP sent to {found}")]
    Destination {
        /// The destination.
        found: Mac,
    },
    /// From a group address, which no station has.
    #[error("LLDP from the group address {found}")]
    Source {
        /// The source.
        found: Mac,
    },
    /// Another EtherType.
    #[error("EtherType {found:#06x}, expected {ETHERTYPE:#06x}")]
    EtherType {
        /// The EtherType.
        found: u16,
    },
    /// A TLV that does not end within the frame.
    #[error("LLDP TLV of type {kind} is cut off")]
    Cut {
        /// Its type.
        kind: u8,
    },
    /// A TLV where another one has to be, or once more.
    #[error("LLDP TLV of type {kind} in the wrong place")]
    Order {
        /// Its type.
        kind: u8,
    },
    /// A value too short or too long for its type.
    #[error("LLDP TLV of type {kind} has {found} bytes")]
    Length {
        /// Its type.
        kind: u8,
        /// Bytes of its value.
        found: usize,
    },
    /// The frame ends before its time to live.
    #[error("LLDP frame without chassis, port and time to live")]
    Missing,
}

impl Lldp {
    /// Reads a whole frame without tag: its source and what it says. O(bytes).
    ///
    /// # Errors
    /// As [`LldpError`] lists; any bytes give an answer.
    pub fn parse(frame: &[u8]) -> Result<(Mac, Self), LldpError> {
        let (source, flooded, rest) = header(frame)?;
        let mut tlvs = Tlvs(rest);
        let mut first = |wanted: u8| match tlvs.next().transpose()? {
            Some((kind, value)) if kind == wanted => Ok(value),
            Some((kind, _)) => Err(LldpError::Order { kind }),
            None => Err(LldpError::Missing),
        };
        let (subtype, id) = identifier(CHASSIS, first(CHASSIS)?)?;
        let chassis = Chassis { subtype, id };
        let (subtype, id) = identifier(PORT, first(PORT)?)?;
        let port = Port { subtype, id };
        let ttl = first(TTL)?;
        let found = ttl.len();
        let ttl = ttl.try_into().map_err(|_| LldpError::Length { kind: TTL, found })?;
        let ttl_seconds = u16::from_be_bytes(ttl);
        let mut lldp = Self {
            chassis,
            port,
            ttl_seconds,
            description: None,
            system: None,
            station: false,
            flooded,
        };
        for tlv in tlvs {
            let (kind, value) = tlv?;
            let text = match kind {
                CHASSIS | PORT | TTL => return Err(LldpError::Order { kind }),
                DESCRIPTION => &mut lldp.description,
                SYSTEM => &mut lldp.system,
                CAPABILITIES => {
                    lldp.station = value.get(2..) == Some(&STATION_ONLY);
                    continue;
                }
                _ => continue,
            };
            if value.len() > MOST_TEXT {
                return Err(LldpError::Length { kind, found: value.len() });
            }
            if text.replace(value.to_vec()).is_some() {
                return Err(LldpError::Order { kind });
            }
        }
        Ok((source, lldp))
    }

    /// The frame that says this, from `source`; what is too long is cut.
    #[must_use]
    pub fn emit(&self, source: Mac) -> Vec<u8> {
        let mut frame = Vec::with_capacity(64);
        frame.resize(HEADER, 0);
        if let Some(mut ethernet) = MutableEthernetPacket::new(&mut frame) {
            let destination = if self.flooded { ALL } else { GROUPS[0] };
            ethernet.set_destination(MacAddr::from(destination.0));
            ethernet.set_source(MacAddr::from(source.0));
            ethernet.set_ethertype(EtherType(ETHERTYPE));
        }
        let mut tlv = |kind: u8, parts: [&[u8]; 2]| {
            let mut value = parts.concat();
            value.truncate(MOST_TEXT + 1);
            let mut head = [0; TLV_HEAD];
            if let Some(mut tlv) = MutableTlvPacket::new(&mut head) {
                tlv.populate(&Tlv { kind, length: value.len() as u16, rest: Vec::new() });
            }
            frame.extend(head);
            frame.extend(value);
        };
        tlv(CHASSIS, [&[self.chassis.subtype], &self.chassis.id]);
        tlv(PORT, [&[self.port.subtype], &self.port.id]);
        tlv(TTL, [&self.ttl_seconds.to_be_bytes(), &[]]);
        for (kind, text) in [(DESCRIPTION, &self.description), (SYSTEM, &self.system)] {
            text.iter().for_each(|text| tlv(kind, [text, &[]]));
        }
        if self.station {
            tlv(CAPABILITIES, [&STATION_ONLY, &STATION_ONLY]);
        }
        tlv(END, [&[], &[]]);
        frame
    }

    /// The device's name.
    #[must_use]
    pub fn system_text(&self) -> Option<String> {
        self.system.as_deref().map(text)
    }

    /// The port's description.
    #[must_use]
    pub fn description_text(&self) -> Option<String> {
        self.description.as_deref().map(text)
    }
}

impl Chassis {
    /// The subtype of an id that is assigned locally (table 8-2).
    pub const LOCAL: u8 = 7;
}

impl Port {
    /// The subtype of an id that is a MAC (table 8-3).
    pub const MAC: u8 = 3;

    /// The MAC that the id is, where it is one.
    #[must_use]
    pub fn mac(&self) -> Option<Mac> {
        mac(&self.id).filter(|_| self.subtype == Self::MAC)
    }
}

impl fmt::Display for Chassis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.subtype;
        f.write_str(&identifier_text(&self.id, kind == CHASSIS_MAC, kind == CHASSIS_ADDRESS))
    }
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.subtype;
        f.write_str(&identifier_text(&self.id, kind == Self::MAC, kind == PORT_ADDRESS))
    }
}

/// The source of a frame, whether it is to all, and its TLVs.
fn header(frame: &[u8]) -> Result<(Mac, bool, &[u8]), LldpError> {
    let found = frame.len();
    if found > MOST_BYTES {
        return Err(LldpError::Long { found });
    }
    let header = EthernetPacket::new(frame).ok_or(LldpError::Short { found })?;
    let destination = Mac(header.get_destination().octets());
    if destination != ALL && !GROUPS.contains(&destination) {
        return Err(LldpError::Destination { found: destination });
    }
    let source = Mac(header.get_source().octets());
    if source.0[0] & 1 != 0 {
        return Err(LldpError::Source { found: source });
    }
    let EtherType(ethertype) = header.get_ethertype();
    if ethertype != ETHERTYPE {
        return Err(LldpError::EtherType { found: ethertype });
    }
    Ok((source, destination == ALL, &frame[HEADER..]))
}

/// Type and value of each TLV before that which ends the frame.
struct Tlvs<'a>(&'a [u8]);

impl<'a> Iterator for Tlvs<'a> {
    type Item = Result<(u8, &'a [u8]), LldpError>;

    fn next(&mut self) -> Option<Self::Item> {
        let bytes = std::mem::take(&mut self.0);
        let kind = bytes.first()? >> 1;
        if kind == END {
            // The length is 0 except in broken frames, whose remainder is meaningless too.
            return None;
        }
        let cut = Some(Err(LldpError::Cut { kind }));
        let Some(head) = TlvPacket::new(bytes) else { return cut };
        let length = usize::from(head.get_length());
        let Some((value, rest)) = bytes[TLV_HEAD..].split_at_checked(length) else { return cut };
        self.0 = rest;
        Some(Ok((kind, value)))
    }
}

/// Subtype and id of a chassis or port.
fn identifier(kind: u8, value: &[u8]) -> Result<(u8, Vec<u8>), LldpError> {
    match value {
        [subtype, id @ ..] if (1..=MOST_TEXT).contains(&id.len()) => Ok((*subtype, id.to_vec())),
        _ => Err(LldpError::Length { kind, found: value.len() }),
    }
}

fn identifier_text(id: &[u8], is_mac: bool, is_address: bool) -> String {
    /// Numbers of address families (IANA).
    const IPV4: u8 = 1;
    const IPV6: u8 = 2;
    if let Some(mac) = mac(id).filter(|_| is_mac) {
        return mac.to_string();
    }
    if is_address && let [family, address @ ..] = id {
        if let (IPV4, Ok(address)) = (*family, <[u8; 4]>::try_from(address)) {
            return Ipv4Addr::from(address).to_string();
        }
        if let (IPV6, Ok(address)) = (*family, <[u8; 16]>::try_from(address)) {
            return Ipv6Addr::from(address).to_string();
        }
    }
    text(id)
}

fn mac(id: &[u8]) -> Option<Mac> {
    id.try_into().ok().map(Mac)
}

/// Text as sent: what is not UTF-8 is replaced, a terminating NUL that some send is left out.
fn text(bytes: &[u8]) -> String {
    let bytes = bytes.strip_suffix(&[0]).unwrap_or(bytes);
    String::from_utf8_lossy(bytes).into_owned()
}
