//! Networks, routes and traffic of the papers' evaluations.

mod greedy;
pub mod itb;
