//! How a run ended for one member.

/// What became of a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// What it has, or had itself: part, octets, BLAKE3.
    pub has: Vec<(u32, u64, String)>,
    /// Why it has not got all.
    pub error: Option<String>,
    /// Octets that it keeps, of how many, to go on with.
    pub left: Option<(u64, u64)>,
}
