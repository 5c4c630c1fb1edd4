//! The UDP ports of BFD packets. Their source port says which of a peer's paths they come along, where several arrive on
//! one interface.

use tresse_base::id::PathId;

use crate::{Datagram, Packet, PacketContent};

/// The first source port; each session has its own (RFC 5881 section 4), whose lowest bits are the rank of the path that
/// a packet goes along.
const FIRST_PORT: u32 = 49152;
/// So many ranks a source port tells apart.
const RANKS: u32 = 64;

/// A packet that goes along a path.
pub(super) fn control(packet: Packet, to: u16, along: PathId) -> PacketContent {
    let sessions = (u32::from(u16::MAX) + 1 - FIRST_PORT) / RANKS;
    let from = FIRST_PORT + packet.mine % sessions * RANKS + along.rank % RANKS;
    PacketContent::Control { ports: (from as u16, to), packet }
}

/// Does a datagram say by its source port that it came along the peer's path of this rank?
pub(super) fn is_along(path: PathId, datagram: &Datagram<'_>) -> bool {
    let from = u32::from(datagram.from).checked_sub(FIRST_PORT);
    from.is_some_and(|from| from % RANKS == path.rank % RANKS)
}
