//! The verbs that move files between nodes over the fabric.

mod allgather;
mod collective;
mod copy;
mod gather;
mod scatter;

pub use allgather::Allgather;
pub use collective::RingMember;
pub use copy::Copy;
pub use gather::Gather;
pub use scatter::Scatter;
