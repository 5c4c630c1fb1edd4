//! Files that chance broke: no bytes make parser or formatter panic.

use proptest::prelude::*;

use super::files;
use crate::{format, parse};
use tresse_base::hostlist::expand;

/// A valid or broken file with one or a few edits that TOML survives more or less often.
pub(super) fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let texts: Vec<_> = files("configs")
        .into_iter()
        .chain(files("tests/broken"))
        .map(|(_, text)| text.into_bytes())
        .filter(|text| text.len() < 1500 && !text.windows(10).any(|w| w == b"16, 16, 16"))
        .collect();
    let snippets = [
        "",
        "\"",
        "[",
        "]",
        "{",
        "}",
        "=",
        ",",
        "0",
        "-1",
        "9999999999",
        "\n",
        "[0-9]",
        "s0:1",
        "#",
        "é",
        "\u{0}",
        "1.5",
        "true",
        "[[link]]\n",
        "[[node]]\n",
        "name = ",
        "dims = [2, 3]",
        "fd00::/8",
        "x",
        "[1-999]",
    ];
    let edit = (any::<prop::sample::Index>(), 0_usize..12, prop::sample::select(snippets.to_vec()));
    (prop::sample::select(texts), prop::collection::vec(edit, 1..5)).prop_map(
        |(mut text, edits)| {
            for (at, removed, snippet) in edits {
                let start = at.index(text.len() + 1);
                let end = (start + removed).min(text.len());
                text.splice(start..end, snippet.bytes());
            }
            text
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..Default::default() })]

    #[test]
    fn no_text_makes_the_parser_panic(bytes in mutated()) {
        let text = String::from_utf8_lossy(&bytes);
        match parse(&text, "x") {
            Ok(cluster) => {
                for nic in cluster.nodes.iter().flat_map(|n| &n.nics).filter(|n| n.peer.is_none()) {
                    let ports = 1..=cluster.switch(nic.switch).ports;
                    prop_assert!(ports.contains(&nic.port));
                }
            }
            Err(problems) => {
                prop_assert!(!problems.problems.is_empty());
                for problem in &problems.problems {
                    prop_assert_eq!(&text[problem.span.clone()], problem.text.as_str());
                    prop_assert!(problem.line >= 1 && problem.column >= 1);
                }
            }
        }
        let _ = tresse_plan::lock::Lock::parse(&text);
    }

    #[test]
    fn no_text_makes_format_panic(bytes in mutated()) {
        let text = String::from_utf8_lossy(&bytes);
        let formatted = format(&text);
        if let (Ok(before), Ok(after)) = (parse(&text, "x"), parse(&formatted, "x")) {
            prop_assert_eq!(before, after);
        }
    }

    #[test]
    fn arbitrary_text_is_no_cluster(text in "\\PC*") {
        prop_assert!(parse(&text, "x").is_err());
        prop_assert!(expand(&text).is_ok() || expand(&text).is_err());
    }
}
