//! What switches, links and nodes are taken to be like. The two papers that are reproduced leave much open:
//! every choice is a value here, and is reported.

/// How frames cross a switch, and how long everything takes, in cycles: one flit on a node's link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Model {
    /// Octets of a flit.
    pub flit_octets: u32,
    /// Nanoseconds of a cycle.
    pub cycle_ns: f64,
    /// Flits of a message that are no payload: in front of every frame.
    pub header_flits: u32,
    /// Payload of a frame at most, in flits: longer messages are several frames.
    pub most_payload_flits: u32,
    /// From a head's arrival in front of a switch until it may leave, at least.
    pub routing: u32,
    /// Is the way of the next frame found while the one before it still leaves its buffer?
    pub pipelined: bool,
    /// From a flit's sending until it may leave the next place.
    pub link: u32,
    /// From a head's arrival at a node in transit until it may leave.
    pub transit: u32,
    /// Memory of a node for frames in transit, per NIC, in flits; what is beyond it is counted as spilled.
    pub transit_flits: u64,
    /// Must a node in transit have the whole frame before its first flit leaves?
    pub transit_stores: bool,
    /// What stands in front of a switch's crossbar.
    pub queues: Queues,
    /// What channel buffers hold.
    pub buffers: Buffers,
}

/// Where frames wait in a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Queues {
    /// At the input, one behind the other.
    Input,
    /// At the output that they leave by: none waits for another that goes elsewhere.
    Output,
}

/// What the buffer of a channel holds, and what becomes of what it cannot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Buffers {
    /// Everything.
    Unlimited,
    /// Frames that fit; others are dropped.
    Drop {
        /// Flits.
        flits: u32,
    },
    /// The sender is told to stop above one mark and to go on below the other; nothing is lost if above
    /// `stop` there is room for what is on its way: two link delays.
    StopAndGo {
        /// Stop when it holds more flits than this.
        stop: u32,
        /// Go on when it holds fewer than this.
        go: u32,
    },
}

impl Buffers {
    /// Buffers of so many flits of which nothing is lost over a link of that delay; none where they are too
    /// small for that. Marks are in the proportion of Myrinet's (56 and 40 of 80, less what is on its way).
    #[must_use]
    pub fn lossless(flits: u32, link: u32) -> Option<Self> {
        let stop = flits.checked_sub(2 * link).filter(|stop| *stop > 0)?;
        Some(Self::StopAndGo { stop, go: (stop * 5 / 7).max(1) })
    }
}

impl Model {
    /// Switched Ethernet with cut-through (vlan-minimal-paths, section 4.1): flits of 4 octets, 6 of header
    /// and 128 of payload, 10 cycles for routing and crossbar, 5 for a link. `cycle_ns`: a flit's time on the
    /// links of nodes, 32 at 1 Gbit/s. What the paper does not say: buffers hold everything, in front of the
    /// crossbar, and the next header is read while the frame before it leaves. Nodes in transit have the whole
    /// frame before they send it on.
    #[must_use]
    pub const fn ethernet(cycle_ns: f64) -> Self {
        Self {
            flit_octets: 4,
            cycle_ns,
            header_flits: 6,
            most_payload_flits: 128,
            routing: 10,
            pipelined: true,
            link: 5,
            transit: 0,
            transit_flits: u64::MAX,
            transit_stores: true,
            queues: Queues::Input,
            buffers: Buffers::Unlimited,
        }
    }

    /// Myrinet with wormhole switching (in-transit-buffers, sections 4.3 to 4.5): flits of one octet each
    /// 6.25 ns, 8 of them on a link, 150 ns for the first flit through a switch, stop above 56 octets and go
    /// below 40 (slack buffers of 80), a node in transit knows a frame after 275 ns and sends it on 200 ns
    /// later, while its tail still arrives, from 512 KiB. Headers are of no length (the paper counts none).
    #[must_use]
    pub const fn wormhole() -> Self {
        Self {
            flit_octets: 1,
            cycle_ns: 6.25,
            header_flits: 0,
            most_payload_flits: u32::MAX,
            routing: 24,
            pipelined: false,
            link: 8,
            transit: 44 + 32,
            transit_flits: 512 * 1024,
            transit_stores: false,
            queues: Queues::Input,
            buffers: Buffers::StopAndGo { stop: 56, go: 40 },
        }
    }

    /// Flits of each frame of a message of so many octets, in order.
    pub fn frames(&self, octets: u32) -> impl Iterator<Item = u32> + use<> {
        let (most, header) = (self.most_payload_flits, self.header_flits);
        let payload = octets.div_ceil(self.flit_octets).max(1);
        let whole = payload / most;
        let rest = payload % most;
        let last = (rest > 0).then_some(rest + header);
        (0..whole).map(move |_| most + header).chain(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_cut_into_frames() {
        let ethernet = Model::ethernet(32.0);
        assert_eq!(ethernet.frames(512).collect::<Vec<_>>(), [134]);
        assert_eq!(ethernet.frames(513).collect::<Vec<_>>(), [134, 7]);
        assert_eq!(ethernet.frames(0).collect::<Vec<_>>(), [7]);
        assert_eq!(Model::wormhole().frames(1024).collect::<Vec<_>>(), [1024]);
    }

    #[test]
    fn lossless_buffers_have_room_for_what_is_on_its_way() {
        assert_eq!(Buffers::lossless(72, 8), Some(Buffers::StopAndGo { stop: 56, go: 40 }));
        assert_eq!(Buffers::lossless(16, 8), None);
    }
}
