//! A crate to try calls of methods on that stand apart from their type: see `tests/methods.rs`. It is read,
//! not compiled.

mod above;
mod below;
mod machine;
mod state;

use state::State;
