//! Shapes of fabrics: the generators of DESIGN section 3, and views of a
//! [`Cluster`](crate::cluster::Cluster) that planning needs: coordinates and the switch graph.

pub mod generate;
mod graph;
mod grid;
mod layout;
mod parts;
pub mod random;

pub use graph::{Channel, Graph};
pub use grid::{Coordinates, Grid};
pub use layout::{Hop, Layout, lines};
pub use parts::Parts;
