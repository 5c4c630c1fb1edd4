//! The cables that a test runs over.

use tresse_namespace::{eventually, ip};

/// Two cabled NICs, both up and with carrier: `eth0` and its far end `far0` and so on.
pub fn cables(count: usize) {
    for n in 0..count {
        ip(&format!("link add eth{n} type veth peer name far{n}"));
        ip(&format!("link set eth{n} up"));
        ip(&format!("link set far{n} up"));
    }
    for n in 0..count {
        for name in [format!("eth{n}"), format!("far{n}")] {
            eventually(&format!("{name} has carrier"), || {
                tresse_linux::kernel::observe([]).unwrap().links[&name].carrier
            });
        }
    }
}
