//! Reads values that occur in several tables: numbers, rates and port numbers.

use std::ops::{Range, RangeInclusive};

use tresse_base::problem::{Found, ProblemKind};
use tresse_base::units::Rate;

use crate::read::{At, Number};
use crate::{guess, limits};

/// Returns the number, or `default` if the key is absent or out of range; the latter is reported.
pub(super) fn within(
    number: Option<&At<Number>>,
    what: &str,
    range: RangeInclusive<u32>,
    default: u32,
    found: &mut Found,
) -> u32 {
    let Some(number) = number else { return default };
    let (low, high) = (*range.start(), *range.end());
    let Number { near: value, text } = &number.value;
    let value = *value;
    if let Ok(value) = u32::try_from(value)
        && range.contains(&value)
    {
        return value;
    }
    let message = format!("{what} {text} is not between {low} and {high}");
    let help = format!("the nearest valid value is {}", value.clamp(low.into(), high.into()));
    found.add(ProblemKind::OutOfRange, &number.span, message, help);
    default
}

pub(super) fn read_rate(text: &At<String>, found: &mut Found) -> Option<Rate> {
    let rate = text.value.parse();
    rate.map_err(|error: tresse_base::units::UnitError| {
        let help = match guess::rate(&text.value) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "such as `1G`".to_owned(),
        };
        found.add(ProblemKind::BadRate, &text.span, error.to_string(), help);
    })
    .ok()
}

/// Returns the port numbers in expanded hostlists. If one is not a port number, it is reported and the result is
/// empty. `most` is the highest port of the switches.
pub(super) fn port_numbers(
    texts: &[String],
    most: u32,
    span: &Range<usize>,
    found: &mut Found,
) -> Vec<u32> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let number = |text: &String| {
        let text = Some(text.trim()).filter(|text| digits(text))?;
        text.parse::<u32>().ok().filter(|port| (1..=limits::PORTS).contains(port))
    };
    if let Some(bad) = texts.iter().find(|text| number(text).is_none()) {
        let bad = bad.trim();
        let all =
            if most == 1 { "the only port is 1".into() } else { format!("ports are 1 to {most}") };
        let message = format!("`{bad}` is not a port: {all}");
        let help = match bad.strip_prefix('-') {
            _ if digits(bad) => {
                let near = bad.parse::<u64>().unwrap_or(u64::MAX).clamp(1, most.into());
                format!("the nearest valid value is {near}")
            }
            Some(rest) if digits(rest) => "the nearest valid value is 1".to_owned(),
            _ if most == 1 => "the nearest valid value is 1".to_owned(),
            _ => format!("a number from 1 to {most}"),
        };
        found.add(ProblemKind::PortOutOfRange, span, message, help);
        return Vec::new();
    }
    texts.iter().filter_map(number).collect()
}

pub(super) fn mismatch(
    text: &str,
    has: usize,
    wants: usize,
    span: &Range<usize>,
    found: &mut Found,
) {
    let message = format!("`{text}` names {has} things beside a list of {wants}");
    let help = format!("one for all, or {wants}: one for each");
    found.add(ProblemKind::CountMismatch, span, message, help);
}
