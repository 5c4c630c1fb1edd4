//! Fuzz targets for frames and records that come from the network.

use std::path::Path;
use std::sync::OnceLock;

use tempfile::TempDir;
use tresse_frame::announce::Announcement;
use tresse_frame::lldp::Lldp;

/// Fuzzes the parser of announcements, which anybody on the wire can send. No bytes panic. A frame
/// that parses encodes back to the same bytes.
pub fn announcement(bytes: &[u8]) {
    if let Ok((source, announcement)) = Announcement::parse(bytes) {
        let emitted = announcement.emit(source);
        assert_eq!(Announcement::parse(&emitted).ok(), Some((source, announcement)));
    }
}

/// Fuzzes the parser of LLDP, which anybody on the wire can send. No bytes panic. A frame that parses
/// encodes back to the same bytes.
pub fn lldp(bytes: &[u8]) {
    if let Ok((source, lldp)) = Lldp::parse(bytes) {
        assert_eq!(Lldp::parse(&lldp.emit(source)).ok().as_ref(), Some(&(source, lldp.clone())));
        let _ = (lldp.chassis.to_string(), lldp.port.to_string());
        let _ = (lldp.system_text(), lldp.description_text(), lldp.port.mac());
    }
}

/// Fuzzes the decoders of what a ring member receives, from other members and from the source of a copy.
/// No bytes panic.
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
