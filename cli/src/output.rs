//! Answers on standard output: JSON and tables, from one value.

use std::io::{self, BufWriter, StdoutLock, Write};

use comfy_table::{ContentArrangement, Table, presets};
use serde::Serialize;

/// Standard output, buffered.
pub fn stdout() -> BufWriter<StdoutLock<'static>> {
    BufWriter::with_capacity(1 << 16, io::stdout().lock())
}

/// One JSON value on one line.
pub fn json_line(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}

/// A plain table with the given head.
pub fn table<const N: usize>(head: [&str; N]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(head);
    table
}
