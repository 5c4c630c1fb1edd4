//! A model of the cost, latency and bandwidth of network architectures, from the P-Mesh paper (p-mesh,
//! section 3 and Tables 1 to 3). It covers the paper's architectures and further ones that Tresse supports.
//!
//! Costs are per node and exclude cables. Latency and bandwidth are those of a message between two
//! nodes: `L` and `B` over a direct cable. A switch adds the latency `Lsw` and reduces the
//! bandwidth by `Bsw`; a node that routes adds `Lr` and reduces the bandwidth by `Br`. Bisection is
//! the rated bandwidth of all links across the worst cut of the nodes into halves, divided by the
//! number of nodes.
//!
//! Without NICs, the paper gives `6 $NIC = $G-sw` as the price at which a tree and a P-Mesh cost
//! the same. That is a misprint: from the paper's own equation follows `6 $sw = $G-sw`, where `$sw`
//! is the price of a switch port and `$G-sw` that of an uplink port (see [`CostModel::break_even`]).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bound;

/// Prices of NICs and of hub and switch ports, all in one currency, and the numbers of ports of the
/// hubs and switches on sale. The default is Table 1 of the P-Mesh paper (spring 1998).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Prices {
    /// Price of a NIC.
    pub nic: f64,
    /// Price of a port of a hub.
    pub hub_port: f64,
    /// Price of a port of a switch.
    pub switch_port: f64,
    /// Price of a switch port with the faster rate of uplinks.
    pub uplink_port: f64,
    /// Largest number of ports of a hub.
    pub hub_ports: u32,
    /// Largest number of ports of a switch.
    pub switch_ports: u32,
    /// Number of ports of the switches that are cheapest per port. The tree, the clique, the torus of switches
    /// and the flat neighbourhood use them.
    pub small_switch_ports: u32,
    /// Number of ports of a switch for uplinks.
    pub uplink_switch_ports: u32,
}

/// Measured latencies in microseconds and bandwidths in MB/s: between two nodes on one cable, and
/// what a switch or a routing node adds to the one and takes from the other. The default is the
/// test bed of the P-Mesh paper.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Measurements {
    /// `L`: latency of two nodes on one cable.
    pub latency: f64,
    /// `B`: bandwidth of two nodes on one cable.
    pub bandwidth: f64,
    /// `L+sw`: latency that a switch adds.
    pub switch_latency: f64,
    /// `B-sw`: bandwidth lost at a switch.
    pub switch_bandwidth: f64,
    /// `L+r`: latency that a routing node adds.
    pub router_latency: f64,
    /// `B-r`: bandwidth lost at a routing node.
    pub router_bandwidth: f64,
    /// Rated bandwidth of a link.
    pub rated: f64,
    /// Bandwidth of a switch's internal fabric per 16 ports.
    pub fabric_per_16_ports: f64,
}

/// The cost model: the prices and measurements from which the cost, latency and bandwidth of each
/// network architecture are computed.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CostModel {
    /// The prices.
    pub prices: Prices,
    /// The measurements.
    pub measured: Measurements,
}

/// The figures of one network architecture (hub, switch, tree, P-Mesh, ...) for one number of
/// nodes: cost per node, latency, bandwidth, bisection bandwidth, and the failures that it
/// survives.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Row {
    /// Name of the architecture.
    pub architecture: &'static str,
    /// Largest number of nodes; null if there is no limit.
    pub max_nodes: Option<u64>,
    /// Whether it supports the requested number of nodes.
    pub possible: bool,
    /// Price per node.
    pub cost: f64,
    /// Between the nearest nodes.
    pub best_latency: f64,
    /// Between the farthest nodes.
    pub worst_latency: f64,
    /// Between the nearest nodes.
    pub best_bandwidth: f64,
    /// Bandwidth between the farthest nodes; 0 if the model leaves none.
    pub worst_bandwidth: f64,
    /// Bisection bandwidth per node, over the worst cut.
    pub bisection: f64,
    /// The components any one of which may fail while all other nodes still reach each other.
    pub survives: &'static str,
}

/// The price of an uplink port (a faster switch port) at which a tree of switches costs as much as
/// a P-Mesh (nodes in a grid, with switches for its rows and columns). At higher prices the P-Mesh
/// is cheaper.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct BreakEven {
    /// The price if NICs are counted.
    pub with_nics: f64,
    /// The price if NICs are not counted.
    pub without_nics: f64,
}

impl Default for Prices {
    fn default() -> Self {
        Self {
            nic: 30.0,
            hub_port: 50.0,
            switch_port: 150.0,
            uplink_port: 2500.0,
            hub_ports: 100,
            switch_ports: 100,
            small_switch_ports: 24,
            uplink_switch_ports: 32,
        }
    }
}

impl Default for Measurements {
    fn default() -> Self {
        Self {
            latency: 175.0,
            bandwidth: 8.5,
            switch_latency: 5.0,
            switch_bandwidth: 0.5,
            router_latency: 40.0,
            router_bandwidth: 1.5,
            rated: 12.5,
            fabric_per_16_ports: 150.0,
        }
    }
}

impl CostModel {
    /// Evaluates every architecture at `nodes` nodes: the paper's in its order, then the further ones.
    #[must_use]
    pub fn rows(&self, nodes: u64) -> Vec<Row> {
        let p = &self.prices;
        let n = nodes as f64;
        let side = n.sqrt().ceil();
        let (rated, switched) = (self.measured.rated, self.switched());
        let small = f64::from(p.small_switch_ports);
        let [hub, switch] = [p.hub_ports, p.switch_ports].map(u64::from);
        let mut rows = vec![
            self.row("direct", Some(2), p.nic, [[0.0; 2], [0.0; 2]], rated, "nothing"),
            self.row(
                "hub",
                Some(hub),
                p.nic + p.hub_port,
                [[0.0; 2], [0.0; 2]],
                2.0 * rated / n,
                "nothing",
            ),
            self.row(
                "fully connected",
                None,
                (n - 1.0) * p.nic,
                [[0.0; 2], [0.0; 2]],
                rated * n / 4.0,
                "any cable or NIC",
            ),
            self.row(
                "switch",
                Some(switch),
                p.nic + p.switch_port,
                [[1.0; 2], [0.0; 2]],
                switched,
                "nothing",
            ),
            self.row(
                "torus",
                None,
                4.0 * p.nic,
                [[0.0; 2], [0.0, side - 1.0]],
                rated,
                "any cable, NIC or node",
            ),
            self.tree(),
            self.row(
                "p-mesh",
                Some(switch * switch),
                2.0 * (p.nic + p.switch_port),
                [[1.0, 2.0], [0.0, 1.0]],
                switched,
                "any switch, cable, NIC or node",
            ),
            self.flat(nodes),
            // Half of the ports to nodes (big-fat-switches, section 4 and Theorem 2).
            self.row(
                "clique",
                Some(u64::from(p.small_switch_ports * (p.small_switch_ports + 2) / 4)),
                p.nic + 2.0 * p.switch_port,
                [[1.0, 2.0], [0.0; 2]],
                rated * clique_cut(small),
                "any cable between switches",
            ),
            self.vlan_torus(nodes),
        ];
        for row in &mut rows {
            row.possible = row.max_nodes.is_none_or(|most| nodes <= most);
        }
        rows
    }

    /// Returns the price of an uplink port above which a P-Mesh is cheaper than a tree:
    /// `$NIC + $sw + 4/24 $G-sw = 2 ($NIC + $sw)`.
    #[must_use]
    pub fn break_even(&self) -> BreakEven {
        let ratio = f64::from(self.prices.small_switch_ports) / 4.0;
        BreakEven {
            with_nics: ratio * (self.prices.nic + self.prices.switch_port),
            without_nics: ratio * self.prices.switch_port,
        }
    }

    /// Returns the bandwidth of a node through a switch whose internal fabric all ports share.
    fn switched(&self) -> f64 {
        self.measured.rated.min(self.measured.fabric_per_16_ports / 16.0)
    }

    /// Returns `[switches, routers]` on the path between the nearest and between the farthest nodes.
    fn row(
        &self,
        architecture: &'static str,
        max_nodes: Option<u64>,
        cost: f64,
        [switches, routers]: [[f64; 2]; 2],
        bisection: f64,
        survives: &'static str,
    ) -> Row {
        let m = &self.measured;
        let latency =
            |i: usize| m.latency + switches[i] * m.switch_latency + routers[i] * m.router_latency;
        let bandwidth = |i: usize| {
            (m.bandwidth - switches[i] * m.switch_bandwidth - routers[i] * m.router_bandwidth)
                .max(0.0)
        };
        Row {
            architecture,
            max_nodes,
            possible: true,
            cost,
            best_latency: latency(0),
            worst_latency: latency(1),
            best_bandwidth: bandwidth(0),
            worst_bandwidth: bandwidth(1),
            bisection,
            survives,
        }
    }

    /// Two levels (Table 2, note a): every switch has two uplinks of ten times the rate, which take
    /// four uplink ports; as many switches as one of the upper level has ports.
    fn tree(&self) -> Row {
        let p = &self.prices;
        let ports = f64::from(p.small_switch_ports);
        let cost = p.nic + p.switch_port + 4.0 / ports * p.uplink_port;
        let most = u64::from(p.small_switch_ports * p.uplink_switch_ports);
        let bisection = self.measured.rated * (2.0 * 10.0 / ports).min(1.0);
        self.row("tree", Some(most), cost, [[3.0; 2], [0.0; 2]], bisection, "nothing")
    }

    /// The flat neighbourhood with the smallest number of NICs with which all pairs share a switch of the cheapest
    /// size. It counts only the ports that it needs.
    fn flat(&self, nodes: u64) -> Row {
        let p = &self.prices;
        let width = u64::from(p.small_switch_ports);
        let nics = (1..=MOST_NICS).find(|k| nodes <= holds(*k, width));
        let most = holds(MOST_NICS, width);
        let k = nics.unwrap_or(MOST_NICS) as f64;
        // Every switch full: its pairs over all pairs, rated once for each link (section 4.1).
        let (n, width) = (nodes as f64, width as f64);
        let links = if n > 1.0 { (k * (width.min(n) - 1.0) / (n - 1.0)).max(1.0) } else { 1.0 };
        let cost = k * (p.nic + p.switch_port);
        // With one NIC each it is a single switch.
        let survives = if k > 1.0 { "any switch, by nodes in transit" } else { "nothing" };
        self.row(
            "flat neighbourhood",
            Some(most),
            cost,
            [[1.0; 2], [0.0; 2]],
            links * self.switched(),
            survives,
        )
    }

    /// A square torus of switches: four ports of each lead to its neighbours, the others to nodes.
    fn vlan_torus(&self, nodes: u64) -> Row {
        let p = &self.prices;
        let ports = f64::from(p.small_switch_ports);
        let each = (ports - 4.0).max(1.0).min(nodes as f64);
        let side = (nodes as f64 / each).sqrt().ceil().max(1.0);
        let hops = 2.0 * (side / 2.0).floor() + 1.0;
        let cost = p.nic + p.switch_port * ports / each;
        // Two rings' worth of cables across the cut, both ways.
        let cut =
            if side > 1.0 { 4.0 * side * self.measured.rated / nodes as f64 } else { f64::MAX };
        let bisection = cut.min(self.switched());
        self.row(
            "vlan torus",
            None,
            cost,
            [[1.0, hops], [0.0; 2]],
            bisection,
            if side > 1.0 { "any cable between switches" } else { "nothing" },
        )
    }
}

/// Links between two halves of a clique of switches, for each of half of the nodes: big-fat-switches, section 4. Half of the
/// ports lead to nodes; Theorem 2 has the limit, a half.
fn clique_cut(ports: f64) -> f64 {
    let switches = ports / 2.0 + 1.0;
    let links = (switches / 2.0).floor() * (switches / 2.0).ceil();
    links / (switches * ports / 4.0)
}

/// Returns the number of PCs of a universal flat neighbourhood built from planes and similar designs.
fn holds(nics: u64, width: u64) -> u64 {
    match nics {
        0 => 0,
        1 => width,
        2 => width * 3 / 2,
        // Without a plane of order 6: bound B3 of docs/references.md, "B1 to B7".
        7 => width * 6,
        _ => (width * (nics - 1)).min(bound::griesmer(nics - 1, width)).max(width * (nics - 1)),
    }
}

const MOST_NICS: u64 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    /// Table 3, cell by cell: cost, latency, bandwidth best and worst, bisection of 16 nodes.
    #[test]
    fn table_3_of_the_paper() {
        let rows = CostModel::default().rows(16);
        let cells: Vec<_> = rows
            .iter()
            .map(|r| {
                let round =
                    |x: f64, digits: i32| (x * 10f64.powi(digits)).round() / 10f64.powi(digits);
                (
                    r.architecture,
                    round(r.cost, 0),
                    (r.best_latency, r.worst_latency),
                    (r.best_bandwidth, r.worst_bandwidth),
                    round(r.bisection, 1),
                )
            })
            .collect();
        for cell in [
            ("direct", 30.0, (175.0, 175.0), (8.5, 8.5), 12.5),
            ("hub", 80.0, (175.0, 175.0), (8.5, 8.5), 1.6),
            ("switch", 180.0, (180.0, 180.0), (8.0, 8.0), 9.4),
            ("torus", 120.0, (175.0, 295.0), (8.5, 4.0), 12.5),
            ("tree", 597.0, (190.0, 190.0), (7.0, 7.0), 10.4),
            // 225 predicted, 230 measured.
            ("p-mesh", 360.0, (180.0, 225.0), (8.0, 6.0), 9.4),
        ] {
            assert!(cells.contains(&cell), "{cell:?}\n{cells:?}");
        }
    }

    /// Table 2: sizes, and the cost of the fully connected.
    #[test]
    fn table_2_of_the_paper() {
        let rows = CostModel::default().rows(16);
        let most = |name: &str| rows.iter().find(|r| r.architecture == name).map(|r| r.max_nodes);
        assert_eq!(most("direct"), Some(Some(2)));
        assert_eq!(most("hub"), Some(Some(100)));
        assert_eq!(most("fully connected"), Some(None));
        assert_eq!(most("switch"), Some(Some(100)));
        assert_eq!(most("torus"), Some(None));
        assert_eq!(most("tree"), Some(Some(768)));
        assert_eq!(most("p-mesh"), Some(Some(10_000)));
        let full = rows.iter().find(|r| r.architecture == "fully connected").unwrap();
        assert_eq!((full.cost, full.bisection), (450.0, 50.0));
        let even = CostModel::default().break_even();
        assert_eq!((even.with_nics, even.without_nics), (1080.0, 900.0));
    }

    /// 24-port switches: 13 of them, 156 nodes, 42 links each way across the cut.
    #[test]
    fn a_clique_ends_where_its_ports_do() {
        let rows = CostModel::default().rows(168);
        let clique = rows.iter().find(|r| r.architecture == "clique").unwrap();
        assert_eq!((clique.max_nodes, clique.possible), (Some(156), false));
        assert!((clique.bisection - 12.5 * 42.0 / 78.0).abs() < 1e-9, "{}", clique.bisection);
        // 8 and 6 ports: 5 and 4 switches.
        assert!((clique_cut(8.0) - 0.6).abs() < 1e-9 && (clique_cut(6.0) - 4.0 / 6.0).abs() < 1e-9);
    }

    /// Where all nodes are on a single switch, nothing survives its loss, nor are there cables between switches.
    #[test]
    fn a_single_switch_survives_nothing() {
        let survives = |nodes: u64, name: &str| {
            let rows = CostModel::default().rows(nodes);
            rows.iter().find(|row| row.architecture == name).unwrap().survives
        };
        for name in ["switch", "flat neighbourhood", "vlan torus"] {
            assert_eq!(survives(16, name), "nothing", "{name}");
        }
        assert_eq!(survives(30, "flat neighbourhood"), "any switch, by nodes in transit");
        assert_eq!(survives(30, "vlan torus"), "any cable between switches");
    }
}
