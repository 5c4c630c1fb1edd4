//! `TPACKET_V2` receive rings (packet(7), Documentation/networking/packet_mmap.rst).
//!
//! The kernel and this process share a memory area that is divided into slots of equal size, which
//! are used in order. A slot belongs to the kernel until the kernel sets `TP_STATUS_USER`, and to
//! the process until that writes `TP_STATUS_KERNEL`. A slot begins with a `struct tpacket2_hdr`, in
//! host byte order:
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 4 | tp_status |
//! | 4 | 4 | tp_len, bytes on the wire |
//! | 8 | 4 | tp_snaplen, bytes captured |
//! | 12 | 2 | tp_mac, offset of the frame |
//! | 14 | 2 | tp_net |
//! | 16 | 8 | time |
//! | 24 | 2 | tp_vlan_tci |
//! | 26 | 2 | tp_vlan_tpid |

#![expect(unsafe_code, reason = "memory shared with the kernel has no safe wrapper")]

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use pnet::packet::ethernet::EtherTypes;

use super::packet::set;
use tresse_frame::forward::OFFLOAD_HEADER;

const PACKET_RX_RING: libc::c_int = 5;
const PACKET_VERSION: libc::c_int = 10;
const TPACKET_V2: libc::c_int = 1;
const STATUS_KERNEL: u32 = 0;
const STATUS_USER: u32 = 1;
const STATUS_COPY: u32 = 1 << 1;
const STATUS_LOSING: u32 = 1 << 2;
const STATUS_VLAN_VALID: u32 = 1 << 4;
const STATUS_VLAN_TPID_VALID: u32 = 1 << 6;
const BLOCK: usize = 1 << 17;
const HEADER: usize = 32;

/// Mirror of `struct tpacket_req`.
#[repr(C)]
struct TpacketReq {
    block_size: u32,
    block_nr: u32,
    frame_size: u32,
    frame_nr: u32,
}

/// The receive ring of a packet socket: memory shared with the kernel, mapped into this process,
/// from which frames are read in order.
pub struct PacketRing {
    memory: NonNull<u8>,
    slot: usize,
    slots: usize,
    next: usize,
}

// SAFETY: the mapping belongs to the process, not to a thread, and is reached through `&mut` only
// but for the atomic status word.
unsafe impl Send for PacketRing {}

/// A received frame in its slot of a receive ring.
pub struct Slot<'ring> {
    /// The offload header, followed by the captured bytes of the frame, destination MAC address
    /// first.
    pub bytes: &'ring mut [u8],
    /// Bytes of the frame on the wire.
    pub wire: usize,
    /// TPID and TCI of the VLAN tag that the kernel removed.
    pub tag: Option<(u16, u16)>,
    /// Did the frame not fit, so that it is also queued whole on the socket?
    pub queued: bool,
    /// Were frames lost since the last [`super::packet::take_lost`]?
    pub losing: bool,
}

impl PacketRing {
    /// Gives `socket` a ring of `slots` slots of `slot` bytes each; both are powers of two, `slot`
    /// at least 256. Without [`super::packet::offload_header`] on the socket, the offload headers of frames have no meaning.
    ///
    /// # Errors
    /// `InvalidInput` for other sizes, `ENOMEM`.
    pub fn map(socket: BorrowedFd<'_>, slot: usize, slots: usize) -> io::Result<Self> {
        let block = BLOCK.max(slot);
        let bytes = slot.saturating_mul(slots);
        if !slot.is_power_of_two() || !slots.is_power_of_two() || slot < 256 || bytes < block {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "sizes of a receive ring"));
        }
        set(socket, PACKET_VERSION, &TPACKET_V2)?;
        let request = TpacketReq {
            block_size: block as u32,
            block_nr: (bytes / block) as u32,
            frame_size: slot as u32,
            frame_nr: slots as u32,
        };
        set(socket, PACKET_RX_RING, &request)?;
        // SAFETY: a new mapping of the ring's `bytes`, at an address that the kernel chooses.
        let memory = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_POPULATE,
                socket.as_raw_fd(),
                0,
            )
        };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let memory = NonNull::new(memory.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { memory, slot, slots, next: 0 })
    }

    /// Is there a frame?
    #[must_use]
    pub fn ready(&self) -> bool {
        self.status(self.next).load(Ordering::Acquire) & STATUS_USER != 0
    }

    /// The received frames in order, at most `most`. They are returned again by the next call until
    /// [`Self::release`].
    pub fn frames(&mut self, most: usize) -> impl Iterator<Item = Slot<'_>> {
        let (first, most) = (self.next, most.min(self.slots));
        (0..most).map_while(move |n| self.frame((first + n) % self.slots))
    }

    /// Returns the first `count` slots to the kernel. `count` is at most what [`Self::frames`]
    /// returned.
    pub fn release(&mut self, count: usize) {
        for _ in 0..count {
            self.status(self.next).store(STATUS_KERNEL, Ordering::Release);
            self.next = (self.next + 1) % self.slots;
        }
    }

    /// The frame in slot `at`, if the slot is ours. The caller bounds the lifetime: `frames` visits
    /// each slot once while it borrows the ring.
    fn frame<'ring>(&self, at: usize) -> Option<Slot<'ring>> {
        let status = self.status(at).load(Ordering::Acquire);
        if status & STATUS_USER == 0 {
            return None;
        }
        // SAFETY: `at` is below `slots`, so this offset is within the mapping.
        let start = unsafe { self.memory.add(at * self.slot) };
        // SAFETY: a slot is longer than its header, which is ours while the status says so.
        let header: [u8; HEADER] = unsafe { start.cast().read() };
        // SAFETY: what is behind the header, up to the end of the slot. The slot's status is ours, so
        // that the kernel does not write to it; and nobody else has a reference, because `frames`
        // borrows the ring mutably and visits every slot once.
        let rest = unsafe {
            std::slice::from_raw_parts_mut(start.as_ptr().add(HEADER), self.slot - HEADER)
        };
        let half = |at: usize| u16::from_ne_bytes([header[at], header[at + 1]]);
        let word = |at: usize| {
            let bytes = [header[at], header[at + 1], header[at + 2], header[at + 3]];
            u32::from_ne_bytes(bytes) as usize
        };
        let (wire, there, begin) = (word(4), word(8), usize::from(half(12)));
        let tagged = status & STATUS_VLAN_VALID != 0;
        let tpid = if status & STATUS_VLAN_TPID_VALID != 0 { half(26) } else { EtherTypes::Vlan.0 };
        let tag = tagged.then_some((tpid, half(24)));
        let from = begin.saturating_sub(HEADER + OFFLOAD_HEADER).min(rest.len());
        let to = begin.saturating_add(there).saturating_sub(HEADER).clamp(from, rest.len());
        Some(Slot {
            bytes: &mut rest[from..to],
            wire,
            tag,
            queued: status & STATUS_COPY != 0,
            losing: status & STATUS_LOSING != 0,
        })
    }

    fn status(&self, at: usize) -> &AtomicU32 {
        // SAFETY: `at` is below `slots`, so these 4 bytes are within the mapping, at a multiple of
        // the slot's size; both sides touch the word by atomic operations while it changes hands.
        unsafe { AtomicU32::from_ptr(self.memory.as_ptr().add(at * self.slot).cast()) }
    }
}

impl Drop for PacketRing {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, of that length, and no reference into it outlives the ring.
        unsafe {
            libc::munmap(self.memory.as_ptr().cast(), self.slot * self.slots);
        }
    }
}
