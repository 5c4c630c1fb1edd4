//! Samples the frames that this node sends by an interface: an estimate of how much goes to each destination by each path,
//! which no counter of the kernel tells before Linux 6.9 and none of labelled routes.
//!
//! A packet socket with a ring takes the first bytes of some frames, chosen by the kernel at random, and nobody is woken up;
//! [`Sampler::take`] reads them from time to time. It takes so many that about a thousand come between two calls, all
//! of them where there are fewer.

use std::io;
use std::os::fd::AsFd as _;

use socket2::{Domain, Protocol, SockFilter, Socket, Type};
use tresse_frame::forward::OFFLOAD_HEADER;
use tresse_frame::sample::{BYTES_MOST, SampledHeaders};

use crate::bpf::{AND_K, JEQ_K, LDW_ABS, PACKET_OUTGOING, PACKET_TYPE, RANDOM, RET_K};
use crate::kernel;
use crate::sys::packet;
use crate::sys::ring::PacketRing;

const ETH_P_ALL: u16 = 3;
const SLOT: usize = 256;
const SLOTS: usize = 2048;
/// More samples than this and one in twice as many frames is taken from then on.
const MANY: u64 = SLOTS as u64 / 2;
/// Fewer than this and it is one in half as many.
const FEW: u64 = MANY / 8;
/// One in so many frames, as a power of two, at the least.
const RAREST: u32 = 20;

/// Samples the frames that leave by one interface.
pub struct Sampler {
    socket: Socket,
    ring: PacketRing,
    ifindex: u32,
    ethernet: bool,
    /// One in 2^`rarity` frames is taken.
    rarity: u32,
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
        Ok(Self { socket, ring, ifindex: nic.ifindex, ethernet: nic.mac.is_some(), rarity: 0 })
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
        let count = samples.len() as u64;
        for (headers, bytes) in samples {
            // Those that were lost were like those that were not.
            each(headers, (bytes << self.rarity) * (count + lost) / count);
        }
        self.adapt(count + lost)
    }

    /// Takes one in twice or half as many frames from now on, if many or few came.
    fn adapt(&mut self, count: u64) -> io::Result<()> {
        let before = self.rarity;
        if count > MANY {
            self.rarity = (before + (count / MANY).ilog2() + 1).min(RAREST);
        } else if count < FEW {
            self.rarity = before.saturating_sub(1);
        }
        if self.rarity != before {
            self.socket.attach_filter(&filter(self.rarity))?;
        }
        match self.socket.take_error()? {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

/// Classic BPF: takes the first bytes of one in 2^`rarity` frames that the host sends.
fn filter(rarity: u32) -> [SockFilter; 7] {
    [
        SockFilter::new(LDW_ABS, 0, 0, PACKET_TYPE),
        SockFilter::new(JEQ_K, 0, 3, PACKET_OUTGOING),
        SockFilter::new(LDW_ABS, 0, 0, RANDOM),
        SockFilter::new(AND_K, 0, 0, (1 << rarity) - 1),
        SockFilter::new(JEQ_K, 1, 0, 0),
        SockFilter::new(RET_K, 0, 0, 0),
        SockFilter::new(RET_K, 0, 0, BYTES_MOST as u32),
    ]
}
