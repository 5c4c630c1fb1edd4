//! An axis with marks of our own choice, linear or logarithmic, as a coordinate of plotters.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};

/// How values become places along an axis.
#[derive(Clone)]
enum Scale {
    /// From 0 to this value.
    Linear(f64),
    /// By the logarithm, from the first value to the second, both above 0.
    Logarithmic(f64, f64),
}

/// One axis of a diagram.
#[derive(Clone)]
pub struct Axis {
    pub(crate) name: String,
    scale: Scale,
    /// Values that are marked, and what is written there.
    marks: Vec<(f64, String)>,
}

impl Axis {
    /// A linear axis from 0 to `to` with six marks.
    pub fn linear(name: &str, to: f64) -> Self {
        let mark = |step: u32| to * f64::from(step) / 5.0;
        let marks = (0..=5).map(|step| (mark(step), format!("{:.2}", mark(step)))).collect();
        Self { name: name.into(), scale: Scale::Linear(to), marks }
    }

    /// A logarithmic axis from `from` to `to` with the marks that are given.
    pub fn logarithmic(name: &str, from: f64, to: f64, marks: Vec<(f64, String)>) -> Self {
        Self { name: name.into(), scale: Scale::Logarithmic(from, to), marks }
    }

    /// A logarithmic axis over the whole decades that hold these values, one decade at least. Each power of ten is
    /// marked with what `label` makes of it.
    pub fn decades(
        name: &str,
        values: impl Iterator<Item = f64> + Clone,
        label: impl Fn(f64) -> String,
    ) -> Self {
        let low = values.clone().fold(f64::MAX, f64::min).log10().floor();
        let high = values.fold(f64::MIN_POSITIVE, f64::max).log10().ceil().max(low + 1.0);
        let powers = (low as i32..=high as i32).map(|power| 10f64.powi(power));
        let marks = powers.map(|value| (value, label(value))).collect();
        Self::logarithmic(name, 10f64.powf(low), 10f64.powf(high), marks)
    }
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (start, end): (i32, i32)) -> i32 {
        let share = match self.scale {
            Scale::Linear(to) => value / to,
            Scale::Logarithmic(from, to) => (value / from).ln() / (to / from).ln(),
        };
        start + (share * f64::from(end - start)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.marks.iter().map(|(value, _)| *value).collect()
    }

    fn range(&self) -> Range<f64> {
        match self.scale {
            Scale::Linear(to) => 0.0..to,
            Scale::Logarithmic(from, to) => from..to,
        }
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, value: &f64) -> String {
        let mark = self.marks.iter().find(|(marked, _)| marked == value);
        mark.map_or_else(String::new, |(_, label)| label.clone())
    }
}
