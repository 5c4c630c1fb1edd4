//! The binary interfaces of MPI libraries, without any `mpi.h`: one library of ours serves them all.
//!
//! A handle (of a communicator, a type, ...) is a pointer for Open MPI and in the ABI of MPI 5, and an `int` for MPICH
//! and what is made from it. Calling conventions pass both in a register of their own, so that both are a [`Word`] here.
//! The upper half of an `int` in a register is undefined: handles are compared by [`Abi::handle`].

mod constants;

pub use constants::Constants;

/// An argument of the width of a register: a pointer, or a handle.
pub type Word = usize;

/// A binary interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Abi {
    /// Open MPI up to 5.
    OpenMpi,
    /// MPICH, Intel MPI, MVAPICH, Cray MPICH.
    Mpich,
    /// The ABI of MPI 5.0, chapter 20.
    Mpi5,
}

impl Abi {
    /// A handle as it can be compared.
    #[must_use]
    pub const fn handle(self, word: Word) -> Word {
        match self {
            Self::OpenMpi | Self::Mpi5 => word,
            Self::Mpich => word & 0xffff_ffff,
        }
    }

    /// The handles of an array of the program, as they can be compared.
    #[must_use]
    #[expect(unsafe_code, reason = "arrays of programs written in C")]
    pub fn handles(self, array: Word, count: usize) -> Vec<Word> {
        if array == 0 {
            return Vec::new();
        }
        let one = |k: usize| match self {
            // SAFETY: the program passes an array of so many handles, which are pointers.
            Self::OpenMpi | Self::Mpi5 => unsafe { *(array as *const Word).add(k) },
            // SAFETY: the same, of ints.
            Self::Mpich => unsafe { *(array as *const u32).add(k) as Word },
        };
        (0..count).map(one).collect()
    }
}
