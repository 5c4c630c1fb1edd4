//! LLDP comes from anybody on the wire: no bytes panic, what parses is emitted the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tresse_fabric::wire::lldp::Lldp;

fuzz_target!(|bytes: &[u8]| {
    if let Ok((source, lldp)) = Lldp::parse(bytes) {
        assert_eq!(Lldp::parse(&lldp.emit(source)).ok().as_ref(), Some(&(source, lldp.clone())));
        let _ = (lldp.chassis.to_string(), lldp.port.to_string());
        let _ = (lldp.system_text(), lldp.description_text(), lldp.port.mac());
    }
});
