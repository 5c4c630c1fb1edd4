//! The state file: read or refused, and an engine starts from what was read.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| tressed::fuzz::state(bytes));
