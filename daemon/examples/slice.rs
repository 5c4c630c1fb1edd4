//! Measures how long `tressed` takes to compute its part of a plan: from the text of a cluster file
//! to everything that it installs and stores, with nothing cached.
//!
//! `cargo run --release -p tressed --example slice -- FILE [NODE]`; default is the node in the
//! middle. Prints the median of 20 runs, as wall-clock and processor time.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use tressed::runtime::{Identity, prepare};

const TIMES: usize = 20;

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().context("which cluster file?")?;
    let text = std::fs::read_to_string(&file)?;
    let nodes = tresse_cluster::parse(&text, &file).map_err(|e| anyhow::anyhow!("{e}"))?.nodes;
    let node = arguments.next().unwrap_or_else(|| nodes[nodes.len() / 2].name.clone());
    let identity = Identity::Named(node.clone());
    let (mut wall, mut cpu) = (Vec::new(), Vec::new());
    let mut size = (0, 0);
    for _ in 0..TIMES {
        let (began, before) = (Instant::now(), processor()?);
        let prepared = prepare(&text, None, &identity)?;
        wall.push(began.elapsed());
        cpu.push(processor()?.saturating_sub(before));
        size = (prepared.wanted.routes.len(), prepared.interfaces.len());
    }
    wall.sort();
    cpu.sort();
    println!(
        "slice of {node} of {} nodes from the text of the file: {:.4} s wall, {:.4} s CPU; {} \
         routes, {} VLAN interfaces",
        nodes.len(),
        wall[TIMES / 2].as_secs_f64(),
        cpu[TIMES / 2].as_secs_f64(),
        size.0,
        size.1
    );
    Ok(())
}

/// Processor time of this thread, the only one: proc(5) `schedstat`, which is up to date after a
/// yield.
fn processor() -> anyhow::Result<Duration> {
    std::thread::yield_now();
    let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds = schedstat.split_whitespace().next().context("schedstat is empty")?;
    Ok(Duration::from_nanos(nanoseconds.parse()?))
}
