//! Reasons why an export fails, the unknown name of a format among them.

use std::str::FromStr;

use tresse_base::id::Vid;

use crate::Format;

/// Why nothing was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExportError {
    /// Switches of a fabric without VLANs need nothing set.
    #[error(
        "this fabric has no VLANs: its switches carry one untagged network each and need no configuration"
    )]
    NothingToSet,
    /// No such format.
    #[error("`{name}` is not an export format: use one of {}", Format::names())]
    UnknownFormat {
        /// The name given.
        name: String,
    },
    /// No such switch, node or VLAN.
    #[error("the plan has no {kind} `{name}`")]
    UnknownObject {
        /// `switch`, `node` or `VLAN`.
        kind: &'static str,
        /// The name given.
        name: String,
    },
    /// The format describes the fabric as a whole.
    #[error("`{format}` describes the whole fabric and takes no object: leave `{name}` out")]
    NoObject {
        /// The format.
        format: &'static str,
        /// The name given.
        name: String,
    },
    /// A VLAN that the switches keep for themselves.
    #[error(
        "{system} keeps VLAN {vid} for itself and the plan has it: leave it out of `[vlans] range`, \
         as in \"{range}\""
    )]
    Reserved {
        /// The switches' system.
        system: &'static str,
        /// The VID.
        vid: Vid,
        /// What may be used.
        range: &'static str,
    },
    /// More VLANs than a switch holds, while it has those of two plans.
    #[error(
        "switch `{switch}` would have {vlans} VLANs with those of the plan before, and max_vlans = \
         {limit}: change in two steps, by way of a plan with `strategy = \"stp\"`"
    )]
    TooManyKept {
        /// The switch.
        switch: String,
        /// VLANs of both plans.
        vlans: usize,
        /// What it holds.
        limit: u32,
    },
    /// Only switches keep the VLANs of a plan before.
    #[error("`{format}` is no switch configuration: leave the plan to keep out")]
    NoKeep {
        /// The format.
        format: &'static str,
    },
    /// The VLANs of two plans side by side, at ports that carry one.
    #[error(
        "`--keep`: every port of these switches is in one VLAN, untagged, and cannot be in an older one too: \
         configure each switch in one go, and move the cables that `tresse plan --against` counts with it"
    )]
    OneVlanEach,
    /// Paths with transit nodes in a format without labels.
    #[error("`{format}` knows no labels and node `{node}` needs them: use iproute2")]
    Labels {
        /// The format.
        format: &'static str,
        /// The node.
        node: String,
    },
}

impl FromStr for Format {
    type Err = ExportError;

    fn from_str(name: &str) -> Result<Self, ExportError> {
        Self::named(name).ok_or_else(|| ExportError::UnknownFormat { name: name.into() })
    }
}
