//! The result of a run for one member.

/// The result of a run for one member: the parts that it has, and why it lacks others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The parts that it has, also its own: number, bytes, BLAKE3.
    pub has: Vec<(u32, u64, String)>,
    /// Why it does not have everything.
    pub error: Option<String>,
    /// Bytes that it keeps for another run, and the bytes that it was to get.
    pub left: Option<(u64, u64)>,
}
