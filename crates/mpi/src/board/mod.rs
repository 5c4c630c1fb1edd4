//! Whether all ranks of a job have this library, found out without a collective: a rank that lacks it would never take
//! part, and the others would wait for ever.
//!
//! The launcher has a board on which each process writes before or in `MPI_Init`, and which all can read after it: that of
//! PMIx (Open MPI, Slurm), or of PMI-1 (MPICH's Hydra).

mod pmi;
mod pmix;

/// The board of the launcher.
#[derive(Debug)]
pub enum Board {
    /// PMIx.
    Pmix(Box<pmix::Pmix>),
    /// PMI-1, over a socket that the launcher has left open.
    Pmi(pmi::Pmi),
    /// None.
    None,
}

impl Board {
    /// Writes that this rank has the library. To be called before `MPI_Init`.
    #[must_use]
    pub fn write() -> Self {
        if let Some(pmix) = pmix::Pmix::write() {
            return Self::Pmix(pmix.into());
        }
        pmi::Pmi::write().map_or(Self::None, Self::Pmi)
    }

    /// Reads which ranks have the library. To be called once, after `MPI_Init`. `None` without a board.
    #[must_use]
    pub fn read(self, ranks: usize) -> Option<Vec<bool>> {
        match self {
            Self::Pmix(pmix) => pmix.read(ranks),
            Self::Pmi(mut pmi) => Some((0..ranks).map(|rank| pmi.read(rank)).collect()),
            Self::None => None,
        }
    }
}
