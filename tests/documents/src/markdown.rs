//! Reads headings and links of a Markdown document.

/// A heading of a Markdown document: its line, its title, and its anchor, which links to it have after
/// `#`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    /// Line from 1.
    pub line: usize,
    /// Its text without marks.
    pub title: String,
    /// What a link to it has behind `#`, as code hosts make it.
    pub anchor: String,
}

/// Returns the lines of a Markdown text that are outside of fenced and indented code blocks, each with
/// its number from 1.
pub fn prose(text: &str) -> Vec<(usize, &str)> {
    let [prose, _] = parted(text);
    prose
}

/// Returns the lines of a Markdown text that are inside of fenced and indented code blocks, each with its
/// number from 1.
pub fn code(text: &str) -> Vec<(usize, &str)> {
    let [_, code] = parted(text);
    code
}

/// Prose, then code.
fn parted(text: &str) -> [Vec<(usize, &str)>; 2] {
    let mut fenced = false;
    let (mut prose, mut code) = (Vec::new(), Vec::new());
    for (at, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if fenced || line.starts_with("    ") {
            code.push((at + 1, line));
        } else {
            prose.push((at + 1, line));
        }
    }
    [prose, code]
}

/// Returns the headings of a Markdown text in order. If several have the same title, the anchors of all
/// but the first end in `-1`, `-2`, ...
pub fn headings(text: &str) -> Vec<Heading> {
    let mut headings: Vec<Heading> = Vec::new();
    for (line, written) in prose(text) {
        let title = written.trim_start_matches('#');
        if title.len() == written.len() || !title.starts_with(' ') {
            continue;
        }
        let title = title.trim().replace(['`', '*', '\\'], "");
        let plain = anchor(&title);
        let before = headings.iter().filter(|h| anchor(&h.title) == plain).count();
        let anchor = if before == 0 { plain } else { format!("{plain}-{before}") };
        headings.push(Heading { line, title, anchor });
    }
    headings
}

fn anchor(title: &str) -> String {
    let kept = title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Returns the targets of all links in a Markdown text, each with its line number. Text between
/// backticks is not searched.
pub fn links(text: &str) -> Vec<(usize, String)> {
    let mut links = Vec::new();
    for (line, written) in prose(text) {
        let outside: Vec<_> = written.split('`').step_by(2).collect();
        // A link's text may be between backticks, its target is not.
        let outside = outside.join("x");
        for part in outside.split("](").skip(1) {
            if let Some((target, _)) = part.split_once(')') {
                links.push((line, target.to_owned()));
            }
        }
    }
    links
}

#[test]
fn headings_have_the_anchors_of_code_hosts() {
    let text = "# A `b`: c\n```\n# no\n```\n## 7a. Up\\*/down\\*, again\n## A b c\n## A b: c\n";
    let anchors: Vec<_> = headings(text).into_iter().map(|h| h.anchor).collect();
    assert_eq!(anchors, ["a-b-c", "7a-updown-again", "a-b-c-1", "a-b-c-2"]);
}

#[test]
fn links_are_found_and_code_is_not() {
    let text = "[a](x.md#y), `[b](no)` and [`c`](z)\n\n    [d](no)\n";
    let found: Vec<_> = links(text).into_iter().map(|(_, target)| target).collect();
    assert_eq!(found, ["x.md#y", "z"]);
}
