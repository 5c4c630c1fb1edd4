//! The libFuzzer program for all fuzz targets: the environment variable `FUZZ_TARGET` selects one.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use tresse_fuzz::{Target, target};

fuzz_target!(|bytes: &[u8]| {
    static CHOSEN: OnceLock<Target> = OnceLock::new();
    let chosen = CHOSEN.get_or_init(|| {
        let name = std::env::var("FUZZ_TARGET").expect("FUZZ_TARGET names a target");
        target(&name).unwrap_or_else(|| panic!("there is no fuzz target {name}"))
    });
    chosen(bytes);
});
