//! Reductions of MPI's basic types by its own operations, in Rust: so no thread but the program's has to call MPI.

use crate::abi::{Abi, Word};
use crate::area::Area;

/// A basic type, as a number of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Number {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
}

/// An operation of MPI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    Sum,
    Product,
    Least,
    Most,
    And,
    Or,
    Xor,
}

/// Types: the variable of Open MPI, the handles of MPICH and of MPI 5, and what it is where a long has 64 bits.
const NUMBERS: [(&str, u32, u32, Number); 21] = [
    ("ompi_mpi_signed_char", 0x4c00_0118, 0x244, Number::I8),
    ("ompi_mpi_int8_t", 0x4c00_0137, 0x240, Number::I8),
    ("ompi_mpi_unsigned_char", 0x4c00_0102, 0x245, Number::U8),
    ("ompi_mpi_uint8_t", 0x4c00_013b, 0x241, Number::U8),
    ("ompi_mpi_short", 0x4c00_0203, 0x208, Number::I16),
    ("ompi_mpi_int16_t", 0x4c00_0238, 0x248, Number::I16),
    ("ompi_mpi_unsigned_short", 0x4c00_0204, 0x20c, Number::U16),
    ("ompi_mpi_uint16_t", 0x4c00_023c, 0x249, Number::U16),
    ("ompi_mpi_int", 0x4c00_0405, 0x209, Number::I32),
    ("ompi_mpi_int32_t", 0x4c00_0439, 0x250, Number::I32),
    ("ompi_mpi_unsigned", 0x4c00_0406, 0x20d, Number::U32),
    ("ompi_mpi_uint32_t", 0x4c00_043d, 0x251, Number::U32),
    ("ompi_mpi_long", 0x4c00_0807, 0x20a, Number::I64),
    ("ompi_mpi_long_long_int", 0x4c00_0809, 0x20b, Number::I64),
    ("ompi_mpi_int64_t", 0x4c00_083a, 0x258, Number::I64),
    ("ompi_mpi_unsigned_long", 0x4c00_0808, 0x20e, Number::U64),
    ("ompi_mpi_unsigned_long_long", 0x4c00_0819, 0x20f, Number::U64),
    ("ompi_mpi_uint64_t", 0x4c00_083e, 0x259, Number::U64),
    ("ompi_mpi_float", 0x4c00_040a, 0x210, Number::F32),
    ("ompi_mpi_double", 0x4c00_080b, 0x214, Number::F64),
    ("ompi_mpi_dblprec", 0x4c00_081f, 0x21c, Number::F64),
];

/// Operations, in the same way.
const OPERATIONS: [(&str, u32, u32, Operation); 7] = [
    ("ompi_mpi_op_max", 0x5800_0001, 0x23, Operation::Most),
    ("ompi_mpi_op_min", 0x5800_0002, 0x22, Operation::Least),
    ("ompi_mpi_op_sum", 0x5800_0003, 0x21, Operation::Sum),
    ("ompi_mpi_op_prod", 0x5800_0004, 0x24, Operation::Product),
    ("ompi_mpi_op_band", 0x5800_0006, 0x28, Operation::And),
    ("ompi_mpi_op_bor", 0x5800_0008, 0x29, Operation::Or),
    ("ompi_mpi_op_bxor", 0x5800_000a, 0x2a, Operation::Xor),
];

/// The handles that stand for basic types and operations in one MPI.
#[derive(Debug, Default)]
pub struct Basic {
    numbers: Vec<(Word, Number)>,
    operations: Vec<(Word, Operation)>,
}

/// An operation on a basic type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arithmetic(Number, Operation);

impl Basic {
    /// Those of an interface; `symbol` returns the address of a variable of the MPI.
    pub fn of(abi: Abi, symbol: impl Fn(&str) -> Option<Word>) -> Self {
        let word = |name: &str, mpich: u32, mpi5: u32| match abi {
            Abi::OpenMpi => symbol(name),
            Abi::Mpich => Some(mpich as Word),
            Abi::Mpi5 => Some(mpi5 as Word),
        };
        let numbers = NUMBERS.iter().filter_map(|(a, b, c, it)| Some((word(a, *b, *c)?, *it)));
        let all = OPERATIONS.iter().filter_map(|(a, b, c, it)| Some((word(a, *b, *c)?, *it)));
        Self { numbers: numbers.collect(), operations: all.collect() }
    }

    /// The arithmetic of these handles, if they are of a basic type and an operation that it has.
    pub fn arithmetic(&self, datatype: Word, op: Word) -> Option<Arithmetic> {
        let number = self.numbers.iter().find(|(word, _)| *word == datatype)?.1;
        let operation = self.operations.iter().find(|(word, _)| *word == op)?.1;
        let bits = matches!(operation, Operation::And | Operation::Or | Operation::Xor);
        let float = matches!(number, Number::F32 | Number::F64);
        (!bits || !float).then_some(Arithmetic(number, operation))
    }
}

/// Sets each element of `into` to the one of `from` op itself.
macro_rules! each {
    ($type:ty, $from:expr, $into:expr, $op:expr) => {{
        const BYTES: usize = size_of::<$type>();
        let op: fn($type, $type) -> $type = $op;
        let from = $from.chunks_exact(BYTES);
        for (into, from) in $into.chunks_exact_mut(BYTES).zip(from) {
            let (mut a, mut b) = ([0; BYTES], [0; BYTES]);
            a.copy_from_slice(from);
            b.copy_from_slice(into);
            into.copy_from_slice(
                &op(<$type>::from_ne_bytes(a), <$type>::from_ne_bytes(b)).to_ne_bytes(),
            );
        }
    }};
}

/// The operations on an integer type.
macro_rules! integers {
    ($type:ty, $operation:expr, $from:expr, $into:expr) => {
        match $operation {
            Operation::Sum => each!($type, $from, $into, |a, b| a.wrapping_add(b)),
            Operation::Product => each!($type, $from, $into, |a, b| a.wrapping_mul(b)),
            Operation::Least => each!($type, $from, $into, |a, b| a.min(b)),
            Operation::Most => each!($type, $from, $into, |a, b| a.max(b)),
            Operation::And => each!($type, $from, $into, |a, b| a & b),
            Operation::Or => each!($type, $from, $into, |a, b| a | b),
            Operation::Xor => each!($type, $from, $into, |a, b| a ^ b),
        }
    };
}

/// The operations on a floating-point type, which has no bits to combine.
macro_rules! floats {
    ($type:ty, $operation:expr, $from:expr, $into:expr) => {
        match $operation {
            Operation::Product => each!($type, $from, $into, |a, b| a * b),
            Operation::Least => each!($type, $from, $into, |a, b| if a < b { a } else { b }),
            Operation::Most => each!($type, $from, $into, |a, b| if a > b { a } else { b }),
            _ => each!($type, $from, $into, |a, b| a + b),
        }
    };
}

impl Arithmetic {
    /// Sets each element of `into` to the one of `from` op itself.
    pub fn combine(self, from: Area, mut into: Area) {
        let (from, into) = (from.bytes(), into.bytes_mut());
        let Self(number, operation) = self;
        match number {
            Number::I8 => integers!(i8, operation, from, into),
            Number::U8 => integers!(u8, operation, from, into),
            Number::I16 => integers!(i16, operation, from, into),
            Number::U16 => integers!(u16, operation, from, into),
            Number::I32 => integers!(i32, operation, from, into),
            Number::U32 => integers!(u32, operation, from, into),
            Number::I64 => integers!(i64, operation, from, into),
            Number::U64 => integers!(u64, operation, from, into),
            Number::F32 => floats!(f32, operation, from, into),
            Number::F64 => floats!(f64, operation, from, into),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::area::Aligned;

    fn done<const N: usize>(datatype: u32, op: u32, a: [u8; N], b: [u8; N]) -> Vec<u8> {
        let basic = Basic::of(Abi::Mpich, |_| None);
        let arithmetic = basic.arithmetic(datatype as Word, op as Word).unwrap();
        let (mut from, mut into) = (Aligned::new(N), Aligned::new(N));
        from.bytes_mut().copy_from_slice(&a);
        into.bytes_mut().copy_from_slice(&b);
        arithmetic.combine(from.area(), into.area());
        into.bytes().to_vec()
    }

    #[test]
    fn numbers_of_each_type_are_combined() {
        let (int, double, byte) = (0x4c00_0405, 0x4c00_080b, 0x4c00_013b);
        for (op, wanted) in [(1, 7), (2, -3), (3, 4), (4, -21)] {
            let found = done(int, 0x5800_0000 + op, 7_i32.to_ne_bytes(), (-3_i32).to_ne_bytes());
            assert_eq!(found, i32::to_ne_bytes(wanted));
        }
        for (op, wanted) in [(1, 2.5), (2, 0.5), (3, 3.0), (4, 1.25)] {
            let found =
                done(double, 0x5800_0000 + op, 2.5_f64.to_ne_bytes(), 0.5_f64.to_ne_bytes());
            assert_eq!(found, f64::to_ne_bytes(wanted));
        }
        for (op, wanted) in [(6, 0b1000), (8, 0b1110), (10, 0b0110), (3, 22)] {
            assert_eq!(done(byte, 0x5800_0000 + op, [0b1100], [0b1010]), [wanted]);
        }
    }

    #[test]
    fn bits_of_floating_point_numbers_and_what_is_not_basic_are_for_the_mpi() {
        let basic = Basic::of(Abi::Mpi5, |_| None);
        assert!(basic.arithmetic(0x214, 0x21).is_some());
        assert!(basic.arithmetic(0x214, 0x28).is_none());
        assert!(basic.arithmetic(0x214, 0x9999).is_none());
        assert!(basic.arithmetic(0x9999, 0x21).is_none());
        assert!(Basic::of(Abi::OpenMpi, |_| None).arithmetic(1, 1).is_none());
    }
}
