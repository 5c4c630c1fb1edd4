//! Chooses the minimal routes that in-transit buffers make possible (in-transit-buffers, sections 3
//! and 4.5). Each pair of hosts gets one route with the fewest hops, a legal up*/down* one if
//! there is one: "when several minimal paths exist between a pair of hosts only one is selected
//! (randomly)". Here each of them is as likely as any other. Link loads are ignored.

use tresse_base::random::Random;
use tresse_routing::updown::Order;
use tresse_topology::{Channel, Graph};

/// Returns the route of each ordered pair of hosts, as the channels that it crosses between
/// switches. The index of a pair is source x number of hosts + destination. `switch_of` gives the
/// switch of each host, `order` which channels go up. `only_legal`: routes are the shortest legal
/// ones, whether minimal or not. O(switches x channels + pairs x hops).
#[must_use]
pub fn minimal(
    graph: &Graph,
    order: &Order,
    switch_of: &[u32],
    only_legal: bool,
    random: &mut Random,
) -> Vec<Vec<Channel>> {
    let all = |legal| {
        let of = move |s| Shortest::new(graph, order, s, legal);
        (0..graph.switches() as u32).map(of).collect::<Vec<_>>()
    };
    let (legal, any) = (all(true), all(false));
    let hosts = switch_of.len();
    let route = |pair: usize| {
        let (s, d) = (switch_of[pair / hosts], switch_of[pair % hosts]);
        let (legal, any) = (&legal[s as usize], &any[s as usize]);
        let legal_is_drawn = only_legal || legal.hops(d) == any.hops(d);
        if legal_is_drawn { legal.draw(d, random) } else { any.draw(d, random) }
    };
    (0..hosts * hosts).map(route).collect()
}

/// Returns the positions in a route at which it turns from down to up: where it needs a transit
/// host, at the switch at the tail of the channel at that position.
pub fn turns(graph: &Graph, order: &Order, route: &[Channel]) -> Vec<usize> {
    let up = |at: usize| order.is_up(graph, route[at]);
    (1..route.len()).filter(|at| !up(at - 1) && up(*at)).collect()
}

/// The shortest routes from one switch. A state is a switch, and whether a legal route has gone
/// down before it: its index is 2 x switch, plus 1 if so.
struct Shortest<'a> {
    graph: &'a Graph,
    order: &'a Order,
    legal: bool,
    /// By state: hops from the source, and the number of shortest routes.
    hops: Vec<u32>,
    counts: Vec<f64>,
}

impl<'a> Shortest<'a> {
    /// Breadth-first search from switch `s`, over legal routes only or over all.
    fn new(graph: &'a Graph, order: &'a Order, s: u32, legal: bool) -> Self {
        let states = 2 * graph.switches();
        let (hops, counts) = (vec![u32::MAX; states], vec![0.0; states]);
        let mut all = Self { graph, order, legal, hops, counts };
        let mut queue = vec![2 * s as usize];
        (all.hops[queue[0]], all.counts[queue[0]]) = (0, 1.0);
        let mut next = 0;
        while let Some(&state) = queue.get(next) {
            next += 1;
            for channel in graph.out(state as u32 / 2) {
                let Some(to) = all.after(state, channel) else { continue };
                if all.hops[to] == u32::MAX {
                    all.hops[to] = all.hops[state] + 1;
                    queue.push(to);
                }
                if all.hops[to] == all.hops[state] + 1 {
                    all.counts[to] += all.counts[state];
                }
            }
        }
        all
    }

    /// Returns the state after a channel; `None` if the route may not cross it.
    fn after(&self, state: usize, channel: Channel) -> Option<usize> {
        let down = !self.order.is_up(self.graph, channel);
        let goes = !self.legal || state.is_multiple_of(2) || down;
        let head = 2 * self.graph.head(channel) as usize;
        goes.then_some(head + usize::from(self.legal && down))
    }

    fn hops(&self, d: u32) -> u32 {
        self.hops[2 * d as usize].min(self.hops[2 * d as usize + 1])
    }

    /// Draws one of the shortest routes to switch `d`, from its end back to the source.
    fn draw(&self, d: u32, random: &mut Random) -> Vec<Channel> {
        let mut hops = self.hops(d);
        let ends = [2 * d as usize, 2 * d as usize + 1].map(|state| ((), state));
        let (_, mut state) = self.one_of(&ends, hops, random);
        let mut route = Vec::with_capacity(hops as usize);
        while hops > 0 {
            hops -= 1;
            let entries: Vec<(Channel, usize)> = self
                .graph
                .out(state as u32 / 2)
                .map(|out| self.graph.reverse(out))
                .flat_map(|channel| {
                    let tail = 2 * self.graph.tail(channel) as usize;
                    [(channel, tail), (channel, tail + 1)]
                })
                .filter(|(channel, from)| self.after(*from, *channel) == Some(state))
                .collect();
            let (channel, from) = self.one_of(&entries, hops, random);
            route.push(channel);
            state = from;
        }
        route.reverse();
        route
    }

    /// Draws one of the entries whose state is `hops` away, each as likely as it has routes.
    fn one_of<T: Copy>(
        &self,
        entries: &[(T, usize)],
        hops: u32,
        random: &mut Random,
    ) -> (T, usize) {
        let entries = || entries.iter().copied().filter(|(_, state)| self.hops[*state] == hops);
        let mut left =
            random.fraction() * entries().map(|(_, state)| self.counts[state]).sum::<f64>();
        let mut drawn = None;
        for entry in entries() {
            drawn = Some(entry);
            left -= self.counts[entry.1];
            if left < 0.0 {
                break;
            }
        }
        drawn.expect("a state is reached from one before it")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ring of six switches with two hosts each, its root at switch 0.
    fn ring() -> (Graph, Order, Vec<u32>) {
        let edges: Vec<(u32, u32)> = (0..6).map(|s| (s, (s + 1) % 6)).collect();
        let graph = Graph::from_edges(6, &edges);
        let order = Order::new(&graph, 0);
        (graph, order, (0..12).map(|host| host / 2).collect())
    }

    #[test]
    fn routes_are_minimal_and_turn_only_where_no_legal_one_is_minimal() {
        let (graph, order, switch_of) = ring();
        let routes = minimal(&graph, &order, &switch_of, false, &mut Random::new(1));
        for (pair, route) in routes.iter().enumerate() {
            let (s, d) = (switch_of[pair / 12], switch_of[pair % 12]);
            let around = s.abs_diff(d);
            assert_eq!(route.len() as u32, around.min(6 - around), "{s} to {d}");
            let mut at = s;
            for channel in route {
                assert_eq!(graph.tail(*channel), at);
                at = graph.head(*channel);
            }
            assert_eq!(at, d);
            // Only 2 to 4 and back have their one minimal route over switch 3, the lowest.
            let turns = turns(&graph, &order, route);
            assert_eq!(turns, if [(2, 4), (4, 2)].contains(&(s, d)) { vec![1] } else { vec![] });
        }
    }

    #[test]
    fn legal_routes_have_no_turn() {
        let (graph, order, switch_of) = ring();
        let routes = minimal(&graph, &order, &switch_of, true, &mut Random::new(1));
        assert!(routes.iter().all(|route| turns(&graph, &order, route).is_empty()));
        // From switch 2 to 4 the legal way is the other way round.
        assert_eq!(routes[4 * 12 + 8].len(), 4);
    }

    #[test]
    fn hosts_of_two_switches_have_routes_of_their_own() {
        let (graph, order, _) = ring();
        // From switch 0 to switch 3 both ways round are minimal and legal: about half each.
        let switch_of: Vec<u32> = (0..400).map(|host| host / 200 * 3).collect();
        let routes = minimal(&graph, &order, &switch_of, false, &mut Random::new(1));
        let over_1 = (200..400).filter(|d| graph.head(routes[*d][0]) == 1).count();
        assert!((70..130).contains(&over_1), "{over_1} of 200");
    }
}
