//! The model of switches, links and nodes for a simulation. The two papers whose results are
//! reproduced (vlan-minimal-paths, in-transit-buffers) leave much open; every such choice is a
//! parameter here, and is reported.

/// The parameters of a simulation: how frames cross a switch, a link and a transit node, and how
/// many cycles each step takes. A cycle is the time of one flit (the unit of flow control) on the
/// link of a node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SimulationModel {
    /// Bytes of a flit.
    pub flit_bytes: u32,
    /// Nanoseconds of a cycle.
    pub cycle_ns: f64,
    /// Header flits in front of every frame.
    pub header_flits: u32,
    /// Most payload flits of a frame: longer messages become several frames.
    pub most_payload_flits: u32,
    /// Least time from a head's arrival at a switch until it may leave.
    pub routing: u32,
    /// Whether the next frame is routed while the frame before it still leaves the buffer.
    pub pipelined: bool,
    /// Time from sending a flit until it may leave the next place.
    pub link: u32,
    /// Time from a head's arrival at a transit node until it may leave.
    pub transit: u32,
    /// Memory of a node for forwarded frames.
    pub transit_memory: TransitMemory,
    /// Whether a transit node must have the whole frame before its first flit leaves.
    pub transit_stores: bool,
    /// Where frames wait in a switch.
    pub queues: Queues,
    /// Capacity of the channel buffers.
    pub buffers: Buffers,
}

/// The memory of a transit node for forwarded frames, and what happens to frames for which it has
/// no room. The frames of the node's own messages are not in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransitMemory {
    /// Nothing is lost. Frames beyond a part of the memory are counted as spilled to the memory of
    /// the host (in-transit-buffers).
    Spill {
        /// That part, in flits per NIC by which frames come.
        flits: u64,
    },
    /// The rule of Tresse's daemon (`transit_buffer` in `tressed.toml`): all channels out of a node
    /// share one bound. If more waits, the channel for which most flits wait loses its oldest frame,
    /// until the rest fits. A frame that is being sent does not wait. Needs
    /// [`transit_stores`](SimulationModel::transit_stores).
    Drop {
        /// The bound, in flits per node.
        flits: u64,
        /// A frame that has waited for more cycles than this is dropped; at least 1.
        cycles: u64,
    },
}

/// Where frames wait in a simulated switch: at its inputs or its outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Queues {
    /// In one queue per input.
    Input,
    /// In one queue per output: no frame waits behind one for another output.
    Output,
}

/// The capacity of the buffer at the far end of each simulated channel, and what happens when the
/// buffer is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Buffers {
    /// Unlimited.
    Unlimited,
    /// Frames that do not fit are dropped.
    Drop {
        /// Capacity in flits.
        flits: u32,
    },
    /// The sender is stopped above one mark and released below the other. Nothing is lost if two
    /// link delays fit above `stop`.
    StopAndGo {
        /// Stop when it holds more flits than this.
        stop: u32,
        /// Go on when it holds fewer than this.
        go: u32,
    },
}

impl Buffers {
    /// Returns stop-and-go buffers of `flits` flits that lose nothing over a link with delay
    /// `link`; `None` if they are too small. The marks have the proportion of Myrinet's (56 and 40
    /// of 80, less the flits in flight).
    #[must_use]
    pub fn lossless(flits: u32, link: u32) -> Option<Self> {
        let stop = flits.checked_sub(2 * link).filter(|stop| *stop > 0)?;
        Some(Self::StopAndGo { stop, go: (stop * 5 / 7).max(1) })
    }
}

impl SimulationModel {
    /// Returns switched Ethernet with cut-through (vlan-minimal-paths, section 4.1): flits of 4
    /// bytes, 6 header and 128 payload flits, 10 cycles for routing and crossbar, 5 for a link.
    /// `cycle_ns`: a flit's time on the links of nodes, 32 at 1 Gbit/s. Our choices where the paper
    /// is silent: buffers are unlimited and stand in front of the crossbar, the next header is read
    /// while the frame before it leaves, and transit nodes store the whole frame before they send
    /// it on. Their memory is the default of Tresse's daemon: 64 MiB, and a waiting time of 1 s.
    #[must_use]
    pub const fn ethernet(cycle_ns: f64) -> Self {
        Self {
            flit_bytes: 4,
            cycle_ns,
            header_flits: 6,
            most_payload_flits: 128,
            routing: 10,
            pipelined: true,
            link: 5,
            transit: 0,
            transit_memory: TransitMemory::Drop {
                flits: (64 << 20) / 4,
                cycles: (1e9 / cycle_ns) as u64,
            },
            transit_stores: true,
            queues: Queues::Input,
            buffers: Buffers::Unlimited,
        }
    }

    /// Returns Myrinet with wormhole switching (in-transit-buffers, sections 4.3 to 4.5): flits of
    /// one byte per 6.25 ns, 8 of them on a link, 150 ns for the first flit through a switch, stop
    /// above 56 bytes and go below 40 (slack buffers of 80). A transit node recognises a frame
    /// after 275 ns and starts to send it 200 ns later, while its tail still arrives; it holds 512
    /// KiB. Headers have no length (the paper counts none).
    #[must_use]
    pub const fn wormhole() -> Self {
        Self {
            flit_bytes: 1,
            cycle_ns: 6.25,
            header_flits: 0,
            most_payload_flits: u32::MAX,
            routing: 24,
            pipelined: false,
            link: 8,
            transit: 44 + 32,
            transit_memory: TransitMemory::Spill { flits: 512 * 1024 },
            transit_stores: false,
            queues: Queues::Input,
            buffers: Buffers::StopAndGo { stop: 56, go: 40 },
        }
    }

    /// Returns the flits of each frame of a message, in order.
    pub fn frames(&self, bytes: u32) -> impl Iterator<Item = u32> + use<> {
        let (most, header) = (self.most_payload_flits, self.header_flits);
        let payload = bytes.div_ceil(self.flit_bytes).max(1);
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
        let ethernet = SimulationModel::ethernet(32.0);
        assert_eq!(ethernet.frames(512).collect::<Vec<_>>(), [134]);
        assert_eq!(ethernet.frames(513).collect::<Vec<_>>(), [134, 7]);
        assert_eq!(ethernet.frames(0).collect::<Vec<_>>(), [7]);
        assert_eq!(SimulationModel::wormhole().frames(1024).collect::<Vec<_>>(), [1024]);
    }

    #[test]
    fn lossless_buffers_have_room_for_what_is_on_its_way() {
        assert_eq!(Buffers::lossless(72, 8), Some(Buffers::StopAndGo { stop: 56, go: 40 }));
        assert_eq!(Buffers::lossless(16, 8), None);
    }
}
