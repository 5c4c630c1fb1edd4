//! How busy this machine is. All nodes of a lab share it, so that they take longer where much else runs.

use std::thread::available_parallelism;

/// Tasks that want to run now, for each processor; at least 1.
#[must_use]
pub fn tasks_per_processor() -> f64 {
    let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let running = text.lines().find_map(|line| line.strip_prefix("procs_running "));
    let running: f64 = running.and_then(|n| n.trim().parse().ok()).unwrap_or(1.0);
    let processors = available_parallelism().map_or(1, usize::from);
    (running / processors as f64).max(1.0)
}
