//! Disjoint parts of a graph, for finding the link that closes a loop.

/// Which of `0..n` are connected.
#[derive(Debug, Clone)]
pub struct Parts(Vec<usize>);

impl Parts {
    /// Each alone.
    #[must_use]
    pub fn new(n: usize) -> Self {
        Self((0..n).collect())
    }

    /// Connects two; false where they are connected already.
    pub fn join(&mut self, a: usize, b: usize) -> bool {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a] = b;
        a != b
    }

    /// The one that stands for all that `at` is connected with.
    pub fn root(&mut self, mut at: usize) -> usize {
        while self.0[at] != at {
            self.0[at] = self.0[self.0[at]];
            at = self.0[at];
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_link_of_a_ring_closes_it() {
        let mut parts = Parts::new(4);
        assert!(parts.join(0, 1) && parts.join(2, 3) && parts.join(1, 2));
        assert!(!parts.join(3, 0));
    }
}
