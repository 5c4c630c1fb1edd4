//! A diagram: two axes, curves, and a legend to the right of them.
//!
//! ```text
//!   name of y
//!   100 ---------------------  -- curve 1
//!    10 ------------/--------  -- curve 2
//!     1 ---------------------
//!       0   1   2   3   4   5
//!            name of x
//! ```

use super::picture::{Align, Element, Picture};

/// Colours of curves, in turn: people with the usual kinds of colour blindness can tell them apart (Okabe and Ito
/// 2008). Black is the first.
const COLOURS: [&str; 8] =
    ["#000000", "#e69f00", "#56b4e9", "#009e73", "#8f7d00", "#0072b2", "#d55e00", "#cc79a7"];
/// Dashes of curves, in turn, for pictures that are printed without colours.
const DASHES: [&[f32]; 3] = [&[], &[6.0, 3.0], &[2.0, 3.0]];

const BLACK: &str = "#000000";
const GREY: &str = "#dddddd";

const LEFT: u32 = 60;
const TOP: u32 = 40;
const BOTTOM: u32 = 50;

/// How values become places along an axis.
enum Scale {
    /// From 0 to this value.
    Linear(f64),
    /// By the logarithm, from the first value to the second, both above 0.
    Logarithmic(f64, f64),
}

/// One axis of a diagram.
pub struct Axis {
    name: String,
    scale: Scale,
    /// Values that are marked, and what is written there.
    marks: Vec<(f64, String)>,
}

/// A curve: its name in the legend, and its points as (x, y).
pub struct Curve {
    /// Its entry in the legend.
    pub name: String,
    /// In order of x.
    pub points: Vec<(f64, f64)>,
}

/// The area of a picture in which curves are drawn, with its axes.
pub struct Diagram {
    /// Where it begins, from the left.
    pub left: u32,
    /// Width and height with margins.
    pub size: [u32; 2],
    /// The part of the width that the legend takes.
    pub legend: u32,
    /// The axis below.
    pub x: Axis,
    /// The axis at the left.
    pub y: Axis,
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

    /// Where a value is, as a share of the axis.
    fn share(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear(to) => value / to,
            Scale::Logarithmic(from, to) => (value / from).ln() / (to / from).ln(),
        }
    }
}

impl Diagram {
    /// Adds the diagram with these curves to a picture.
    pub fn draw(&self, curves: &[Curve], picture: &mut Picture) {
        let [width, height] = self.size;
        let (start, end) =
            (f64::from(self.left + LEFT), f64::from(self.left + width - self.legend));
        let (bottom, top) = (f64::from(height - BOTTOM), f64::from(TOP));
        let x = |value: f64| start + self.x.share(value) * (end - start);
        let y = |value: f64| bottom - self.y.share(value) * (bottom - top);
        let mut text = |at, align, colour, text: &str| {
            picture.elements.push(Element::Text { at, align, colour, text: text.into() });
        };
        text([start, 24.0], Align::Start, BLACK, &self.y.name);
        text(
            [f64::midpoint(start, end), f64::from(height - 8)],
            Align::Middle,
            BLACK,
            &self.x.name,
        );
        for (value, label) in &self.y.marks {
            text([start - 6.0, y(*value) + 4.0], Align::End, BLACK, label);
        }
        for (value, label) in &self.x.marks {
            text([x(*value), bottom + 18.0], Align::Middle, BLACK, label);
        }
        let legend = |i: usize| top + 16.0 * i as f64;
        for (i, curve) in curves.iter().enumerate() {
            text(
                [end + 46.0, legend(i) + 4.0],
                Align::Start,
                COLOURS[i % COLOURS.len()],
                &curve.name,
            );
        }
        let mut line = |points, width, colour, dashes| {
            picture.elements.push(Element::Line { points, width, colour, dashes });
        };
        for (value, _) in &self.y.marks {
            line(vec![[start, y(*value)], [end, y(*value)]], 1.0, GREY, &[]);
        }
        for (i, curve) in curves.iter().enumerate() {
            let (colour, dashes) = (COLOURS[i % COLOURS.len()], DASHES[i % DASHES.len()]);
            line(curve.points.iter().map(|(a, b)| [x(*a), y(*b)]).collect(), 2.0, colour, dashes);
            line(vec![[end + 10.0, legend(i)], [end + 40.0, legend(i)]], 2.0, colour, dashes);
        }
    }
}
