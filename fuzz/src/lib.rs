//! The fuzz targets: one function for each parser of data from outside, which feeds arbitrary bytes to
//! this parser. A target panics if the code has a fault.
//!
//! Two programs call the targets. That of libFuzzer (`src/main.rs`, run by `tests/fuzz.sh`) generates
//! inputs by mutation. The unit tests of this crate replay stored inputs: `seeds/TARGET`,
//! `regressions/TARGET` (inputs that once found a fault) and, for cluster files, the examples and the
//! broken files of the tests.

mod files;
mod user;
mod wire;

/// A fuzz target: a function that runs the code under test with these bytes as input, and panics if the
/// code has a fault.
pub type Target = fn(&[u8]);

/// All fuzz targets: the name and function of each, sorted by name.
pub const TARGETS: [(&str, Target); 19] = [
    ("announcement", wire::announcement),
    ("bfd", tressed::fuzz::bfd),
    ("broadcast", wire::broadcast),
    ("cluster", |bytes| files::cluster(text(bytes))),
    ("config", |bytes| tressed::fuzz::config(text(bytes))),
    ("control", user::control),
    ("engine", tressed::fuzz::engine),
    ("forward", tresse_frame::forward::fuzz::forward),
    ("lfts", |bytes| files::lfts(text(bytes))),
    ("lldp", wire::lldp),
    ("lock", |bytes| files::lock(text(bytes))),
    ("mib", files::mib),
    ("mpi", tresse_mpi::fuzz::mpi),
    ("netlink", tressed::fuzz::netlink),
    ("pasted", |bytes| files::pasted(text(bytes))),
    ("probe", tresse_probe::fuzz::probe),
    ("records", wire::records),
    ("ring", wire::ring),
    ("state", tressed::fuzz::state),
];

/// Returns the fuzz target with this name; `None` if there is none.
#[must_use]
pub fn target(name: &str) -> Option<Target> {
    TARGETS.iter().find(|(known, _)| *known == name).map(|(_, target)| *target)
}

/// The longest beginning that is text.
fn text(bytes: &[u8]) -> &str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests;
