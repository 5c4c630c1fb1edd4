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
//! `#[cfg(test)]` is left out.
//!
//! A method call contains no path. If the method stands in an inherent `impl` in another file than its
//! type, the call is an arrow to the file of that `impl`. So methods may stand apart from their type where
//! only files above call them: a file that the `impl` itself depends on may not. `self.f()` and `T::f()` are
//! known by their type. Any other `x.f(..)` counts if its file can have a value of that type (it reaches,
//! along its arrows, the file of the type), and the method can be seen there and takes as many arguments.
//! [`SPREAD`] lists the few types whose own files may call each other's methods. Calls of trait methods are
//! not seen, unless a path names the trait.
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
mod methods;
mod resolve;
mod scope;
mod source;
mod uses;
mod workspace;

pub use arrows::{Arrow, Arrows};
pub use methods::SPREAD;
pub use source::Crate;
pub use workspace::{Dependency, DependencyKind, Package, Workspace};
