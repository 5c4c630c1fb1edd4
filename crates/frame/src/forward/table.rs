//! The forwarding table of one transit node: for each MPLS label the NIC, VID and MAC address that
//! it means. A table never changes: a new plan makes a new one.

use std::net::IpAddr;

use pnet::packet::ethernet::{EtherType, EtherTypes, MutableEthernetPacket};
use pnet::packet::vlan::MutableVlanPacket;
use tresse_base::id::{Label, Vid};
use tresse_base::label::LabelExit;
use tresse_base::units::Mac;

use crate::mpls;

/// The largest number of labels in the label stack of a path.
pub const MOST_LABELS: usize = 16;

/// IEEE 802.1Q's tag protocol identifier.
pub(super) const C_TAG: u16 = EtherTypes::Vlan.0;
/// IEEE 802.1ad's, of outer tags.
pub(super) const S_TAG: u16 = EtherTypes::PBridge.0;
const MAX_VID: u16 = 4094;
/// Bytes of an Ethernet header, and of an 802.1Q tag in it.
pub(super) const ETHERNET: usize = 14;
pub(super) const TAG: usize = 4;

/// A NIC of the node that forwards or pushes labels: its MAC address, its MTU, and the neighbours
/// that may send labelled frames to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableNic {
    /// Its own MAC.
    pub mac: Mac,
    /// The largest payload that it sends, labels included.
    pub mtu_bytes: u32,
    /// MACs that may send labelled frames to it, each with the VID (`None`: untagged). In any
    /// order.
    pub neighbours: Vec<(Option<Vid>, Mac)>,
}

/// The rule for the TTL or hop limit of an IP packet whose last label is popped: it is taken from
/// the label, or the packet keeps its own; either is reduced by 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ttl {
    /// The label's, minus 1.
    #[default]
    Propagate,
    /// Its own, minus 1.
    Keep,
}

/// Why a forwarding table, or a table of labelled paths, cannot be made: the first invalid entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// A label that RFC 7274 reserves, or of more than 20 bits.
    #[error("label {} is outside of {} to {}", label.0, mpls::FIRST_LABEL.0, mpls::LAST_LABEL.0)]
    Label {
        /// The label.
        label: Label,
    },
    /// A label with two meanings.
    #[error("label {} has two meanings", label.0)]
    Twice {
        /// The label.
        label: Label,
    },
    /// A label that leads out of a NIC which is not in the table.
    #[error("label {} leads out of NIC {nic}, the table has {nics}", label.0)]
    Nic {
        /// The label.
        label: Label,
        /// The NIC.
        nic: usize,
        /// NICs there are.
        nics: usize,
    },
    /// Not a VID.
    #[error("VID {} is outside of 1 to {MAX_VID}", vid.0)]
    Vid {
        /// The VID.
        vid: Vid,
    },
    /// A group address, which no NIC has.
    #[error("{mac} is a group address, expected that of a NIC")]
    Group {
        /// The address.
        mac: Mac,
    },
    /// A label stack that is empty or too deep.
    #[error("the path to {destination} has {labels} labels, expected 1 to {}", MOST_LABELS)]
    Stack {
        /// Where the path leads.
        destination: IpAddr,
        /// Labels it has.
        labels: usize,
    },
    /// A destination without paths.
    #[error("no path leads to {destination}")]
    NoPath {
        /// The destination.
        destination: IpAddr,
    },
    /// A destination that is listed twice.
    #[error("the paths to {destination} are given twice")]
    DestinationTwice {
        /// The destination.
        destination: IpAddr,
    },
    /// A path that leaves by a NIC which is not in the table.
    #[error("the path to {destination} leaves by NIC {nic}, the table has {nics}")]
    PathNic {
        /// Where the path leads.
        destination: IpAddr,
        /// The NIC.
        nic: usize,
        /// NICs there are.
        nics: usize,
    },
}

/// The forwarding table of a transit node: for each MPLS label the NIC, VID and MAC address that it
/// means, and for each NIC the neighbours that may send labelled frames to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForwardingTable {
    nics: Vec<Known>,
    /// Indexed by label, from [`mpls::FIRST_LABEL`] on.
    exits: Vec<Option<Written>>,
    pub(super) ttl: Ttl,
}

/// A NIC with its neighbours as sorted keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Known {
    pub mac: Mac,
    mtu_bytes: u32,
    neighbours: Vec<u64>,
}

/// An exit with its Ethernet header already written, but for the EtherType.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Written {
    /// Destination, source, 802.1Q tag.
    pub header: [u8; 16],
    pub tagged: bool,
    pub nic: u16,
    pub mtu_bytes: u32,
}

impl ForwardingTable {
    /// Returns a table of these NICs, in the order in which [`LabelExit::nic`] counts them, and these
    /// labels. Uses memory up to the greatest label: labels are best assigned from 16 on.
    ///
    /// # Errors
    /// The first entry that cannot be, as [`TableError`] lists.
    pub fn new(
        nics: &[TableNic],
        labels: impl IntoIterator<Item = (Label, LabelExit<usize>)>,
        ttl: Ttl,
    ) -> Result<Self, TableError> {
        let known = nics.iter().map(Known::new).collect::<Result<Vec<_>, _>>()?;
        let mut exits = Vec::new();
        for (label, exit) in labels {
            if label > mpls::LAST_LABEL {
                return Err(TableError::Label { label });
            }
            let place = place(label).ok_or(TableError::Label { label })?;
            if place >= exits.len() {
                exits.resize(place + 1, None);
            }
            let written = Written::new(label, exit, nics)?;
            if exits[place].replace(written).is_some() {
                return Err(TableError::Twice { label });
            }
        }
        Ok(Self { nics: known, exits, ttl })
    }

    /// Returns the number of NICs.
    #[must_use]
    pub fn nics(&self) -> usize {
        self.nics.len()
    }

    /// Returns one more than the greatest label, or [`mpls::FIRST_LABEL`] if there are no labels.
    #[must_use]
    pub fn label_end(&self) -> Label {
        Label(mpls::FIRST_LABEL.0 + self.exits.len() as u32)
    }

    /// Returns the MAC of one NIC.
    #[must_use]
    pub fn mac(&self, nic: usize) -> Option<Mac> {
        self.nics.get(nic).map(|n| n.mac)
    }

    pub(super) fn nic(&self, nic: usize) -> Option<&Known> {
        self.nics.get(nic)
    }

    pub(super) fn exit(&self, label: Label) -> Option<&Written> {
        self.exits.get(place(label)?)?.as_ref()
    }
}

impl Known {
    fn new(nic: &TableNic) -> Result<Self, TableError> {
        let mac = single(nic.mac)?;
        let mut neighbours = Vec::with_capacity(nic.neighbours.len());
        for &(vid, mac) in &nic.neighbours {
            neighbours.push(key(checked(vid)?, single(mac)?.0));
        }
        neighbours.sort_unstable();
        neighbours.dedup();
        Ok(Self { mac, mtu_bytes: nic.mtu_bytes, neighbours })
    }

    /// Returns whether `source` may send labelled frames on `vid` (`None`: untagged) to this NIC.
    /// O(log neighbours).
    pub fn knows(&self, vid: Option<Vid>, source: [u8; 6]) -> bool {
        self.neighbours.binary_search(&key(vid, source)).is_ok()
    }
}

impl Written {
    fn new(label: Label, exit: LabelExit<usize>, nics: &[TableNic]) -> Result<Self, TableError> {
        let unknown = TableError::Nic { label, nic: exit.nic, nics: nics.len() };
        let nic = nics.get(exit.nic).ok_or(unknown.clone())?;
        // The EtherType depends on the frame.
        let whole = EthernetHeader::new(exit.mac, nic.mac, exit.vid, 0)?;
        let mut header = [0; 16];
        header.copy_from_slice(&whole.bytes[..16]);
        Ok(Self {
            header,
            tagged: exit.vid.is_some(),
            nic: u16::try_from(exit.nic).map_err(|_| unknown)?,
            mtu_bytes: nic.mtu_bytes,
        })
    }
}

fn place(label: Label) -> Option<usize> {
    Some(label.0.checked_sub(mpls::FIRST_LABEL.0)? as usize)
}

/// An Ethernet header, with an 802.1Q tag if there is a VID.
pub(super) struct EthernetHeader {
    /// The header begins at the first byte.
    pub bytes: [u8; ETHERNET + TAG],
    pub length: usize,
}

impl EthernetHeader {
    pub fn new(to: Mac, from: Mac, vid: Option<Vid>, ethertype: u16) -> Result<Self, TableError> {
        let (to, vid) = (single(to)?, checked(vid)?);
        let mut bytes = [0; ETHERNET + TAG];
        let (before, tag) = bytes.split_at_mut(ETHERNET);
        let mut header = MutableEthernetPacket::new(before).expect("it has the header's length");
        header.set_destination(to.0.into());
        header.set_source(from.0.into());
        header.set_ethertype(EtherType(if vid.is_some() { C_TAG } else { ethertype }));
        let mut length = ETHERNET;
        if let Some(vid) = vid {
            let mut tag = MutableVlanPacket::new(tag).expect("it has the tag's length");
            tag.set_vlan_identifier(vid.0);
            tag.set_ethertype(EtherType(ethertype));
            length += TAG;
        }
        Ok(Self { bytes, length })
    }
}

fn checked(vid: Option<Vid>) -> Result<Option<Vid>, TableError> {
    match vid {
        None | Some(Vid(1..=MAX_VID)) => Ok(vid),
        Some(vid) => Err(TableError::Vid { vid }),
    }
}

pub(super) fn single(mac: Mac) -> Result<Mac, TableError> {
    if mac.0[0] & 1 == 0 { Ok(mac) } else { Err(TableError::Group { mac }) }
}

/// VID and MAC address in one number; 0 is no VID.
fn key(vid: Option<Vid>, [a, b, c, d, e, f]: [u8; 6]) -> u64 {
    let [high, low] = vid.map_or(0, |vid| vid.0).to_be_bytes();
    u64::from_be_bytes([high, low, a, b, c, d, e, f])
}
