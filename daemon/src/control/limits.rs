//! How much of the control socket a client may have.

/// Limits of the clients of a control socket.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Largest number of connections of one user other than root.
    pub connections: usize,
    /// Largest number of connections of all users other than root. Root is always accepted.
    pub all_connections: usize,
    /// So many calls of one user other than root are answered at once, and then one each so many milliseconds.
    pub calls: (u64, u64),
    /// The same of calls that take the main loop long: they look at all paths, or at all that the kernel holds.
    pub costly_calls: (u64, u64),
    /// Longest call in bytes: a cluster file that lists thousands of nodes, with its lock.
    pub call_bytes: usize,
    /// Longest call in bytes of who may change nothing: what such calls carry is short.
    pub reader_bytes: usize,
    /// Bytes read at a time.
    pub read_bytes: usize,
}

impl Limits {
    /// Those of the daemon.
    pub const DAEMON: Self = Self {
        connections: 16,
        all_connections: 128,
        calls: (100, 20),
        costly_calls: (20, 100),
        call_bytes: 16 * 1024 * 1024,
        reader_bytes: 64 * 1024,
        read_bytes: 16 * 1024,
    };
}
