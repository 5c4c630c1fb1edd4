//! Feeds arbitrary bytes to the code with which ring members read from each other, for fuzzing.

use std::net::{IpAddr, Ipv4Addr};

use crate::frame::Hello;
use crate::member;
use crate::talk::{Join, MemberRequest, Part, hear};

/// Feeds `octets` to one of three readers of a ring member: of a peer's first message, of the
/// coordinator's requests, or of the records of a peer that knows the token. The first byte selects
/// which. Copies go to `directory`.
///
/// # Panics
/// If anything but an unfinished copy is written to `directory`, or if the code under test panics.
pub fn ring(octets: &[u8], directory: &std::path::Path) {
    let Some((first, rest)) = octets.split_first() else { return };
    match first % 4 {
        0 => drop(Hello::read(&mut &rest[..], 2, 2)),
        1 => drop(hear::<MemberRequest>(&mut &rest[..])),
        _ => {
            let part = |name: &str| Part::Target { path: directory.join(name), input: false };
            let join = Join {
                token: "0".repeat(32),
                address: IpAddr::V4(Ipv4Addr::LOCALHOST),
                parts: vec![part("a"), part("b")],
                stripes: u32::from(first % 4 - 1),
                keep: true,
            };
            member::records_of(join, rest);
        }
    }
    let names = std::fs::read_dir(directory).into_iter().flatten().flatten();
    for name in names.map(|entry| entry.file_name()) {
        assert!([".a.tresse", ".b.tresse"].iter().any(|it| *it == name), "{name:?} was written");
    }
}
