//! Link aggregation groups (IEEE 802.1AX): parallel cables that two switches use as one link.

use std::collections::BTreeMap;

use tresse_base::id::{LinkId, SwitchId};
use tresse_base::units::Rate;

use super::{Cluster, Lag, Link, Port};

impl Cluster {
    /// Makes one link of all cables between two switches that both have `lag`.
    pub fn bundle(&mut self) {
        let mut first = BTreeMap::new();
        let mut links: Vec<Link> = Vec::with_capacity(self.links.len());
        let mut lags: BTreeMap<LinkId, Vec<[u32; 2]>> = BTreeMap::new();
        for link in self.unbundled().links {
            let (a, b) = (link.a.switch, link.b.switch);
            let bundles = self.aggregates(a) && self.aggregates(b);
            let at = *first.entry((a.min(b), a.max(b))).or_insert(links.len());
            match links.get_mut(at).filter(|_| bundles) {
                Some(group) => {
                    let turned = group.a.switch != a;
                    let (here, there) = if turned { (link.b, link.a) } else { (link.a, link.b) };
                    group.rate = Rate(group.rate.0 + link.rate.0);
                    lags.entry(at.into()).or_default().push([here.port, there.port]);
                }
                None => links.push(link),
            }
        }
        self.links = links;
        self.lags = lags.into_iter().map(|(link, more)| Lag { link, more }).collect();
    }

    /// Has a switch `lag`?
    fn aggregates(&self, switch: SwitchId) -> bool {
        self.switches.get(switch.index()).is_some_and(|switch| switch.lag)
    }

    /// The same cables, each a link of its own.
    #[must_use]
    pub fn unbundled(&self) -> Self {
        let links = self.cables().map(|(_, cable)| cable).collect();
        Self { links, lags: Vec::new(), ..self.clone() }
    }

    /// The cables between switches, each with the link that it is, or belongs to, and its own rate.
    pub fn cables(&self) -> impl Iterator<Item = (LinkId, Link)> {
        let links = (0..self.links.len()).map(LinkId::from);
        links.flat_map(|link| self.cables_of(link).into_iter().map(move |cable| (link, cable)))
    }

    /// The cables of a link; more than one of a link aggregation group.
    #[must_use]
    pub fn cables_of(&self, link: LinkId) -> Vec<Link> {
        let whole = *self.link(link);
        let group = self.lags.binary_search_by_key(&link, |lag| lag.link);
        let more = group.map_or(&[][..], |at| &self.lags[at].more);
        let rate = Rate(whole.rate.0 / (more.len() as u64 + 1));
        let ports = [[whole.a.port, whole.b.port]].into_iter().chain(more.iter().copied());
        let cable = |[a, b]: [u32; 2]| Link {
            a: Port { port: a, ..whole.a },
            b: Port { port: b, ..whole.b },
            rate,
        };
        ports.map(cable).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::{Strategy, TopologyShape};

    fn port(switch: u32, port: u32) -> Port {
        Port { switch: SwitchId(switch), port }
    }

    fn clique(with: &[usize]) -> Cluster {
        let kind = TopologyShape::Clique { ports: 4 };
        let mut cluster = Cluster::generated(kind, 1, 1, Strategy::Minimal, 1);
        let rate = Rate::GIGABIT;
        cluster.links = vec![
            Link { a: port(0, 2), b: port(1, 2), rate },
            Link { a: port(0, 3), b: port(2, 2), rate },
            Link { a: port(1, 9), b: port(0, 8), rate },
            Link { a: port(1, 3), b: port(2, 3), rate },
            Link { a: port(2, 7), b: port(1, 7), rate },
        ];
        with.iter().for_each(|switch| cluster.switches[*switch].lag = true);
        cluster
    }

    #[test]
    fn cables_between_two_switches_that_aggregate_are_one_link() {
        let before = clique(&[0, 1]);
        let mut cluster = before.clone();
        cluster.bundle();
        assert_eq!(cluster.links.len(), 4);
        assert_eq!(cluster.lags, [Lag { link: LinkId(0), more: vec![[8, 9]] }]);
        assert_eq!(cluster.links[0].rate, Rate(2 * Rate::GIGABIT.0));
        let cables = [port(0, 2), port(1, 2), port(0, 8), port(1, 9)];
        let of = cluster.cables_of(LinkId(0));
        assert_eq!(of.iter().flat_map(|cable| [cable.a, cable.b]).collect::<Vec<_>>(), cables);
        assert!(of.iter().all(|cable| cable.rate == Rate::GIGABIT));
        let links: Vec<u32> = cluster.cables().map(|(link, _)| link.0).collect();
        assert_eq!(links, [0, 0, 1, 2, 3]);
        let once = cluster.clone();
        cluster.bundle();
        assert_eq!(cluster, once);
    }

    #[test]
    fn one_switch_alone_aggregates_nothing() {
        let mut cluster = clique(&[1]);
        let before = cluster.clone();
        cluster.bundle();
        assert_eq!(cluster, before);
        assert_eq!(cluster.unbundled(), before);
    }
}
