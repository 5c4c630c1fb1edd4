//! The control socket: any local user may send anything.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| tressed::fuzz::control(bytes));
