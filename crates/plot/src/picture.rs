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
    /// A line through points, whole if it has no dashes.
    Line {
        /// Two or more.
        points: Vec<[f64; 2]>,
        /// Of the line.
        width: f32,
        /// As `#rrggbb`.
        colour: &'static str,
        /// Lengths of dashes and gaps in turn.
        dashes: &'static [f32],
    },
    /// A text whose base line is at `at`.
    Text {
        /// Where the base line is.
        at: [f64; 2],
        /// Which part of the text is there.
        align: Align,
        /// As `#rrggbb`.
        colour: &'static str,
        /// One line.
        text: String,
    },
}

/// Which part of a text is at its coordinates: beginning, middle or end.
#[derive(Clone, Copy)]
pub enum Align {
    /// Its beginning.
    Start,
    /// Its middle.
    Middle,
    /// Its end.
    End,
}
