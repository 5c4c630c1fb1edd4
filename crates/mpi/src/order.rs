//! The order of the ranks of a communicator in one ring.

/// A ring of ranks: each sends to the next one, the last one to the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    ranks: Vec<u32>,
    /// Place of this rank.
    at: usize,
}

impl Order {
    /// The ring of these ranks (each once), as rank `own` of them sees it.
    #[must_use]
    pub fn new(ranks: Vec<u32>, own: u32) -> Self {
        let at = ranks.iter().position(|rank| *rank == own).unwrap_or(0);
        Self { ranks, at }
    }

    /// Number of ranks.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.ranks.len()
    }

    /// Place of this rank, from 0.
    #[must_use]
    pub const fn place(&self) -> usize {
        self.at
    }

    /// The rank so many places before this one.
    #[must_use]
    pub fn before(&self, places: usize) -> usize {
        let n = self.len();
        self.ranks[(self.at + n - places % n) % n] as usize
    }

    /// The rank behind this one.
    #[must_use]
    pub fn next(&self) -> usize {
        self.ranks[(self.at + 1) % self.len()] as usize
    }

    /// Whether `other` is this ring in the opposite direction.
    #[must_use]
    pub fn is_opposite(&self, other: &Self) -> bool {
        let n = self.len();
        let start = other.ranks.iter().position(|rank| Some(rank) == self.ranks.first());
        other.len() == n
            && start.is_some_and(|start| {
                (0..n).all(|k| self.ranks[k] == other.ranks[(start + n - k) % n])
            })
    }

    /// Number of places from `root` on to this rank.
    #[must_use]
    pub fn since(&self, root: usize) -> usize {
        let n = self.len();
        let place = self.ranks.iter().position(|rank| *rank as usize == root).unwrap_or(0);
        (self.at + n - place) % n
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_opposite_direction_is_seen_wherever_it_starts() {
        let ring = Order::new(vec![3, 0, 2, 1, 4], 0);
        assert!(ring.is_opposite(&Order::new(vec![2, 0, 3, 4, 1], 0)));
        assert!(!ring.is_opposite(&ring));
        assert!(!ring.is_opposite(&Order::new(vec![2, 0, 3, 4], 0)));
        assert!(!ring.is_opposite(&Order::new(vec![2, 0, 4, 3, 1], 0)));
    }
}
