//! Parses times given on the command line, such as `60s` and `5m`.

use std::time::Duration;

use crate::fail::{Code, Failure};

/// Parses `60s`, `5m`, `1h` or a plain number of seconds: whole seconds, from one second to one day.
pub fn duration(text: &str) -> Result<Duration, String> {
    let expected = || format!("`{text}` is not a time from 1s to 24h such as 60s or 5m");
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => return Err(expected()),
    };
    let number: u64 = digits.parse().map_err(|_| expected())?;
    match number.checked_mul(unit) {
        Some(seconds @ 1..=86_400) => Ok(Duration::from_secs(seconds)),
        _ => Err(expected()),
    }
}

/// Converts a number of seconds above 0, such as `1.5`, into a `Duration`. Any other number is an
/// error of the command line.
pub fn seconds(value: f64) -> Result<Duration, Failure> {
    Duration::try_from_secs_f64(value).ok().filter(|d| !d.is_zero()).ok_or_else(|| {
        Failure::new(Code::Usage, format!("{value} s: expected a number of seconds above 0"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_whole_seconds_within_a_day() {
        for (text, seconds) in [("60s", 60), ("90", 90), ("5m", 300), ("24h", 86_400)] {
            assert_eq!(duration(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in ["", "s", "0", "-1s", "1.5m", "25h", "60 s", "1d", "99999999999999999999h", "é"]
        {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
