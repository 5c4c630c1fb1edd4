//! The bytes of the elements that a call names: as they lie in memory, or packed.

use std::ffi::c_int;
use std::sync::Arc;

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
    /// So many times as many, whose bytes are known to be no more than a `u64` holds.
    pub const fn times(self, times: u64) -> Self {
        Self { count: self.count.wrapping_mul(times as i64), ..self }
    }

    /// Number of bytes of their values. `None` for a wrong count or datatype, which is for the MPI to report.
    pub fn bytes(&self, real: &Real) -> Option<u64> {
        if self.count < 0 {
            return None;
        }
        size_of_type(real, self.datatype)?.checked_mul(self.count as u64)
    }

    /// Where they are, `bytes` in all: also once the program has freed the datatype.
    pub fn at(&self, real: &'static Real, bytes: u64) -> Buffer {
        let gaps = (!is_plain(real, self.datatype)).then(|| Type::copy(real, self.datatype).into());
        Buffer { start: self.buffer, count: self.count as u64, bytes, gaps }
    }
}

/// Values in a buffer of the program.
#[derive(Debug, Clone)]
pub struct Buffer {
    start: Word,
    count: u64,
    bytes: u64,
    /// The datatype, if the values do not lie in memory in their order without gaps.
    gaps: Option<Arc<Type>>,
}

impl Buffer {
    /// Bytes in their order, without gaps.
    #[must_use]
    pub const fn plain(start: Word, bytes: u64) -> Self {
        Self { start, count: bytes, bytes, gaps: None }
    }

    /// Number of bytes of the values.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The bytes in memory, if these are the values in their order, without gaps.
    #[must_use]
    pub fn area(&self) -> Option<Area> {
        self.gaps.is_none().then(|| area(self.start, self.bytes as usize))
    }

    /// The values, copied into bytes of our own.
    ///
    /// # Errors
    /// What the MPI cannot pack, in words.
    pub fn packed(&self) -> Result<Aligned, String> {
        let mut packed = Aligned::new(self.bytes as usize);
        let into = packed.area();
        let Some(of) = &self.gaps else {
            into.copy_from(area(self.start, self.bytes as usize));
            return Ok(packed);
        };
        let (real, comm) = (of.real, of.real.constants.comm_self);
        self.pieces(of, |buffer, count, start, len| {
            let to = into.start() as Word + start;
            match (c_int::try_from(count), c_int::try_from(len)) {
                (Ok(count), Ok(len)) => {
                    let mut position = 0;
                    real.pack(buffer, count, of.handle, to, len, &raw mut position, comm)
                }
                _ => {
                    let mut position = 0;
                    real.pack_c(buffer, count, of.handle, to, len, &raw mut position, comm)
                }
            }
        })?;
        Ok(packed)
    }

    /// Copies packed values into the buffer.
    ///
    /// # Errors
    /// What the MPI cannot unpack, in words.
    pub fn unpack(&self, packed: &mut Aligned) -> Result<(), String> {
        let from = packed.area();
        let Some(of) = &self.gaps else {
            area(self.start, self.bytes as usize).copy_from(from);
            return Ok(());
        };
        let (real, comm) = (of.real, of.real.constants.comm_self);
        self.pieces(of, |buffer, count, start, len| {
            let from = from.start() as Word + start;
            match (c_int::try_from(count), c_int::try_from(len)) {
                (Ok(count), Ok(len)) => {
                    let mut position = 0;
                    real.unpack(from, len, &raw mut position, buffer, count, of.handle, comm)
                }
                _ => {
                    let mut position = 0;
                    real.unpack_c(from, len, &raw mut position, buffer, count, of.handle, comm)
                }
            }
        })
    }

    /// Calls `piece` with (buffer, count, start, bytes) for pieces whose counts and bytes an `int` holds, unless one element is
    /// larger.
    fn pieces(
        &self,
        of: &Type,
        piece: impl Fn(Word, i64, usize, i64) -> c_int,
    ) -> Result<(), String> {
        let failed = |code| match code {
            0 => Ok(()),
            code => Err(format!("the MPI cannot pack or unpack the buffer: error {code}")),
        };
        let (mut lower, mut extent) = (0, 0);
        failed(of.real.type_get_extent(of.handle, &raw mut lower, &raw mut extent))?;
        let size = self.bytes.checked_div(self.count).unwrap_or(0);
        if size > c_int::MAX as u64 && !of.real.has_large_counts() {
            return Err("an element with gaps between its values has more than 2 GiB".to_owned());
        }
        let most = (PIECE / size.max(1)).max(1);
        let mut done = 0;
        while done < self.count {
            let count = most.min(self.count - done);
            let buffer = self.start.wrapping_add_signed(done as isize * extent);
            failed(piece(buffer, count as i64, (done * size) as usize, (count * size) as i64))?;
            done += count;
        }
        Ok(())
    }
}

/// A datatype of our own, like one of the program, which may free its own at once.
#[derive(Debug)]
struct Type {
    real: &'static Real,
    handle: Word,
    /// Whether it has to be freed.
    own: bool,
}

impl Type {
    fn copy(real: &'static Real, datatype: Word) -> Self {
        let mut copy = 0;
        match real.type_dup(datatype, &raw mut copy) {
            0 => Self { real, handle: copy, own: true },
            _ => Self { real, handle: datatype, own: false },
        }
    }
}

impl Drop for Type {
    fn drop(&mut self) {
        if self.own {
            self.real.type_free(&raw mut self.handle);
        }
    }
}

/// Bytes of a buffer of the program.
#[expect(unsafe_code, reason = "buffers of programs written in C")]
pub fn area(start: Word, len: usize) -> Area {
    // SAFETY: the program has passed this buffer to a collective of MPI, and leaves it alone until that is done.
    unsafe { Area::new(start as *mut u8, len) }
}

/// Bytes of the values of one element.
pub fn size_of_type(real: &Real, datatype: Word) -> Option<u64> {
    let mut size = 0;
    if real.type_size(datatype, &raw mut size) != 0 {
        return None;
    }
    if size == real.constants.undefined {
        // More than an `int` holds (MPI 3.1, section 4.1.5).
        let mut size = 0_i64;
        let fine = real.type_size_x(datatype, &raw mut size) == 0;
        return u64::try_from(size).ok().filter(|_| fine);
    }
    u64::try_from(size).ok()
}

/// Whether the values of a datatype lie in memory in their order, without gaps: a basic type without padding, or equal
/// or consecutive ones of such a type.
pub fn is_plain(real: &Real, datatype: Word) -> bool {
    let (mut lower, mut extent) = (0, 0);
    if real.type_get_extent(datatype, &raw mut lower, &raw mut extent) != 0
        || lower != 0
        || u64::try_from(extent).ok() != size_of_type(real, datatype)
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

/// The numbers of integers, addresses and datatypes that a datatype was made of. `None` also for one that was made with a
/// large count, of which only functions of MPI 4 may be asked.
fn made_of(real: &Real, datatype: Word) -> Option<(c_int, c_int, c_int)> {
    let mut combiner = 0;
    if real.has_large_counts() {
        let (mut integers, mut addresses, mut counts, mut datatypes) = (0, 0, 0, 0);
        let code = real.type_get_envelope_c(
            datatype,
            &raw mut integers,
            &raw mut addresses,
            &raw mut counts,
            &raw mut datatypes,
            &raw mut combiner,
        );
        let int = |count: i64| c_int::try_from(count).ok();
        return if code == 0 && counts == 0 {
            Some((int(integers)?, int(addresses)?, int(datatypes)?))
        } else {
            None
        };
    }
    let (mut integers, mut addresses, mut datatypes) = (0, 0, 0);
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
    if made_of(real, datatype).is_none_or(|(_, _, datatypes)| datatypes > 0) {
        real.type_free(&raw mut datatype);
    }
}
