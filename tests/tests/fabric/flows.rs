//! TCP flows between nodes, by `iperf3`; judged by what the receivers' kernels have received in order.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tresse_base::id::NodeId;
use tresse_tests::pace::Deadline;

use super::lab::{Lab, eventually};

/// Flows that are under way, from each source to its destination; dropped, they end.
pub struct Flows<'a> {
    lab: &'a Lab,
    pairs: &'a [(NodeId, NodeId)],
    port: u16,
    programs: Vec<Child>,
}

/// iperf3's own.
const PORT: u16 = 5201;

impl<'a> Flows<'a> {
    /// So many of each pair; each destination belongs to one pair.
    pub fn start(lab: &'a Lab, pairs: &'a [(NodeId, NodeId)], each: u32) -> Self {
        Self::run_all(lab, pairs, each, PORT, None)
    }

    /// The same to another port, for flows beside others to the same node.
    pub fn start_to(lab: &'a Lab, pairs: &'a [(NodeId, NodeId)], each: u32, port: u16) -> Self {
        Self::run_all(lab, pairs, each, port, None)
    }

    /// One flow of each pair, which wants no more than so many bits of payload per second.
    pub fn paced(lab: &'a Lab, pairs: &'a [(NodeId, NodeId)], rate: f64, port: u16) -> Self {
        Self::run_all(lab, pairs, 1, port, Some(rate))
    }

    fn run_all(
        lab: &'a Lab,
        pairs: &'a [(NodeId, NodeId)],
        each: u32,
        port: u16,
        rate: Option<f64>,
    ) -> Self {
        let mut flows = Self { lab, pairs, port, programs: Vec::new() };
        let port = port.to_string();
        for (_, dst) in pairs {
            flows.run(*dst, &["-s", "-1", "-p", &port]);
        }
        for (_, dst) in pairs {
            eventually("iperf3 listens", 20, || {
                let listening = lab.run(lab.now.node(*dst), &format!("ss -Hltn sport = :{port}"));
                if listening.trim().is_empty() { Err("nobody listens") } else { Ok(()) }
            });
        }
        for (src, dst) in pairs {
            let to = lab.address(*dst).to_string();
            let (each, rate) = (each.to_string(), rate.map(|rate| format!("{rate:.0}")));
            let mut args = vec!["-c", &to, "-p", &port, "-P", &each, "-t", "900"];
            args.extend(rate.iter().flat_map(|rate| ["-b", rate]));
            flows.run(*src, &args);
        }
        flows
    }

    /// What arrives in all while the window lasts, in bits of payload per second: from when `least` bytes
    /// of each pair have arrived, for who comes late on a slow machine would leave the links to others.
    pub fn rate(&self, least: u64, window: Duration) -> f64 {
        let arrived = || self.pairs.iter().map(|(_, dst)| self.arrived(*dst));
        eventually("all pairs send", 60, || {
            if arrived().all(|bytes| bytes > least) {
                Ok(())
            } else {
                Err(arrived().collect::<Vec<_>>())
            }
        });
        // Asking takes a while on a busy machine: what is said is of the middle of it.
        let look = || {
            let begin = Instant::now();
            let bytes = arrived().sum::<u64>();
            (begin + begin.elapsed() / 2, bytes)
        };
        let (begin, before) = look();
        std::thread::sleep(window);
        let (end, after) = look();
        (after - before) as f64 * 8.0 / (end - begin).as_secs_f64()
    }

    /// The best of three windows, or of more on a slow or busy machine; ends with the first that reaches `wanted`. Other work
    /// on the machine lowers what arrives, and never raises it.
    pub fn best(&self, least: u64, window: Duration, wanted: f64) -> f64 {
        let mut best = 0.0;
        let mut limit = Deadline::after(3 * window);
        for windows in 0.. {
            let over = limit.is_over();
            if best >= wanted || windows >= 3 && over {
                break;
            }
            best = self.rate(least, window).max(best);
        }
        best
    }

    fn run(&mut self, node: NodeId, args: &[&str]) {
        self.programs.push(self.lab.inside(self.lab.now.node(node), || {
            let mut command = Command::new("iperf3");
            command.args(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        }));
    }

    /// Bytes of payload since the start.
    fn arrived(&self, node: NodeId) -> u64 {
        let sockets =
            self.lab.run(self.lab.now.node(node), &format!("ss -Htni sport = :{}", self.port));
        let words = sockets.split_whitespace();
        let bytes = words.filter_map(|word| word.strip_prefix("bytes_received:"));
        bytes.map(|bytes| bytes.parse::<u64>().unwrap()).sum()
    }
}

impl Drop for Flows<'_> {
    fn drop(&mut self) {
        for program in &mut self.programs {
            let _ = program.kill();
            let _ = program.wait();
        }
    }
}
