//! Builds a cluster on one machine: a network namespace per node and per switch, veth cables,
//! VLAN-filtering bridges as switches, and a daemon per node (DESIGN section 9).
//!
//! Everything that a lab creates is first named in its state file, so that [`down`] can remove it
//! even if the process that built the lab died. Nothing outside the lab's own namespaces and
//! directory is changed.

pub mod blueprint;
pub mod busy;
mod carrier;
mod counter;
pub mod counters;
mod daemons;
pub mod down;
pub mod fault;
mod held;
mod install;
pub mod kill;
pub mod load;
pub mod netns;
pub mod options;
pub mod ping;
pub mod probe;
pub mod recable;
pub mod run;
mod script;
pub mod signals;
pub mod state;
pub mod supervise;
mod untagged;
pub mod up;
pub mod vm;

pub use daemons::DaemonError;
