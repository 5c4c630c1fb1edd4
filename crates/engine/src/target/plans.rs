//! The plans that a target is made from.

use crate::bridge::Heard;
use crate::gate::Gated;

/// The plans that a target is made from.
#[derive(Debug, Clone, Copy)]
pub struct Plans<'a> {
    /// The plan to install.
    pub new: Gated<'a>,
    /// The plan before, while its routes serve where those of the new one have to wait.
    pub old: Option<Gated<'a>>,
    /// If given, a route that changes waits until its peer is among these.
    pub heard: Option<&'a Heard>,
}
