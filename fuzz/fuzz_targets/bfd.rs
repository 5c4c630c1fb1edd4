//! Control packets and answers to echoes come from anybody who reaches this host: no bytes panic, and what
//! did not come by a planned path has no effect.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| tressed::fuzz::bfd(bytes));
