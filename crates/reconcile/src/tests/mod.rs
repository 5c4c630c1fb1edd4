//! Tests of reconcile, undo and the model together.

mod labels;
mod mptcp;
mod properties;
mod rules;
mod scene;
mod size;
mod table_routes;
