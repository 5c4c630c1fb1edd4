//! Why a primary path is the one it is: the strategy's rules in words, with this pair's numbers
//! (vlan-minimal-paths, sections 2.3, 2.4, 3.2 to 3.4).

use super::Plan;
use crate::cluster::Strategy;
use crate::id::SwitchId;
use crate::path::Segment;
use crate::routing::Assignment;
use crate::routing::lines;
use crate::topology::Grid;

impl Plan {
    /// One sentence per choice that led to `segment`, a primary's.
    pub(super) fn why(&self, segment: &Segment) -> Vec<String> {
        let mut why = Vec::new();
        let (from, to) = (self.cluster.node(segment.from), self.cluster.node(segment.to));
        let pairs = from.nics.len() * to.nics.len();
        if pairs > 1 {
            why.push(format!(
                "of the {pairs} pairs of NICs {} and {} have the fewest hops; equal ones are taken \
                 in turn over the pairs of nodes",
                self.sender(segment).name,
                self.receiver(segment).name
            ));
        }
        let (s, d) = (self.sender(segment).switch, self.receiver(segment).switch);
        let tree = &self.specs[segment.tree.index()].name;
        match (self.cluster.routing.strategy, &self.grid) {
            (Strategy::Dor, Some(grid)) => {
                why.extend(cut(grid, s, d));
                why.push(format!(
                    "dor: {}; so {tree}, the tree of the source's {}",
                    order(grid, s, d),
                    row(grid, s)
                ));
            }
            (Strategy::Pdor, Some(grid)) => {
                why.extend(cut(grid, s, d));
                why.push(format!("pdor: {}; so {tree}", kept_row(grid, s, d)));
            }
            (Strategy::Updown { .. }, _) => why.push(self.why_updown(segment, tree)),
            _ => {
                let (hops, fewest) = (self.hops(segment), self.distance(segment.from, segment.to));
                let mut text =
                    format!("stp: all pairs use {tree}, the tree with the fewest hops on average");
                if hops > fewest {
                    text.push_str(&format!(
                        "; this pair's way is {} longer than its shortest",
                        hops - fewest
                    ));
                }
                why.push(text);
            }
        }
        why
    }
}

impl Plan {
    fn why_updown(&self, segment: &Segment, tree: &str) -> String {
        let Assignment::Updown(updown) = &self.assignment else { return String::new() };
        let order = updown.order();
        let mut way = Vec::new();
        self.walk(segment, &mut way);
        let up = way.iter().take_while(|c| order.is_up(&self.graph, **c)).count();
        let top = match way.get(up.saturating_sub(1)) {
            Some(last) if up > 0 => SwitchId(self.graph.head(*last)),
            _ => self.sender(segment).switch,
        };
        let name = |s: SwitchId| &self.cluster.switch(s).name;
        let mut text = format!(
            "updown: of the root {}; {up} up to {}, then {} down, on {tree}",
            name(SwitchId(order.root())),
            name(top),
            way.len() - up
        );
        let fewest = self.distance(segment.from, segment.to);
        if way.len() as u32 > fewest {
            let more = way.len() as u32 - fewest;
            text.push_str(&format!("; {more} longer than the shortest, which goes up after down"));
        }
        text
    }
}

/// `select_ab` of section 3.2: which of the two cuts of dimension 0.
fn cut(grid: &Grid, s: SwitchId, d: SwitchId) -> Option<String> {
    let n = grid.dims()[0];
    if !grid.is_torus() || n <= 2 {
        return None;
    }
    let (from, to) = (grid.coordinate(s, 0), grid.coordinate(d, 0));
    let plus = grid.goes_plus(from, to, 0);
    let ab = lines::select_ab(grid, from, to);
    let centre = lines::centers(grid)[ab];
    let (here, there) = (grid.plus(from, to, 0), grid.minus(from, to, 0));
    let (lower, way) = (if from < n / 2 { "lower" } else { "upper" }, if plus { "+" } else { "-" });
    let step = if from == to {
        format!("no step in dimension 0, a ring of {n}, which counts as {way}")
    } else {
        format!(
            "dimension 0, a ring of {n}, from {from} to {to}: + takes {here}, - takes {there}, so \
             {way} (ties go to +)"
        )
    };
    Some(format!(
        "{step}; {from} is in the {lower} half, so the lines are those centred at {} = \
         {centre}, {} the link {}-0",
        if ab == 0 { "a" } else { "b" },
        if ab == 0 { "without" } else { "with" },
        n - 1
    ))
}

/// The steps of dimension-order routing.
fn order(grid: &Grid, s: SwitchId, d: SwitchId) -> String {
    let steps: Vec<_> = (0..grid.rank())
        .map(|dim| (dim, grid.coordinate(s, dim), grid.coordinate(d, dim)))
        .filter(|(_, from, to)| from != to)
        .map(|(dim, from, to)| format!("dimension {dim} from {from} to {to}"))
        .collect();
    if steps.is_empty() { "both ends are on one switch".into() } else { steps.join(", then ") }
}

/// `row (x1, x2) = (1, 0)` in the dimensions past 0.
fn row(grid: &Grid, s: SwitchId) -> String {
    match grid.rank() {
        1 => "only row".into(),
        2 => format!("row x1 = {}", grid.coordinate(s, 1)),
        rank => {
            let join =
                |each: &dyn Fn(usize) -> String| (1..rank).map(each).collect::<Vec<_>>().join(", ");
            let names = join(&|dim| format!("x{dim}"));
            format!("row ({names}) = ({})", join(&|dim| grid.coordinate(s, dim).to_string()))
        }
    }
}

/// Whose row's tree PDOR uses.
fn kept_row(grid: &Grid, s: SwitchId, d: SwitchId) -> String {
    let kept = if grid.is_torus() { 0 } else { 1 };
    let parity = (1..grid.rank()).map(|dim| grid.coordinate(s, dim)).sum::<u32>() % 2;
    let parities = ["even", "odd"];
    let rule = format!("{} rows have trees of their own", parities[kept as usize]);
    if parity == kept {
        return format!("{rule}, and the source's {} is one", row(grid, s));
    }
    let mut x = grid.coordinates(s);
    let y = grid.coordinates(d);
    match (1..grid.rank()).find(|&dim| x[dim] != y[dim]) {
        None => format!(
            "{rule}, the source's {} has none, and the destination shares it: the tree that has \
             the lines of dimension 0 in every row",
            row(grid, s)
        ),
        Some(dim) => {
            let old = row(grid, s);
            x[dim] = grid.step(x[dim], dim, grid.goes_plus(x[dim], y[dim], dim));
            format!(
                "{rule} and the source's {old} has none: first one step in dimension {dim}, to {}",
                row(grid, grid.switch(&x))
            )
        }
    }
}
