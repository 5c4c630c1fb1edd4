//! Announcements come from anybody on the wire: no bytes panic, what parses is emitted the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tresse_fabric::wire::announce::Announcement;

fuzz_target!(|bytes: &[u8]| {
    if let Ok((source, announcement)) = Announcement::parse(bytes) {
        let emitted = announcement.emit(source);
        assert_eq!(Announcement::parse(&emitted).ok(), Some((source, announcement)));
    }
});
