//! libFuzzer's program for all targets: `FUZZ_TARGET` names the one to run.
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
