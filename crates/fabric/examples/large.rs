//! Plans and verifies a torus and prints CPU and wall time: `large 16 16 16`.

use tresse_fabric::cluster::{Cluster, Kind, Strategy};
use tresse_fabric::id::NodeId;
use tresse_fabric::plan::Plan;
use tresse_fabric::verify;

#[expect(clippy::disallowed_methods, reason = "a benchmark needs a clock")]
fn main() {
    let dims: Vec<u32> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    let cluster = Cluster::generated(Kind::Torus { dims }, 1, 1, Strategy::Dor, 1);
    let start = std::time::Instant::now();
    let plan = Plan::build(cluster.clone()).expect("a torus plans");
    let planned = start.elapsed();
    let report = verify::check(&plan);
    let verified = start.elapsed();
    println!(
        "{} switches, {} VLANs, {} pairs, load {}, deadlock-free {}",
        plan.cluster().switches.len(),
        report.vlans,
        report.pairs,
        report.max_link_load,
        report.deadlock_free
    );
    println!("plan {planned:?}, plan and verify {verified:?} (wall)");
    let start = std::time::Instant::now();
    let plan = Plan::build(cluster).expect("a torus plans");
    let slice = plan.slice(NodeId(0));
    println!(
        "one slice, plan included: {:?} ({} routes)",
        start.elapsed(),
        slice.wanted.routes.len()
    );
}
