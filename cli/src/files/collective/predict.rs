//! Predicts how long a run of moving files takes in each shape in which nodes can pass data on:
//! ring, ring of rings, and tree (big-fat-switches, section 3).

use std::time::Duration;

use serde::Serialize;
use tresse_ring::shape::{Distribution, Time};
use tresse_ring::talk::PartRole;

use super::arguments::{RingArgs, ShapeArg};
use super::job::{Job, Moved};
use super::party::Party;

/// The latency of one stage: `tests/latency.sh` measures 92 to 132 us (big-fat-switches, section 6: 400 us).
const LATENCY: Duration = Duration::from_micros(120);

/// Returns the shape in which nodes pass data on (ring, ring of rings, or tree): the one that
/// `--shape` names. For `auto` it is the one with the shortest predicted time for files of these
/// sizes in bytes, or the ring if a size is unknown or one node sends or gets everything directly.
pub fn shape(
    ring: &RingArgs,
    party: &Party,
    job: &Job,
    sizes: &[Option<u64>],
    lives: impl Fn(usize) -> bool,
) -> Distribution {
    let all = shapes(job.nodes.len());
    match ring.shape {
        ShapeArg::Ring => return Distribution::Ring,
        ShapeArg::Rings => return all[1],
        ShapeArg::Tree => return Distribution::Tree,
        ShapeArg::Auto => {}
    }
    if job.hub.is_some() || sizes.iter().any(Option::is_none) {
        return Distribution::Ring;
    }
    let sizes: Vec<u64> = sizes.iter().flatten().copied().collect();
    let time = |shape: &Distribution| time(party, job, *shape, &sizes, &lives).total(LATENCY);
    all.into_iter().min_by_key(time).unwrap_or(Distribution::Ring)
}

/// Returns the shapes in which `members` nodes can pass data on: ring, ring of rings, tree, in this
/// order.
pub fn shapes(members: usize) -> [Distribution; 3] {
    [
        Distribution::Ring,
        Distribution::Rings((members as f64).sqrt().ceil() as usize),
        Distribution::Tree,
    ]
}

/// Returns the predicted time to move the files of a job, whose sizes are given in bytes, if the
/// nodes pass data on in this shape. Nodes for which `lives` is false are left out.
pub fn time(
    party: &Party,
    job: &Job,
    shape: Distribution,
    sizes: &[u64],
    lives: impl Fn(usize) -> bool,
) -> Time {
    let orders = party.orders();
    let flows = job.flows(&orders, shape, lives);
    let stripes = flows.len() / job.parts.len().max(1);
    let of = |stream: u32| sizes[stream as usize / stripes.max(1)] / stripes.max(1) as u64;
    Time::of(&party.plan, &job.nodes, &flows, of)
}

/// The predicted time of a copy for each shape in which nodes can pass data on (ring, ring of
/// rings, tree), and the shape that would be used.
#[derive(Debug, Serialize)]
pub struct Prediction {
    /// The shape that would be used.
    pub shape: &'static str,
    pub times: Vec<Predicted>,
    /// Latency of one stage, in seconds.
    pub latency: f64,
    /// From this size in bytes on, the ring is the fastest shape; `None` if it never is.
    #[serde(rename = "crossover_octets")]
    pub crossover_bytes: Option<u64>,
}

/// The predicted time of a copy if nodes pass data on in one shape (ring, ring of rings, or tree):
/// the time that the busiest link takes for its bytes, plus the latency of the longest chain of
/// nodes that pass data on.
#[derive(Debug, Serialize)]
pub struct Predicted {
    pub shape: &'static str,
    pub seconds: f64,
    pub link_seconds: f64,
    pub depth: usize,
}

impl RingArgs {
    /// Predicts the time to copy one part of this size in bytes from the first member to all others.
    pub fn predict(&self, party: &Party, bytes: u64) -> Prediction {
        let nodes = party.rings[0].nodes().to_vec();
        let place = |member| match member {
            0 => PartRole::Source { path: "/".into(), piece: None, copy: None },
            _ => PartRole::Target { path: "/".into(), input: false },
        };
        let parts = vec![Moved { from: 0, places: (0..nodes.len()).map(place).collect() }];
        let job = Job { nodes, parts, hub: None, input: false };
        let predicted = |shape: Distribution| {
            let time = time(party, &job, shape, &[bytes], |_| true);
            Predicted {
                shape: name(shape),
                seconds: time.total(LATENCY).as_secs_f64(),
                link_seconds: time.link.as_secs_f64(),
                depth: time.depth,
            }
        };
        Prediction {
            shape: name(shape(self, party, &job, &[Some(bytes)], |_| true)),
            times: shapes(job.nodes.len()).into_iter().map(predicted).collect(),
            latency: LATENCY.as_secs_f64(),
            crossover_bytes: crossover(party, &job),
        }
    }
}

const fn name(shape: Distribution) -> &'static str {
    match shape {
        Distribution::Ring => "ring",
        Distribution::Rings(_) => "rings",
        Distribution::Tree => "tree",
    }
}

/// The size of one part, in bytes, from which on the ring is faster than all other shapes.
fn crossover(party: &Party, job: &Job) -> Option<u64> {
    const GIGABYTE: u64 = 1_000_000_000;
    let sizes = vec![GIGABYTE; job.parts.len()];
    let all = shapes(job.nodes.len());
    let [ring, others @ ..] = all.map(|shape| time(party, job, shape, &sizes, |_| true));
    let mut most = 0.0;
    for other in others.iter().filter(|other| other.depth < ring.depth) {
        let gained = (ring.depth - other.depth) as f64 * LATENCY.as_secs_f64();
        let slower = (other.link.as_secs_f64() - ring.link.as_secs_f64()) / GIGABYTE as f64;
        most = f64::max(most, if slower > 0.0 { gained / slower } else { f64::INFINITY });
    }
    most.is_finite().then_some(most as u64)
}
