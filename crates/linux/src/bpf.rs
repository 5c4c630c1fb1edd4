//! Classic BPF, the language of socket filters (include/uapi/linux/{bpf_common,filter}.h): the instructions that the
//! filters of this crate use, and what they ask the kernel of a packet.

/// A is a word, half-word or byte at a place of the packet.
pub(crate) const LDW_ABS: u16 = 0x20;
pub(crate) const LDH_ABS: u16 = 0x28;
pub(crate) const LDB_ABS: u16 = 0x30;
/// A is the length of the packet.
pub(crate) const LD_LEN: u16 = 0x80;
/// A is a half-word or byte so far behind X.
pub(crate) const LDH_IND: u16 = 0x48;
pub(crate) const LDB_IND: u16 = 0x50;
/// X is a number.
pub(crate) const LDX_IMM: u16 = 0x01;
/// X is the length of the IPv4 header that begins at a place.
pub(crate) const LDX_MSH: u16 = 0xb1;
/// X is what A is.
pub(crate) const TAX: u16 = 0x07;
/// Jumps if A is more than X.
pub(crate) const JGT_X: u16 = 0x2d;
/// Jumps if A is a number, or has one of its bits.
pub(crate) const JEQ_K: u16 = 0x15;
pub(crate) const JSET_K: u16 = 0x45;
/// A is what it has in common with a number, bit by bit.
pub(crate) const AND_K: u16 = 0x54;
/// Accepts so many bytes; 0 drops the packet.
pub(crate) const RET_K: u16 = 0x06;

/// The place of a packet's type (`SKF_AD_OFF` + `SKF_AD_PKTTYPE`), and the type of what is for this host.
pub(crate) const PACKET_TYPE: u32 = -0x1000_i32 as u32 + 4;
pub(crate) const PACKET_HOST: u32 = 0;
/// The type of what this host sends.
pub(crate) const PACKET_OUTGOING: u32 = 4;
/// The place of a random number (`SKF_AD_OFF` + `SKF_AD_RANDOM`).
pub(crate) const RANDOM: u32 = -0x1000_i32 as u32 + 56;
/// The place of the number of the interface that it arrived on (`SKF_AD_OFF` + `SKF_AD_IFINDEX`).
pub(crate) const INTERFACE: u32 = -0x1000_i32 as u32 + 8;
