//! Shapes of fabrics: the generators of DESIGN section 3, and views of a
//! [`Cluster`](crate::cluster::Cluster) that planning needs.

pub mod generate;
