//! Guesses which valid value was meant by an invalid one in the cluster file, for the advice in messages: a value of
//! the wrong type, or a wrong name, MAC address or rate. It does not decide whether a value is valid.

use toml::de::DeValue;
use tresse_base::units::{Mac, Rate};

use crate::limits;

/// Returns, as text, the value probably meant for `key` of the table called `table` by a value of another type.
pub(super) fn of_type(table: &str, key: &str, value: &DeValue<'_>) -> Option<String> {
    match (table, key, value) {
        ("the cluster file", "switch" | "node" | "link" | "demand", DeValue::Table(_)) => {
            Some(format!("[[{key}]]"))
        }
        (_, "dims" | "grow_to", _) => numbers(value),
        (_, "name" | "switch" | "root", DeValue::Integer(number)) => {
            let text = number.to_string();
            Some(quoted(name(&text, limits::NAME).unwrap_or(text)))
        }
        (_, "range" | "port", _) => Some(quoted(vids(value)?)),
        (_, "rate", DeValue::Integer(number)) => rate(&number.to_string()).map(quoted),
        (_, "rate", DeValue::Float(number)) => rate(&number.to_string()).map(quoted),
        (_, "topology", DeValue::String(kind)) => Some(topology(kind)),
        _ => only(value).filter(|_| key != "nics").map(quoted),
    }
}

/// Returns the whole number that a text, a float or a list of one means.
pub(super) fn number(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => text.trim().parse::<u32>().ok().map(|n| n.to_string()),
        DeValue::Float(float) => {
            let float: f64 = float.as_str().parse().ok()?;
            // A positive value is never rounded to 0: weights and counts begin at 1.
            let whole = if float > 0.0 { float.round().max(1.0) } else { 0.0 };
            (0.0..=f64::from(u32::MAX)).contains(&float).then(|| format!("{whole}"))
        }
        DeValue::Array(list) if list.len() == 1 => {
            list.first()?.get_ref().as_integer().map(ToString::to_string)
        }
        _ => None,
    }
}

/// Returns the truth value that a word or a number means.
pub(super) fn flag(value: &DeValue<'_>) -> Option<bool> {
    let text = match value {
        DeValue::String(text) => text.trim().to_ascii_lowercase(),
        DeValue::Integer(number) => number.to_string(),
        _ => return None,
    };
    match text.as_str() {
        "true" | "yes" | "on" | "y" | "1" => Some(true),
        "false" | "no" | "off" | "n" | "0" => Some(false),
        _ => None,
    }
}

/// `4x4`, `4,4`, `4 4` or a single number as a list.
fn numbers(value: &DeValue<'_>) -> Option<String> {
    let text = match value {
        DeValue::String(text) => text.to_string(),
        DeValue::Integer(number) => number.to_string(),
        _ => return None,
    };
    let parts = text.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty());
    let sizes: Vec<u32> = parts.map(str::parse).collect::<Result<_, _>>().ok()?;
    (!sizes.is_empty() && sizes.len() <= limits::DIMENSIONS).then(|| format!("{sizes:?}"))
}

/// A number, or a list of them, as text with commas.
fn vids(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::Integer(number) => Some(number.to_string()),
        DeValue::Array(list) if !list.is_empty() => {
            let parts = list.iter().map(|part| match part.get_ref() {
                DeValue::Integer(number) => Some(number.to_string()),
                DeValue::String(text) => Some(text.to_string()),
                _ => None,
            });
            Some(parts.collect::<Option<Vec<_>>>()?.join(","))
        }
        _ => None,
    }
}

fn topology(kind: &str) -> String {
    match kind {
        "mesh" => "{ kind = \"mesh\", dims = [4, 4] }".into(),
        "clique" => "{ kind = \"clique\", ports = 8 }".into(),
        "explicit" => "{ kind = \"explicit\" }".into(),
        "clos" => "{ kind = \"clos\", spines = 4, leaves = 8 }".into(),
        "fat-tree" => "{ kind = \"fat-tree\", k = 6 }".into(),
        "hypercube" => "{ kind = \"hypercube\", dimensions = 4 }".into(),
        "hyperx" => "{ kind = \"hyperx\", dims = [4, 4] }".into(),
        "dragonfly" => "{ kind = \"dragonfly\", groups = 9, routers = 4, global = 2 }".into(),
        "slim-fly" => "{ kind = \"slim-fly\", q = 5 }".into(),
        _ => "{ kind = \"torus\", dims = [4, 4] }".into(),
    }
}

/// The text in a list of one.
fn only(value: &DeValue<'_>) -> Option<String> {
    match value.as_array().map(|list| list.iter().collect::<Vec<_>>())?.as_slice() {
        [text] => text.get_ref().as_str().map(ToOwned::to_owned),
        _ => None,
    }
}

fn quoted(text: String) -> String {
    format!("\"{text}\"")
}

/// Returns a name with invalid characters replaced; `None` if nothing is left.
pub(super) fn name(text: &str, longest: usize) -> Option<String> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let replaced = text.trim().chars().map(|c| if allowed(c) { c } else { '-' });
    let near: String = replaced.skip_while(|c| !c.is_ascii_alphanumeric()).take(longest).collect();
    let near = near.trim_end_matches('-');
    (!near.is_empty() && near != text).then(|| near.to_owned())
}

/// Returns the MAC address meant by another notation or a slip, and what was wrong with the text.
pub(super) fn mac(text: &str) -> Option<String> {
    let bare: String = text.chars().filter(|c| !":-. ".contains(*c)).collect();
    if bare.len() == 12 && bare.bytes().all(|b| b.is_ascii_hexdigit()) {
        let pairs: Vec<&str> = (0..6).filter_map(|i| bare.get(2 * i..2 * i + 2)).collect();
        let mac = of_one(pairs.join(":").parse().ok()?)?;
        return Some(format!("did you mean `{mac}`?"));
    }
    let groups: Vec<&str> = text.split([':', '-']).collect();
    let bytes: Vec<u8> = groups.iter().map(|group| byte(group)).collect::<Option<_>>()?;
    let mut six = [0; 6];
    for (byte, read) in six.iter_mut().zip(&bytes) {
        *byte = *read;
    }
    let mac = of_one(Mac(six))?;
    match groups.len() {
        6 => Some(format!("did you mean `{mac}`?")),
        5 => Some(format!("1 of 6 groups is missing: such as `{mac}`")),
        few @ 2..5 => Some(format!("{} of 6 groups are missing: such as `{mac}`", 6 - few)),
        many @ 7..32 => Some(format!("{many} groups, 6 are needed: such as `{mac}`")),
        _ => None,
    }
}

/// One group of a MAC address; letters past `f` count as `f`, the letter O as zero.
fn byte(group: &str) -> Option<u8> {
    let digit = |c: char| match c.to_ascii_lowercase() {
        'o' => Some(0),
        'g'..='z' => Some(15),
        c => c.to_digit(16),
    };
    let digits: Vec<u32> = group.chars().map(digit).collect::<Option<_>>()?;
    match *digits.as_slice() {
        [low] => u8::try_from(low).ok(),
        [high, low, ..] if digits.len() <= 3 => u8::try_from(16 * high + low).ok(),
        _ => None,
    }
}

/// Returns the address without its group bit; `None` if nothing but zeros is left, which is the address of no
/// interface.
pub(super) fn of_one(Mac([first, rest @ ..]): Mac) -> Option<Mac> {
    let mut bytes = [first & !1; 6];
    bytes[1..].copy_from_slice(&rest);
    (bytes != [0; 6]).then_some(Mac(bytes))
}

/// Returns the rate meant by a number with another unit or notation. A bare number below 1000 is in Gbit/s.
pub(super) fn rate(text: &str) -> Option<String> {
    let upper = text.trim().trim_start_matches(['-', '+']).replace(',', ".").to_ascii_uppercase();
    let end = upper.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(upper.len());
    let (number, unit) = upper.split_at(end);
    let number: f64 = number.parse().ok().filter(|n: &f64| n.is_finite() && *n > 0.0)?;
    let unit = match unit.trim().chars().next() {
        Some('T') => 1e12,
        Some('M') => 1e6,
        Some('K') => 1e3,
        None if number >= 1000.0 => 1.0,
        None | Some('G') => 1e9,
        Some('B') => 1.0,
        Some(_) => return None,
    };
    // Three decimals are kept, as the notation has them.
    let scale = [1e9, 1e6, 1e3, 1.0].into_iter().find(|scale| number * unit >= *scale)?;
    let bps = (number * unit / scale * 1000.0).round() * scale / 1000.0;
    let near = Rate(if bps < 1e16 { bps as u64 } else { return None }).to_string();
    near.parse::<Rate>().ok().map(|rate| rate.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mac_tells_what_is_missing_or_the_canonical_form() {
        for (text, help) in [
            ("AABB.CCDD.EEFF", "did you mean `aa:bb:cc:dd:ee:ff`?"),
            ("aabbccddeeff", "did you mean `aa:bb:cc:dd:ee:ff`?"),
            ("0300.0000.0001", "did you mean `02:00:00:00:00:01`?"),
            ("aa:bb:cc:dd:ee", "1 of 6 groups is missing: such as `aa:bb:cc:dd:ee:00`"),
            ("02:00:01", "3 of 6 groups are missing: such as `02:00:01:00:00:00`"),
            ("02:0:0:0:0:1", "did you mean `02:00:00:00:00:01`?"),
            ("02:00:00:00:00:0g", "did you mean `02:00:00:00:00:0f`?"),
            ("02:00:00:00:00:00:01", "7 groups, 6 are needed: such as `02:00:00:00:00:00`"),
        ] {
            assert_eq!(mac(text).as_deref(), Some(help), "{text}");
        }
        for text in ["", "eth0", "02", "ä:ö", "::::::", "0100.0000.0000", "00:00:00"] {
            assert_eq!(mac(text), None, "{text}");
        }
    }

    #[test]
    fn a_rate_in_other_words() {
        for (text, near) in [
            ("10Gb/s", "10G"),
            ("1 Gbit", "1G"),
            ("100 mbps", "100M"),
            ("2,5G", "2.5G"),
            ("10", "10G"),
            ("2.5", "2.5G"),
            ("1000000", "1M"),
            ("1.2345G", "1.235G"),
            ("-1G", "1G"),
            ("1T", "1000G"),
        ] {
            assert_eq!(rate(text).as_deref(), Some(near), "{text}");
        }
        for text in ["fast", "0G", "", "99999999999999999999G", ".", "1x"] {
            assert_eq!(rate(text), None, "{text}");
        }
    }

    #[test]
    fn a_name_keeps_what_it_may() {
        assert_eq!(name("switch one", 63).as_deref(), Some("switch-one"));
        assert_eq!(name("-n", 63).as_deref(), Some("n"));
        assert_eq!(name("a/b", 15).as_deref(), Some("a-b"));
        assert_eq!(name("abcdefghijklmnopq", 15).as_deref(), Some("abcdefghijklmno"));
        assert_eq!((name("", 63), name("--", 63), name("ü", 63)), (None, None, None));
    }
}
