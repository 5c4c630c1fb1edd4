//! Violations and notes as text, one per line.

use std::io::Write;

use tresse_verify::Finding;

/// What was found, violations first.
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
