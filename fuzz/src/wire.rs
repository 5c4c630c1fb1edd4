//! Fuzz targets for the parsers of frames and records that come from the network.

use std::path::Path;
use std::sync::OnceLock;

use tempfile::TempDir;
use tresse_frame::announce::Announcement;
use tresse_frame::lldp::Lldp;

/// Fuzz target for the parser of announcements, the frames by which a NIC makes itself known; anybody on
/// the wire can send one. It panics if parsing panics, or if a frame that parses does not parse to the
/// same announcement after encoding.
pub fn announcement(bytes: &[u8]) {
    if let Ok((source, announcement)) = Announcement::parse(bytes) {
        let emitted = announcement.emit(source);
        assert_eq!(Announcement::parse(&emitted).ok(), Some((source, announcement)));
    }
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
