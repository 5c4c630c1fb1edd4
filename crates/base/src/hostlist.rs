//! Expands hostlists such as `n[00-15]`, `n[0-3,7]` and `r[0-1]n[00-15]` into names, and collapses
//! names into hostlists. The notation is that of pdsh and Slurm, without steps. Several brackets give
//! every combination; the last bracket varies fastest. This module does not check that a name exists.

/// The error of a text that is not a valid hostlist: what is wrong in the text, and what to write
/// instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct HostlistError {
    /// The message: what is wrong, and in which part of the text.
    pub reason: String,
    /// What to write instead, if known.
    pub help: Option<String>,
}

/// The largest number of names that one hostlist, such as `n[00-15]`, may expand to.
pub const MOST_NAMES: usize = 1 << 17;

/// Returns all names that a hostlist stands for, in the order written: `n0`, `n1`, `n2` for `n[0-2]`.
///
/// # Errors
/// Brackets that are unbalanced or empty, entries that are not numbers, ranges that run backwards, and
/// hostlists of more than [`MOST_NAMES`] names.
pub fn expand(text: &str) -> Result<Vec<String>, HostlistError> {
    let mut names = vec![String::new()];
    let mut rest = text;
    while let Some(open) = rest.find(['[', ']']) {
        let (literal, bracket) = rest.split_at(open);
        let Some(inside) = bracket.strip_prefix('[') else {
            let help = format!("`{}`", text.replacen(']', "", 1));
            return refuse(format!("`]` without `[` in `{text}`"), Some(help));
        };
        let Some(close) = inside.find([']', '[']).filter(|c| inside.as_bytes()[*c] == b']') else {
            return refuse(format!("`[` without `]` in `{text}`"), Some(format!("`{text}]`")));
        };
        let numbers = numbers(&inside[..close])?;
        if names.len() * numbers.len() > MOST_NAMES {
            let help = "shorter ranges, or several entries".into();
            return refuse(format!("`{text}` names more than {MOST_NAMES} things"), Some(help));
        }
        names = names
            .iter()
            .flat_map(|name| numbers.iter().map(move |n| format!("{name}{literal}{n}")))
            .collect();
        rest = &inside[close + 1..];
    }
    for name in &mut names {
        name.push_str(rest);
    }
    Ok(names)
}

/// Returns the names of several hostlists separated by commas, such as `n03,n[05-07]`.
///
/// # Errors
/// The errors of [`expand`], an empty entry between two commas, and more than [`MOST_NAMES`] names in all.
pub fn expand_all(text: &str) -> Result<Vec<String>, HostlistError> {
    let mut names = Vec::new();
    let mut inside = false;
    let between = |c: char| {
        inside = c == '[' || (inside && c != ']');
        c == ',' && !inside
    };
    for list in text.split(between) {
        if list.is_empty() {
            return refuse(format!("a name is missing at a comma of `{text}`"), None);
        }
        names.extend(expand(list)?);
        if names.len() > MOST_NAMES {
            let help = "shorter ranges".into();
            let reason =
                format!("up to `{list}` this names {} things, at most {MOST_NAMES}", names.len());
            return refuse(reason, Some(help));
        }
    }
    Ok(names)
}

/// Returns hostlists that together expand to `names`, in the same order: `n1`, `n2`, `n4` become
/// `n[1-2,4]`. Adjacent names that differ only in an ascending number at their end share one hostlist.
#[must_use]
pub fn collapse(names: &[&str]) -> Vec<String> {
    let mut lists: Vec<(&str, usize, Vec<u64>)> = Vec::new();
    for name in names {
        let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count().min(9);
        let (stem, number) = name.split_at(name.len() - digits);
        let value = number.parse().unwrap_or(0);
        match lists.last_mut() {
            Some((last, width, values))
                if digits > 0
                    && (*last, *width) == (stem, digits)
                    && values.last() < Some(&value) =>
            {
                values.push(value);
            }
            _ => lists.push((stem, digits, vec![value])),
        }
    }
    let text = |(stem, width, values): (&str, usize, Vec<u64>)| {
        let number = |n: u64| if width == 0 { String::new() } else { format!("{n:0width$}") };
        if values.len() == 1 {
            return format!("{stem}{}", number(values[0]));
        }
        let ranges = values.chunk_by(|a, b| a + 1 == *b).map(|range| match range {
            [one] => number(*one),
            [first, .., last] => format!("{}-{}", number(*first), number(*last)),
            [] => String::new(),
        });
        format!("{stem}[{}]", ranges.collect::<Vec<_>>().join(","))
    };
    lists.into_iter().map(text).collect()
}

fn numbers(list: &str) -> Result<Vec<String>, HostlistError> {
    let mut all = Vec::new();
    for part in list.split(',') {
        let part = part.trim();
        if part.is_empty() {
            let reason = format!("`[{list}]` has an empty entry");
            return refuse(reason, Some("write numbers and ranges such as `[0-3,7]`".into()));
        }
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (low, high) = (number(first.trim(), part)?, number(last.trim(), part)?);
        if low > high {
            let reason = format!("the range `{part}` runs backwards");
            return refuse(reason, Some(format!("`{last}-{first}`")));
        }
        if (high - low) as usize >= MOST_NAMES || all.len() >= MOST_NAMES {
            let help =
                format!("at most {MOST_NAMES}, such as `{low}-{}`", low + MOST_NAMES as u64 - 1);
            return refuse(format!("`[{list}]` has more than {MOST_NAMES} entries"), Some(help));
        }
        let width = first.trim().len();
        all.extend((low..=high).map(|n| format!("{n:0width$}")));
    }
    Ok(all)
}

fn number(digits: &str, part: &str) -> Result<u64, HostlistError> {
    let valid = (1..=9).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
    let value = if valid { digits.parse().ok() } else { None };
    value.ok_or_else(|| HostlistError {
        reason: format!("`{part}` is not a number or a range of numbers"),
        help: Some("write numbers and ranges such as `[0-3,7]`".into()),
    })
}

fn refuse<T>(reason: String, help: Option<String>) -> Result<T, HostlistError> {
    Err(HostlistError { reason, help })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_lists_and_padding() {
        assert_eq!(expand("n0").unwrap(), ["n0"]);
        assert_eq!(expand("n[0-3,7]").unwrap(), ["n0", "n1", "n2", "n3", "n7"]);
        assert_eq!(expand("n[08-11]x").unwrap(), ["n08x", "n09x", "n10x", "n11x"]);
        assert_eq!(expand("r[0-1]n[1-2]").unwrap(), ["r0n1", "r0n2", "r1n1", "r1n2"]);
        assert_eq!(expand("[1-4]").unwrap().len(), 4);
        assert_eq!(expand("s[00-15]").unwrap().len(), 16);
    }

    #[test]
    fn several_hostlists_are_one() {
        let all = ["n03", "n5", "n07", "n08", "x"];
        assert_eq!(expand_all("n03,n5,n[07,08],x").unwrap(), all);
        assert_eq!(expand_all("n03").unwrap(), all[..1]);
        for wrong in ["", "n1,", ",n1", "n1,,n2", "n[1,2"] {
            assert!(expand_all(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_short_text_does_not_fill_the_memory() {
        let many = ["n[0-99999]"; 500].join(",");
        let reason = expand_all(&many).unwrap_err().reason;
        assert_eq!(reason, "up to `n[0-99999]` this names 200000 things, at most 131072");
    }

    #[test]
    fn names_come_back_as_they_were() {
        for (names, lists) in [
            (&["n00", "n01", "n02", "n07"][..], &["n[00-02,07]"][..]),
            (&["n8", "n9", "n10"], &["n[8-9]", "n10"]),
            (&["a1b", "a2b", "login", "n3"], &["a1b", "a2b", "login", "n3"]),
            (&["n1"], &["n1"]),
        ] {
            assert_eq!(collapse(names), lists);
            let all: Vec<String> = lists.iter().flat_map(|l| expand(l).unwrap()).collect();
            assert_eq!(all, names);
        }
    }

    #[test]
    fn bad_hostlists_are_refused() {
        for text in
            ["n[", "n]", "n[]", "n[1-", "n[a]", "n[3-1]", "n[1,,2]", "n[[1]]", "n[-1]", "n[1-2-3]"]
        {
            assert!(expand(text).is_err(), "{text}");
        }
        for text in ["n[0-999999999]", "n[0-999][0-999]", "n[00000000000000000001]"] {
            assert!(expand(text).is_err(), "{text}");
        }
        assert_eq!(expand("n[3-1]").unwrap_err().help.unwrap(), "`1-3`");
    }
}
