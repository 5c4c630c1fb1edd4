//! How a run ended for one member.

/// The result of one member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The parts that it has, also its own: number, bytes, BLAKE3.
    pub has: Vec<(u32, u64, String)>,
    /// Why it does not have everything.
    pub error: Option<String>,
    /// Bytes that it keeps for another run, and the bytes that it was to get.
    pub left: Option<(u64, u64)>,
}
