//! Exports for MPI programs that preload nothing: hosts in the order of a ring of the plan, and rules by which Open MPI
//! uses its own ring algorithms for large collectives. Ranks then send to neighbours of the fabric alone
//! (big-fat-switches-ring-clique-reflector, section 3).

use std::iter::successors;

use tresse_base::id::NodeId;
use tresse_plan::Plan;
use tresse_ring::order::{RingOrder, filling};

use super::{ExportFile, hosts};

/// Fabrics with more nodes have them in the order of neighbours, which is no ring everywhere.
const RING_MOST: usize = 1024;

/// Nodes in the order of a ring.
fn order(plan: &Plan) -> Vec<NodeId> {
    // Finding a ring takes the square of the number of nodes.
    let near = hosts::order(plan);
    if near.len() > RING_MOST { near } else { RingOrder::of(plan, &near).nodes().to_vec() }
}

/// One host per line, each a neighbour of the next on a ring; both Open MPI and MPICH read it.
pub(super) fn hostfile(plan: &Plan) -> Vec<ExportFile> {
    let cluster = plan.cluster();
    let mut out = String::new();
    line!(
        out,
        "# Fabric {}, generation {}: in the order of a ring, where each",
        cluster.name,
        plan.generation()
    );
    line!(out, "# sends to the next. Cores per node: append slots=N (Open MPI), :N (MPICH).");
    line!(out, "# Open MPI: --mca btl_tcp_if_include tresse0");
    for id in order(plan) {
        line!(out, "{}", cluster.node(id).name);
    }
    vec![ExportFile { name: "hostfile".into(), text: out }]
}

/// A collective of Open MPI's component `tuned`.
struct Rule {
    name: &'static str,
    /// `COLLTYPE` in coll_base_functions.h.
    number: u32,
    /// The algorithm for many bytes, and its name.
    algorithm: (u32, &'static str),
    /// Bytes of a segment; 0: it is not divided. Less than what TCP sends without asking the receiver first (64 KiB).
    segment: u32,
    /// From so many bytes on, in quarters of what fills a ring.
    quarters: u64,
}

impl Rule {
    const fn ring(name: &'static str, number: u32, algorithm: u32) -> Self {
        Self { name, number, algorithm: (algorithm, "ring"), segment: 0, quarters: 4 }
    }
}

const RULES: [Rule; 5] = [
    Rule::ring("allgather", 0, 4),
    Rule::ring("allgatherv", 1, 3),
    Rule::ring("allreduce", 2, 4),
    Rule { name: "bcast", number: 7, algorithm: (3, "pipeline"), segment: 32 << 10, quarters: 2 },
    Rule::ring("reduce_scatter", 12, 3),
];

/// Fewer bytes never go round a ring. Not measured: where these algorithms begin to pay.
const LEAST: u64 = 64 << 10;
/// Fewer ranks have no ring.
const RANKS_LEAST: u64 = 4;
/// Rules are made for so many ranks on each node; more are treated as these.
const RANKS_A_NODE: u64 = 16;

/// The rules file of Open MPI's component `tuned`, for communicators of any size.
pub(super) fn openmpi_rules(plan: &Plan) -> Vec<ExportFile> {
    let cluster = plan.cluster();
    let most = RANKS_A_NODE * cluster.nodes.len() as u64;
    let order = order(plan);
    let sizes: Vec<(u64, u64)> = successors(Some(RANKS_LEAST), |size| Some(2 * size))
        .take_while(|size| *size <= most.max(RANKS_LEAST))
        .map(|ranks| (ranks, filling(plan, &order, ranks as usize)))
        .collect();
    let mut out = String::new();
    line!(
        out,
        "# Fabric {}, generation {}: Open MPI, with hosts as `tresse export FILE hostfile` lists them",
        cluster.name,
        plan.generation()
    );
    line!(
        out,
        "# and ranks by slot. OMPI_MCA_coll_tuned_use_dynamic_rules=1, and the path of this file in"
    );
    line!(out, "# OMPI_MCA_coll_tuned_dynamic_rules_filename. 0: as Open MPI itself decides.");
    line!(out, "{} # collectives", RULES.len());
    for rule in &RULES {
        line!(out, "{} # {}", rule.number, rule.name);
        line!(out, "{} # sizes of communicators", sizes.len());
        for (ranks, filling) in &sizes {
            line!(out, "{ranks} # ranks or more");
            line!(out, "2 # sizes in bytes: from, algorithm, fan-out, segments");
            line!(out, "0 0 0 0");
            let from = LEAST.max(filling * rule.quarters / 4);
            let (algorithm, words) = rule.algorithm;
            line!(out, "{from} {algorithm} 0 {} # {words}", rule.segment);
        }
    }
    vec![ExportFile { name: "openmpi-rules".into(), text: out }]
}

#[cfg(test)]
mod tests {
    use super::*;
    use tresse_topology::cluster::{Cluster, Strategy, TopologyShape};

    fn planned(kind: TopologyShape) -> Plan {
        Plan::build(Cluster::generated(kind, 1, 1, Strategy::Xy, 1)).unwrap()
    }

    #[test]
    fn each_host_is_a_neighbour_of_the_next() {
        let plan = planned(TopologyShape::Ring { nodes: 8 });
        let text = hostfile(&plan).remove(0).text;
        let hosts: Vec<i32> =
            text.lines().filter_map(|line| line.strip_prefix('n')?.parse().ok()).collect();
        assert_eq!(hosts.len(), 8);
        for (at, host) in hosts.iter().enumerate() {
            let apart = (host - hosts[(at + 1) % 8]).rem_euclid(8);
            assert!([1, 7].contains(&apart), "{hosts:?}");
        }
    }

    /// Open MPI reads numbers, and passes over what is behind `#` in a line.
    #[test]
    fn rules_are_as_many_numbers_as_they_say() {
        let text = openmpi_rules(&planned(TopologyShape::Ring { nodes: 5 })).remove(0).text;
        let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
        let mut numbers =
            lines.flat_map(str::split_whitespace).map(|word| word.parse::<u64>().unwrap());
        let mut next = || numbers.next().unwrap();
        for _ in 0..next() {
            assert!(next() <= 21, "a collective");
            let sizes = next();
            let mut before = 0;
            for _ in 0..sizes {
                let ranks = next();
                assert!(ranks > before);
                before = ranks;
                assert_eq!([next(), next(), next(), next(), next()], [2, 0, 0, 0, 0]);
                let [from, algorithm] = [next(), next()];
                assert!(from >= 65_536 && algorithm > 0);
                assert_eq!(next(), 0);
                next();
            }
        }
        assert_eq!(numbers.next(), None);
    }
}
