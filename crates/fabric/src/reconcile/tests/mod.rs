//! Tests of reconcile, undo and the model together.

mod labels;
mod properties;
mod rules;
mod scene;
mod size;
mod turns;
