//! How a module of this suite lists its tests.

/// Name and body of the tests of one module.
pub type Tests = &'static [(&'static str, fn())];
