//! What the papers' evaluations need beside a plan.

mod greedy;
pub mod itb;
