//! Exports of a plan for other programs: switch configurations, node scripts, host lists, drawings.
//!
//! Pure and deterministic: from a [`Plan`](tresse_plan::Plan) to text. One file per dialect, over
//! one intermediate form ([`SwitchConfig`] for switches, [`Wanted`](tresse_reconcile::Wanted) for
//! nodes). The order within a switch configuration follows K3: the default VLAN pruned, then ports,
//! VLANs and forwarding entries, and only in the last block spanning tree off.
#![forbid(unsafe_code)]

#[macro_use]
mod line;

mod bridge;
mod containerlab;
mod dot;
mod eos;
mod error;
mod file;
mod format;
mod hosts;
mod ios;
mod iproute2;
mod junos;
mod keep;
mod networkd;
mod nexthops;
mod openvswitch;
mod options;
mod preamble;
mod render;
mod routeros;
mod sonic;
mod spell;
mod switch;
#[cfg(test)]
mod tests;

pub use error::ExportError;
pub use file::ExportFile;
pub use format::Format;
pub use iproute2::commands;
pub use keep::configs as switch_configs_keeping;
pub use options::Options;
pub use render::{node_script, render, render_keeping};
pub use spell::runs as vid_runs;
pub use switch::{
    FdbEntry, PortConfig, PortRole, SwitchConfig, VlanConfig, configs as switch_configs,
};
