//! Samples the frames that this node sends by an interface: an estimate of how much goes to each destination by each path,
//! which no counter of the kernel tells before Linux 6.9 and none of labelled routes.
//!
//! A packet socket with a ring takes the first bytes of some frames, chosen by the kernel at random, and nobody is woken up;
//! [`Sampler::take`] reads them from time to time. A frame is chosen by its size, the larger the likelier, and stands for
//! the more bytes the less likely it was (size-dependent sampling; Duffield, Lund and Thorup 2001): what goes in a few large
//! segments is counted, not guessed. At most about a thousand come between two calls.

use std::io;
use std::os::fd::AsFd as _;

use socket2::{Domain, Protocol, SockFilter, Socket, Type};
use tresse_frame::forward::OFFLOAD_HEADER;
use tresse_frame::sample::{BYTES_MOST, SampledHeaders};

use crate::bpf::{
    AND_K, JEQ_K, JGT_X, LD_LEN, LDW_ABS, PACKET_OUTGOING, PACKET_TYPE, RANDOM, RET_K, TAX,
};
use crate::kernel;
use crate::sys::packet;
use crate::sys::ring::PacketRing;

const ETH_P_ALL: u16 = 3;
const SLOT: usize = 256;
const SLOTS: usize = 2048;
/// So many samples between two calls, or half as many, of frames that are smaller than the bound.
const MANY: u64 = SLOTS as u64 / 2;
/// The greatest bound, as a power of two.
const RAREST: u32 = 30;

/// Samples the frames that leave by one interface.
pub struct Sampler {
    socket: Socket,
    ring: PacketRing,
    ifindex: u32,
    ethernet: bool,
    /// All frames of 2^`bound` bytes or more are taken, and one of n bytes with the probability n / 2^`bound`.
    bound: u32,
}

impl Sampler {
    /// Samples what leaves by `interface`, in the calling thread's network namespace.
    ///
    /// # Errors
    /// `ENODEV`, `ENETDOWN`, or what the kernel says to the socket.
    pub fn open(interface: &str) -> io::Result<Self> {
        let nic = kernel::nic(interface)?;
        let socket = Socket::new(Domain::PACKET, Type::RAW.nonblocking(), Some(Protocol::from(0)))?;
        socket.attach_filter(&filter(0))?;
        let ring = PacketRing::map(socket.as_fd(), SLOT, SLOTS)?;
        packet::bind(socket.as_fd(), nic.ifindex, ETH_P_ALL)?;
        Ok(Self { socket, ring, ifindex: nic.ifindex, ethernet: nic.mac.is_some(), bound: 0 })
    }

    /// Is it of the interface that has this name now?
    #[must_use]
    pub fn is_of(&self, interface: &str) -> bool {
        kernel::nic(interface).is_ok_and(|nic| nic.ifindex == self.ifindex)
    }

    /// Calls `each` for every frame that was sampled since the last call, with the bytes that it stands for.
    ///
    /// # Errors
    /// `ENETDOWN` once after the interface went down; the sampler stays usable.
    pub fn take(&mut self, mut each: impl FnMut(SampledHeaders, u64)) -> io::Result<()> {
        let mut samples = Vec::new();
        let mut taken = 0;
        // One ring and no more, however fast others come.
        for slot in self.ring.frames(SLOTS) {
            taken += 1;
            let frame = slot.bytes.get(OFFLOAD_HEADER..).unwrap_or_default();
            let headers = match self.ethernet {
                true => SampledHeaders::of_frame(frame),
                false => SampledHeaders::of_packet(frame),
            };
            let vid = slot.tag.map(|(_, tci)| tresse_base::id::Vid(tci & 0xfff));
            let headers = headers.map(|of| SampledHeaders { vid: of.vid.or(vid), ..of });
            samples.extend(headers.map(|headers| (headers, slot.wire as u64)));
        }
        self.ring.release(taken);
        let lost = u64::from(packet::take_lost(self.socket.as_fd())?);
        let (count, mut sum) = (samples.len() as u64, 0);
        for (headers, bytes) in samples {
            // Those that were lost were like those that were not.
            let bytes = bytes.max(1 << self.bound) * (count + lost) / count;
            sum += bytes;
            each(headers, bytes);
        }
        self.adapt(sum)
    }

    /// Takes as many from now on as make about the right number of samples of so many bytes.
    fn adapt(&mut self, bytes: u64) -> io::Result<()> {
        let bound = (bytes / MANY).checked_ilog2().map_or(0, |bound| (bound + 1).min(RAREST));
        if self.bound != bound {
            self.socket.attach_filter(&filter(bound))?;
            self.bound = bound;
        }
        match self.socket.take_error()? {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

/// Classic BPF: takes the first bytes of frames that the host sends, each with its probability.
fn filter(bound: u32) -> [SockFilter; 9] {
    [
        SockFilter::new(LDW_ABS, 0, 0, PACKET_TYPE),
        SockFilter::new(JEQ_K, 0, 5, PACKET_OUTGOING),
        SockFilter::new(LDW_ABS, 0, 0, RANDOM),
        SockFilter::new(AND_K, 0, 0, (1 << bound) - 1),
        SockFilter::new(TAX, 0, 0, 0),
        SockFilter::new(LD_LEN, 0, 0, 0),
        // It is longer than a random number below the bound as often as it should be taken.
        SockFilter::new(JGT_X, 1, 0, 0),
        SockFilter::new(RET_K, 0, 0, 0),
        SockFilter::new(RET_K, 0, 0, BYTES_MOST as u32),
    ]
}
