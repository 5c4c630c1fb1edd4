//! A cluster on one machine: a network namespace per node and per switch, veth cables,
//! VLAN-filtering bridges as switches, a daemon per node (DESIGN section 9).
//!
//! Everything that a lab makes is named in its state file before it is made, so [`down`] removes it
//! whatever became of its maker. Nothing outside the lab's own namespaces and directory is touched.

pub mod blueprint;
mod carrier;
pub mod counters;
mod daemons;
pub mod down;
pub mod fault;
mod install;
pub mod load;
pub mod netns;
pub mod options;
pub mod ping;
pub mod probe;
pub mod run;
mod script;
pub mod signals;
pub mod state;
pub mod up;
pub mod vm;

pub use daemons::DaemonError;
