//! Resolves the table `[vlans]`: the ranges of VIDs that plans may use. Checks that they hold enough VIDs for the
//! strategy.

use std::ops::Range;

use tresse_base::problem::{Found, ProblemKind};
use tresse_topology::Grid;
use tresse_topology::cluster::{Strategy, TopologyShape, Vlans};
use tresse_topology::lines;

use super::shape::Shape;
use crate::file::Vlans as Table;
use crate::read::{At, Keys};

pub(super) fn vlans(
    table: Option<&At<Table>>,
    shape: &Shape,
    strategy: Option<Strategy>,
    topology: &Range<usize>,
    found: &mut Found,
) -> Vlans {
    let Some(table) = table.map(|t| &t.value) else {
        return enough(Vlans::default(), shape, strategy, topology, found);
    };
    let base = table.base.as_ref().and_then(|base| {
        let number = u64::try_from(base.value.near).unwrap_or(0);
        let vid = vid(number);
        if vid.is_none() {
            bad_vid(&base.value.text, number, &base.span, found);
        }
        vid.map(|vid| (vid, &base.span))
    });
    let mut vlans = Vlans { base: base.map(|(vid, _)| vid), ..Vlans::default() };
    let Some(range) = &table.range else {
        vlans.ranges = vlans.free_ranges();
        if !table.lacks("range") {
            return vlans;
        }
        return enough(vlans, shape, strategy, topology, found);
    };
    let before = found.len();
    let ranges = ranges(range, found);
    if let Some((vid, span)) = base
        && ranges.iter().any(|(low, high)| (*low..=*high).contains(&vid))
    {
        let message = format!("base VID {vid} is also in `range`");
        let help = "take it out of `range`, or use base = 1".to_owned();
        found.add(ProblemKind::DuplicateVid, span, message, help);
    }
    vlans.ranges = ranges;
    if found.len() > before {
        return vlans;
    }
    enough(vlans, shape, strategy, &range.span, found)
}

fn enough(
    vlans: Vlans,
    shape: &Shape,
    strategy: Option<Strategy>,
    span: &Range<usize>,
    found: &mut Found,
) -> Vlans {
    let count: u64 = vlans.ranges.iter().map(|(low, high)| u64::from(high - low) + 1).sum();
    let needed = strategy.and_then(|strategy| vids_needed(shape, strategy));
    if let Some(needed) = needed.filter(|needed| *needed > count) {
        let message = match shape.kind().shares_switches() {
            true => format!("the range holds {count} VIDs, lines on shared switches need {needed}"),
            false => format!("the range holds {count} VIDs, the strategy needs {needed}"),
        };
        let help = enlarged(&vlans.ranges, needed, shape, strategy);
        found.add(ProblemKind::TooFewVids, span, message, help);
    }
    vlans
}

/// Returns the number of VLANs that a strategy needs for primary paths (vlan-minimal-paths, theorems 2.1 to 3.2;
/// DESIGN sections 3 and 4). If switches hold several lines of nodes, every line needs one.
fn vids_needed(shape: &Shape, strategy: Strategy) -> Option<u64> {
    let Shape::Generated { kind, .. } = shape else {
        return shape.is_known().then_some(1);
    };
    Some(match (kind, strategy) {
        (_, Strategy::Dor) => Grid::of(kind).map_or(1, |grid| grid.dor_trees()),
        (_, Strategy::Pdor) => Grid::of(kind).and_then(|grid| grid.pdor_trees()).unwrap_or(1),
        (TopologyShape::Pmesh { dims, lines_per_switch: 2.., .. }, _) => lines(dims),
        _ => 1,
    })
}

fn ranges(text: &At<String>, found: &mut Found) -> Vec<(u16, u16)> {
    if text.value.trim().is_empty() {
        let help = "such as \"100-199\", or leave `range` out for 2-4094".to_owned();
        found.add(ProblemKind::EmptyList, &text.span, "`range` is empty", help);
        return Vec::new();
    }
    let mut ranges: Vec<(u16, u16)> = Vec::new();
    for part in text.value.split(',').map(str::trim) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.trim(), last.trim());
        let (Some(low), Some(high)) = (digits(first), digits(last)) else {
            let message = format!("`{part}` is not a VID or a range of VIDs");
            let help = "such as \"100-199\" or \"100-199,300-399\"".to_owned();
            found.add(ProblemKind::BadVid, &text.span, message, help);
            continue;
        };
        let (Some(low), Some(high)) = (vid(low), vid(high)) else {
            bad_vid(part, if vid(low).is_none() { low } else { high }, &text.span, found);
            continue;
        };
        if low > high {
            let message = format!("the range `{part}` runs backwards");
            found.add(ProblemKind::BadVid, &text.span, message, format!("`{high}-{low}`"));
            continue;
        }
        if let Some((a, b)) = ranges.iter().find(|(a, b)| *a <= high && low <= *b) {
            let twice = low.max(*a)..=high.min(*b);
            let message = format!("VID {} is in `{part}` and in `{a}-{b}`", twice.start());
            found.add(ProblemKind::DuplicateVid, &text.span, message, "list it once".to_owned());
            continue;
        }
        ranges.push((low, high));
    }
    ranges.sort_unstable();
    ranges
}

/// Reads a number without a sign. One too large for 64 bits becomes the largest 64-bit number.
fn digits(text: &str) -> Option<u64> {
    let good = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    good.then(|| text.parse().unwrap_or(u64::MAX))
}

fn vid(number: u64) -> Option<u16> {
    u16::try_from(number).ok().filter(|vid| (1..=4094).contains(vid))
}

fn bad_vid(text: &str, number: u64, span: &Range<usize>, found: &mut Found) {
    let message = format!("`{text}`: VIDs are 1 to 4094");
    let help = format!("the nearest valid value is {}", number.clamp(1, 4094));
    found.add(ProblemKind::BadVid, span, message, help);
}

fn enlarged(
    ranges: &[(u16, u16)],
    needed: u64,
    shape: &Shape,
    strategy: Option<Strategy>,
) -> String {
    let low = ranges.first().map_or(2, |(low, _)| u64::from(*low));
    let high = low + needed - 1;
    if needed > 4093 && shape.kind().shares_switches() {
        "no fabric holds that many VLANs: lines_per_switch = 1 needs none".to_owned()
    } else if needed > 4093 {
        let fits = match shape {
            Shape::Generated { kind, .. } => {
                let needed = Grid::of(kind).and_then(|grid| grid.pdor_trees());
                needed.is_some_and(|needed| needed <= 4093)
            }
            _ => false,
        };
        let pdor = if fits && strategy != Some(Strategy::Pdor) { "pdor, " } else { "" };
        let smaller = match shape.kind() {
            TopologyShape::Hypercube { .. } => "fewer dimensions",
            _ => "smaller dims",
        };
        format!("no fabric holds that many VLANs: use strategy {pdor}minimal or stp, or {smaller}")
    } else if high > 4094 {
        format!("such as \"{}-4094\"", 4095 - needed)
    } else {
        format!("such as \"{low}-{high}\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needed(kind: TopologyShape, strategy: Strategy) -> u64 {
        let shape = Shape::Generated { kind, nodes_per_switch: 1, nics_per_node: 1 };
        vids_needed(&shape, strategy).unwrap()
    }

    #[test]
    fn counts_of_the_paper() {
        let torus = |dims: &[u32]| TopologyShape::Torus { dims: dims.into() };
        let mesh = |dims: &[u32]| TopologyShape::Mesh { dims: dims.into() };
        assert_eq!(needed(torus(&[4, 4]), Strategy::Dor), 8);
        assert_eq!(needed(torus(&[4, 4]), Strategy::Pdor), 6);
        assert_eq!(needed(torus(&[5, 5]), Strategy::Pdor), 8);
        assert_eq!(needed(torus(&[4, 4, 4]), Strategy::Pdor), 18);
        assert_eq!(needed(torus(&[16, 16, 16]), Strategy::Dor), 512);
        assert_eq!(needed(torus(&[2, 4]), Strategy::Dor), 4);
        assert_eq!(needed(torus(&[9]), Strategy::Pdor), 2);
        assert_eq!(needed(torus(&[9]), Strategy::Dor), 2);
        assert_eq!(needed(mesh(&[4, 4]), Strategy::Dor), 4);
        assert_eq!(needed(mesh(&[4, 4]), Strategy::Pdor), 3);
        assert_eq!(needed(mesh(&[7]), Strategy::Pdor), 1);
        assert_eq!(needed(torus(&[4, 4]), Strategy::Stp), 1);
        let cube = |dimensions| TopologyShape::Hypercube { dimensions };
        assert_eq!(needed(cube(6), Strategy::Dor), 32);
        assert_eq!(needed(cube(6), Strategy::Pdor), 17);
        let hyperx = |dims: &[u32]| TopologyShape::Hyperx { dims: dims.into() };
        assert_eq!(needed(hyperx(&[4, 4, 4]), Strategy::Dor), 48);
        assert_eq!(needed(hyperx(&[2, 2, 2]), Strategy::Dor), 4);
        assert_eq!(needed(hyperx(&[1, 5]), Strategy::Dor), 5);
    }
}
