//! Draws diagrams with curves, as SVG or PNG, by plotters.
//!
//! ```text
//!   name of y
//!   100 ---------------------  -- curve 1
//!    10 ------------/--------  -- curve 2
//!     1 ---------------------
//!       0   1   2   3   4   5
//!            name of x
//! ```
#![forbid(unsafe_code)]

mod axis;

use plotters::coord::Shift;
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{FontStyle, register_font};

pub use axis::Axis;

/// Colours of curves, in turn: people with the usual kinds of colour blindness can tell them apart (Okabe and Ito
/// 2008). Black is the first.
const COLOURS: [RGBColor; 8] = [
    RGBColor(0x00, 0x00, 0x00),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0x56, 0xb4, 0xe9),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0x8f, 0x7d, 0x00),
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0xcc, 0x79, 0xa7),
];
/// Lengths of dashes and gaps of curves, in turn, for pictures that are printed without colours.
const DASHES: [Option<(i32, i32)>; 3] = [None, Some((6, 3)), Some((2, 3))];

/// What is written is in sans-serif letters of the reader in an SVG, and in those of this crate in a PNG.
const FONT: &str = "sans-serif";
/// Pixels of a PNG for each unit of a picture's size.
const SCALE: i32 = 2;

type Failed<B> = DrawingAreaErrorKind<<B as DrawingBackend>::ErrorType>;

/// Diagrams side by side, each as wide as the others.
pub struct Picture {
    /// Width and height.
    pub size: [u32; 2],
    /// From left to right.
    pub diagrams: Vec<Diagram>,
}

/// Two axes, curves, and a legend to the right of them.
pub struct Diagram {
    /// The part of the width that the legend takes.
    pub legend: u32,
    /// The axis below.
    pub x: Axis,
    /// The axis at the left.
    pub y: Axis,
    /// In the order of the legend.
    pub curves: Vec<Curve>,
}

/// A curve: its name in the legend, and its points as (x, y).
pub struct Curve {
    /// Its entry in the legend.
    pub name: String,
    /// In order of x.
    pub points: Vec<(f64, f64)>,
}

impl Picture {
    /// The text of an SVG file. The error says why it cannot be drawn.
    pub fn svg(&self) -> Result<String, String> {
        let mut text = String::new();
        let [width, height] = self.size;
        let area = SVGBackend::with_string(&mut text, (width, height)).into_drawing_area();
        self.draw(&area, 1).map_err(|e| e.to_string())?;
        drop(area);
        Ok(text)
    }

    /// The bytes of a PNG file, with two pixels for each unit of [`Picture::size`]. The error says why it cannot be
    /// drawn.
    pub fn png(&self) -> Result<Vec<u8>, String> {
        register_font(FONT, FontStyle::Normal, epaint_default_fonts::HACK_REGULAR)
            .map_err(|_| "the letters of this program cannot be read")?;
        let [width, height] = self.size.map(|units| units * SCALE as u32);
        let mut pixels = vec![0; width as usize * height as usize * 3];
        let area = BitMapBackend::with_buffer(&mut pixels, (width, height)).into_drawing_area();
        self.draw(&area, SCALE).map_err(|e| e.to_string())?;
        drop(area);
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, width, height);
        encoder.set_color(png::ColorType::Rgb);
        let written = encoder.write_header().and_then(|mut image| image.write_image_data(&pixels));
        written.map_err(|e| e.to_string())?;
        Ok(file)
    }

    fn draw<B: DrawingBackend>(
        &self,
        area: &DrawingArea<B, Shift>,
        scale: i32,
    ) -> Result<(), Failed<B>> {
        area.fill(&WHITE)?;
        for (diagram, area) in self.diagrams.iter().zip(area.split_evenly((1, self.diagrams.len())))
        {
            diagram.draw(&area, scale)?;
        }
        area.present()
    }
}

impl Diagram {
    fn draw<B: DrawingBackend>(
        &self,
        area: &DrawingArea<B, Shift>,
        scale: i32,
    ) -> Result<(), Failed<B>> {
        let width = area.dim_in_pixel().0 as i32;
        let (plot, legend) = area.split_horizontally(width - self.legend as i32 * scale);
        let letters = (FONT, 12 * scale);
        let beside = letters.into_text_style(area).pos(Pos::new(HPos::Left, VPos::Center));
        let mut chart = ChartBuilder::on(&plot)
            .margin(10 * scale)
            .margin_top(30 * scale)
            .x_label_area_size(36 * scale)
            .y_label_area_size(56 * scale)
            .build_cartesian_2d(self.x.clone(), self.y.clone())?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .light_line_style(TRANSPARENT)
            .label_style(letters)
            .x_desc(&self.x.name)
            .draw()?;
        plot.draw(&Text::new(self.y.name.as_str(), (10 * scale, 8 * scale), letters))?;
        for (i, curve) in self.curves.iter().enumerate() {
            let style = COLOURS[i % COLOURS.len()].stroke_width(2 * scale as u32);
            let at = (38 + 16 * i as i32) * scale;
            let entry = [(0, at), (30 * scale, at)];
            let points = curve.points.iter().copied();
            if let Some((dash, gap)) = DASHES[i % DASHES.len()] {
                let (dash, gap) = (dash * scale, gap * scale);
                chart.draw_series(DashedLineSeries::new(points, dash, gap, style))?;
                let dashes = DashedPathElement::new(entry, dash, gap, style);
                legend.draw(&dashes)?;
            } else {
                chart.draw_series(LineSeries::new(points, style))?;
                legend.draw(&PathElement::new(entry, style))?;
            }
            legend.draw(&Text::new(curve.name.as_str(), (36 * scale, at), beside.clone()))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture() -> Picture {
        let diagram = |name: &str| Diagram {
            legend: 100,
            x: Axis::linear("load", 1.0),
            y: Axis::decades(name, [0.02, 30.0].into_iter(), |value| value.to_string()),
            curves: ["a<b", "c", "d"]
                .map(|name| Curve { name: name.into(), points: vec![(0.0, 0.02), (0.5, 30.0)] })
                .into(),
        };
        Picture { size: [800, 300], diagrams: vec![diagram("cost"), diagram("speed")] }
    }

    #[test]
    fn an_svg_has_each_name_and_each_mark() {
        let svg = picture().svg().unwrap();
        for text in
            ["cost", "speed", "load", "a&lt;b", "0.01", "0.1", "1", "10", "100", "0.20", "1.00"]
        {
            assert!(svg.contains(&format!(">\n{text}\n</text>")), "{text}: {svg}");
        }
        assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"), "{svg}");
    }

    #[test]
    fn a_png_is_of_twice_the_size_and_has_ink() {
        let file = picture().png().unwrap();
        let mut image = png::Decoder::new(std::io::Cursor::new(file)).read_info().unwrap();
        let mut pixels = vec![0; image.output_buffer_size().unwrap()];
        let frame = image.next_frame(&mut pixels).unwrap();
        assert_eq!((frame.width, frame.height), (1600, 600));
        // Right of the curves of the second diagram there is nothing but its legend.
        let black = |x: usize, y: usize| pixels[(y * 1600 + x) * 3..][..3] == [0, 0, 0];
        let legend = (1400..1600).flat_map(|x| (0..600).map(move |y| (x, y)));
        assert!(legend.filter(|(x, y)| black(*x, *y)).count() > 100);
    }
}
