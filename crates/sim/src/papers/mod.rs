//! The networks, routes and traffic of the papers' evaluations, for reproducing their figures.

mod greedy;
pub mod itb;
