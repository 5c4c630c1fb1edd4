//! Splits a text into words, across line ends and without the marks that begin lines of comments.

/// One word of a text: its line, the word as written, and the word without punctuation at its ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word<'a> {
    /// Line from 1.
    pub line: usize,
    /// As written.
    pub raw: &'a str,
    /// Without punctuation at its ends, and without `'s`.
    pub core: &'a str,
}

/// What begins the lines of comments.
const LEADERS: [&str; 7] = ["//!", "///", "//", "#", "##", "*", "--"];

/// Returns the words of a text in order, without the marks that begin lines of comments.
pub fn words(text: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    for (line, written) in text.lines().enumerate() {
        for (at, raw) in written.split_whitespace().enumerate() {
            if at > 0 || !LEADERS.contains(&raw) {
                words.push(Word { line: line + 1, raw, core: core(raw) });
            }
        }
    }
    words
}

fn core(raw: &str) -> &str {
    // The text of a link, without its target.
    let raw = raw.split("](").next().unwrap_or(raw);
    let inner = raw.trim_matches(|c: char| !c.is_alphanumeric() && c != '/');
    inner.strip_suffix("'s").unwrap_or(inner)
}

/// Returns whether a clause ends after this word, so that a following section number does not belong to
/// what was cited before it.
pub fn ends(word: &Word<'_>) -> bool {
    word.raw.ends_with([')', ';', ':']) || word.raw.ends_with("),") || word.raw.ends_with(").")
}

#[test]
fn words_cross_lines_of_a_comment() {
    let found = words("/// As RFC\n/// 3032, (K4's)\n");
    let cores: Vec<_> = found.iter().map(|w| (w.line, w.core)).collect();
    assert_eq!(cores, [(1, "As"), (1, "RFC"), (2, "3032"), (2, "K4")]);
}
