//! Gives up VLAN trees whose routes have room in others. Trees are packed for the routes that were chosen first; once
//! each spans all switches it has as short a way for many other pairs too, so a tree with few routes is often not needed.

use tresse_base::id::{LinkId, SwitchId};
use tresse_topology::cluster::Prefer;
use tresse_topology::vlan::Tree;
use tresse_topology::{Channel, Graph};

use crate::left::build;

/// How much work it may be, in trees looked at for a route.
const WORK: usize = 1 << 24;
const UNLOAD_WORK: usize = 1 << 28;
/// With more routes than these, those of 512 switches, no tree is given up.
pub(crate) const ROUTES: usize = 1 << 18;
/// Powers of the load by which routes are evened out, as in `relieve`, and how often all are looked at for each.
const POWERS: [u32; 3] = [1, 2, 4];
const SWEEPS: usize = 8;
/// How often routes are moved off links that are too busy.
const PASSES: usize = 3;
/// What counts as better: more than round-off.
const BETTER: f64 = 1.0 - 1e-9;

/// A route, or the part of one between transit nodes, in a tree.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TreeRoute {
    /// The switches at its ends.
    pub ends: (u32, u32),
    /// Pairs of nodes that use it.
    pub pairs: u64,
    /// The tree's number.
    pub tree: usize,
    /// Whether it begins, and whether it ends, at a transit node: there it must go up, and have come down, or the node is in
    /// the way for nothing.
    pub cut: [bool; 2],
}

/// Moves routes to other trees in which they are as short, so that some trees are left without any, and returns the
/// trees that have some. No link gets busier than the busiest was, unless few trees are preferred. `links`: spanning
/// trees; `slowness` by channel, see [`SwitchDemand`](crate::SwitchDemand); `up`: of the channels, where there are transit
/// nodes.
pub(crate) fn fold(
    graph: &Graph,
    links: Vec<Vec<LinkId>>,
    (slowness, up): (&[u64], &[bool]),
    routes: &mut [TreeRoute],
    prefer: Prefer,
) -> Vec<Vec<LinkId>> {
    if links.len() < 2 || routes.len() > ROUTES {
        return links;
    }
    let mut fold = Fold { up, ..Fold::new(graph, &links, slowness, routes) };
    let most = match prefer {
        Prefer::Balance => fold.busiest(),
        Prefer::FewestVlans => u64::MAX,
    };
    fold.give_up_all(routes, most);
    if prefer == Prefer::FewestVlans {
        fold.even_out(routes);
    }
    fold.renumber(routes);
    links.into_iter().zip(&fold.members).filter(|(_, of)| !of.is_empty()).map(|of| of.0).collect()
}

/// Moves routes off the busiest links, among trees in which they are as short.
pub(crate) fn even_out(
    graph: &Graph,
    links: &[Vec<LinkId>],
    (slowness, up): (&[u64], &[bool]),
    routes: &mut [TreeRoute],
) {
    if routes.len() <= ROUTES {
        Fold { up, ..Fold::new(graph, links, slowness, routes) }.even_out(routes);
    }
}

/// Moves routes off links that are busy longer than `most`, to trees in which they are as short, and returns how long the
/// busiest link is busy then, see [`busiest`]. To make room, routes also leave links that are just below `most`.
pub(crate) fn unload(
    graph: &Graph,
    links: &[Vec<LinkId>],
    slowness: &[u64],
    routes: &mut [TreeRoute],
    most: u64,
) -> u64 {
    let mut fold = Fold::new(graph, links, slowness, routes);
    let (mut time, low) = (fold.busiest(), most - most / 21);
    for _ in 0..PASSES {
        // A link that is busy half as long again never gets there.
        if time <= most || time / 3 > most / 2 {
            break;
        }
        for route in routes.iter_mut().filter(|route| route.pairs > 0) {
            if fold.work > UNLOAD_WORK {
                break;
            }
            fold.walk(route.ends, route.tree);
            let busy = |c: &Channel| fold.loads[*c as usize] * slowness[*c as usize] > low;
            if fold.path.iter().any(busy) {
                fold.load(route, false);
                let mut trees = fold.others(route);
                trees.insert(0, route.tree);
                route.tree = fold.best_of(route, trees, most).unwrap_or(route.tree);
                fold.load(route, true);
            }
        }
        let before = std::mem::replace(&mut time, fold.busiest());
        if time >= before {
            break;
        }
    }
    time
}

/// The longest time of a channel that routes in these trees lead to, as
/// [`SwitchRoutes::cost`](crate::routes::SwitchRoutes::cost) has it.
pub(crate) fn busiest(
    graph: &Graph,
    links: &[Vec<LinkId>],
    slowness: &[u64],
    routes: &[TreeRoute],
) -> u64 {
    Fold::new(graph, links, slowness, routes).busiest()
}

struct Fold<'a> {
    graph: &'a Graph,
    slowness: &'a [u64],
    /// By channel; empty where no route is cut.
    up: &'a [bool],
    trees: Vec<Tree>,
    /// By tree: its routes.
    members: Vec<Vec<u32>>,
    /// By channel: pairs of nodes.
    loads: Vec<u64>,
    work: usize,
    /// The channels of the route in hand.
    path: Vec<Channel>,
}

impl<'a> Fold<'a> {
    fn new(
        graph: &'a Graph,
        links: &[Vec<LinkId>],
        slowness: &'a [u64],
        routes: &[TreeRoute],
    ) -> Self {
        let trees = build(graph, links);
        let members = vec![Vec::new(); trees.len()];
        let loads = vec![0; graph.channels()];
        let path = Vec::new();
        let mut fold = Self { graph, slowness, up: &[], trees, members, loads, work: 0, path };
        for (at, route) in (0..).zip(routes) {
            fold.members[route.tree].push(at);
            fold.load(route, true);
        }
        fold
    }

    fn busiest(&self) -> u64 {
        self.loads.iter().zip(self.slowness).map(|(load, slow)| load * slow).max().unwrap_or(0)
    }

    fn walk(&mut self, (s, d): (u32, u32), tree: usize) {
        self.path.clear();
        self.trees[tree].walk(self.graph, SwitchId(s), SwitchId(d), &mut self.path);
    }

    fn load(&mut self, route: &TreeRoute, on: bool) {
        self.walk(route.ends, route.tree);
        for c in &self.path {
            let load = &mut self.loads[*c as usize];
            *load = if on { *load + route.pairs } else { *load - route.pairs };
        }
    }

    /// The trees with routes in which `route` would be as short, but its own.
    fn others(&mut self, route: &TreeRoute) -> Vec<usize> {
        let (s, d) = (SwitchId(route.ends.0), SwitchId(route.ends.1));
        let hops = self.trees[route.tree].distance(s, d);
        self.work += self.trees.len();
        let fits = |tree: &usize| {
            *tree != route.tree
                && !self.members[*tree].is_empty()
                && self.trees[*tree].distance(s, d) == hops
        };
        let mut trees: Vec<usize> = (0..self.trees.len()).filter(fits).collect();
        if route.cut.contains(&true) {
            trees.retain(|tree| self.turns(route, *tree));
        }
        trees
    }

    /// Whether a route goes up where it begins at a transit node, and down where it ends at one.
    fn turns(&mut self, route: &TreeRoute, tree: usize) -> bool {
        self.walk(route.ends, tree);
        let [first, last] = [self.path.first(), self.path.last()];
        let up = |c: Option<&Channel>| c.is_some_and(|c| self.up[*c as usize]);
        (!route.cut[0] || up(first)) && (!route.cut[1] || !up(last))
    }

    /// Gives up trees, those with the fewest routes first, until each that is left is needed.
    fn give_up_all(&mut self, routes: &mut [TreeRoute], most: u64) {
        let mut needed = vec![false; self.trees.len()];
        let left = |fold: &Self, needed: &[bool]| {
            let open = (0..needed.len()).filter(|t| !needed[*t] && !fold.members[*t].is_empty());
            open.min_by_key(|t| fold.members[*t].len())
        };
        while let Some(tree) = left(self, &needed).filter(|_| self.work < WORK) {
            if self.give_up(tree, routes, most) {
                needed.fill(false);
            } else {
                needed[tree] = true;
            }
        }
    }

    /// Moves all routes of a tree to others; `false`, and nothing is moved, where one fits into none.
    fn give_up(&mut self, tree: usize, routes: &mut [TreeRoute], most: u64) -> bool {
        let members = std::mem::take(&mut self.members[tree]);
        for (moved, at) in members.iter().enumerate() {
            let old = routes[*at as usize];
            self.load(&old, false);
            match self.best(&old, most) {
                Some(new) => {
                    routes[*at as usize].tree = new;
                    self.load(&routes[*at as usize], true);
                }
                None => {
                    self.load(&old, true);
                    for back in &members[..moved] {
                        let route = &mut routes[*back as usize];
                        self.load(route, false);
                        route.tree = tree;
                        self.load(route, true);
                    }
                    self.members[tree] = members;
                    return false;
                }
            }
        }
        for at in members {
            self.members[routes[at as usize].tree].push(at);
        }
        true
    }

    /// Of the other trees in which a route is as short, the best.
    fn best(&mut self, route: &TreeRoute, most: u64) -> Option<usize> {
        let trees = self.others(route);
        self.best_of(route, trees, most)
    }

    /// Of these trees, the one where a route adds least to the squares of the times; `None` where it makes a link too slow in
    /// each.
    fn best_of(&mut self, route: &TreeRoute, trees: Vec<usize>, most: u64) -> Option<usize> {
        let mut best = None;
        for tree in trees {
            self.walk(route.ends, tree);
            let times = self.path.iter().map(|c| {
                let (load, slow) = (self.loads[*c as usize], self.slowness[*c as usize]);
                (u128::from(load * slow), u128::from((load + route.pairs) * slow))
            });
            let more = times.clone().map(|(old, new)| new * new - old * old).sum::<u128>();
            let fits = route.pairs == 0 || times.clone().all(|(_, new)| new <= most.into());
            if fits && best.is_none_or(|(least, _)| more < least) {
                best = Some((more, tree));
            }
        }
        best.map(|(_, tree)| tree)
    }

    /// Moves routes off the busiest links, among the trees that are left.
    fn even_out(&mut self, routes: &mut [TreeRoute]) {
        let unit = self.busiest().max(1) as f64;
        for power in POWERS {
            for _ in 0..SWEEPS {
                let mut moved = 0;
                for (at, route) in (0..).zip(&mut *routes) {
                    if route.pairs > 0 && self.work < 2 * WORK {
                        moved += usize::from(self.move_off(route, at, power, unit));
                    }
                }
                if moved == 0 {
                    break;
                }
            }
        }
    }

    fn move_off(&mut self, route: &mut TreeRoute, at: u32, power: u32, unit: f64) -> bool {
        self.load(route, false);
        let old = route.tree;
        let mut best = (self.price(route, old, power, unit), old);
        for tree in self.others(route) {
            let price = self.price(route, tree, power, unit);
            if price < best.0 * BETTER {
                best = (price, tree);
            }
        }
        route.tree = best.1;
        self.load(route, true);
        if best.1 != old {
            self.members[old].retain(|member| *member != at);
            self.members[best.1].push(at);
        }
        best.1 != old
    }

    /// What a route adds to the sum of all times to the power of 2, 4 or 16. By products alone, which IEEE 754 makes the
    /// same everywhere.
    fn price(&mut self, route: &TreeRoute, tree: usize, power: u32, unit: f64) -> f64 {
        self.walk(route.ends, tree);
        let of = |load: u64, slow: u64| {
            (0..power).fold((load * slow) as f64 / unit, |power, _| power * power)
        };
        let price = |c: &Channel| {
            let (load, slow) = (self.loads[*c as usize], self.slowness[*c as usize]);
            of(load + route.pairs, slow) - of(load, slow)
        };
        self.path.iter().map(price).sum()
    }

    /// Numbers the trees that have routes from 0.
    fn renumber(&self, routes: &mut [TreeRoute]) {
        let mut next = 0;
        let number = |of: &Vec<u32>| {
            let number = next;
            next += usize::from(!of.is_empty());
            number
        };
        let numbers: Vec<usize> = self.members.iter().map(number).collect();
        routes.iter_mut().for_each(|route| route.tree = numbers[route.tree]);
    }
}
