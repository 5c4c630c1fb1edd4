//! Latency against accepted traffic, a line for each plan, as a picture: SVG or PNG.

mod png;
mod svg;

use std::path::Path;

use super::answer::Curve;
use crate::fail::{Code, Failure};
use crate::input;
use crate::output::COLOURS;

/// Its size, in units of SVG.
const WIDTH: u32 = 720;
const HEIGHT: u32 = 420;
const LEFT: u32 = 60;
const RIGHT: u32 = 120;
const TOP: u32 = 40;
const BOTTOM: u32 = 50;

const BLACK: &str = "#000000";
const GREY: &str = "#dddddd";
/// Of each curve in turn, so that they are told apart without colours: lengths of dashes and gaps.
const DASHES: [&[f32]; 3] = [&[], &[6.0, 3.0], &[2.0, 3.0]];

/// What is drawn, in order.
enum Shape {
    Line { points: Vec<[f64; 2]>, width: f32, colour: &'static str, dashes: &'static [f32] },
    Text { at: [f64; 2], align: Align, colour: &'static str, text: String },
}

/// Which part of a text is at its place; its base line is.
#[derive(Clone, Copy)]
enum Align {
    Start,
    Middle,
    End,
}

/// A file to draw into, of a kind that its name's end tells.
pub struct Target<'a> {
    file: &'a Path,
    draw: fn(&[Shape]) -> Result<Vec<u8>, String>,
}

impl<'a> Target<'a> {
    /// `.svg` or `.png`.
    pub fn new(file: &'a Path) -> Result<Self, Failure> {
        match file.extension().and_then(|end| end.to_str()) {
            Some("svg") => Ok(Self { file, draw: |shapes| Ok(svg::draw(shapes).into_bytes()) }),
            Some("png") => Ok(Self { file, draw: png::draw }),
            _ => {
                let words =
                    format!("--plot: `{}` ends neither in .svg nor in .png", file.display());
                Err(Failure::new(Code::Usage, words))
            }
        }
    }

    pub fn draw(&self, curves: &[Curve]) -> Result<(), Failure> {
        if curves.iter().flat_map(Curve::points).next().is_none() {
            let words = "--plot: no message arrived at any load, so there is nothing to draw";
            return Err(Failure::new(Code::Fault, words));
        }
        let picture = (self.draw)(&shapes(curves)).map_err(|e| Failure::new(Code::Fault, e))?;
        input::replace(self.file, picture)
    }
}

/// Latency is drawn by its logarithm.
fn shapes(curves: &[Curve]) -> Vec<Shape> {
    let points = || curves.iter().flat_map(Curve::points);
    let right = points().map(|(x, _)| x).fold(0.01, f64::max) * 1.05;
    let low = points().map(|(_, y)| y).fold(f64::MAX, f64::min).max(1.0).log10().floor();
    let high = points().map(|(_, y)| y).fold(10.0, f64::max).log10().ceil().max(low + 1.0);
    let x = |of: f64| f64::from(LEFT) + of / right * f64::from(WIDTH - LEFT - RIGHT);
    let y = |of: f64| {
        let share = (of.max(1.0).log10() - low) / (high - low);
        f64::from(HEIGHT - BOTTOM) - share * f64::from(HEIGHT - BOTTOM - TOP)
    };
    let text = |at, align, text: String| Shape::Text { at, align, colour: BLACK, text };
    let line = |points: Vec<[f64; 2]>, width, colour, dashes| Shape::Line {
        points,
        width,
        colour,
        dashes,
    };
    let mut shapes = vec![text([f64::from(LEFT), 24.0], Align::Start, "Mean latency, us".into())];
    for power in low as i32..=high as i32 {
        let ns = 10f64.powi(power);
        shapes.push(line(vec![[x(0.0), y(ns)], [x(right), y(ns)]], 1.0, GREY, &[]));
        let at = [f64::from(LEFT - 6), y(ns) + 4.0];
        shapes.push(text(at, Align::End, (ns / 1000.0).to_string()));
    }
    let below = f64::from(HEIGHT - BOTTOM + 18);
    for step in 0..=5 {
        let of = right * f64::from(step) / 5.0;
        shapes.push(text([x(of), below], Align::Middle, format!("{of:.2}")));
    }
    for (i, curve) in curves.iter().enumerate() {
        let (colour, dashes) = (COLOURS[i % COLOURS.len()], DASHES[i % DASHES.len()]);
        let points = curve.points().map(|(a, b)| [x(a), y(b)]).collect();
        shapes.push(line(points, 2.0, colour, dashes));
        let (name, from) = (f64::from(TOP) + 16.0 * i as f64, f64::from(WIDTH - RIGHT));
        shapes.push(line(vec![[from + 10.0, name], [from + 40.0, name]], 2.0, colour, dashes));
        let at = [from + 46.0, name + 4.0];
        let text = curve.name().into();
        shapes.push(Shape::Text { at, align: Align::Start, colour, text });
    }
    let at = [x(right / 2.0), f64::from(HEIGHT - 8)];
    shapes.push(text(at, Align::Middle, "accepted, of a node link's rate".into()));
    shapes
}
