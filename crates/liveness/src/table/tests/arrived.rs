//! Packets that did not come as planned.

use super::*;

#[test]
fn what_did_not_come_by_the_path_has_no_effect() {
    let mut pair = Pair::new();
    let packet = |state, mine, yours| Packet {
        diagnostic: Diagnostic::NONE,
        state,
        poll: false,
        r#final: false,
        independent: false,
        demand: false,
        multiplier: 3,
        mine,
        yours,
        desired_transmit_us: 1_000_000,
        required_receive_us: 1_000_000,
        required_echo_us: 0,
    };
    let payload = packet(SessionState::Down, 5, 0).emit();
    let sound = Datagram {
        ifindex: 1,
        source: address(1),
        destination: address(0),
        from: 49152,
        ttl: 255,
        multi_hop: false,
        payload: &payload,
    };
    let mut hear =
        |datagram: Datagram<'_>| pair.tables[0].hear(&datagram, Duration::ZERO, &mut Vec::new());
    assert_eq!(hear(Datagram { ttl: 254, ..sound }), Err(Dropped::Ttl));
    assert_eq!(hear(Datagram { multi_hop: true, ..sound }), Err(Dropped::Ttl));
    assert_eq!(hear(Datagram { ifindex: 3, ..sound }), Err(Dropped::Unknown));
    assert_eq!(hear(Datagram { source: address(2), ..sound }), Err(Dropped::Unknown));
    let elsewhere = Datagram { destination: address(2), ..sound };
    assert_eq!(hear(elsewhere), Err(Dropped::Unknown), "in transit");
    assert_eq!(hear(Datagram { payload: &payload[..20], ..sound }), Err(Dropped::Malformed));
    let other = packet(SessionState::Up, 5, 77).emit();
    assert_eq!(hear(Datagram { payload: &other, ..sound }), Err(Dropped::Unknown));
    let by_transit = Datagram { ifindex: 2, multi_hop: true, ..sound };
    assert_eq!(hear(Datagram { ttl: 253, ..by_transit }), Err(Dropped::Ttl), "one node in transit");
    assert_eq!(hear(Datagram { ttl: 254, ..by_transit }), Ok(()));
    assert_eq!(hear(sound), Ok(()));
}
