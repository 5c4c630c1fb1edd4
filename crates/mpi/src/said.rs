//! What the library says to the user, on standard error.

use std::fmt::Display;
use std::io::{self, Write as _};

/// Writes a line in one call: launchers put together what ranks write as it comes, and lines that come in pieces are torn
/// by those of others. A program without standard error goes on without.
pub fn say(line: impl Display) {
    let line = format!("tresse-mpi: {line}\n");
    let _ = io::stderr().write_all(line.as_bytes());
}
