//! Tests of reconcile, undo and the model together.

mod guard;
mod labels;
mod mptcp;
mod properties;
mod rules;
mod scene;
mod size;
mod table_routes;
