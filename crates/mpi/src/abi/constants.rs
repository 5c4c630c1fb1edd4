//! The constants of each binary interface that are needed here.

use super::{Abi, Word};

/// Constants of an MPI.
#[derive(Debug, Clone, Copy)]
pub struct Constants {
    /// `MPI_COMM_WORLD`.
    pub comm_world: Word,
    /// `MPI_COMM_SELF`.
    pub comm_self: Word,
    /// `MPI_BYTE`.
    pub byte: Word,
    /// `MPI_IN_PLACE`.
    pub in_place: Word,
    /// `MPI_STATUS_IGNORE`.
    pub status_ignore: Word,
    /// `MPI_UNDEFINED`.
    pub undefined: i32,
}

impl Constants {
    /// Those of an interface. `symbol` returns the address of a variable of the MPI: Open MPI's handles are such
    /// addresses. `None` if it lacks one.
    pub fn of(abi: Abi, symbol: impl Fn(&str) -> Option<Word>) -> Option<Self> {
        Some(match abi {
            // mpi.h of Open MPI 4.1 and 5.0.
            Abi::OpenMpi => Self {
                comm_world: symbol("ompi_mpi_comm_world")?,
                comm_self: symbol("ompi_mpi_comm_self")?,
                status_ignore: 0,
                byte: symbol("ompi_mpi_byte")?,
                in_place: 1,
                undefined: -32_766,
            },
            // mpi.h of MPICH 3.4 to 5.0.
            Abi::Mpich => Self {
                comm_world: 0x4400_0000,
                comm_self: 0x4400_0001,
                status_ignore: 1,
                byte: 0x4c00_010d,
                in_place: usize::MAX,
                undefined: -32_766,
            },
            // MPI 5.0, appendix A.
            Abi::Mpi5 => Self {
                comm_world: 0x101,
                comm_self: 0x102,
                status_ignore: 0,
                byte: 0x247,
                in_place: 1,
                undefined: -32_766,
            },
        })
    }
}
