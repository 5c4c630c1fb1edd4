//! Renders a picture as PNG, with two pixels per unit of its coordinates.

use noto_sans_mono_bitmap::{FontWeight, RasterHeight, get_raster, get_raster_width};
use tiny_skia::{
    Color, LineJoin, Paint, PathBuilder, Pixmap, PremultipliedColorU8, Stroke, StrokeDash,
    Transform,
};

use super::picture::{Align, Element, Picture};

const SCALE: f32 = 2.0;
const LETTERS: RasterHeight = RasterHeight::Size20;

/// Returns a picture as the bytes of a PNG file. The error says why it cannot be drawn.
pub fn draw(picture: &Picture) -> Result<Vec<u8>, String> {
    let [width, height] = picture.size.map(|units| units * SCALE as u32);
    let mut pixels = Pixmap::new(width, height).ok_or("a picture of no size")?;
    pixels.fill(Color::WHITE);
    for element in &picture.elements {
        match element {
            Element::Line { points, width, colour, dashes } => {
                let mut builder = PathBuilder::new();
                for (i, [x, y]) in points.iter().enumerate() {
                    let (x, y) = (*x as f32, *y as f32);
                    if i == 0 { builder.move_to(x, y) } else { builder.line_to(x, y) }
                }
                // Fewer than two points make no line.
                let Some(path) = builder.finish() else { continue };
                let mut paint = Paint::default();
                let [red, green, blue] = rgb(colour);
                paint.set_color_rgba8(red, green, blue, 255);
                let stroke = Stroke {
                    width: *width,
                    line_join: LineJoin::Round,
                    dash: StrokeDash::new(dashes.to_vec(), 0.0),
                    ..Stroke::default()
                };
                let scale = Transform::from_scale(SCALE, SCALE);
                pixels.stroke_path(&path, &paint, &stroke, scale, None);
            }
            Element::Text { at, align, colour, text } => {
                write(&mut pixels, *at, *align, rgb(colour), text);
            }
        }
    }
    pixels.encode_png().map_err(|e| e.to_string())
}

/// Writes a text in letters of one width, each from its bitmap in shades of grey.
fn write(pixels: &mut Pixmap, [x, y]: [f64; 2], align: Align, colour: [u8; 3], text: &str) {
    let letter = get_raster_width(FontWeight::Regular, LETTERS) as i32;
    let wide = letter * text.chars().count() as i32;
    let shift = match align {
        Align::Start => 0,
        Align::Middle => wide / 2,
        Align::End => wide,
    };
    let left = (x as f32 * SCALE) as i32 - shift;
    // A fifth of a letter's height is below the base line.
    let top = (y as f32 * SCALE) as i32 - LETTERS.val() as i32 * 4 / 5;
    let size = [pixels.width() as i32, pixels.height() as i32];
    for (i, c) in (0..).zip(text.chars()) {
        let Some(raster) = get_raster(c, FontWeight::Regular, LETTERS) else { continue };
        for (row, shades) in (0..).zip(raster.rows()) {
            for (column, shade) in (0..).zip(shades) {
                let (x, y) = (left + i * letter + column, top + row);
                if !(0..size[0]).contains(&x) || !(0..size[1]).contains(&y) || *shade == 0 {
                    continue;
                }
                let pixel = &mut pixels.pixels_mut()[(y * size[0] + x) as usize];
                let mix = |under: u8, over: u8| {
                    let shade = u16::from(*shade);
                    ((u16::from(under) * (255 - shade) + u16::from(over) * shade) / 255) as u8
                };
                let [red, green, blue] = [
                    mix(pixel.red(), colour[0]),
                    mix(pixel.green(), colour[1]),
                    mix(pixel.blue(), colour[2]),
                ];
                // The background is opaque.
                *pixel = PremultipliedColorU8::from_rgba(red, green, blue, 255).unwrap_or(*pixel);
            }
        }
    }
}

/// Red, green and blue of `#rrggbb`.
fn rgb(colour: &str) -> [u8; 3] {
    let of = |at: usize| {
        colour.get(at..at + 2).and_then(|hex| u8::from_str_radix(hex, 16).ok()).unwrap_or(0)
    };
    [of(1), of(3), of(5)]
}
