use proptest::prelude::*;

use super::*;

const SOURCE: Mac = Mac([2, 0, 0, 0, 0, 7]);

fn sample() -> Lldp {
    Lldp {
        chassis: Chassis { subtype: 4, id: vec![2, 0, 0, 0, 0, 1] },
        port: Port { subtype: 5, id: b"ge-0/0/3".to_vec() },
        ttl_seconds: 120,
        description: Some(b"n03 eth0".to_vec()),
        system: Some(b"s01".to_vec()),
        station: false,
        flooded: false,
    }
}

/// A frame with these TLVs.
fn frame(tlvs: &[(u8, &[u8])]) -> Vec<u8> {
    let mut frame = sample().emit(SOURCE)[..HEADER].to_vec();
    for (kind, value) in tlvs {
        frame.extend((u16::from(*kind) << 9 | value.len() as u16).to_be_bytes());
        frame.extend(*value);
    }
    frame
}

const MANDATORY: [(u8, &[u8]); 3] = [(1, b"\x07c"), (2, b"\x07p"), (3, &[0, 120])];

#[test]
fn frame_is_the_documented_bytes() {
    let bytes = sample().emit(SOURCE);
    #[rustfmt::skip]
    let expected = [
        0x01, 0x80, 0xc2, 0, 0, 0x0e, 2, 0, 0, 0, 0, 7, 0x88, 0xcc,
        2, 7, 4, 2, 0, 0, 0, 0, 1,
        4, 9, 5, b'g', b'e', b'-', b'0', b'/', b'0', b'/', b'3',
        6, 2, 0, 120,
        8, 8, b'n', b'0', b'3', b' ', b'e', b't', b'h', b'0',
        10, 3, b's', b'0', b'1',
        0, 0,
    ];
    assert_eq!(bytes, expected);
    assert_eq!(Lldp::parse(&bytes), Ok((SOURCE, sample())));
    // Padding up to the least frame is not looked at, and the end need not be said.
    assert_eq!(Lldp::parse(&[&bytes[..], &[9; 20]].concat()), Ok((SOURCE, sample())));
    assert_eq!(Lldp::parse(&bytes[..bytes.len() - 2]), Ok((SOURCE, sample())));
}

/// A host says that it is one; lldpd on a host with a bridge, a switch, and an access point say otherwise.
#[test]
fn a_station_is_what_says_that_it_is_nothing_else() {
    let is_station = |value: &[u8]| {
        Lldp::parse(&frame(&[&MANDATORY[..], &[(7, value)]].concat())).unwrap().1.station
    };
    assert!(is_station(&[0, 0x9c, 0, 0x80]));
    for value in [&[0, 0x14, 0, 0x04][..], &[0, 0x84, 0, 0x84], &[0, 0x80, 0, 0], &[0, 0x80], &[]] {
        assert!(!is_station(value), "{value:?}");
    }
    let host = Lldp { station: true, ..sample() };
    assert_eq!(host.emit(SOURCE)[53..], [14, 4, 0, 0x80, 0, 0x80, 0, 0]);
    assert!(!Lldp::parse(&frame(&MANDATORY)).unwrap().1.station);
}

#[test]
fn each_malformation_has_its_error() {
    let error = |frame: &[u8]| Lldp::parse(frame).unwrap_err();
    let good = frame(&MANDATORY);
    assert!(Lldp::parse(&good).is_ok());
    let with = |at: usize, byte: u8| {
        let mut frame = good.clone();
        frame[at] = byte;
        Lldp::parse(&frame).unwrap_err()
    };
    assert_eq!(error(&good[..13]), LldpError::Short { found: 13 });
    assert_eq!(error(&[0; 1515]), LldpError::Long { found: 1515 });
    assert!(matches!(with(5, 1), LldpError::Destination { .. }));
    assert!(matches!(with(6, 3), LldpError::Source { .. }));
    assert_eq!(with(13, 0xcd), LldpError::EtherType { found: 0x88cd });
    assert_eq!(error(&good[..HEADER]), LldpError::Missing);
    assert_eq!(error(&frame(&MANDATORY[..2])), LldpError::Missing);
    assert_eq!(error(&good[..good.len() - 1]), LldpError::Cut { kind: 3 });
    assert_eq!(error(&[&good[..], &[10]].concat()), LldpError::Cut { kind: 5 });
    assert_eq!(error(&frame(&[MANDATORY[1]])), LldpError::Order { kind: 2 });
    let after = |tlv| error(&frame(&[&MANDATORY[..], &[tlv]].concat()));
    assert_eq!(after(MANDATORY[0]), LldpError::Order { kind: 1 });
    assert_eq!(after((5, &[b'x'; 256])), LldpError::Length { kind: 5, found: 256 });
    let twice = [&MANDATORY[..], &[(5, b"a"), (5, b"b")]].concat();
    assert_eq!(error(&frame(&twice)), LldpError::Order { kind: 5 });
    assert_eq!(error(&frame(&[(1, b"\x07")])), LldpError::Length { kind: 1, found: 1 });
    assert_eq!(error(&frame(&[(1, &[7; 257])])), LldpError::Length { kind: 1, found: 257 });
    let ttl: &[u8] = &[0, 1, 2];
    let bad = frame(&[MANDATORY[0], MANDATORY[1], (3, ttl)]);
    assert_eq!(error(&bad), LldpError::Length { kind: 3, found: 3 });
}

#[test]
fn what_is_not_needed_is_skipped() {
    let more: [(u8, &[u8]); 3] = [(6, b"Linux"), (127, &[0, 0x80, 0xc2, 1]), (5, b"s01\0")];
    let (_, lldp) = Lldp::parse(&frame(&[&MANDATORY[..], &more].concat())).unwrap();
    assert_eq!(lldp.system_text().as_deref(), Some("s01"));
    assert_eq!(lldp.description, None);
}

#[test]
fn identifiers_are_shown_as_what_they_are() {
    let port = |subtype, id: &[u8]| Port { subtype, id: id.to_vec() };
    assert_eq!(port(3, &[2, 0, 0, 0, 0, 9]).to_string(), "02:00:00:00:00:09");
    assert_eq!(port(3, &[2, 0, 0, 0, 0, 9]).mac(), Some(Mac([2, 0, 0, 0, 0, 9])));
    assert_eq!(port(5, b"abcdef").mac(), None);
    assert_eq!(port(4, &[1, 10, 0, 0, 1]).to_string(), "10.0.0.1");
    assert_eq!(port(4, &[1, 10]).to_string(), "\u{1}\n");
    assert_eq!(port(7, &[0xff, b'x']).to_string(), "\u{fffd}x");
    let v6 = [&[2][..], &Ipv6Addr::LOCALHOST.octets()].concat();
    assert_eq!(Chassis { subtype: 5, id: v6 }.to_string(), "::1");
    assert_eq!(sample().chassis.to_string(), "02:00:00:00:00:01");
}

fn id() -> impl Strategy<Value = (u8, Vec<u8>)> {
    (any::<u8>(), proptest::collection::vec(any::<u8>(), 1..=255))
}

fn words() -> impl Strategy<Value = Option<Vec<u8>>> {
    proptest::option::of(proptest::collection::vec(any::<u8>(), 0..=255))
}

proptest! {
    #[test]
    fn frames_round_trip(
        chassis in id(), port in id(), ttl_seconds in any::<u16>(), description in words(),
        system in words(), station in any::<bool>(), flooded in any::<bool>(),
    ) {
        let chassis = Chassis { subtype: chassis.0, id: chassis.1 };
        let port = Port { subtype: port.0, id: port.1 };
        let lldp = Lldp { chassis, port, ttl_seconds, description, system, station, flooded };
        prop_assert_eq!(Lldp::parse(&lldp.emit(SOURCE)), Ok((SOURCE, lldp)));
    }

    #[test]
    fn any_bytes_get_an_answer(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let headed = [&sample().emit(SOURCE)[..HEADER], &bytes[..]].concat();
        for frame in [bytes, headed] {
            if let Ok((source, lldp)) = Lldp::parse(&frame) {
                prop_assert_eq!(Lldp::parse(&lldp.emit(source)), Ok((source, lldp)));
            }
        }
    }
}
