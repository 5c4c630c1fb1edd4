//! `TPACKET_V2` receive rings (packet(7), Documentation/networking/packet_mmap.rst).
//!
//! The kernel and we share memory of equal slots, used in turn. A slot belongs to the kernel until
//! it sets `TP_STATUS_USER`, and to us until we write `TP_STATUS_KERNEL`. Its `struct tpacket2_hdr`,
//! in host byte order:
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 4 | tp_status |
//! | 4 | 4 | tp_len, octets on the wire |
//! | 8 | 4 | tp_snaplen, octets at hand |
//! | 12 | 2 | tp_mac, where the frame begins |
//! | 14 | 2 | tp_net |
//! | 16 | 8 | time |
//! | 24 | 2 | tp_vlan_tci |
//! | 26 | 2 | tp_vlan_tpid |

#![expect(unsafe_code, reason = "memory shared with the kernel has no safe wrapper")]

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use super::packet::set;

/// Bytes before each frame: a `struct virtio_net_hdr`, with [`super::packet::offload_header`].
pub const OFFLOAD_HEADER: usize = 10;

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

/// A receive ring, mapped.
pub struct Ring {
    memory: NonNull<u8>,
    slot: usize,
    slots: usize,
    next: usize,
}

// SAFETY: the mapping belongs to the process, not to a thread, and is reached through `&mut` only
// but for the atomic status word.
unsafe impl Send for Ring {}

/// A frame in its slot.
pub struct Slot<'ring> {
    /// The offload header and, behind it, what there is of the frame, destination MAC first.
    pub bytes: &'ring mut [u8],
    /// Octets of the frame on the wire.
    pub wire: usize,
    /// The tag that was taken off: its TPID and TCI.
    pub tag: Option<(u16, u16)>,
    /// Is the whole frame queued on the socket too, because it did not fit?
    pub queued: bool,
    /// Were frames lost since [`super::packet::take_lost`] was last asked?
    pub losing: bool,
}

impl Ring {
    /// Gives `socket`, on which [`super::packet::offload_header`] is set, a ring of `slots` slots of
    /// `slot` bytes each; both are powers of two, a slot at least 2048.
    ///
    /// # Errors
    /// `InvalidInput` for other sizes, `ENOMEM`.
    pub fn map(socket: BorrowedFd<'_>, slot: usize, slots: usize) -> io::Result<Self> {
        let block = BLOCK.max(slot);
        let bytes = slot.saturating_mul(slots);
        if !slot.is_power_of_two() || !slots.is_power_of_two() || slot < 2048 || bytes < block {
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

    /// The frames that are there, at most `most`, in order. Forgetting them changes nothing: they
    /// are given again until [`Self::release`].
    pub fn frames(&mut self, most: usize) -> impl Iterator<Item = Slot<'_>> {
        let (first, most) = (self.next, most.min(self.slots));
        (0..most).map_while(move |n| self.frame((first + n) % self.slots))
    }

    /// Hands the first `count` slots back to the kernel. Only those that [`Self::frames`] gave.
    pub fn release(&mut self, count: usize) {
        for _ in 0..count {
            self.status(self.next).store(STATUS_KERNEL, Ordering::Release);
            self.next = (self.next + 1) % self.slots;
        }
    }

    /// The frame in slot `at`, when it is ours. The lifetime is the caller's to bound: `frames`
    /// visits each slot once while it borrows the ring.
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
        let tpid = if status & STATUS_VLAN_TPID_VALID != 0 { half(26) } else { 0x8100 };
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

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, of that length, and no reference into it outlives the ring.
        unsafe {
            libc::munmap(self.memory.as_ptr().cast(), self.slot * self.slots);
        }
    }
}
