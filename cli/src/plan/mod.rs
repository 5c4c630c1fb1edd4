//! The verbs that need only files: they compute, check, explain and export plans.

mod check;
mod compare;
mod design;
mod env;
mod export;
mod fmt;
mod paths;
#[expect(clippy::module_inception, reason = "one file per verb, and one is called as the group")]
mod plan;
mod schedule;
mod schema;
mod trace;

pub use check::Check;
pub use compare::Compare;
pub use design::Design;
pub use env::Env;
pub use export::Export;
pub use fmt::Fmt;
pub use paths::Paths;
pub use plan::Plan;
pub use schedule::Schedule;
pub use schema::Schema;
pub use trace::Trace;
