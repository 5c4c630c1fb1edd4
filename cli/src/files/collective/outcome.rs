//! The result of moving files for one member, that is, for one node that takes part.

/// The result of moving files for one member (node): the parts (files or directories) that it has
/// at the end, and why it lacks others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The parts that it has, also its own: number, bytes, BLAKE3.
    pub has: Vec<(u32, u64, String)>,
    /// Why it does not have everything.
    pub error: Option<String>,
    /// Bytes that it keeps for another run, and the bytes that it was to get.
    pub left: Option<(u64, u64)>,
}
