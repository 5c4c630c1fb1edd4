//! Where a machine that is part of a fabric keeps its files.

/// The cluster file, with its lock beside it.
pub const CLUSTER_FILE: &str = "/etc/tresse/cluster.toml";
/// The variable that names another one, as in labs.
pub const CLUSTER_VARIABLE: &str = "TRESSE_CLUSTER";
