//! The values that a rank sends or receives in a collective.

use crate::area::{Aligned, Area};
use crate::layout::Buffer;
use crate::real::Real;
use crate::said::say;
use crate::settings::Kind;

/// A buffer of values: in the program's memory, or a packed copy.
pub struct Values {
    at: Buffer,
    /// Where they are sent from, or received.
    pub area: Area,
    packed: Option<Aligned>,
}

impl Values {
    /// Values that are to be sent.
    pub fn sent(at: &Buffer, kind: Kind) -> Self {
        if let Some(area) = at.area() {
            return Self { at: at.clone(), area, packed: None };
        }
        let mut packed = at.packed().unwrap_or_else(|why| fail(kind, &why));
        Self { at: at.clone(), area: packed.area(), packed: Some(packed) }
    }

    /// Values that are to be received.
    pub fn received(at: &Buffer) -> Self {
        match at.area() {
            Some(area) => Self { at: at.clone(), area, packed: None },
            None => Self::aside(at),
        }
    }

    /// Values that are to be received elsewhere first.
    pub fn aside(at: &Buffer) -> Self {
        let mut packed = Aligned::new(at.bytes() as usize);
        Self { at: at.clone(), area: packed.area(), packed: Some(packed) }
    }

    /// Values that are to be received, of which some are there already if `filled`.
    pub fn of(at: &Buffer, filled: bool, kind: Kind) -> Self {
        if filled { Self::sent(at, kind) } else { Self::received(at) }
    }

    /// The blocks of all ranks, one after the other.
    pub fn blocks(&self, ranks: usize) -> Vec<Area> {
        let len = self.area.len() / ranks;
        (0..ranks).map(|k| self.area.part(k * len..(k + 1) * len)).collect()
    }

    /// Copies what was received to where it belongs.
    pub fn unpack(mut self, kind: Kind) {
        if let Some(packed) = &mut self.packed {
            self.at.unpack(packed).unwrap_or_else(|why| fail(kind, &why));
        }
    }
}

/// Ends the job: this rank cannot take part in a collective that the others are in.
pub fn fail(kind: Kind, why: &str) -> ! {
    say(format_args!("MPI_{}: {why}", kind.name()));
    let real = Real::find();
    real.abort(real.constants.comm_world, 1);
    std::process::abort();
}
