//! Leaves out trees that no path of two nodes uses.

use tresse_base::id::TreeId;
use tresse_topology::vlan::{Role, TreeSpec};

use super::Trees;

impl Trees {
    /// With these trees alone, in this order, primaries first, in these roles.
    pub(crate) fn keep(mut self, kept: &[(TreeId, Role)]) -> Self {
        let primary: Vec<TreeId> =
            kept.iter().filter(|(_, role)| *role == Role::Primary).map(|(tree, _)| *tree).collect();
        let all = (0..self.count(Role::Primary)).map(TreeId::from);
        if !primary.iter().copied().eq(all) {
            self.note_given_up(&primary);
            let links: Vec<_> =
                primary.iter().map(|tree| self.tree(*tree).links(&self.graph)).collect();
            self.assignment.keep(&self.graph, &primary, &links);
        }
        let (specs, built) = kept
            .iter()
            .enumerate()
            .map(|(k, (tree, role))| {
                let spec = self.specs[tree.index()].clone();
                let may_change = self.assignment.may_keep_some() || self.planes.is_some();
                let renamed = *role == Role::Backup || may_change;
                let name = if renamed { format!("T{k}") } else { spec.name };
                (TreeSpec { name, role: *role, ..spec }, self.built[tree.index()].clone())
            })
            .unzip();
        (self.specs, self.built) = (specs, built);
        self
    }

    /// Keeps the length of the routes in trees that are given up.
    fn note_given_up(&mut self, kept: &[TreeId]) {
        let homes = self.homes();
        for (&s, &d) in homes.iter().flat_map(|s| homes.iter().map(move |d| (s, d))) {
            for lane in 0..self.lanes() {
                let segments: Vec<_> = self.assignment.tree_segments(s, d, lane).collect();
                if !segments.iter().all(|segment| kept.contains(&segment.tree)) {
                    let hops = self.between(s, d, lane).len() as u32;
                    self.given_up.entry((s, d, lane)).or_insert(hops);
                }
            }
        }
    }
}
