//! Draws diagrams with curves and writes them as SVG or PNG.

mod diagram;
mod file;
mod picture;
mod png;
mod svg;

pub use diagram::{Axis, Curve, Diagram};
pub use file::PictureFile;
pub use picture::Picture;
