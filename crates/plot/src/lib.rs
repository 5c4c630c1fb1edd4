//! Draws diagrams with curves, as SVG or PNG. A [`Diagram`] draws curves into a [`Picture`], which [`svg`] and [`png`]
//! make a file of.
#![forbid(unsafe_code)]

mod diagram;
mod picture;
pub mod png;
pub mod svg;

pub use diagram::{Axis, Curve, Diagram};
pub use picture::{Align, Element, Picture};
