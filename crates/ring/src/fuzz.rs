//! Feeds arbitrary bytes to the code with which ring members read from each other, for fuzzing.

use std::net::{IpAddr, Ipv4Addr};

use crate::frame::Hello;
use crate::member;
use crate::talk::{Join, MemberRequest, PartRole, hear};

/// For fuzzing: lets a ring member (a node that takes part in a copy) read `bytes` as a message. The
/// first byte selects what the member takes the other bytes for: the first message of the member
/// that it sends to, requests of the copy's coordinator, or records (the data of the copy) from
/// another member. The member stores the data of records in `directory`.
///
/// # Panics
/// If anything but an unfinished copy is written to `directory`, or if the code under test panics.
pub fn ring(bytes: &[u8], directory: &std::path::Path) {
    let Some((first, rest)) = bytes.split_first() else { return };
    match first % 4 {
        0 => drop(Hello::read(&mut &rest[..], 2, 2)),
        1 => drop(hear::<MemberRequest>(&mut &rest[..])),
        _ => {
            let part = |name: &str| PartRole::Target { path: directory.join(name), input: false };
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
