//! A picture as a list of lines and texts, independent of the file format.

/// A picture as a list of elements. Coordinates are in SVG units, from the upper left corner to the
/// right and down.
pub struct Picture {
    /// Width and height.
    pub size: [u32; 2],
    /// What is drawn, in order: later elements cover earlier ones.
    pub elements: Vec<Element>,
}

/// A line or a text in a picture.
pub enum Element {
    /// A line through points. `dashes` are lengths of dashes and gaps in turn; none is a whole line.
    Line { points: Vec<[f64; 2]>, width: f32, colour: &'static str, dashes: &'static [f32] },
    /// A text whose base line is at `at`.
    Text { at: [f64; 2], align: Align, colour: &'static str, text: String },
}

/// Which part of a text is at its coordinates: beginning, middle or end.
#[derive(Clone, Copy)]
pub enum Align {
    Start,
    Middle,
    End,
}
