//! `tresse lab`: builds a whole cluster on one machine, with a network namespace per node and
//! switch, and tests it there.

mod arguments;
mod counters;
mod down;
mod exec;
mod fault;
mod found;
mod kill;
mod load;
mod machine;
mod ping;
mod run;
mod status;
mod up;

pub use arguments::Lab;
