//! The operation of a reduction: our own arithmetic where it has it, else that of the MPI.

use std::ffi::c_int;
use std::sync::Arc;

use crate::abi::Word;
use crate::area::Area;
use crate::arithmetic::Arithmetic;
use crate::flow::Combine;
use crate::layout::{is_plain, size_of_type};
use crate::real::Real;

/// Largest element of a reduction that goes over rings.
const LARGEST: usize = 1 << 20;

/// An operation on elements of a datatype.
struct Reduction {
    real: &'static Real,
    datatype: Word,
    op: Word,
    unit: usize,
    /// If it is one of MPI's own on a basic type.
    arithmetic: Option<Arithmetic>,
}

/// An operation. `None` if it may not be done in any order, if values have gaps between them, or if it needs the MPI and
/// the collective is not `blocking`: then another thread does it, perhaps when the program has freed the operation.
pub fn reduction(datatype: Word, op: Word, blocking: bool) -> Option<Arc<dyn Combine>> {
    let real = Real::find();
    let mut commutes = 0;
    let fine = real.op_commutative(op, &raw mut commutes) == 0
        && commutes != 0
        && is_plain(real, datatype);
    let unit = usize::try_from(size_of_type(real, datatype)?).ok();
    let unit = unit.filter(|unit| (1..=LARGEST).contains(unit))?;
    let arithmetic = real.basic.arithmetic(real.abi.handle(datatype), real.abi.handle(op));
    let fine = fine && (blocking || arithmetic.is_some());
    fine.then(|| Arc::new(Reduction { real, datatype, op, unit, arithmetic }) as Arc<dyn Combine>)
}

impl Combine for Reduction {
    fn unit(&self) -> usize {
        self.unit
    }

    fn combine(&self, incoming: Area, into: Area) {
        if let Some(arithmetic) = self.arithmetic {
            return arithmetic.combine(incoming, into);
        }
        let count = (into.len() / self.unit) as c_int;
        let (from, to) = (incoming.start() as Word, into.start() as Word);
        self.real.reduce_local(from, to, count, self.datatype, self.op);
    }
}
