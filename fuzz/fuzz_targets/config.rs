//! The daemon's own configuration: read or refused.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| tressed::fuzz::config(text));
