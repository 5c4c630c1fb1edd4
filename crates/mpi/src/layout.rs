//! The bytes of the elements that a call names: as they lie in memory, or packed.

use std::ffi::c_int;

use crate::abi::Word;
use crate::area::{Aligned, Area};
use crate::real::Real;

/// Most bytes that are packed at once.
const PIECE: u64 = 1 << 30;

/// Elements of a datatype in a buffer of the program.
#[derive(Debug, Clone, Copy)]
pub struct Elements {
    /// Address of the first one.
    pub buffer: Word,
    /// How many.
    pub count: i64,
    /// The datatype's handle.
    pub datatype: Word,
}

impl Elements {
    /// So many times as many.
    pub const fn times(self, times: u64) -> Self {
        Self { count: self.count * times as i64, ..self }
    }

    /// Number of bytes of their values. `None` for a wrong count or datatype, which is for the MPI to report.
    pub fn bytes(&self, real: &Real) -> Option<u64> {
        let mut size = 0;
        let fine = self.count >= 0 && real.type_size(self.datatype, &raw mut size) == 0;
        if fine { u64::try_from(size).ok()?.checked_mul(self.count as u64) } else { None }
    }

    /// The bytes in memory, if these are the values in their order, without gaps.
    pub fn area(&self, real: &Real, bytes: u64) -> Option<Area> {
        is_plain(real, self.datatype).then(|| area(self.buffer, bytes as usize))
    }

    /// The values, copied into bytes of our own. The error is that of the MPI.
    pub fn packed(&self, real: &Real, bytes: u64, comm: Word) -> Result<Aligned, c_int> {
        let mut packed = Aligned::new(bytes as usize);
        let into = packed.area().start() as Word;
        self.pieces(real, bytes, |buffer, count, start, len| {
            let mut position = 0;
            real.pack(buffer, count, self.datatype, into + start, len, &raw mut position, comm)
        })?;
        Ok(packed)
    }

    /// Copies packed values into the buffer. The error is that of the MPI.
    pub fn unpack(&self, real: &Real, packed: &mut Aligned, comm: Word) -> Result<(), c_int> {
        let (bytes, from) = (packed.len() as u64, packed.area().start() as Word);
        self.pieces(real, bytes, |buffer, count, start, len| {
            let mut position = 0;
            real.unpack(from + start, len, &raw mut position, buffer, count, self.datatype, comm)
        })
    }

    /// Calls `piece` with (buffer, count, start, bytes) for pieces whose counts and bytes an `int` holds.
    fn pieces(
        &self,
        real: &Real,
        bytes: u64,
        piece: impl Fn(Word, c_int, usize, c_int) -> c_int,
    ) -> Result<(), c_int> {
        let (mut lower, mut extent) = (0, 0);
        let code = real.type_get_extent(self.datatype, &raw mut lower, &raw mut extent);
        if code != 0 || self.count == 0 {
            return if code == 0 { Ok(()) } else { Err(code) };
        }
        let size = bytes / self.count as u64;
        let most = (PIECE / size.max(1)).max(1);
        let mut done = 0;
        while done < self.count as u64 {
            let count = most.min(self.count as u64 - done);
            let buffer = self.buffer.wrapping_add_signed(done as isize * extent);
            let (start, len) = ((done * size) as usize, (count * size) as c_int);
            let code = piece(buffer, count as c_int, start, len);
            if code != 0 {
                return Err(code);
            }
            done += count;
        }
        Ok(())
    }
}

/// Bytes of a buffer of the program.
#[expect(unsafe_code, reason = "buffers of programs written in C")]
pub fn area(start: Word, len: usize) -> Area {
    // SAFETY: the program has passed this buffer to a collective of MPI, and leaves it alone until that is done.
    unsafe { Area::new(start as *mut u8, len) }
}

/// Whether the values of a datatype lie in memory in their order, without gaps: a basic type without padding, or equal
/// or consecutive ones of such a type.
pub fn is_plain(real: &Real, datatype: Word) -> bool {
    let (mut size, mut lower, mut extent) = (0, 0, 0);
    if real.type_size(datatype, &raw mut size) != 0
        || real.type_get_extent(datatype, &raw mut lower, &raw mut extent) != 0
        || lower != 0
        || extent != size as isize
    {
        return false;
    }
    match made_of(real, datatype) {
        // Only a basic type is made of nothing.
        Some((0, 0, 0)) => true,
        // MPI_Type_dup, MPI_Type_contiguous.
        Some((integers @ (0 | 1), addresses @ 0, datatypes @ 1)) => {
            let (mut number, mut address, mut inner) = (0, 0, 0);
            let code = real.type_get_contents(
                datatype,
                integers,
                addresses,
                datatypes,
                &raw mut number,
                &raw mut address,
                &raw mut inner,
            );
            code == 0 && {
                let plain = is_plain(real, inner);
                release(real, inner);
                plain
            }
        }
        _ => false,
    }
}

/// The numbers of integers, addresses and datatypes that a datatype was made of.
fn made_of(real: &Real, datatype: Word) -> Option<(c_int, c_int, c_int)> {
    let (mut integers, mut addresses, mut datatypes, mut combiner) = (0, 0, 0, 0);
    let code = real.type_get_envelope(
        datatype,
        &raw mut integers,
        &raw mut addresses,
        &raw mut datatypes,
        &raw mut combiner,
    );
    (code == 0).then_some((integers, addresses, datatypes))
}

/// Gives back a datatype that `MPI_Type_get_contents` has returned. A basic one may not be freed.
fn release(real: &Real, mut datatype: Word) {
    // Types of MPI_Type_create_f90_... are not freed either; nothing plain is made of them.
    if made_of(real, datatype).is_some_and(|(_, _, datatypes)| datatypes > 0) {
        real.type_free(&raw mut datatype);
    }
}
