//! Families of switch sets of which any two have a switch in common. Constructions use them to wire
//! PCs without a search.

/// A family of sets of switches of which any two have a switch in common. If every PC is cabled to
/// all switches of one set, any two PCs share a switch.
#[derive(Debug, Clone)]
pub struct Family {
    /// Name of the construction, for reports.
    pub name: String,
    /// Number of switches that the family uses.
    pub switches: usize,
    /// The sets, each ascending.
    pub sets: Vec<Vec<u32>>,
    /// Returns the number of PCs that use each set if all switches have this many ports; if empty, the sets are
    /// filled greedily.
    pub copies: fn(&Self, u32) -> Vec<u32>,
}

impl Family {
    /// Returns how many PCs use each set so that `pcs` PCs fit on these ports; `None` if they do not fit.
    #[must_use]
    pub fn counts(&self, ports: &[u32], pcs: u32) -> Option<Vec<u32>> {
        let narrowest = ports.iter().copied().min()?;
        let exact = (self.copies)(self, narrowest);
        [exact, vec![0; self.sets.len()]].into_iter().find_map(|mut counts| {
            if counts.len() != self.sets.len() {
                return None;
            }
            let mut left: Vec<i64> = ports.iter().map(|p| i64::from(*p)).collect();
            for (set, count) in self.sets.iter().zip(&counts) {
                set.iter().for_each(|s| left[*s as usize] -= i64::from(*count));
            }
            let mut there: u32 = counts.iter().sum();
            while there < pcs {
                let best = (0..self.sets.len()).max_by_key(|i| {
                    let slack = self.sets[*i].iter().map(|s| left[*s as usize]);
                    (slack.clone().min(), slack.sum::<i64>(), std::cmp::Reverse(*i))
                })?;
                if self.sets[best].iter().any(|s| left[*s as usize] < 1) {
                    return None;
                }
                self.sets[best].iter().for_each(|s| left[*s as usize] -= 1);
                counts[best] += 1;
                there += 1;
            }
            while there > pcs {
                let most = (0..counts.len()).max_by_key(|i| counts[*i])?;
                counts[most] -= 1;
                there -= 1;
            }
            Some(counts)
        })
    }
}
