//! Prints the violations and notes of `tresse check` as text, one per line.

use std::io::Write;

use tresse_verify::Finding;

/// Writes the violations, then the notes, of a check of a plan, one per line.
pub fn findings(
    out: &mut impl Write,
    violations: &[Finding],
    notes: &[Finding],
) -> std::io::Result<()> {
    for (title, findings) in [("VIOLATION", violations), ("note", notes)] {
        for f in findings {
            writeln!(out, "{title}: {f}")?;
        }
    }
    Ok(())
}
