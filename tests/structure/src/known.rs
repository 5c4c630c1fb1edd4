//! Reads and checks `known.txt`, the list of circles (circular dependencies) and of crates with too many
//! lines that are known and not mended yet. Entries may only be removed.
//!
//! One entry a line; `#` starts a comment:
//!
//! ```text
//! circle PACKAGE files|modules MEMBER MEMBER ..
//! lines PACKAGE NUMBER
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::sizes;
use crate::survey::{Place, Survey};

/// The path of the file `known.txt`, which lists the known faults of the workspace's structure.
pub const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/known.txt");

const HEADER: &str = "\
# Circles and sizes that are known and not mended yet: see src/known.rs. This list only shrinks.
# After mending: cargo run --package tresse-structure -- shrink
";

/// The content of `known.txt`: the known circles (circular dependencies), and the number of lines of
/// each crate that is too large.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Known {
    circles: BTreeSet<Place>,
    lines: BTreeMap<String, usize>,
}

impl Known {
    /// Reads a list; the error names the line that is none.
    pub fn parse(text: &str) -> Result<Known, String> {
        let mut known = Known::default();
        for line in text.lines() {
            let words: Vec<&str> =
                line.split('#').next().unwrap_or("").split_whitespace().collect();
            match words.as_slice() {
                [] => {}
                ["circle", package, kind @ ("files" | "modules"), members @ ..] => {
                    known.circles.insert(Place {
                        package: (*package).to_owned(),
                        kind: (*kind).to_owned(),
                        members: members.iter().map(|&member| member.to_owned()).collect(),
                    });
                }
                ["lines", package, number] if number.parse::<usize>().is_ok() => {
                    known.lines.insert((*package).to_owned(), number.parse().unwrap_or_default());
                }
                _ => return Err(format!("known.txt: expected a circle or lines: {line}")),
            }
        }
        Ok(known)
    }

    /// The list that a survey needs.
    pub fn needed_by(survey: &Survey) -> Known {
        let large = |(name, lines): &(&String, &usize)| {
            sizes::limit(name).is_some_and(|limit| **lines > limit)
        };
        Known {
            circles: survey.circles.keys().cloned().collect(),
            lines: survey.lines.iter().filter(large).map(|(n, l)| (n.clone(), *l)).collect(),
        }
    }

    /// What the survey has and the list does not allow, and what the list has to no purpose.
    pub fn problems(&self, survey: &Survey) -> Vec<String> {
        let mut found = Vec::new();
        for (place, circle) in &survey.circles {
            if self.circles.contains(place) {
                continue;
            }
            let mut known = self.circles.iter();
            let what = match known.find(|known| known.members.is_superset(&place.members)) {
                Some(_) => "known circle is smaller now; shrink the list",
                None => "new circle",
            };
            found.push(format!("{what}:\n  {}\n{}", line(place), circle.describe()));
        }
        for place in self.circles.iter().filter(|place| !survey.circles.contains_key(*place)) {
            found.push(format!("gone, remove it from known.txt:\n  {}", line(place)));
        }
        let needed = Known::needed_by(survey).lines;
        for (package, lines) in &needed {
            let most = self.lines.get(package).copied().or(sizes::limit(package)).unwrap_or(0);
            if *lines > most {
                found.push(format!("{package} has {lines} lines without tests, at most {most}"));
            }
        }
        for package in self.lines.keys().filter(|package| !needed.contains_key(*package)) {
            found.push(format!("{package} is small enough: remove its lines from known.txt"));
        }
        found
    }

    /// Why `self` is no smaller list than `old`: more files or modules in circles, more lines.
    pub fn growth_since(&self, old: &Known) -> Option<String> {
        let members = |known: &Known, kind: &str| -> usize {
            let of_kind = known.circles.iter().filter(|place| place.kind == kind);
            of_kind.map(|place| place.members.len()).sum()
        };
        for kind in ["files", "modules"] {
            let (before, now) = (members(old, kind), members(self, kind));
            if now > before {
                return Some(format!("{now} {kind} are in circles, {before} were"));
            }
        }
        let lines = |known: &Known| known.lines.values().sum::<usize>();
        let (before, now) = (lines(old), lines(self));
        (now > before).then(|| format!("large crates have {now} lines, {before} before"))
    }

    /// The text of the list.
    pub fn render(&self) -> String {
        let mut text = HEADER.to_owned();
        for place in &self.circles {
            let _ = writeln!(text, "{}", line(place));
        }
        for (package, lines) in &self.lines {
            let _ = writeln!(text, "lines {package} {lines}");
        }
        text
    }
}

fn line(place: &Place) -> String {
    let members: Vec<&str> = place.members.iter().map(String::as_str).collect();
    format!("circle {} {} {}", place.package, place.kind, members.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circles::Circle;

    fn survey(circles: &[&str], lines: usize) -> Survey {
        let known = Known::parse(&circles.join("\n")).unwrap();
        let circle =
            |place: Place| (place.clone(), Circle { members: place.members, arrows: Vec::new() });
        Survey {
            circles: known.circles.into_iter().map(circle).collect(),
            lines: BTreeMap::from([("large".to_owned(), lines)]),
        }
    }

    const LIST: &str = "circle a files x y z # why\nlines large 9500\n";

    #[test]
    fn what_is_listed_passes_and_is_written_as_it_was_read() {
        let known = Known::parse(LIST).unwrap();
        let survey = survey(&["circle a files x y z"], 9_500);
        assert_eq!(known.problems(&survey), [""; 0]);
        assert_eq!(Known::parse(&Known::needed_by(&survey).render()), Ok(known));
    }

    #[test]
    fn new_smaller_and_gone_circles_fail() {
        let known = Known::parse(LIST).unwrap();
        let found = known.problems(&survey(&["circle a files x y", "circle b modules x q"], 9_500));
        assert!(found[0].starts_with("known circle is smaller"), "{found:?}");
        assert!(found[1].starts_with("new circle"), "{found:?}");
        assert!(found[2].starts_with("gone, remove it"), "{found:?}");
        assert_eq!(found.len(), 3);
    }

    #[test]
    fn a_large_crate_may_only_shrink_until_it_is_small() {
        let known = Known::parse("lines large 9500").unwrap();
        assert_eq!(known.problems(&survey(&[], 9_400)), [""; 0]);
        assert_eq!(known.problems(&survey(&[], 9_501)).len(), 1);
        assert_eq!(known.problems(&survey(&[], 9_000)).len(), 1);
        assert_eq!(Known::default().problems(&survey(&[], 9_001)).len(), 1);
    }

    #[test]
    fn the_list_does_not_grow() {
        let old = Known::parse(LIST).unwrap();
        let moved = Known::parse("circle b files x y\nlines small 9400").unwrap();
        assert_eq!(moved.growth_since(&old), None);
        let grown = Known::parse("circle a files x y\ncircle b files u v").unwrap();
        assert_eq!(grown.growth_since(&old).as_deref(), Some("4 files are in circles, 3 were"));
    }
}
