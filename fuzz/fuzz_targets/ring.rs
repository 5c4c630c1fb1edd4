//! What members of a ring hear of others, and of the one who copies.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use tempfile::TempDir;

fuzz_target!(|bytes: &[u8]| {
    static DIRECTORY: OnceLock<TempDir> = OnceLock::new();
    let memory = std::path::Path::new("/dev/shm");
    let make = || match memory.is_dir() {
        true => tempfile::tempdir_in(memory),
        false => tempfile::tempdir(),
    };
    let directory = DIRECTORY.get_or_init(|| make().expect("a directory in memory"));
    tresse_ring::fuzz::ring(bytes, directory.path());
});
