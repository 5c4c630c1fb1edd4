//! Exports a plan for other programs: switch configurations, node scripts, lists of nodes, drawings, the variables of
//! libraries.
//!
//! Pure and deterministic: turns a [`Plan`](tresse_plan::Plan) into text. Each export format has a
//! module of its own, which writes out a form common to all formats: [`SwitchConfig`] for switches,
//! [`Wanted`](tresse_reconcile::Wanted) for nodes. The order within a switch configuration follows K3:
//! first the default VLAN is removed from the ports, then come ports, VLANs and static forwarding
//! entries, and the last block turns spanning tree off.
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
mod library;
mod mpi;
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
pub use library::{Environment, Library};
pub use options::ExportOptions;
pub use render::{node_script, render, render_keeping};
pub use spell::{runs as vid_runs, shell as shell_word};
pub use switch::{
    FdbEntry, PortConfig, PortRole, SwitchConfig, VlanConfig, configs as switch_configs,
};
