//! Resolves the key `dims`, the size in each dimension. It counts switches in a mesh and a torus; it counts nodes where
//! nodes forward for each other: in a P-Mesh, a direct mesh and a direct torus.

use tresse_base::problem::{Found, ProblemKind};

use super::super::names::missing;
use super::super::values::within;
use crate::file::Topology;
use crate::limits;
use crate::read::{At, Keys};

/// Returns the sizes, each at least `least`. `what` begins the sentence on how many there may be:
/// `a mesh or torus has`. `None` where a problem was reported.
pub(super) fn sizes(
    topology: &At<Topology>,
    what: &str,
    least: u32,
    found: &mut Found,
) -> Option<Vec<u32>> {
    let Some(dims) = &topology.value.dims else {
        if topology.value.lacks("dims") {
            missing("dims", "`topology`", &topology.span, "such as dims = [4, 4]", found);
        }
        return None;
    };
    if !dims.whole {
        return None;
    }
    let before = found.len();
    if dims.value.is_empty() {
        let message = format!("`dims` is empty: {what} 1 to 6 dimensions");
        found.add(ProblemKind::EmptyList, &dims.span, message, "such as [4, 4]".to_owned());
    }
    if dims.value.len() > limits::DIMENSIONS {
        let message = format!("{} dimensions: {what} 1 to 6", dims.value.len());
        let kept: Vec<_> = dims.value[..limits::DIMENSIONS].iter().map(|d| d.value.near).collect();
        found.add(ProblemKind::OutOfRange, &dims.span, message, format!("such as {kept:?}"));
    }
    let size = |at| within(Some(at), "size", least..=limits::SWITCHES, least, found);
    let sizes: Vec<u32> = dims.value.iter().map(size).collect();
    (found.len() == before).then_some(sizes)
}
