//! Latency against accepted traffic, a line for each plan, as a picture that needs nothing else.

use std::fmt::Write as _;

use super::answer::Curve;
use crate::output::COLOURS;

/// The picture. Latency is drawn by its logarithm.
pub fn svg(curves: &[Curve]) -> String {
    let points = || curves.iter().flat_map(Curve::points);
    let right = points().map(|(x, _)| x).fold(0.01, f64::max) * 1.05;
    let low = points().map(|(_, y)| y).fold(f64::MAX, f64::min).max(1.0).log10().floor();
    let high = points().map(|(_, y)| y).fold(10.0, f64::max).log10().ceil().max(low + 1.0);
    let x = |of: f64| f64::from(LEFT) + of / right * f64::from(WIDTH - LEFT - RIGHT);
    let y = |of: f64| {
        let share = (of.max(1.0).log10() - low) / (high - low);
        f64::from(HEIGHT - BOTTOM) - share * f64::from(HEIGHT - BOTTOM - TOP)
    };
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" \
         fill=\"#ffffff\"/>\n<text x=\"{LEFT}\" y=\"24\" font-size=\"15\">Mean latency, us</text>\n"
    );
    // Writing to a string cannot fail.
    for power in low as i32..=high as i32 {
        let ns = 10f64.powi(power);
        let _ = writeln!(
            svg,
            "<line x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{1:.1}\" y2=\"{1:.1}\" stroke=\"#dddddd\"/>\
             <text x=\"{2}\" y=\"{3:.1}\" text-anchor=\"end\">{4}</text>",
            x(right),
            y(ns),
            LEFT - 6,
            y(ns) + 4.0,
            ns / 1000.0
        );
    }
    for step in 0..=5 {
        let of = right * f64::from(step) / 5.0;
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{of:.2}</text>",
            x(of),
            HEIGHT - BOTTOM + 18
        );
    }
    for (i, curve) in curves.iter().enumerate() {
        let (colour, dash) = (COLOURS[i % COLOURS.len()], ["none", "6 3", "2 3"][i % 3]);
        let path: Vec<String> =
            curve.points().map(|(a, b)| format!("{:.1},{:.1}", x(a), y(b))).collect();
        let name = f64::from(TOP) + 16.0 * i as f64;
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" \
             stroke-dasharray=\"{dash}\"/>\n<line x1=\"{1}\" x2=\"{2}\" y1=\"{name:.1}\" y2=\"{name:.1}\" \
             stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"{dash}\"/>\n<text x=\"{3}\" \
             y=\"{4:.1}\" fill=\"{colour}\">{5}</text>",
            path.join(" "),
            WIDTH - RIGHT + 10,
            WIDTH - RIGHT + 40,
            WIDTH - RIGHT + 46,
            name + 4.0,
            curve.name()
        );
    }
    let _ = writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">accepted, of a node link's rate</text>\n</svg>",
        x(right / 2.0),
        HEIGHT - 8
    );
    svg
}

const WIDTH: u32 = 720;
const HEIGHT: u32 = 420;
const LEFT: u32 = 60;
const RIGHT: u32 = 120;
const TOP: u32 = 40;
const BOTTOM: u32 = 50;
