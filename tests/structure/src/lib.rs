//! Checks the structure of this workspace from its sources.
//!
//! - [`layers`]: which crate may import which; this module contains the table of what is allowed.
//! - [`circles`]: no circular dependency among the files, or among the top-level modules, of a crate.
//! - [`sizes`]: how many lines a crate and a file may have.
//!
//! And [`draw`] draws public items at random, for a test of their doc comments.
//!
//! Known circles and sizes that still have to be mended are listed in `known.txt`, see [`known`].
//!
//! **What counts as an arrow (a dependency).** File A depends on file B if code of A uses a name that B defines:
//! by `use`, by a path, or by a name that a glob import or a re-export brings into scope. Names are
//! followed through `use` and `pub use` to the file that defines them. So `mod child;` and `pub use
//! child::X` make no arrow from parent to child; code of the parent that uses `X` does. Code under
//! `#[cfg(test)]` is left out. Method calls and field accesses contain no path, so they are not
//! seen; the type is usually named somewhere else in the file.
//!
//! **Why syn and not `cargo modules dependencies --acyclic`.** That tool draws its arrows between
//! items, so two modules that take types from each other make no circle there (its issue 185), and
//! it has no list of known circles. It loads each crate with rust-analyzer, which is long to build
//! and needs code that compiles. This check parses all sources in about one second and works in the
//! middle of a move.

pub mod circles;
pub mod draw;
pub mod known;
pub mod layers;
pub mod sizes;
pub mod survey;

mod arrows;
mod resolve;
mod scope;
mod source;
mod uses;
mod workspace;

pub use arrows::{Arrow, Arrows};
pub use source::Crate;
pub use workspace::{Dependency, DependencyKind, Package, Workspace};
