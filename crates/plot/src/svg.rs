//! Renders a picture as SVG, without style sheets or fonts.

use std::fmt::Write as _;

use super::picture::{Align, Element, Picture};

/// Returns a picture as the text of an SVG file.
pub fn draw(picture: &Picture) -> String {
    let [width, height] = picture.size;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
    );
    for element in &picture.elements {
        // Writing to a string cannot fail.
        let _ = match element {
            Element::Line { points, width, colour, dashes } => {
                let points: Vec<String> =
                    points.iter().map(|[x, y]| format!("{x:.1},{y:.1}")).collect();
                let dashes: Vec<String> = dashes.iter().map(ToString::to_string).collect();
                writeln!(
                    svg,
                    "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\" \
                     stroke-dasharray=\"{}\"/>",
                    points.join(" "),
                    if dashes.is_empty() { "none".into() } else { dashes.join(" ") }
                )
            }
            Element::Text { at: [x, y], align, colour, text } => {
                let anchor = match align {
                    Align::Start => "start",
                    Align::Middle => "middle",
                    Align::End => "end",
                };
                writeln!(
                    svg,
                    "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"{colour}\">{text}</text>"
                )
            }
        };
    }
    svg + "</svg>\n"
}
