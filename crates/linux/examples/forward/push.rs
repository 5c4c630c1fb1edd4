//! A source that pushes labels in the kernel, so that a measurement of who pops them has no second
//! forwarder in it: a `tc` program in eBPF. It grows a frame of IPv4 by four bytes, moves both
//! addresses to the front and writes the EtherType of MPLS and one label entry behind them.

use std::fs;

use pnet::packet::ethernet::EtherTypes;
use tresse_base::id::Label;
use tresse_frame::mpls::LabelStackEntry;

use super::host::run;

const SECTION: &str = "push";

/// Labels all IPv4 that leaves by `interface` of this thread's namespace.
pub fn label(interface: &str, label: Label) -> anyhow::Result<()> {
    let file = tempfile::NamedTempFile::new()?;
    fs::write(&file, object(&program(label)))?;
    let path = file.path().display();
    run(&format!("tc qdisc replace dev {interface} clsact"))?;
    run(&format!("tc filter replace dev {interface} egress bpf da obj {path} sec {SECTION}"))
}

/// Sends without labels again.
pub fn plain(interface: &str) -> anyhow::Result<()> {
    run(&format!("tc qdisc del dev {interface} clsact"))
}

/// `struct bpf_insn`: opcode, destination and source register, offset, number.
fn program(label: Label) -> Vec<u8> {
    const LOAD_16: u8 = 0x69;
    const STORE_16: u8 = 0x6a;
    const STORE_32: u8 = 0x62;
    const MOVE: u8 = 0xb7;
    const MOVE_REGISTER: u8 = 0xbf;
    const ADD: u8 = 0x07;
    const CALL: u8 = 0x85;
    const UNEQUAL: u8 = 0x55;
    const EXIT: u8 = 0x95;
    const STORE_BYTES: i32 = 9;
    const LOAD_BYTES: i32 = 26;
    const CHANGE_HEAD: i32 = 43;
    /// Where on the stack the header is made.
    const HEADER: i32 = -26;
    let entry =
        i32::from_ne_bytes(LabelStackEntry { label, class: 0, bottom: true, ttl: 64 }.emit());
    let mpls = i32::from(EtherTypes::Mpls.0.to_be());
    let ipv4 = i32::from(EtherTypes::Ipv4.0.to_be());
    let look = [
        (MOVE_REGISTER, 6, 1, 0, 0),
        (MOVE, 2, 0, 0, 0),
        (MOVE_REGISTER, 3, 10, 0, 0),
        (ADD, 3, 0, 0, HEADER),
        (MOVE, 4, 0, 0, 14),
        (CALL, 0, 0, 0, LOAD_BYTES),
        (LOAD_16, 0, 10, HEADER as i16 + 12, 0),
    ];
    let push = [
        (MOVE_REGISTER, 1, 6, 0, 0),
        (MOVE, 2, 0, 0, 4),
        (MOVE, 3, 0, 0, 0),
        (CALL, 0, 0, 0, CHANGE_HEAD),
        (STORE_16, 10, 0, HEADER as i16 + 12, mpls),
        (STORE_32, 10, 0, HEADER as i16 + 14, entry),
        (MOVE_REGISTER, 1, 6, 0, 0),
        (MOVE, 2, 0, 0, 0),
        (MOVE_REGISTER, 3, 10, 0, 0),
        (ADD, 3, 0, 0, HEADER),
        (MOVE, 4, 0, 0, 18),
        (MOVE, 5, 0, 0, 0),
        (CALL, 0, 0, 0, STORE_BYTES),
    ];
    let other = [(UNEQUAL, 0, 0, push.len() as i16, ipv4)];
    let pass = [(MOVE, 0, 0, 0, 0), (EXIT, 0, 0, 0, 0)];
    let mut code = Vec::new();
    for (opcode, to, from, offset, number) in look.into_iter().chain(other).chain(push).chain(pass)
    {
        let registers: u8 = to | from << 4;
        code.extend([opcode, registers]);
        code.extend(offset.to_ne_bytes());
        code.extend(number.to_ne_bytes());
    }
    code
}

/// An ELF object of one section with one function, as `tc` reads it: header, four section headers
/// (none, code, symbols, names), and these three.
fn object(code: &[u8]) -> Vec<u8> {
    const NAMES: &[u8] = b"\0push\0.symtab\0.strtab\0";
    const FIRST: usize = 64 + 4 * 64;
    let mut symbols = vec![0; 24];
    symbols.extend([1, 0, 0, 0, 0x12, 0, 1, 0]);
    symbols.extend([0, code.len() as u64].map(u64::to_ne_bytes).concat());
    let endian = if cfg!(target_endian = "little") { 1 } else { 2 };
    let mut object = b"\x7fELF".to_vec();
    object.extend([2, endian, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    // Relocatable, for BPF.
    object.extend([1_u16, 247].map(u16::to_ne_bytes).concat());
    object.extend(1_u32.to_ne_bytes());
    object.extend([0_u64, 0, 64].map(u64::to_ne_bytes).concat());
    object.extend(0_u32.to_ne_bytes());
    object.extend([64_u16, 0, 0, 64, 4, 3].map(u16::to_ne_bytes).concat());
    object.resize(object.len() + 64, 0);
    let mut at = FIRST;
    // Name, type, flags, length, linked section, first global symbol, alignment, entry size.
    let code_header = (1_u32, 1_u32, 6_u64, code.len(), 0_u32, 0_u32, 8_u64, 0_u64);
    let symbol_header = (6, 2, 0, symbols.len(), 3, 1, 8, 24);
    let name_header = (14, 3, 0, NAMES.len(), 0, 0, 1, 0);
    for (name, kind, flags, length, link, info, align, entry) in
        [code_header, symbol_header, name_header]
    {
        object.extend([name, kind].map(u32::to_ne_bytes).concat());
        object.extend([flags, 0, at as u64, length as u64].map(u64::to_ne_bytes).concat());
        object.extend([link, info].map(u32::to_ne_bytes).concat());
        object.extend([align, entry].map(u64::to_ne_bytes).concat());
        at += length;
    }
    [&object, code, &symbols, NAMES].concat()
}
