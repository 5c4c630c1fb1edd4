//! `tresse lab`: builds a cluster on one machine, in a namespace per node and switch.

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
