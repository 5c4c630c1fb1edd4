//! Announcements across a cable.

use std::cell::RefCell;
use std::time::Duration;

use libtest_mimic::Trial;
use pnet::packet::Packet as _;
use pnet::packet::ethernet::{EtherType, EtherTypes, MutableEthernetPacket};
use pnet::util::MacAddr;
use socket2::{Domain, Protocol, Socket, Type};
use tresse_base::id::{NodeId, Vid};
use tresse_base::units::Mac;
use tresse_frame::announce::{Announcement, AnnouncementKind, ETHERTYPE, WireError};
use tresse_frame::keys::Keys;
use tresse_linux::kernel::{AnnounceError, AnnounceSocket};
use tresse_namespace::{Feature, trial};
use tresse_reconcile::{LinkKind, Operation};

use crate::cables::cables;
use crate::events::block_on;
use crate::interfaces::done;

pub fn trials() -> Vec<Trial> {
    vec![
        trial("announcements_cross_a_cable_once", &[], || block_on(cross("eth0", "far0"))),
        trial("vm_announcements_cross_a_vlan", &[Feature::Vlan], || block_on(vlan())),
        trial("announcements_need_an_interface", &[], || block_on(unknown())),
    ]
}

const SOURCE: Mac = Mac([2, 0, 0, 0, 0, 7]);

async fn cross(from: &str, to: &str) {
    if from == "eth0" {
        cables(1);
    }
    let (sender, receiver) =
        (AnnounceSocket::open(from).unwrap(), AnnounceSocket::open(to).unwrap());
    for sequence in 1..=3 {
        let announcement = Announcement {
            kind: AnnouncementKind::Canary,
            vid: Some(Vid(100)),
            node: NodeId(5),
            fabric: [1; 8],
            sequence,
            plan: [2; 8],
        };
        sender.send(SOURCE, &announcement, &Keys::default()).unwrap();
        assert_eq!(receive(&receiver).await, Some(Ok((SOURCE, announcement))));
    }
    assert_eq!(receive(&receiver).await, None, "exactly once");
    assert_eq!(receive(&sender).await, None, "our own are not heard");
}

async fn receive(socket: &AnnounceSocket) -> Option<Result<(Mac, Announcement), WireError>> {
    let keys = RefCell::default();
    let heard = socket.recv(&keys);
    tokio::time::timeout(Duration::from_millis(100), heard).await.ok().map(Result::unwrap)
}

async fn vlan() {
    cables(1);
    for parent in ["eth0", "far0"] {
        let name = format!("{parent}.100");
        done(&[
            Operation::AddLink {
                name: name.clone(),
                link: LinkKind::Vlan { parent: parent.into(), vid: Vid(100) },
                mtu: 1500,
                alias: "tresse:t:100".into(),
                mac: None,
            },
            Operation::SetLinkState { name, up: true },
        ]);
    }
    cross("eth0.100", "far0.100").await;
}

async fn unknown() {
    let error = AnnounceSocket::open("none").err();
    assert!(matches!(error, Some(AnnounceError::NoInterface { .. })), "{error:?}");
    cables(1);
    let receiver = AnnounceSocket::open("far0").unwrap();
    let raw = Socket::new(Domain::PACKET, Type::RAW, Some(Protocol::from(0))).unwrap();
    let index = nix::net::if_::if_nametoindex("eth0").unwrap();
    tresse_linux::sys::packet::bind(std::os::fd::AsFd::as_fd(&raw), index, 0).unwrap();
    let mut frame = [0; 100];
    let mut ethernet = MutableEthernetPacket::new(&mut frame).unwrap();
    ethernet.set_destination(MacAddr::broadcast());
    ethernet.set_ethertype(EtherTypes::Arp);
    raw.send(ethernet.packet()).unwrap();
    assert_eq!(receive(&receiver).await, None, "another EtherType is filtered");
    let mut ethernet = MutableEthernetPacket::new(&mut frame).unwrap();
    ethernet.set_ethertype(EtherType(ETHERTYPE));
    raw.send(ethernet.packet()).unwrap();
    assert_eq!(receive(&receiver).await, Some(Err(WireError::Long { found: 100 })));
}
