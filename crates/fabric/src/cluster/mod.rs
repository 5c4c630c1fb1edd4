//! The cluster file: from text to a resolved [`Cluster`] or to all of its problems (DESIGN section
//! 3), and the fabrics that tests and benchmarks ask for by kind and size.

mod generated;
mod model;

pub use model::{
    Addressing, Cluster, Kind, Learning, Link, Nic, Node, Port, Routing, Stp, Strategy, Switch,
    Vlans,
};
