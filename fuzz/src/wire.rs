//! Fuzz targets for the parsers of frames and records that come from the network.

use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use tempfile::TempDir;
use tresse_base::units::Mac;
use tresse_frame::announce::Announcement;
use tresse_frame::broadcast::Broadcast;
use tresse_frame::keys::{Keys, TAG};
use tresse_frame::lldp::Lldp;
use tresse_frame::records::{self, Origin, PACKET_MOST, RecordsFrame};
use tresse_liveness::records::{Records, Report};

/// Fuzz target for the parser of announcements, the frames by which a NIC makes itself known; anybody on
/// the wire can send one. It panics if parsing panics, or if a frame that parses does not parse to the
/// same announcement after encoding.
pub fn announcement(bytes: &[u8]) {
    if let Ok((source, announcement)) = Announcement::parse(bytes) {
        let emitted = announcement.emit(source);
        assert_eq!(Announcement::parse(&emitted).ok(), Some((source, announcement)));
    }
    assert!(Announcement::open(bytes, keys()).is_err(), "nobody but us has the key");
}

fn keys() -> &'static Keys {
    static KEYS: OnceLock<Keys> = OnceLock::new();
    KEYS.get_or_init(|| Keys::parse(&"01".repeat(32)).expect("a key"))
}

/// Fuzz target for the parser of frames to all stations, which anybody on the wire can send.
pub fn broadcast(bytes: &[u8]) {
    let _ = Broadcast::parse(bytes).map(|of| of.kind.to_string());
}

/// Fuzz target for the parser of LLDP frames, which anybody on the wire can send. It panics if parsing
/// panics, or if a frame that parses does not parse to the same content after encoding.
pub fn lldp(bytes: &[u8]) {
    if let Ok((source, lldp)) = Lldp::parse(bytes) {
        assert_eq!(Lldp::parse(&lldp.emit(source)).ok().as_ref(), Some(&(source, lldp.clone())));
        let _ = (lldp.chassis.to_string(), lldp.port.to_string());
        let _ = (lldp.system_text(), lldp.description_text(), lldp.port.mac());
    }
}

/// Fuzz target for packets of records, which nodes pass on from neighbour to neighbour. It panics if parsing
/// panics, if a packet that parses does not parse to the same items after encoding, if a node that hears it
/// says something that is no packet of records, or if it never stops saying things at once.
pub fn records(bytes: &[u8]) {
    const FABRIC: [u8; 8] = [7; 8];
    let nic = Mac([2; 6]);
    assert!(records::open(bytes.to_vec(), keys(), nic, nic).is_err(), "nobody but us has the key");
    if let Some(frame) = RecordsFrame::parse(bytes) {
        assert!(frame.packet.len() > PACKET_MOST + TAG || bytes.starts_with(&frame.emit()));
    }
    if let Ok((fabric, items)) = records::parse(bytes) {
        let mut emitter = records::Emitter::new(fabric);
        assert!(items.iter().all(|item| emitter.push(item)));
        assert_eq!(records::parse(&emitter.finish()), Ok((fabric, items)));
    }
    let mut now = Duration::from_secs(1);
    let mut node = Records::new(FABRIC, Origin(1), 1, 1);
    (0..3).for_each(|neighbour| node.set_neighbour(neighbour, true, now));
    node.originate(Report::default().emit(), now).expect("it is short");
    // Packets one after the other, each behind its length.
    let mut rest = bytes;
    while let Some((length, more)) = rest.split_at_checked(2) {
        let length = usize::from(u16::from_be_bytes([length[0], length[1]]));
        let (packet, more) = more.split_at(length.min(more.len()));
        let _ = node.hear(u32::try_from(more.len() % 4).unwrap_or(0), packet, now);
        rest = more;
        now += Duration::from_millis(1);
    }
    for _ in 0..100 {
        let mut out = Vec::new();
        node.poll(now, &mut out);
        assert!(out.iter().all(|(to, packet)| *to < 3 && records::parse(packet).is_ok()));
        if node.deadline().is_none_or(|at| at > now) {
            for (_, record) in node.iter() {
                let _ = Report::parse(&record.fields);
            }
            return;
        }
    }
    panic!("it sends for ever");
}

/// Fuzz target for a ring member: a node that takes part in a copy of files around a ring of nodes. The
/// bytes are taken as what it receives from other members and from the source of the copy. It panics if
/// the member panics or writes a file that does not belong to the copy.
pub fn ring(bytes: &[u8]) {
    static DIRECTORY: OnceLock<TempDir> = OnceLock::new();
    let memory = Path::new("/dev/shm");
    let make = || match memory.is_dir() {
        true => tempfile::tempdir_in(memory),
        false => tempfile::tempdir(),
    };
    let directory = DIRECTORY.get_or_init(|| make().expect("a directory in memory"));
    tresse_ring::fuzz::ring(bytes, directory.path());
}
