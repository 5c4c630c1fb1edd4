//! The lock: no text panics, what is read is written back the same, trees are compared safely.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tresse_fabric::lock::{Lock, tree};

fuzz_target!(|text: &str| {
    if let Ok(lock) = Lock::parse(text) {
        assert_eq!(Lock::parse(&lock.emit()).as_ref(), Ok(&lock));
        for vid in lock.vids.values() {
            let _ = tree::compatible(&vid.tree, "s0:1~s1:1 s1:2~s2:1");
        }
    }
    let _ = tree::compatible(text, "torus 4x4 at 1,0 order 0,1");
});
