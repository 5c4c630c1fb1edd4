//! One right and one wrong citation of each kind.

use super::check;
use crate::definitions::{DESIGN, Definitions, GUIDE, REFERENCES, RULES, STYLE};
use crate::source::Source;

fn source(path: &str, text: &str) -> Source {
    Source { path: path.into(), text: text.into() }
}

/// What is wrong with the code, as (path, line, message), beside small documents.
fn faults(code: &[(&str, &str)]) -> Vec<(String, usize, String)> {
    let references = "# References\n\n## The five papers\n\n### p-mesh\n\nSections: 4.0, 4.1. Tables: 1 to 3.\n\n\
                      ## RFCs\n\n| RFC 768 |\n| Mills 1979 | W. H. Mills |\n| IEEE 802.1Q |\n\
                      | MPI 4.0 |\n\
                      | `net/core/x.c` |\n";
    let mut sources = vec![
        source(RULES, "## K1. One\n\n## Data plane\n"),
        source(DESIGN, "## 7. Seven\n\n## 7a. More\n"),
        source(REFERENCES, references),
        source(STYLE, "1. First.\n2. Second.\n"),
        source(GUIDE, "## Watched paths\n"),
    ];
    sources.extend(code.iter().map(|(path, text)| source(path, text)));
    let found = check(&sources, &Definitions::of(&sources));
    found.into_iter().map(|f| (f.path, f.line, f.message)).collect()
}

#[test]
fn what_is_defined_is_no_fault() {
    let text = "//! Rule K1 (DESIGN sections 7 and 7a; RFC 768, section 3; p-mesh, section\n\
                //! 4.1 and table 3). K1's (Mills 1979). IEEE 802.1Q table 8-2; MPI 4.0,\n\
                //! section 6.13; `net/core/x.c`.\n\
                //! House style, boundary 2; operator guide, \"Watched\n\
                //! paths\"; docs/kernel-rules.md, \"Data plane\". On 24 November 2026.\n";
    let more = "# RFCs 768 and 768, RFC768, RFC-768; p-mesh, section 4.1\n";
    assert_eq!(faults(&[("a.rs", text), ("systemd/a.service", more)]), []);
    assert_eq!(
        faults(&[("a.rs", text), ("b/c.rs", "// Section 4.0.\n"), ("b.rs", "// p-mesh\n")]),
        []
    );
}

#[test]
fn what_is_not_defined_is_named_with_its_line() {
    let wrong = [
        ("// K2", "K2: no such rule in docs/kernel-rules.md"),
        ("// DESIGN section 8", "section 8: no source cited here has it"),
        ("// RFC\n// 769", "RFC 769: not in docs/references.md"),
        ("// RFC9999", "RFC 9999: not in docs/references.md"),
        ("// RFC 76", "RFC 76: not in docs/references.md"),
        ("// RFC-769", "RFC 769: not in docs/references.md"),
        ("// RFCs 768, 769 and 768", "RFC 769: not in docs/references.md"),
        ("// q-mesh, section 4.1 of p-mesh", "q-mesh: no such paper in docs/references.md"),
        ("// q-mesh, table 3; p-mesh, table 3", "q-mesh: no such paper in docs/references.md"),
        ("// p-mesh, sections 4.1 to 4.5", "sections 4.5: no source cited here has it"),
        ("// p-mesh, Table 4", "Table 4: no source cited here has it"),
        ("// section 4.1", "section 4.1: no source cited here has it"),
        ("// (Todd 1985)", "Todd 1985: not in docs/references.md"),
        ("// Todd et al., 1985", "Todd 1985: not in docs/references.md"),
        ("// IEEE 802.2", "IEEE 802.2: not in docs/references.md"),
        ("// MPI 4.1, section 6.13", "MPI 4.1: not in docs/references.md"),
        ("// net/core/y.c", "net/core/y.c: not in docs/references.md"),
        ("// house style, boundary 3", "boundary 3: not in CONTRIBUTING.md"),
        ("// operator guide, \"No\"", "\"No\": no such heading in docs/operator-guide.md"),
        ("// kernel-traps", "kernel-traps: not in this repository"),
        ("// Facts, B5", "Facts: not in this repository"),
    ];
    for (text, message) in wrong {
        for path in ["a.rs", ".ci/run", "Cargo.toml", "systemd/a.service"] {
            let found = faults(&[(path, &format!("\n{text}\n"))]);
            assert_eq!(found, [(path.to_owned(), 2, message.to_owned())], "{text}");
        }
    }
}
