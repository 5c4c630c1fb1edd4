//! Pushes MPLS labels onto the packets of a source node whose kernel cannot: finds the path of an
//! IP packet and writes the headers in front of it. In the figure, `D` and `S` are bytes of the
//! destination and source MAC address; the tag `8100 vid` is left out on an untagged path.
//!
//! ```text
//! packet                                        [IP ..
//! sent          DDDDDD SSSSSS 8100 vid 8847 [top] .. [bottom] [IP ..
//! ```
//!
//! As in Linux (net/mpls/mpls_iptunnel.c), every label gets the packet's TTL, or 255 with
//! [`Ttl::Keep`], and traffic class 0; the packet itself is unchanged. Several paths to a
//! destination share its flows, by a hash of addresses, protocol and (unless the packet is a
//! fragment) ports. No allocation per packet; any bytes are valid input.

#[cfg(test)]
mod tests;

use std::net::{IpAddr, Ipv6Addr};

use pnet::packet::ip::{IpNextHeaderProtocol, IpNextHeaderProtocols};
use pnet::packet::ipv4::{Ipv4Flags, Ipv4Packet};
use pnet::packet::ipv6::Ipv6Packet;
use tresse_base::id::{Label, Vid};
use tresse_base::units::{Mac, Prefix};

use super::DropReason;
use super::table::{ETHERNET, EthernetHeader, MOST_LABELS, TAG, TableError, TableNic, Ttl, single};
use crate::mpls::{self, ENTRY_LEN, LabelStackEntry};

/// The largest number of bytes that are written in front of an IP packet: an Ethernet header with
/// 802.1Q tag, and [`MOST_LABELS`] labels.
pub const MOST_BEFORE: usize = ETHERNET + TAG + MOST_LABELS * ENTRY_LEN;

/// One labelled path to a destination in a [`PushTable`]: the NIC, VID and MAC address that frames
/// are sent to, the label stack, and the weight beside other paths to this destination.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelPath {
    /// Index of the NIC it leaves by, in the table's NICs.
    pub nic: usize,
    /// The VID it leaves on; `None`: without tag.
    pub vid: Option<Vid>,
    /// The NIC of the first transit node.
    pub mac: Mac,
    /// The label stack, outermost first; at least one, at most [`MOST_LABELS`].
    pub labels: Vec<Label>,
    /// Its share of the flows beside other paths; 0 counts as 1.
    pub weight: u8,
}

/// The labelled paths of one source node, by destination address. A table never changes: a new plan
/// makes a new one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushTable {
    nics: Vec<Mac>,
    /// By address, ascending; the paths to it are `prepared_paths[from..to]`.
    ipv4: Vec<(u32, u32, u32)>,
    ipv6: Vec<(u128, u32, u32)>,
    /// Networks behind destinations, ascending, with the paths to these.
    networks: Vec<(Prefix, (u32, u32))>,
    prepared_paths: Vec<PreparedPath>,
    ttl: Ttl,
}

/// A path with its headers, complete except for the TTLs.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PreparedPath {
    nic: usize,
    mtu_bytes: u32,
    /// The weights of the paths to the destination up to and with this one.
    until: u32,
    length: usize,
    labels: usize,
    before: [u8; MOST_BEFORE],
}

/// The decision to send one packet with labels: the path chosen for it, and the headers to write in
/// front of it.
#[derive(Debug, Clone, Copy)]
pub struct Push<'table> {
    prepared: &'table PreparedPath,
    path: usize,
    ttl: u8,
}

impl PushTable {
    /// Returns a table of these NICs and of the paths to each destination. The NICs' neighbours are
    /// ignored.
    ///
    /// # Errors
    /// The first entry that cannot be, as [`TableError`] lists.
    pub fn new(
        nics: &[TableNic],
        routes: impl IntoIterator<Item = (IpAddr, Vec<LabelPath>)>,
        ttl: Ttl,
    ) -> Result<Self, TableError> {
        let macs = nics.iter().map(|nic| single(nic.mac)).collect::<Result<_, _>>()?;
        let (ipv4, ipv6, networks, prepared_paths) = Default::default();
        let mut table = Self { nics: macs, ipv4, ipv6, networks, prepared_paths, ttl };
        for (destination, paths) in routes {
            let from = table.prepared_paths.len() as u32;
            let mut until = 0;
            for path in &paths {
                until += u32::from(path.weight.max(1));
                table.prepared_paths.push(PreparedPath::new(destination, path, nics, until)?);
            }
            let to = table.prepared_paths.len() as u32;
            match destination {
                _ if from == to => return Err(TableError::NoPath { destination }),
                IpAddr::V4(address) => table.ipv4.push((address.to_bits(), from, to)),
                IpAddr::V6(address) => table.ipv6.push((address.to_bits(), from, to)),
            }
        }
        table.ipv4.sort_unstable();
        table.ipv6.sort_unstable();
        let twice = table.ipv4.windows(2).find(|w| w[0].0 == w[1].0).map(|w| w[0].0);
        let twice = twice.map(|bits| IpAddr::from(bits.to_be_bytes()));
        let other = table.ipv6.windows(2).find(|w| w[0].0 == w[1].0).map(|w| w[0].0);
        match twice.or(other.map(|bits| IpAddr::from(bits.to_be_bytes()))) {
            Some(destination) => Err(TableError::DestinationTwice { destination }),
            None => Ok(table),
        }
    }

    /// Adds networks behind destinations of the table: packets to them take the paths to these. No two of them share
    /// addresses, but that one of a family may hold all. What is behind other destinations is left out.
    #[must_use]
    pub fn with_networks(mut self, networks: impl IntoIterator<Item = (Prefix, IpAddr)>) -> Self {
        let found = networks.into_iter().filter_map(|(prefix, to)| Some((prefix, self.find(to)?)));
        self.networks = found.collect();
        self.networks.sort_unstable();
        self
    }

    fn find(&self, to: IpAddr) -> Option<(u32, u32)> {
        match to {
            IpAddr::V4(to) => find(&self.ipv4, to.to_bits()),
            IpAddr::V6(to) => find(&self.ipv6, to.to_bits()),
        }
    }

    /// The paths to an address that is no destination, by the network that it is in.
    #[cold]
    fn behind(&self, to: IpAddr) -> Option<(u32, u32)> {
        let below = &self.networks[..self.networks.partition_point(|(of, _)| of.address <= to)];
        let all = || below.iter().find(|(of, _)| of.len == 0 && of.contains(to));
        let narrow = below.last().filter(|(of, _)| of.contains(to));
        narrow.or_else(all).map(|(_, paths)| *paths)
    }

    /// Returns the number of NICs.
    #[must_use]
    pub fn nics(&self) -> usize {
        self.nics.len()
    }

    /// Returns the number of paths, to all destinations.
    #[must_use]
    pub fn paths(&self) -> usize {
        self.prepared_paths.len()
    }

    /// Returns the MAC of one NIC.
    #[must_use]
    pub fn mac(&self, nic: usize) -> Option<Mac> {
        self.nics.get(nic).copied()
    }

    /// Finds the path of an IP packet; at least its header must be present. O(log destinations + log networks +
    /// paths to one).
    ///
    /// # Errors
    /// Why it is dropped: [`DropReason::NoIp`], [`DropReason::Truncated`], [`DropReason::NoRoute`],
    /// [`DropReason::TtlExpired`].
    pub fn push(&self, packet: &[u8]) -> Result<Push<'_>, DropReason> {
        let (to, ttl, flow) = match packet.first().map(|b| b >> 4) {
            None => return Err(DropReason::Truncated),
            Some(4) => {
                let ip = Ipv4Packet::new(packet).ok_or(DropReason::Truncated)?;
                let header = usize::from(ip.get_header_length()) * 4;
                let total = usize::from(ip.get_total_length());
                let least = Ipv4Packet::minimum_packet_size();
                if header < least || total < header || total > packet.len() {
                    return Err(DropReason::Truncated);
                }
                let protocol = ip.get_next_level_protocol();
                let ports = ports(packet, protocol, header).filter(|_| !is_fragment(&ip));
                let flow = hash(&packet[12..20], protocol, ports);
                (IpAddr::V4(ip.get_destination()), ip.get_ttl(), flow)
            }
            Some(6) => {
                let ip = Ipv6Packet::new(packet).ok_or(DropReason::Truncated)?;
                let header = Ipv6Packet::minimum_packet_size();
                if header + usize::from(ip.get_payload_length()) > packet.len() {
                    return Err(DropReason::Truncated);
                }
                let protocol = ip.get_next_header();
                let flow = hash(&packet[8..40], protocol, ports(packet, protocol, header));
                let to = Ipv6Addr::from_bits(ipv6_destination(packet)?);
                (IpAddr::V6(to), ip.get_hop_limit(), flow)
            }
            Some(_) => return Err(DropReason::NoIp),
        };
        let (from, to) = self.find(to).or_else(|| self.behind(to)).ok_or(DropReason::NoRoute)?;
        if ttl == 0 {
            return Err(DropReason::TtlExpired);
        }
        let prepared_paths = &self.prepared_paths[from as usize..to as usize];
        let total = prepared_paths.last().map_or(1, |prepared| prepared.until);
        let share = ((u64::from(flow) * u64::from(total)) >> 32) as u32;
        let (at, prepared) = prepared_paths
            .iter()
            .enumerate()
            .find(|(_, prepared)| share < prepared.until)
            .ok_or(DropReason::NoRoute)?;
        let path = from as usize + at;
        Ok(Push { prepared, path, ttl: if self.ttl == Ttl::Keep { u8::MAX } else { ttl } })
    }
}

impl Push<'_> {
    /// Index of the NIC it leaves by, in the table's NICs.
    #[must_use]
    pub const fn nic(&self) -> usize {
        self.prepared.nic
    }

    /// Index of the path among those that the table was made of.
    #[must_use]
    pub const fn path(&self) -> usize {
        self.path
    }

    /// Returns the bytes in front of the packet.
    #[must_use]
    pub const fn before(&self) -> usize {
        self.prepared.length
    }

    /// Returns whether its NIC can send a packet of this many bytes behind the labels.
    #[must_use]
    pub const fn fits(&self, packet: usize) -> bool {
        packet + self.prepared.labels * ENTRY_LEN <= self.prepared.mtu_bytes as usize
    }

    /// Writes the headers, [`Self::before`] bytes, to the end of `room`. Returns where they begin.
    ///
    /// # Panics
    /// If `room` is too small.
    pub fn write(&self, room: &mut [u8]) -> usize {
        let start = room.len() - self.prepared.length;
        let before = &mut room[start..];
        before.copy_from_slice(&self.prepared.before[..self.prepared.length]);
        let stack = self.prepared.length - self.prepared.labels * ENTRY_LEN;
        for entry in before[stack..].chunks_exact_mut(ENTRY_LEN) {
            entry[ENTRY_LEN - 1] = self.ttl;
        }
        start
    }
}

impl PreparedPath {
    fn new(
        destination: IpAddr,
        path: &LabelPath,
        nics: &[TableNic],
        until: u32,
    ) -> Result<Self, TableError> {
        let outside = |label: &&Label| **label < mpls::FIRST_LABEL || **label > mpls::LAST_LABEL;
        if let Some(label) = path.labels.iter().find(outside) {
            return Err(TableError::Label { label: *label });
        }
        let labels = path.labels.len();
        if labels == 0 || labels > MOST_LABELS {
            return Err(TableError::Stack { destination, labels });
        }
        let (nic, count) = (path.nic, nics.len());
        let from = nics.get(nic).ok_or(TableError::PathNic { destination, nic, nics: count })?;
        let header = EthernetHeader::new(path.mac, from.mac, path.vid, mpls::ETHERTYPE)?;
        let mut before = [0; MOST_BEFORE];
        before[..header.length].copy_from_slice(&header.bytes[..header.length]);
        let length = header.length + labels * ENTRY_LEN;
        let entries = before[header.length..length].chunks_exact_mut(ENTRY_LEN);
        for ((n, label), entry) in path.labels.iter().enumerate().zip(entries) {
            let bottom = n + 1 == labels;
            let label = LabelStackEntry { label: *label, class: 0, bottom, ttl: 0 };
            entry.copy_from_slice(&label.emit());
        }
        Ok(Self { nic, mtu_bytes: from.mtu_bytes, until, length, labels, before })
    }
}

fn find<K: Ord + Copy>(routes: &[(K, u32, u32)], address: K) -> Option<(u32, u32)> {
    let at = routes.binary_search_by_key(&address, |route| route.0).ok()?;
    Some((routes[at].1, routes[at].2))
}

/// Is this packet a part of a fragmented one?
pub(super) fn is_fragment(ip: &Ipv4Packet<'_>) -> bool {
    ip.get_fragment_offset() != 0 || ip.get_flags() & Ipv4Flags::MoreFragments != 0
}

/// The destination address of an IPv6 packet. Ours, because pnet makes an address of eight words: a
/// push took 23.1 ns by its `get_destination`, 20 ns by this (`cargo run --release --package
/// tresse-frame --example speed`).
fn ipv6_destination(packet: &[u8]) -> Result<u128, DropReason> {
    let bytes = packet.get(24..).and_then(|rest| rest.first_chunk());
    bytes.map(|bytes| u128::from_be_bytes(*bytes)).ok_or(DropReason::Truncated)
}

/// Source and destination port of TCP, UDP and SCTP, which all begin with them; pnet has no type for
/// the last.
fn ports(packet: &[u8], protocol: IpNextHeaderProtocol, at: usize) -> Option<u32> {
    let ports = packet.get(at..)?.first_chunk()?;
    let has = matches!(
        protocol,
        IpNextHeaderProtocols::Tcp | IpNextHeaderProtocols::Udp | IpNextHeaderProtocols::Sctp
    );
    has.then_some(u32::from_be_bytes(*ports))
}

/// Spreads flows evenly over 32 bits.
fn hash(addresses: &[u8], protocol: IpNextHeaderProtocol, ports: Option<u32>) -> u32 {
    let (words, _) = addresses.as_chunks();
    let rest = [ports.unwrap_or_default(), u32::from(protocol.0)];
    let words = words.iter().map(|word| u32::from_be_bytes(*word)).chain(rest);
    let mixed = words.fold(0_u64, |hash, word| {
        (hash.rotate_left(29) ^ u64::from(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    });
    ((mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32) as u32
}
