//! Estimates the bandwidth between two halves of the nodes of a flat neighbourhood whose nodes are paired at random
//! (flat-neighborhood-network-compiler, sections 4.1 and 4.2).

use serde::Serialize;
use tresse_base::id::NodeId;
use tresse_plan::Plan;
use tresse_topology::cluster::{Cluster, TopologyShape};

/// Bandwidth between two halves of the nodes of a flat neighbourhood, both directions together, in bits per second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bisection {
    /// Of half as many pairs as there are nodes, by the mean of all pairs over the switches that they share.
    pub random_pairs: f64,
    /// The same and what the cables to the uplink switch would carry, which no planned path does; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub with_uplink: Option<f64>,
    /// All NICs: what no pattern exceeds.
    pub most: f64,
}

impl Bisection {
    /// Returns that of a flat neighbourhood; `None` on other fabrics and with fewer than two nodes.
    #[must_use]
    pub fn of(plan: &Plan) -> Option<Self> {
        let cluster = plan.cluster();
        let TopologyShape::Fnn { .. } = cluster.kind else { return None };
        let nodes = cluster.nodes.len();
        let pairs = (nodes * nodes.checked_sub(1)?) as f64 / 2.0;
        if pairs == 0.0 {
            return None;
        }
        let shared = shared(cluster);
        let random_pairs = 2.0 * shared / pairs * nodes as f64 / 2.0;
        let up = cluster.links.iter().filter(|link| cluster.is_uplink(link));
        let up: f64 = up.map(|link| 2.0 * link.rate.0 as f64).sum();
        let nics = cluster.nodes.iter().flat_map(|node| &node.nics);
        let most = nics.map(|nic| nic.rate.0 as f64).sum();
        Some(Self {
            random_pairs,
            with_uplink: cluster.uplink().map(|_| (random_pairs + up).min(most)),
            most,
        })
    }
}

/// The sum over all pairs of what they can send each other over all switches that they share, in one direction.
fn shared(cluster: &Cluster) -> f64 {
    let mut rates: Vec<Vec<f64>> = vec![Vec::new(); cluster.switches.len()];
    for node in (0..cluster.nodes.len()).map(NodeId::from) {
        for nic in &cluster.node(node).nics {
            rates[nic.switch.index()].push(nic.rate.0 as f64);
        }
    }
    let of = |rates: &mut Vec<f64>| {
        rates.sort_by(f64::total_cmp);
        // Of each pair the slower NIC counts: in order of rates, each before all behind it.
        rates.iter().rev().enumerate().map(|(behind, rate)| behind as f64 * rate).sum::<f64>()
    };
    rates.iter_mut().map(of).sum()
}

#[cfg(test)]
mod tests {
    use tresse_base::units::Rate;

    use super::*;

    fn bisection(text: &str) -> Bisection {
        let mut cluster = tresse_cluster::parse(text, "t.toml").unwrap();
        cluster.links.iter_mut().for_each(|link| link.rate = Rate(100_000_000));
        Bisection::of(&Plan::build(cluster).unwrap()).unwrap()
    }

    /// Section 4.2: KLAT2 has 64 nodes with four NICs of 100 Mbit/s on eight switches of 31 and one of 8: 11.9 Gbit/s,
    /// 13.7 with an uplink, at most 25.6.
    #[test]
    fn klat2_has_the_bandwidth_of_the_paper() {
        // Which node has which switches makes no difference to the sums: the widths do.
        let mut next = 0;
        let mut lines = String::new();
        for (switch, width) in [31, 31, 31, 31, 31, 31, 31, 31, 8].into_iter().enumerate() {
            let members = (0..width).map(|at| ((next + at) % 64).to_string());
            lines += &format!("{switch}: {}\\n", members.collect::<Vec<_>>().join(" "));
            next += width;
        }
        let nics = (0..4).map(|at| format!("{{ name = \"eth{at}\", rate = \"100M\" }}"));
        let nics = nics.collect::<Vec<_>>().join(", ");
        let text = |uplink: &str| {
            format!(
                "[fabric]\ntopology = {{ kind = \"fnn\", wiring = \"{lines}\"{uplink} }}\n\
                 [[node]]\nname = \"n[00-63]\"\nnics = [{nics}]\n"
            )
        };
        let gbits = |of: f64| (of / 1e8).round() / 10.0;
        let plain = bisection(&text(""));
        assert_eq!((gbits(plain.random_pairs), plain.with_uplink), (11.9, None));
        assert_eq!(gbits(plain.most), 25.6);
        let up = bisection(&text(", uplink = \"u0\""));
        assert_eq!((gbits(up.random_pairs), up.with_uplink.map(gbits)), (11.9, Some(13.7)));
    }

    /// The slower of two NICs counts.
    #[test]
    fn rates_may_differ() {
        let found = bisection(
            "[fabric]\ntopology = { kind = \"fnn\", wiring = \"0: 0 1 2\" }\n\
             [[node]]\nname = \"n0\"\nnics = [{ name = \"eth0\", rate = \"100M\" }]\n\
             [[node]]\nname = \"n[1-2]\"\nnics = [{ name = \"eth0\", rate = \"1G\" }]\n",
        );
        // Three pairs of 100, 100 and 1000 Mbit/s each way, one and a half of them at once.
        assert!((found.random_pairs - 1.2e9).abs() < 1.0, "{found:?}");
        assert!((found.most - 2.1e9).abs() < 1.0, "{found:?}");
    }
}
