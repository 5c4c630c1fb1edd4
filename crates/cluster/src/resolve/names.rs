//! Expands hostlists (`n[00-15]`) into names, checks names, and reports bad names and missing keys.

use std::ops::Range;

use tresse_base::hostlist;
use tresse_base::problem::{Found, ProblemKind};

use crate::read::At;
use crate::{guess, limits};

pub(super) fn missing(key: &str, place: &str, span: &Range<usize>, help: &str, found: &mut Found) {
    let message = format!("`{key}` is missing in {place}");
    found.add(ProblemKind::MissingKey, span, message, help.to_owned());
}

/// Returns the names of a hostlist of switches or nodes. A bad hostlist is reported and gives no names.
pub(super) fn names(text: &At<String>, found: &mut Found) -> Vec<String> {
    let names = hosts(&text.value, &text.span, found);
    if let Some(bad) = names.iter().find(|n| !valid_name(n)) {
        found.add(ProblemKind::BadName, &text.span, bad_name(bad), name_help(bad));
        return Vec::new();
    }
    names
}

pub(super) fn hosts(text: &str, span: &Range<usize>, found: &mut Found) -> Vec<String> {
    if found.names > limits::NAMES {
        return Vec::new();
    }
    let names = hostlist::expand(text).unwrap_or_else(|error| {
        let help = error.help.unwrap_or_else(|| "such as `n[00-15]`".to_owned());
        found.add(ProblemKind::BadHostlist, span, error.reason, help);
        Vec::new()
    });
    let all = found.names + names.len();
    // What is written out one by one is as long as the file says.
    found.names += names.len().saturating_sub(1);
    if all > limits::NAMES {
        let message = format!("up to here hostlists name {all} things, at most {}", limits::NAMES);
        found.add(ProblemKind::BadHostlist, span, message, "shorter ranges".to_owned());
        return Vec::new();
    }
    names
}

pub(super) fn name_help(bad: &str) -> String {
    match guess::name(bad, limits::NAME) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "start with a letter or digit and use letters, digits, `-`, `_` and `.`".to_owned(),
    }
}

pub(super) fn valid_name(name: &str) -> bool {
    (1..=limits::NAME).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
}

/// Whether the text can be the name of an interface.
pub(super) fn is_nic_name(name: &str) -> bool {
    (1..=limits::NIC_NAME).contains(&name.len())
        && !limits::NOT_NIC_NAMES.contains(&name)
        && name.bytes().all(|b| b.is_ascii_graphic() && !b"/:%\"'\\[]".contains(&b))
}

/// Returns what is wrong with the name of a node or switch, and what a cluster file takes instead; `None` if
/// the name can be used.
#[must_use]
pub fn name_fault(name: &str) -> Option<String> {
    (!valid_name(name)).then(|| format!("{}: {}", bad_name(name), name_help(name)))
}

pub(super) fn bad_name(name: &str) -> String {
    let may = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let why = match name.chars().find(|c| !may(*c)) {
        _ if name.is_empty() || name.len() > limits::NAME => {
            return format!("`{name}` is not a name of 1 to {} characters", limits::NAME);
        }
        Some(c) if c.is_whitespace() => "it has a blank".to_owned(),
        Some(c) => format!("it has the character `{}`", c.escape_debug()),
        None => format!("it begins with `{}`", &name[..1]),
    };
    format!("`{name}` is not a name: {why}")
}
