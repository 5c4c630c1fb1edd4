//! Labelled frames come from anybody on the wire: no bytes panic, and what is forwarded has a known
//! label, a planned sender, our MAC and TTL above 1, and leaves with nothing else changed.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| tresse_fabric::forward::fuzz::forward(bytes));
