//! The rings of a communicator: those that the plan has for its nodes, with the ranks of each node one after the other.

use std::collections::BTreeMap;
use std::fs;
use std::net::{IpAddr, Ipv6Addr};
use std::path::Path;

use tresse_base::id::NodeId;
use tresse_base::installed::CLUSTER_FILE;
use tresse_control::{Client, PlanFiles};
use tresse_plan::Plan;
use tresse_plan::lock::Lock;
use tresse_ring::order::{RingOrder, filling};

/// The rings of ranks, and where each rank can be reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rings {
    /// All ranks in the order of each ring. No two rings share a directed link.
    pub rings: Vec<Vec<u32>>,
    /// By rank: the address of its node.
    pub addresses: Vec<IpAddr>,
    /// Bytes that fill a ring ([`filling`]).
    pub filling: u64,
}

impl Rings {
    /// As many rings of as many ranks, to be filled.
    #[must_use]
    pub fn empty(rings: usize, ranks: usize, filling: u64) -> Self {
        let addresses = vec![IpAddr::V6(Ipv6Addr::UNSPECIFIED); ranks];
        Self { rings: vec![vec![0; ranks]; rings], addresses, filling }
    }

    /// The addresses as IPv6 ones, those of IPv4 mapped (RFC 4291, section 2.5.5.2).
    #[must_use]
    pub fn octets(&self) -> Vec<[u8; 16]> {
        let octets = |address: &IpAddr| match address {
            IpAddr::V4(four) => four.to_ipv6_mapped().octets(),
            IpAddr::V6(six) => six.octets(),
        };
        self.addresses.iter().map(octets).collect()
    }

    /// Sets the addresses by what [`octets`](Self::octets) has returned.
    pub fn set_octets(&mut self, octets: &[[u8; 16]]) {
        let address = |octets: &[u8; 16]| IpAddr::V6(Ipv6Addr::from(*octets)).to_canonical();
        self.addresses = octets.iter().map(address).collect();
    }
}

/// The plan that the daemons have in force: of the files that the one at `socket` was given, or of `file` and the lock beside
/// it.
///
/// # Errors
/// There are no such files, they cannot be read or planned, or they give another generation than the daemons have.
pub fn plan(file: Option<&Path>, socket: &Path, generation: &str) -> Result<Plan, String> {
    let Texts { name, cluster, lock } = match file {
        Some(file) => Texts::of_file(file)?,
        None => Texts::in_force(socket)?,
    };
    let cluster = tresse_cluster::parse(&cluster, &name)
        .map_err(|_| format!("`tresse check {name}` says what is wrong with it"))?;
    let lock = lock.map_or(Ok(Lock::default()), |lock| Lock::parse(&lock));
    let lock = lock.map_err(|e| format!("the lock of {name}: {e}"))?;
    let plan = Plan::build_with(cluster, &lock).map_err(|e| format!("{name}: {e}"))?;
    if plan.generation() != generation {
        return Err(format!(
            "{name} gives plan {}, and the daemons had {generation} when the job began",
            plan.generation()
        ));
    }
    Ok(plan)
}

/// The texts of which a plan is made.
struct Texts {
    /// What messages call the cluster file.
    name: String,
    cluster: String,
    lock: Option<String>,
}

impl Texts {
    fn of_file(file: &Path) -> Result<Self, String> {
        let read =
            |path: &Path| fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()));
        let beside = |wiring: &str| read(&file.with_file_name(wiring));
        let cluster = tresse_cluster::with_wiring(read(file)?, beside)?;
        let lock = file.with_file_name("tresse.lock");
        let lock = if lock.exists() { Some(read(&lock)?) } else { None };
        Ok(Self { name: file.display().to_string(), cluster, lock })
    }

    /// A daemon of an older release does not give its files: then those are taken that it was configured with.
    fn in_force(socket: &Path) -> Result<Self, String> {
        match Client::connect(socket).and_then(|mut client| client.plan()) {
            Ok(PlanFiles { cluster: Some(cluster), lock, .. }) => {
                Ok(Self { name: "the plan in force".into(), cluster, lock })
            }
            _ => Self::of_file(Path::new(CLUSTER_FILE)),
        }
    }
}

/// The rings of ranks on these nodes, by name.
///
/// # Errors
/// A node that the plan lacks.
pub fn rings(plan: &Plan, nodes: &[String]) -> Result<Rings, String> {
    let named: BTreeMap<&str, NodeId> =
        (0..).zip(&plan.cluster().nodes).map(|(k, node)| (node.name.as_str(), NodeId(k))).collect();
    let mut ranks: BTreeMap<NodeId, Vec<u32>> = BTreeMap::new();
    let mut addresses = Vec::with_capacity(nodes.len());
    for (rank, name) in (0..).zip(nodes) {
        let node = *named
            .get(name.as_str())
            .ok_or_else(|| format!("rank {rank} is on node {name}, which the plan lacks"))?;
        let address = plan.addresses().node[node.index()].first();
        addresses.push(*address.ok_or_else(|| format!("node {name} has no address"))?);
        ranks.entry(node).or_default().push(rank);
    }
    let members: Vec<NodeId> = ranks.keys().copied().collect();
    let orders = RingOrder::disjoint(plan, &members);
    // Two rings of nodes in opposite directions are so for their ranks too.
    let of_ranks = |(ring, order): (usize, &RingOrder)| {
        let own = |node: &NodeId| {
            let mut own = ranks[node].clone();
            if ring % 2 == 1 {
                own.reverse();
            }
            own
        };
        order.nodes().iter().flat_map(own).collect()
    };
    let filling = filling(plan, orders[0].nodes(), nodes.len());
    Ok(Rings { rings: orders.iter().enumerate().map(of_ranks).collect(), addresses, filling })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::Order;

    fn planned(topology: &str) -> Plan {
        let text = format!("[fabric]\ntopology = {{ {topology} }}\n");
        Plan::build(tresse_cluster::parse(&text, "x").unwrap()).unwrap()
    }

    #[test]
    fn ranks_of_a_node_follow_each_other_in_any_placement() {
        let plan = planned("kind = \"ring\", nodes = 4");
        let nodes = |all: [u32; 8]| all.map(|k| format!("n{k}")).to_vec();
        for placement in [[0, 0, 1, 1, 2, 2, 3, 3], [2, 0, 3, 1, 2, 0, 3, 1]] {
            let rings = rings(&plan, &nodes(placement)).unwrap();
            assert_eq!(rings.rings.len(), 2);
            // Eight ranks, cables of 1 Gbit/s.
            assert_eq!(rings.filling, 50_000);
            for ring in &rings.rings {
                let mut sorted = ring.clone();
                sorted.sort_unstable();
                assert_eq!(sorted, (0..8).collect::<Vec<u32>>());
                // Neighbours are on one node, or on neighbours of the ring of four.
                for (at, rank) in ring.iter().enumerate() {
                    let next = placement[ring[(at + 1) % 8] as usize];
                    let apart = (placement[*rank as usize] + 4 - next) % 4;
                    assert!([0, 1, 3].contains(&apart), "{ring:?}");
                }
            }
            let [there, back] = [0, 1].map(|k| Order::new(rings.rings[k].clone(), 0));
            assert!(there.is_opposite(&back));
        }
    }

    #[test]
    fn nodes_that_the_plan_lacks_are_named() {
        let plan = planned("kind = \"ring\", nodes = 4");
        let error = rings(&plan, &["n0".to_owned(), "n9".to_owned()]).unwrap_err();
        assert_eq!(error, "rank 1 is on node n9, which the plan lacks");
    }
}
