//! Netlink: what the kernel sends, and what no kernel would.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| tressed::fuzz::netlink(bytes));
