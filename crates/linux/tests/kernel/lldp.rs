//! The host's NICs, and LLDP across a cable.

use std::os::fd::AsFd as _;
use std::time::Duration;

use libtest_mimic::Trial;
use pnet::packet::Packet as _;
use pnet::packet::ethernet::{EtherTypes, MutableEthernetPacket};
use pnet::util::MacAddr;
use socket2::{Domain, Protocol, Socket, Type};
use tresse_base::units::Mac;
use tresse_frame::lldp::{Chassis, GROUPS, Lldp, MOST_BYTES, Port};
use tresse_linux::kernel::{LldpSocket, nics};
use tresse_namespace::{ip, trial};

use crate::cables::cables;
use crate::events::block_on;

pub fn trials() -> Vec<Trial> {
    vec![
        trial("nics_are_listed_and_nothing_else_is", &[], listed),
        trial("lldp_of_each_group_crosses_a_cable", &[], || block_on(crosses())),
    ]
}

fn listed() {
    cables(1);
    ip("tuntap add dev d0 mode tap");
    ip("link add br0 type bridge");
    ip("link set eth0 alias tresse:x");
    let names = || nics().unwrap().into_iter().map(|nic| nic.name).collect::<Vec<_>>();
    assert_eq!(names(), ["far0"], "ours are none");
    ip("link set eth0 alias other");
    let far = || nics().unwrap().into_iter().find(|nic| nic.name == "far0").unwrap();
    let before = far();
    assert!(before.up && before.carrier && before.mac.is_some());
    ip("link set eth0 down");
    let cut = far();
    assert_eq!((cut.carrier, cut.losses), (false, before.losses + 1));
    ip("link set eth0 up");
    let back = far();
    assert_eq!((back.carrier, back.losses, back.ifindex), (true, cut.losses, before.ifindex));
}

async fn crosses() {
    const SOURCE: Mac = Mac([2, 0, 0, 0, 0, 7]);
    cables(1);
    let socket = LldpSocket::open("far0").unwrap();
    let receive = async || {
        let received = tokio::time::timeout(Duration::from_millis(100), socket.recv()).await;
        received.ok().map(Result::unwrap)
    };
    let raw = Socket::new(Domain::PACKET, Type::RAW, Some(Protocol::from(0))).unwrap();
    let index = nix::net::if_::if_nametoindex("eth0").unwrap();
    tresse_linux::sys::packet::bind(raw.as_fd(), index, 0).unwrap();
    let lldp = Lldp {
        station: false,
        flooded: false,
        chassis: Chassis { subtype: 4, id: SOURCE.0.to_vec() },
        port: Port { subtype: 5, id: b"swp3".to_vec() },
        ttl_seconds: 120,
        description: None,
        system: Some(b"s01".to_vec()),
    };
    let mut frame = lldp.emit(SOURCE);
    for group in GROUPS {
        let mut ethernet = MutableEthernetPacket::new(&mut frame).unwrap();
        ethernet.set_destination(MacAddr::from(group.0));
        raw.send(ethernet.packet()).unwrap();
        assert_eq!(receive().await, Some(Ok((SOURCE, lldp.clone()))), "{group}");
    }
    raw.send(&frame[..20]).unwrap();
    assert!(matches!(receive().await, Some(Err(_))));
    // As long as a frame may be, and its FCS would make it no longer.
    let mut long = vec![0; MOST_BYTES];
    long[..frame.len()].copy_from_slice(&frame);
    raw.send(&long).unwrap();
    assert_eq!(receive().await, Some(Ok((SOURCE, lldp))), "padding");
    let mut ethernet = MutableEthernetPacket::new(&mut frame).unwrap();
    ethernet.set_ethertype(EtherTypes::Arp);
    raw.send(ethernet.packet()).unwrap();
    assert_eq!(receive().await, None, "another EtherType is filtered");
}
