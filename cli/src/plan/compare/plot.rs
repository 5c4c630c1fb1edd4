//! Cost and bisection against the number of nodes, as a picture that needs nothing else.
//!
//! Both axes are logarithmic; a line ends where its architecture does. Lines differ by colour and by
//! dashes, and each is named at its end.

use std::fmt::Write as _;

use tresse_fabric::cost::{Model, Row};

use crate::output::COLOURS;

/// Two panels side by side, up to so many nodes.
pub fn svg(model: &Model, nodes: u64) -> String {
    let sizes = sizes(nodes.max(16));
    let table: Vec<Vec<Row>> = sizes.iter().map(|n| model.rows(*n)).collect();
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" \
         fill=\"#ffffff\"/>\n",
        2 * PANEL,
        HEIGHT
    );
    for (panel, title, value) in [
        (0, "Cost per node", (|row: &Row| row.cost) as fn(&Row) -> f64),
        (1, "Bisection, MB/s per node", |row: &Row| row.bisection),
    ] {
        draw(&mut svg, panel * PANEL, title, &sizes, &table, value);
    }
    svg.push_str("</svg>\n");
    svg
}

fn draw(
    svg: &mut String,
    left: u32,
    title: &str,
    sizes: &[u64],
    table: &[Vec<Row>],
    value: fn(&Row) -> f64,
) {
    let lines: Vec<(&str, Vec<(u64, f64)>)> = (0..table[0].len())
        .map(|i| {
            let points = sizes.iter().zip(table).filter(|(_, rows)| rows[i].possible);
            let points = points.map(|(n, rows)| (*n, value(&rows[i]))).filter(|(_, y)| *y > 0.0);
            (table[0][i].architecture, points.collect())
        })
        .collect();
    let values = lines.iter().flat_map(|(_, points)| points).map(|(_, y)| *y);
    let low = values.clone().fold(f64::MAX, f64::min).log10().floor();
    let high = values.fold(f64::MIN, f64::max).log10().ceil().max(low + 1.0);
    let (first, last) = (sizes[0] as f64, sizes[sizes.len() - 1] as f64);
    let x = |n: f64| {
        let share = (n / first).ln() / (last / first).ln();
        f64::from(left + LEFT) + share * f64::from(PANEL - LEFT - RIGHT)
    };
    let y = |v: f64| {
        let share = (v.log10() - low) / (high - low);
        f64::from(HEIGHT - BOTTOM) - share * f64::from(HEIGHT - BOTTOM - TOP)
    };
    // Writing to a string cannot fail.
    let _ = writeln!(svg, "<text x=\"{}\" y=\"24\" font-size=\"15\">{title}</text>", left + LEFT);
    for power in low as i32..=high as i32 {
        let v = 10f64.powi(power);
        let _ = writeln!(
            svg,
            "<line x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{2:.1}\" y2=\"{2:.1}\" stroke=\"#dddddd\"/>\
             <text x=\"{3:.1}\" y=\"{4:.1}\" text-anchor=\"end\">{v}</text>",
            x(first),
            x(last),
            y(v),
            x(first) - 6.0,
            y(v) + 4.0
        );
    }
    for n in sizes.iter().filter(|n| n.is_power_of_two() && n.trailing_zeros().is_multiple_of(2)) {
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{n}</text>",
            x(*n as f64),
            HEIGHT - BOTTOM + 18
        );
    }
    let mut taken: Vec<f64> = Vec::new();
    for (i, (name, points)) in lines.iter().enumerate() {
        let Some((end, value)) = points.last() else { continue };
        let path: Vec<String> =
            points.iter().map(|(n, v)| format!("{:.1},{:.1}", x(*n as f64), y(*v))).collect();
        let (colour, dash) = (COLOURS[i % COLOURS.len()], ["none", "6 3", "2 3"][i % 3]);
        // Names that would cover each other are moved down.
        let mut at = y(*value);
        while taken.iter().any(|t| (t - at).abs() < 13.0) {
            at += 1.0;
        }
        taken.push(at);
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" \
             stroke-dasharray=\"{dash}\"/>\n<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" \
             y2=\"{at:.1}\" stroke=\"{colour}\" stroke-width=\"0.5\"/>\n<text x=\"{:.1}\" \
             y=\"{:.1}\" fill=\"{colour}\">{name}</text>",
            path.join(" "),
            x(*end as f64),
            y(*value),
            x(last) + 6.0,
            x(last) + 8.0,
            at + 4.0
        );
    }
    let _ = writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">nodes</text>",
        x((first * last).sqrt()),
        HEIGHT - 8
    );
}

/// Powers of two and what lies between, up to the last.
fn sizes(last: u64) -> Vec<u64> {
    let mut sizes: Vec<u64> = (4..)
        .map(|i| (2f64.powf(f64::from(i) / 4.0)).round() as u64)
        .take_while(|n| *n < last)
        .collect();
    sizes.push(last);
    sizes.dedup();
    sizes
}

const PANEL: u32 = 560;
const HEIGHT: u32 = 420;
const LEFT: u32 = 60;
const RIGHT: u32 = 130;
const TOP: u32 = 40;
const BOTTOM: u32 = 50;
