//! Writes a picture to a file.

use std::path::Path;

use crate::fail::{Code, Failure};
use crate::input;
use tresse_plot::Picture;

/// A file for a picture; its extension selects SVG or PNG.
pub struct PictureFile<'a> {
    path: &'a Path,
    draw: fn(&Picture) -> Result<Vec<u8>, String>,
}

impl<'a> PictureFile<'a> {
    /// Refuses a name that ends neither in `.svg` nor in `.png`.
    pub fn new(path: &'a Path) -> Result<Self, Failure> {
        match path.extension().and_then(|end| end.to_str()) {
            Some("svg") => Ok(Self::svg(path)),
            Some("png") => Ok(Self { path, draw: Picture::png }),
            _ => {
                let words =
                    format!("--plot: `{}` ends neither in .svg nor in .png", path.display());
                Err(Failure::new(Code::Usage, words))
            }
        }
    }

    /// An SVG file, whatever its name ends in.
    pub fn svg(path: &'a Path) -> Self {
        Self { path, draw: |picture| Ok(picture.svg()?.into_bytes()) }
    }

    /// Draws the picture and replaces the file.
    pub fn write(&self, picture: &Picture) -> Result<(), Failure> {
        let bytes = (self.draw)(picture).map_err(|e| Failure::new(Code::Fault, e))?;
        input::replace(self.path, bytes)
    }
}
