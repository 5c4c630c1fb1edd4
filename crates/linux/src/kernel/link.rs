//! Decodes interfaces (`RTM_NEWLINK`), for all modules that read them.
//!
//! Only the attributes that this project uses are decoded, with netlink-packet-route, so that an
//! unusual attribute of some driver cannot hide its interface. Source:
//! include/uapi/linux/if_link.h.

use netlink_packet_core::{NlaBuffer, NlasIterator, Parseable as _, ParseableParametrized as _};
use netlink_packet_route::AddressFamily;
use netlink_packet_route::link::{
    InfoKind, InfoVlan, InfoVxlan, LinkAttribute, LinkExtentMask, LinkFlags, LinkHeader,
    LinkLayerType, LinkMessage, VlanProtocol,
};
use tresse_base::id::Vid;
use tresse_base::units::Mac;

use super::message::{MalformedMessage, attributes, bytes, text};

/// What an interface has carried so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Carried {
    /// Bytes sent, headers included.
    pub sent_bytes: u64,
    /// Bytes received, headers included.
    pub received_bytes: u64,
    /// Packets that the kernel dropped instead of sending them, as on a TUN interface that is not read fast enough.
    pub unsent: u64,
}

const IFLA_VXLAN_ID: u16 = 1;
const IFLA_VXLAN_PORT: u16 = 15;
/// Bytes of `struct ifinfomsg`.
const IFINFOMSG: usize = 16;

/// An interface; other interfaces are given by ifindex.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Link {
    pub ifindex: u32,
    pub flags: LinkFlags,
    pub name: String,
    /// `None` if its address is not 6 bytes long.
    pub mac: Option<Mac>,
    pub mtu_bytes: u32,
    /// Is it an Ethernet interface?
    pub ethernet: bool,
    /// The interface below it.
    pub lower: Option<u32>,
    /// Is the interface below in another network namespace?
    pub lower_elsewhere: bool,
    pub master: Option<u32>,
    pub alias: Option<String>,
    /// Number of carrier losses so far.
    pub carrier_losses: u32,
    /// So far; 0 where the kernel was not asked for statistics.
    pub carried: Carried,
    /// The kind of a virtual interface; `None` for hardware.
    pub kind: Option<InfoKind>,
    /// The VID of an 802.1Q interface.
    pub vid: Option<Vid>,
    /// Network identifier (VNI) and UDP destination port of a VXLAN interface.
    pub vxlan: Option<(u32, u16)>,
}

/// The body of a dump request for all interfaces, without statistics.
pub(super) fn dump() -> Vec<u8> {
    let mut message = LinkMessage::default();
    message.attributes = vec![LinkAttribute::ExtMask(vec![LinkExtentMask::SkipStats])];
    bytes(&message)
}

/// The body of a request for one interface.
pub(super) fn named(name: &str) -> Vec<u8> {
    let mut message = LinkMessage::default();
    message.attributes = vec![LinkAttribute::IfName(name.to_owned())];
    bytes(&message)
}

impl Link {
    /// Decodes the body of an `RTM_NEWLINK`.
    pub fn parse(payload: &[u8]) -> Result<Self, MalformedMessage> {
        let header = LinkHeader::parse(payload)?;
        let mut link = Self {
            ifindex: header.index,
            flags: header.flags,
            ethernet: header.link_layer_type == LinkLayerType::Ether,
            name: String::new(),
            mac: None,
            mtu_bytes: 0,
            lower: None,
            lower_elsewhere: false,
            master: None,
            alias: None,
            carrier_losses: 0,
            carried: Carried::default(),
            kind: None,
            vid: None,
            vxlan: None,
        };
        for attribute in attributes(payload, IFINFOMSG, "ifinfomsg")? {
            link.take(&attribute?)?;
        }
        Ok(link)
    }

    /// Is it set up?
    pub fn is_up(&self) -> bool {
        self.flags.contains(LinkFlags::Up)
    }

    fn take(&mut self, attribute: &NlaBuffer<&[u8]>) -> Result<(), MalformedMessage> {
        match attribute.kind() {
            libc::IFLA_IFNAME => self.name = text(attribute.value()),
            libc::IFLA_IFALIAS => self.alias = Some(text(attribute.value())),
            libc::IFLA_LINKINFO => self.take_info(attribute.value())?,
            libc::IFLA_STATS64 => {
                if let Ok(LinkAttribute::Stats64(stats)) =
                    LinkAttribute::parse_with_param(attribute, AddressFamily::Unspec)
                {
                    self.carried = Carried {
                        sent_bytes: stats.tx_bytes,
                        received_bytes: stats.rx_bytes,
                        unsent: stats.tx_dropped,
                    };
                }
            }
            libc::IFLA_ADDRESS
            | libc::IFLA_MTU
            | libc::IFLA_LINK
            | libc::IFLA_LINK_NETNSID
            | libc::IFLA_MASTER
            | libc::IFLA_CARRIER_DOWN_COUNT => {
                match LinkAttribute::parse_with_param(attribute, AddressFamily::Unspec)? {
                    LinkAttribute::Address(bytes) => self.mac = bytes.try_into().map(Mac).ok(),
                    LinkAttribute::Mtu(mtu_bytes) => self.mtu_bytes = mtu_bytes,
                    LinkAttribute::Link(lower) => self.lower = Some(lower),
                    LinkAttribute::LinkNetNsId(_) => self.lower_elsewhere = true,
                    LinkAttribute::Controller(master) => {
                        self.master = Some(master).filter(|master| *master != 0);
                    }
                    LinkAttribute::CarrierDownCount(losses) => self.carrier_losses = losses,
                    _ => {}
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Decodes the kind, which the kernel writes first, and the data of the kinds that concern us.
    fn take_info(&mut self, info: &[u8]) -> Result<(), MalformedMessage> {
        for field in NlasIterator::new(info) {
            let field = field?;
            match field.kind() {
                libc::IFLA_INFO_KIND => self.kind = Some(InfoKind::parse(&field)?),
                libc::IFLA_INFO_DATA if self.kind == Some(InfoKind::Vlan) => {
                    self.take_vlan(field.value())?;
                }
                libc::IFLA_INFO_DATA if self.kind == Some(InfoKind::Vxlan) => {
                    self.take_vxlan(field.value())?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn take_vlan(&mut self, data: &[u8]) -> Result<(), MalformedMessage> {
        let (mut vid, mut protocol) = (None, None);
        for field in NlasIterator::new(data) {
            match InfoVlan::parse(&field?)? {
                InfoVlan::Id(id) => vid = Some(Vid(id)),
                InfoVlan::Protocol(found) => protocol = Some(found),
                _ => {}
            }
        }
        self.vid = vid.filter(|_| protocol == Some(VlanProtocol::Ieee8021Q));
        Ok(())
    }

    fn take_vxlan(&mut self, data: &[u8]) -> Result<(), MalformedMessage> {
        let (mut vni, mut port) = (None, None);
        for field in NlasIterator::new(data) {
            let field = field?;
            // The others may be newer than that crate.
            if matches!(field.kind(), IFLA_VXLAN_ID | IFLA_VXLAN_PORT) {
                match InfoVxlan::parse(&field)? {
                    InfoVxlan::Id(id) => vni = Some(id),
                    InfoVxlan::Port(found) => port = Some(found),
                    _ => {}
                }
            }
        }
        self.vxlan = vni.zip(port);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use netlink_packet_route::link::{InfoData, LinkInfo, Stats64};
    use proptest::prelude::*;

    use super::*;

    fn message(protocol: VlanProtocol) -> LinkMessage {
        let mut message = LinkMessage::default();
        message.header.index = 7;
        message.header.link_layer_type = LinkLayerType::Ether;
        message.header.flags = LinkFlags::Up | LinkFlags::LowerUp;
        let mut stats = Stats64::default();
        (stats.rx_bytes, stats.tx_bytes, stats.tx_dropped) = (4, 5, 7);
        let data = InfoData::Vlan(vec![InfoVlan::Protocol(protocol), InfoVlan::Id(100)]);
        message.attributes = vec![
            LinkAttribute::IfName("eth0.100".into()),
            LinkAttribute::Address(vec![2, 0, 0, 0, 0, 1]),
            LinkAttribute::Mtu(1500),
            LinkAttribute::Link(3),
            LinkAttribute::Controller(0),
            LinkAttribute::IfAlias("tresse:t:100".into()),
            LinkAttribute::CarrierDownCount(2),
            LinkAttribute::Stats64(stats),
            LinkAttribute::LinkInfo(vec![LinkInfo::Kind(InfoKind::Vlan), LinkInfo::Data(data)]),
        ];
        message
    }

    #[test]
    fn a_link_is_read_as_written() {
        let link = Link::parse(&bytes(&message(VlanProtocol::Ieee8021Q))).unwrap();
        let expected = Link {
            ifindex: 7,
            flags: LinkFlags::Up | LinkFlags::LowerUp,
            ethernet: true,
            name: "eth0.100".into(),
            mac: Some(Mac([2, 0, 0, 0, 0, 1])),
            mtu_bytes: 1500,
            lower: Some(3),
            lower_elsewhere: false,
            master: None,
            alias: Some("tresse:t:100".into()),
            carrier_losses: 2,
            carried: Carried { sent_bytes: 5, received_bytes: 4, unsent: 7 },
            kind: Some(InfoKind::Vlan),
            vid: Some(Vid(100)),
            vxlan: None,
        };
        assert_eq!(link, expected);
        assert_eq!(Link::parse(&bytes(&message(VlanProtocol::Ieee8021Ad))).unwrap().vid, None);
    }

    #[test]
    fn a_tunnel_is_known_by_its_number_and_port() {
        let mut message = message(VlanProtocol::Ieee8021Q);
        let data = vec![InfoVxlan::Id(78), InfoVxlan::Learning(false), InfoVxlan::Port(7878)];
        let info = vec![LinkInfo::Kind(InfoKind::Vxlan), LinkInfo::Data(InfoData::Vxlan(data))];
        message.attributes = vec![LinkAttribute::LinkInfo(info)];
        assert_eq!(Link::parse(&bytes(&message)).unwrap().vxlan, Some((78, 7878)));
    }

    #[test]
    fn what_others_say_does_not_hide_their_interface() {
        let mut message = message(VlanProtocol::Ieee8021Q);
        let data = LinkInfo::Data(InfoData::Other(vec![1; 7]));
        message.attributes = vec![
            LinkAttribute::Address(vec![10, 0, 0, 1]),
            LinkAttribute::LinkInfo(vec![LinkInfo::Kind(InfoKind::Bond), data]),
        ];
        let mut written = bytes(&message);
        super::super::message::write_attribute(&mut written, libc::IFLA_IFALIAS, &[0xff]);
        super::super::message::write_attribute(&mut written, libc::IFLA_STATS64, &[1]);
        let link = Link::parse(&written).unwrap();
        assert_eq!((link.mac, link.kind), (None, Some(InfoKind::Bond)));
        assert_eq!(link.alias.as_deref(), Some("\u{fffd}"));
        super::super::message::write_attribute(&mut written, libc::IFLA_MTU, &[1]);
        assert!(Link::parse(&written).is_err(), "what concerns us is whole or an error");
    }

    proptest! {
        #[test]
        fn any_bytes_end_without_panic(
            noise in proptest::collection::vec((0usize..140, any::<u8>()), 0..9),
            cut in 0usize..160,
        ) {
            let mut bytes = bytes(&message(VlanProtocol::Ieee8021Q));
            for (at, value) in noise {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = value;
                }
            }
            bytes.truncate(cut);
            let _ = Link::parse(&bytes);
        }
    }
}
