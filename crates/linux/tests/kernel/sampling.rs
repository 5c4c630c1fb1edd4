//! What this node sends, by samples: few frames are all counted, of many an estimate, whatever comes between two looks.

use std::net::{IpAddr, UdpSocket};

use libtest_mimic::Trial;
use tresse_frame::sample::SampledHeaders;
use tresse_linux::sampling::Sampler;
use tresse_namespace::{ip, trial};

/// Payload of a frame of 1,000 bytes.
const PAYLOAD: usize = 1000 - 14 - 20 - 8;

pub fn trials() -> Vec<Trial> {
    vec![
        trial("samples_say_what_is_sent", &[], samples),
        trial("samples_say_exactly_what_goes_in_large_frames", &[], large),
    ]
}

fn samples() {
    ip("link add va type veth peer name vb");
    for end in ["va", "vb"] {
        ip(&format!("link set {end} up"));
    }
    ip("addr add 10.9.0.1/24 dev va");
    ip("neigh add 10.9.0.2 lladdr 02:00:00:00:00:02 dev va nud permanent");
    let mut sampler = Sampler::open("va").unwrap();
    assert!(sampler.is_of("va") && !sampler.is_of("vb"));
    let socket = UdpSocket::bind("10.9.0.1:0").unwrap();
    // Bytes to the peer by the samples of what was sent since the last look.
    let mut look = |frames: usize| -> u64 {
        for _ in 0..frames {
            socket.send_to(&[0; PAYLOAD], "10.9.0.2:9").unwrap();
        }
        let mut bytes = 0;
        sampler
            .take(|headers, stands_for| {
                if headers.destination == "10.9.0.2".parse::<IpAddr>().unwrap() {
                    assert!(headers.vid.is_none() && headers.labels.is_empty());
                    bytes += stands_for;
                }
            })
            .unwrap();
        bytes
    };
    assert_eq!(look(300), 300_000, "all of few");
    // More than a ring holds: those that were lost were like the others.
    let at_once = look(20_000);
    assert!((19_000_000..=21_000_000).contains(&at_once), "{at_once}");
    // Now one in several is taken, at random; by some hundred samples, five times as wide as their deviation.
    for round in 0..4 {
        let estimate = look(20_000);
        assert!((15_000_000..=25_000_000).contains(&estimate), "{round}: {estimate}");
    }
    // Few come again, and after a look all are taken once more.
    for _ in 0..2 {
        look(20);
    }
    assert_eq!(look(300), 300_000, "all of few, again");
}

/// A flow of few large frames beside one of many small ones.
fn large() {
    const MTU: usize = 65_000;
    ip(&format!("link add va mtu {MTU} type veth peer name vb mtu {MTU}"));
    for end in ["va", "vb"] {
        ip(&format!("link set {end} up"));
    }
    ip("addr add 10.9.0.1/24 dev va");
    for to in ["10.9.0.2", "10.9.0.3"] {
        ip(&format!("neigh add {to} lladdr 02:00:00:00:00:02 dev va nud permanent"));
    }
    let mut sampler = Sampler::open("va").unwrap();
    let socket = UdpSocket::bind("10.9.0.1:0").unwrap();
    let rare: IpAddr = "10.9.0.3".parse().unwrap();
    let mut look = || -> u64 {
        for _ in 0..20_000 {
            socket.send_to(&[0; PAYLOAD], "10.9.0.2:9").unwrap();
        }
        for _ in 0..30 {
            socket.send_to(&[0; MTU - 28], (rare, 9)).unwrap();
        }
        let mut bytes = 0;
        let each = |headers: SampledHeaders, stands_for| {
            bytes += if headers.destination == rare { stands_for } else { 0 };
        };
        sampler.take(each).unwrap();
        bytes
    };
    // The first look is of more than a ring holds.
    look();
    for _ in 0..4 {
        assert_eq!(look(), 30 * (MTU as u64 + 14));
    }
}
