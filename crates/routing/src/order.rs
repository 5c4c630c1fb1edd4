//! Decides which end of every link between switches is its up end: the one nearer to a root switch, then the one with
//! the lower index (in-transit-buffers, section 2, after Autonet).

use tresse_topology::{Channel, Graph};

/// The order of all switches by their distance from a root switch, then by index. A channel goes up if it leads to a
/// switch that comes earlier.
#[derive(Debug, Clone)]
pub struct Order {
    root: u32,
    place: Vec<u32>,
}

impl Order {
    /// The order from `root`: by distance from it, then by index. Switches out of reach come last.
    /// O(channels + switches log switches).
    #[must_use]
    pub fn new(graph: &Graph, root: u32) -> Self {
        let (mut distance, mut queue) = (Vec::new(), Vec::new());
        graph.distances(root, &mut distance, &mut queue);
        let mut order: Vec<u32> = (0..graph.switches() as u32).collect();
        order.sort_unstable_by_key(|s| (distance[*s as usize], *s));
        let mut place = vec![0; order.len()];
        for (at, s) in (0..).zip(&order) {
            place[*s as usize] = at;
        }
        Self { root, place }
    }

    /// The switch that every other reaches by going up.
    #[must_use]
    pub const fn root(&self) -> u32 {
        self.root
    }

    /// The number of switches.
    #[must_use]
    pub fn switches(&self) -> usize {
        self.place.len()
    }

    /// A switch's position; the root's is 0.
    #[must_use]
    pub fn place(&self, switch: u32) -> u32 {
        self.place[switch as usize]
    }

    /// By channel: whether it goes up.
    #[must_use]
    pub fn ups(&self, graph: &Graph) -> Vec<bool> {
        (0..graph.channels() as u32).map(|c| self.is_up(graph, c)).collect()
    }

    /// Whether the channel goes up.
    #[must_use]
    pub fn is_up(&self, graph: &Graph, channel: Channel) -> bool {
        self.place(graph.head(channel)) < self.place(graph.tail(channel))
    }
}
