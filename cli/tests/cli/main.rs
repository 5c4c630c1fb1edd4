//! The built `tresse` as its users run it: exit codes, JSON contracts, golden text (DESIGN
//! section 8).
#![expect(clippy::unwrap_used, reason = "a test's failure is a panic")]

mod broken;
mod change;
mod compare;
mod copy;
mod daemon;
mod design;
mod edges;
mod fleet;
mod golden;
mod lfts;
mod mapping;
mod node;
mod offline;
mod reflect;
mod run;
mod schedule;
mod several;
mod simulate;
