//! Finds the connected components of a graph (union-find). A link whose two ends are in one component already closes a
//! loop.

/// The connected components of a graph with the vertices `0..n`, while its edges are added one by one.
#[derive(Debug, Clone)]
pub struct Components(Vec<usize>);

impl Components {
    /// Starts with every vertex in a component of its own.
    #[must_use]
    pub fn new(n: usize) -> Self {
        Self((0..n).collect())
    }

    /// Joins the components of two vertices. Returns false if they are connected already.
    pub fn join(&mut self, a: usize, b: usize) -> bool {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a] = b;
        a != b
    }

    /// Returns the vertex that represents the component of `at`.
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
        let mut parts = Components::new(4);
        assert!(parts.join(0, 1) && parts.join(2, 3) && parts.join(1, 2));
        assert!(!parts.join(3, 0));
    }
}
