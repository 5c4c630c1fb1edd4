//! The plans from which a node's target (what it should hold now) is computed.

use crate::gate::Gated;
use crate::transition::Senders;

/// The plans from which a node's target (what it should hold now) is computed: the new plan and,
/// during a change of plans, the old one.
#[derive(Debug, Clone, Copy)]
pub struct Plans<'a> {
    /// The plan to install.
    pub new: Gated<'a>,
    /// The old plan, whose routes serve where those of the new plan must wait.
    pub old: Option<Gated<'a>>,
    /// During a change: a changed route waits until its peer has been heard, that is, is in this
    /// set.
    pub heard: Option<&'a Senders>,
    /// During a change: are the gateways of the new plan used before those of the old one?
    pub by_new_gateways: bool,
}
