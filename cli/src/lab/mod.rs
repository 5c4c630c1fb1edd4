//! `tresse lab`: a cluster on one machine.

mod arguments;
mod counters;
mod down;
mod exec;
mod fault;
mod found;
mod load;
mod machine;
mod ping;
mod run;
mod status;
mod up;

pub use arguments::Lab;
