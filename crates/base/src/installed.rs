//! Where a machine that is part of a fabric keeps its files.

/// The cluster file, with its lock beside it.
pub const CLUSTER_FILE: &str = "/etc/tresse/cluster.toml";
