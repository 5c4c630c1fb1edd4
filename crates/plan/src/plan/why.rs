//! Explains in words why the planner chose a primary path: the rules of the strategy, applied to the coordinates or
//! switches of this pair of nodes (vlan-minimal-paths, sections 2.3, 2.4, 3.2 to 3.4).

use tresse_base::id::SwitchId;
use tresse_routing::Assignment;
use tresse_routing::lines;
use tresse_topology::cluster::{Choice, Strategy};
use tresse_topology::path::{Path, Segment};
use tresse_topology::{Grid, Layout, Planes};

use super::Plan;
use super::longer::room;

impl Plan {
    /// Dimension by dimension, as its segments move.
    fn why_xy(layout: &Layout, segments: &[Segment]) -> String {
        let (from, to) = (segments[0].from, segments[segments.len() - 1].to);
        let (x, y) = (layout.coordinates(from), layout.coordinates(to));
        let moved = x.iter().zip(y).enumerate().filter(|(_, (x, y))| x != y);
        let each = moved.map(|(dim, (x, y))| format!("dimension {dim} from {x} to {y}"));
        let path = each.collect::<Vec<_>>().join(", then ");
        let ring = if layout.is_closed() { ", each by the shorter way round" } else { "" };
        format!("xy: {path}{ring}; {} hops, as few as there are", segments.len())
    }

    /// How many ways each node had to choose from.
    fn why_shortest(&self, layout: &Layout, segments: &[Segment]) -> String {
        let to = segments[segments.len() - 1].to;
        let nearer = |segment: &&Segment| {
            let left = self.distance(segment.from, to);
            let hops = layout.neighbours(segment.from).into_iter();
            hops.filter(|hop| hop.to == to || self.distance(hop.to, to) + 1 == left).count()
        };
        let choices: Vec<String> = segments
            .iter()
            .map(|segment| (segment, nearer(&segment)))
            .filter(|(_, cables)| *cables > 1)
            .map(|(segment, cables)| {
                let (node, nic) = (&self.cluster.node(segment.from).name, self.sender(segment));
                format!(
                    "{node} has {cables} cables that lead one nearer, and sends by {}",
                    nic.name
                )
            })
            .collect();
        let hops = segments.len();
        let hops = if hops == 1 { "1 hop".to_owned() } else { format!("{hops} hops") };
        let text = format!("shortest: {hops}, as few as there are");
        match &choices[..] {
            [] => format!("{text}; there is no other way as short"),
            _ => format!("{text}; {}, so that the busiest cables carry less", choices.join(", ")),
        }
    }

    fn why_direct(&self, segments: &[Segment]) -> String {
        let first = &segments[0];
        let switch = |segment| &self.cluster.switch(self.sender(segment).switch).name;
        if let [_, second] = segments {
            return format!(
                "direct: the two share no switch; {} is on {} and on {}, over the least used NICs of \
                 those that are",
                self.cluster.node(first.to).name,
                switch(first),
                switch(second)
            );
        }
        match self.carriers(first.from, first.to).len() {
            1 => format!("direct: by {}", switch(first)),
            _ => format!("direct: by {}, whose NICs are the least used", switch(first)),
        }
    }

    /// Which planes a primary uses.
    fn why_planes(&self, planes: &Planes, segments: &[Segment]) -> String {
        let (first, last) = (&segments[0], &segments[segments.len() - 1]);
        let plane = |segment| planes.plane(self.sender(segment).switch);
        let at = |plane: usize| {
            let first = planes.switches(plane)[0];
            format!(
                "{} ({} switches)",
                self.cluster.switch(first).name,
                planes.switches(plane).len()
            )
        };
        let changes = segments.windows(2).filter(|pair| plane(&pair[0]) != plane(&pair[1]));
        let relays: Vec<&str> =
            changes.map(|pair| self.cluster.node(pair[1].from).name.as_str()).collect();
        if !relays.is_empty() {
            return format!(
                "planes: cables join no switch of {} with one of {}; {} forwards between them, by turns with others that may",
                self.cluster.node(first.from).name,
                self.cluster.node(last.to).name,
                relays.join(", then ")
            );
        }
        let shared = self.over_planes(first.from, last.to).map_or(1, |paths| paths.len());
        let others = match shared {
            1 => "the only one that both are on".to_owned(),
            _ => format!(
                "one of {shared} that both are on, which are primary by turns, as often as they are fast"
            ),
        };
        format!(
            "planes: in the plane of {}, {others}; on {}, by the rules of the strategy there",
            at(plane(first)),
            self.specs[first.tree.index()].name
        )
    }

    /// One sentence per choice that led to a primary's segments.
    pub(super) fn why(&self, segments: &[Segment]) -> Vec<String> {
        if let Some(layout) = self.layout() {
            return vec![match self.cluster.routing.strategy {
                Strategy::Shortest => self.why_shortest(layout, segments),
                _ => Self::why_xy(layout, segments),
            }];
        }
        if self.direct.is_some() {
            return vec![self.why_direct(segments)];
        }
        if let Some(planes) = self.planes() {
            return vec![self.why_planes(planes, segments)];
        }
        let mut why = Vec::new();
        let (segment, last) = (&segments[0], &segments[segments.len() - 1]);
        let (from, to) = (self.cluster.node(segment.from), self.cluster.node(last.to));
        let pairs = from.nics.len() * to.nics.len();
        if pairs > 1 {
            why.push(format!(
                "of the {pairs} pairs of NICs {} and {} have the fewest hops; equal ones are taken \
                 in turn over the pairs of nodes",
                self.sender(segment).name,
                self.receiver(last).name
            ));
        }
        let (s, d) = (self.sender(segment).switch, self.receiver(last).switch);
        let lane = self.lane(self.sender(segment), self.receiver(last));
        if self.lanes() > 1 && s != d {
            why.push(format!(
                "the pairs of nodes of these two switches are spread over {} paths by the numbers of their ports: \
                 this one takes path {}",
                self.lanes(),
                lane + 1
            ));
        }
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
            (Strategy::Updown { .. }, _) => {
                why.extend(self.why_crowded("updown", segments));
                why.push(self.why_updown("updown", segment));
            }
            (Strategy::Minimal, _) if self.assignment.is_crowded(s, d, lane) => {
                why.extend(self.why_crowded("minimal", segments));
            }
            (Strategy::Minimal, _) => why.push(format!(
                "minimal: the least loaded of the shortest paths, on {tree}, the first tree that \
                 has room for it"
            )),
            (Strategy::Transit { .. }, _) => why.extend(self.why_transit(segments)),
            _ => {
                let (hops, fewest) = (self.hops(segment), self.distance(segment.from, segment.to));
                let mut text =
                    format!("stp: all pairs use {tree}, the tree with the fewest hops on average");
                if hops > fewest {
                    text.push_str(&format!(
                        "; this pair's path is {} longer than its shortest",
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
    /// One sentence for each weighted sibling of a pair.
    pub(super) fn why_siblings(&self, paths: &[Path]) -> Vec<String> {
        let sum: u32 = paths.iter().map(|path| path.weight).sum();
        let one = |path: &Path| {
            if let [only] = path.segments[..] {
                let switch = &self.cluster.switch(self.sender(&only).switch).name;
                let (rank, weight) = (path.id.rank, path.weight);
                let by = match self.hops(&only) {
                    _ if self.planes().is_some() => {
                        "in another plane that both are on: weights are as the rates of the slowest cables"
                    }
                    0 => "which the two share as well",
                    _ => {
                        "and on by the uplink: so the linear program splits the demand between the two"
                    }
                };
                return format!(
                    "rank {rank}: {weight} of {sum} parts of the pair's flows go by {switch}, {by}"
                );
            }
            let (node, nic) = (self.cluster.node(path.segments[1].from), path.segments[1].nic);
            format!(
                "rank {}: {} of {sum} parts of the pair's flows go through {}, a reflector on {} that \
                 sends them on out of {}: so the linear program splits the demand between these two \
                 switches",
                path.id.rank,
                path.weight,
                node.name,
                self.cluster.switch(node.nics[nic].switch).name,
                node.nics[nic].name
            )
        };
        paths[1..].iter().filter(|path| path.weight > 0).map(one).collect()
    }

    /// Where the path that was chosen found no tree: what it was given instead.
    fn why_crowded(&self, what: &str, segments: &[Segment]) -> Option<String> {
        let (first, last) = (&segments[0], &segments[segments.len() - 1]);
        let (s, d) = (self.sender(first).switch, self.receiver(last).switch);
        if !self.assignment.is_crowded(s, d, self.lane(self.sender(first), self.receiver(last))) {
            return None;
        }
        let hops: u32 = segments.iter().map(|segment| self.hops(segment)).sum();
        let mut text = format!(
            "{what}: {}, and the path chosen for this pair fits into none of these: it uses {}, \
             which among the trees with the shortest path for this pair has the fewest such pairs",
            room(&self.cluster),
            self.specs[first.tree.index()].name
        );
        let fewest = self.distance(first.from, last.to);
        if hops > fewest {
            text.push_str(&format!(": {} longer than the shortest path", hops - fewest));
        }
        Some(text)
    }

    fn why_transit(&self, segments: &[Segment]) -> Vec<String> {
        let name = |s: SwitchId| &self.cluster.switch(s).name;
        let turns = segments[1..].iter().map(|segment| {
            let (node, nic) = (self.cluster.node(segment.from), self.sender(segment));
            let nodes = self.in_transit(nic.switch).len();
            format!(
                "at {} the path goes up after down, which is not legal: {} is the transit node, \
                 one of {nodes} possible ones there, used round-robin over the pairs of nodes",
                name(nic.switch),
                node.name,
            )
        });
        let (from, to) = (&segments[0], &segments[segments.len() - 1]);
        let hops: u32 = segments.iter().map(|segment| self.hops(segment)).sum();
        let first = match self.cluster.routing.choice {
            _ if hops > self.distance(from.from, to.to) => {
                "transit: every shortest path needs a transit node where there is none; the least \
                 loaded of the possible paths"
            }
            Choice::Balanced => "transit: the least loaded of the shortest paths",
            Choice::Paper => {
                "transit, choice = \"paper\": one of the shortest paths at random, if possible \
                 one that never goes up after down"
            }
        };
        let details = segments.iter().map(|segment| self.why_updown("a segment", segment));
        let first = self.why_crowded("transit", segments).unwrap_or_else(|| first.to_owned());
        std::iter::once(first).chain(turns).chain(details).collect()
    }

    fn why_updown(&self, what: &str, segment: &Segment) -> String {
        let tree = &self.specs[segment.tree.index()].name;
        let Some(Assignment::Updown(updown)) = self.assignment.one() else { return String::new() };
        let order = updown.order();
        let mut path = Vec::new();
        self.walk(segment, &mut path);
        let up = path.iter().take_while(|c| order.is_up(&self.graph, **c)).count();
        let top = match path.get(up.saturating_sub(1)) {
            Some(last) if up > 0 => SwitchId(self.graph.head(*last)),
            _ => self.sender(segment).switch,
        };
        let name = |s: SwitchId| &self.cluster.switch(s).name;
        let mut text = format!(
            "{what}: of the root {}; {up} up to {}, then {} down, on {tree}",
            name(SwitchId(order.root())),
            name(top),
            path.len() - up
        );
        let fewest = self.distance(segment.from, segment.to);
        let (from, to) = (self.sender(segment), self.receiver(segment));
        let crowded = || self.assignment.is_crowded(from.switch, to.switch, self.lane(from, to));
        if what == "updown" && path.len() as u32 > fewest && !crowded() {
            let more = path.len() as u32 - fewest;
            text.push_str(&format!("; {more} longer than the shortest, which goes up after down"));
        }
        text
    }
}

/// `select_ab` of section 3.2: which of the two cuts of dimension 0; on a HyperX which centre of the stars.
fn cut(grid: &Grid, s: SwitchId, d: SwitchId) -> Option<String> {
    let n = grid.dims()[0];
    if grid.is_hyperx() && n > 2 {
        let [from, to] = [s, d].map(|at| grid.coordinate(at, 0));
        let centre = lines::centers(grid)[lines::select_ab(grid, from, to)];
        let end = match centre {
            _ if centre == from => "where the source is",
            _ if centre == to => {
                "where the destination is, as the last switch of a line is no centre"
            }
            _ => "as the last switch of a line is no centre",
        };
        return Some(format!(
            "every line is a clique; the tree's stars in dimension 0 are centred at {centre}, {end}"
        ));
    }
    if !grid.is_torus() || n <= 2 {
        return None;
    }
    let (from, to) = (grid.coordinate(s, 0), grid.coordinate(d, 0));
    let plus = grid.goes_plus(from, to, 0);
    let ab = lines::select_ab(grid, from, to);
    let centre = lines::centers(grid)[ab];
    let (here, there) = (grid.plus(from, to, 0), grid.minus(from, to, 0));
    let (lower, direction) =
        (if from < n / 2 { "lower" } else { "upper" }, if plus { "+" } else { "-" });
    let step = if from == to {
        format!("no step in dimension 0, a ring of {n}, which counts as {direction}")
    } else {
        format!(
            "dimension 0, a ring of {n}, from {from} to {to}: + takes {here}, - takes {there}, so \
             {direction} (ties go to +)"
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
