//! The error of an export of a plan (`tresse export`).

use std::str::FromStr;

use tresse_base::id::Vid;

use crate::Format;

/// Why a plan could not be exported: for instance an unknown format or switch name, or a plan that the
/// format cannot express.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExportError {
    /// The fabric has no switches that could be configured.
    #[error(
        "this fabric has no switches: its nodes are cabled to each other and need no configuration of a switch"
    )]
    NoSwitches,
    /// The fabric has no VLANs, so its switches need no configuration.
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
    #[error("the plan has no {kind} `{name}`: {help}")]
    UnknownObject {
        /// `switch`, `node` or `VLAN`.
        kind: &'static str,
        /// The name given.
        name: String,
        /// Which object may have been meant, or where all are listed.
        help: String,
    },
    /// The format describes the fabric as a whole.
    #[error("`{format}` describes the whole fabric and takes no object: leave `{name}` out")]
    NoObject {
        /// The format.
        format: &'static str,
        /// The name given.
        name: String,
    },
    /// The plan uses a VLAN that the switches reserve.
    #[error(
        "{system} keeps VLAN {vid} for itself and the plan has it: leave it out of `[vlans] range`, \
         as in \"{range}\""
    )]
    Reserved {
        /// Operating system of the switches.
        system: &'static str,
        /// The VID.
        vid: Vid,
        /// VIDs that may be used.
        range: &'static str,
    },
    /// A switch cannot hold the VLANs of two plans at once.
    #[error(
        "switch `{switch}` would have {vlans} VLANs together with those of the old plan, and \
         max_vlans = {limit}: change in two steps, with a plan of `strategy = \"stp\"` between"
    )]
    TooManyKept {
        /// The switch.
        switch: String,
        /// VLANs of both plans.
        vlans: usize,
        /// Most VLANs of the switch.
        limit: u32,
    },
    /// Only switch configurations can keep the VLANs of an earlier plan.
    #[error("format `{format}` is not a switch configuration: leave out `--keep`")]
    NoKeep {
        /// The format.
        format: &'static str,
    },
    /// Ports that carry one untagged VLAN cannot carry those of two plans.
    #[error(
        "`--keep`: every port of these switches is in one VLAN, untagged, and cannot be in an older one too: \
         configure each switch in one go, and move the cables that `tresse plan --against` counts with it"
    )]
    OneVlanEach,
    /// The node needs labels, which the format cannot express.
    #[error("format `{format}` has no MPLS labels, and node `{node}` needs them: use iproute2")]
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
