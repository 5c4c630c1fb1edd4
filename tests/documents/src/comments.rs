//! Finds the comments in a source file, by the rules of its language.

/// Returns the text of a file with a blank for each character that is in no comment, so that lines keep
/// their numbers. A manual page or Markdown document is returned whole: all of it is for readers.
pub fn comments(path: &str, text: &str) -> String {
    if path.ends_with(".rs") {
        rust(text)
    } else if path.ends_with(".md") || path.starts_with("docs/man/") {
        text.to_owned()
    } else {
        let lines: Vec<_> = text.lines().map(after_hash).collect();
        lines.join("\n")
    }
}

/// What stands after the first `#` of a line that begins a word.
fn after_hash(line: &str) -> &str {
    let starts = |at: &usize| line[..*at].chars().next_back().is_none_or(char::is_whitespace);
    let hash = line.match_indices('#').map(|(at, _)| at).find(starts);
    hash.map_or("", |at| &line[at..])
}

fn rust(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut before = None;
    while !rest.is_empty() {
        let line = rest.find('\n').unwrap_or(rest.len());
        let (length, keep) = if rest.starts_with("//") {
            (line, true)
        } else if rest.starts_with("/*") {
            (rest.find("*/").map_or(rest.len(), |end| end + 2), true)
        } else if let Some(hashes) = raw(rest, before) {
            (raw_length(rest, hashes), false)
        } else if rest.starts_with('"') {
            (quoted(rest, '"'), false)
        } else if rest.starts_with("'\\") || rest.starts_with("'\"'") || rest.starts_with("'/'") {
            (quoted(rest, '\''), false)
        } else {
            (rest.chars().next().map_or(1, char::len_utf8), false)
        };
        let (part, after) = rest.split_at(length);
        let blank = |c: char| if keep || c == '\n' { c } else { ' ' };
        out.extend(part.chars().map(blank));
        before = part.chars().next_back();
        rest = after;
    }
    out
}

/// How many `#` a raw string that begins here has.
fn raw(text: &str, before: Option<char>) -> Option<usize> {
    let inside = before.is_some_and(|c| c.is_alphanumeric() && c != 'b' || c == '_');
    let after = text.strip_prefix('r').filter(|_| !inside)?;
    let hashes = after.len() - after.trim_start_matches('#').len();
    after[hashes..].starts_with('"').then_some(hashes)
}

fn raw_length(text: &str, hashes: usize) -> usize {
    let end = format!("\"{}", "#".repeat(hashes));
    let from = "r\"".len() + hashes;
    text[from..].find(&end).map_or(text.len(), |at| from + at + end.len())
}

/// Bytes of a text or character between these marks.
fn quoted(text: &str, mark: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        if c == mark && !escaped {
            return at + 1;
        }
        escaped = c == '\\' && !escaped;
    }
    text.len()
}

#[test]
fn comments_are_kept_with_their_lines_and_code_is_not() {
    let code = "let r = \"// a\\\" // b\"; // one\nlet s = br#\"\n// c \" // d\"#; /* two\nthree */ f('\"', '\\'');\n\
                //! four\nfor\"// e\" //five";
    let found = comments("a.rs", code);
    let words: Vec<_> = found.lines().map(|l| l.split_whitespace().collect::<Vec<_>>()).collect();
    let expected: [&[&str]; 5] =
        [&["//", "one"], &["/*", "two"], &["three", "*/"], &["//!", "four"], &["//five"]];
    assert_eq!(words[0], expected[0]);
    assert_eq!(words[1], [""; 0]);
    assert_eq!(words[2..], expected[1..]);
    let script = "echo $# a#b # one\n# two\nthree\n";
    assert_eq!(comments("a.sh", script), "# one\n# two\n");
    assert_eq!(comments("docs/man/a.8", script), script);
}
