//! How long a run would take, by its shape (big-fat-switches, section 3).

use std::time::Duration;

use serde::Serialize;
use tresse_ring::shape::{Shape, Time};
use tresse_ring::talk::Part;

use super::arguments::{RingArgs, ShapeArg};
use super::job::{Job, Moved};
use super::party::Party;

/// What a stage adds to the time: `tests/latency.sh` has 92 to 132 us (big-fat-switches, section 6, has 400 us).
const LATENCY: Duration = Duration::from_micros(120);

/// The shape that is asked for, or the fastest for so many octets of each part; the ring where these are not known.
pub fn shape(
    ring: &RingArgs,
    party: &Party,
    job: &Job,
    octets: &[Option<u64>],
    lives: impl Fn(usize) -> bool,
) -> Shape {
    let all = shapes(job.nodes.len());
    match ring.shape {
        ShapeArg::Ring => return Shape::Ring,
        ShapeArg::Rings => return all[1],
        ShapeArg::Tree => return Shape::Tree,
        ShapeArg::Auto => {}
    }
    if job.hub.is_some() || octets.iter().any(Option::is_none) {
        return Shape::Ring;
    }
    let octets: Vec<u64> = octets.iter().flatten().copied().collect();
    let time = |shape: &Shape| time(party, job, *shape, &octets, &lives).total(LATENCY);
    all.into_iter().min_by_key(time).unwrap_or(Shape::Ring)
}

/// Those there are, the ring first.
pub fn shapes(members: usize) -> [Shape; 3] {
    [Shape::Ring, Shape::Rings((members as f64).sqrt().ceil() as usize), Shape::Tree]
}

/// What so many octets of each part take.
pub fn time(
    party: &Party,
    job: &Job,
    shape: Shape,
    octets: &[u64],
    lives: impl Fn(usize) -> bool,
) -> Time {
    let orders = party.orders();
    let flows = job.flows(&orders, shape, lives);
    let stripes = flows.len() / job.parts.len().max(1);
    let of = |stream: u32| octets[stream as usize / stripes.max(1)] / stripes.max(1) as u64;
    Time::of(&party.plan, &job.nodes, &flows, of)
}

/// What a copy of so many octets would take.
#[derive(Debug, Serialize)]
pub struct Prediction {
    /// The one that would be taken.
    pub shape: &'static str,
    pub times: Vec<Predicted>,
    /// What a stage adds, in seconds.
    pub latency: f64,
    /// From so many octets on the ring is fastest; null: never.
    pub crossover_octets: Option<u64>,
}

/// X / L, and N d.
#[derive(Debug, Serialize)]
pub struct Predicted {
    pub shape: &'static str,
    pub seconds: f64,
    pub link_seconds: f64,
    pub depth: usize,
}

impl RingArgs {
    /// Of one part of the first member.
    pub fn predict(&self, party: &Party, octets: u64) -> Prediction {
        let nodes = party.rings[0].nodes().to_vec();
        let place = |member| match member {
            0 => Part::Source { path: "/".into(), piece: None, copy: None },
            _ => Part::Target { path: "/".into(), input: false },
        };
        let parts = vec![Moved { from: 0, places: (0..nodes.len()).map(place).collect() }];
        let job = Job { nodes, parts, hub: None, input: false };
        let predicted = |shape: Shape| {
            let time = time(party, &job, shape, &[octets], |_| true);
            Predicted {
                shape: name(shape),
                seconds: time.total(LATENCY).as_secs_f64(),
                link_seconds: time.link.as_secs_f64(),
                depth: time.depth,
            }
        };
        Prediction {
            shape: name(shape(self, party, &job, &[Some(octets)], |_| true)),
            times: shapes(job.nodes.len()).into_iter().map(predicted).collect(),
            latency: LATENCY.as_secs_f64(),
            crossover_octets: crossover(party, &job),
        }
    }
}

const fn name(shape: Shape) -> &'static str {
    match shape {
        Shape::Ring => "ring",
        Shape::Rings(_) => "rings",
        Shape::Tree => "tree",
    }
}

/// From how many octets of one part on the ring is faster than all other shapes, if ever.
fn crossover(party: &Party, job: &Job) -> Option<u64> {
    const GIGABYTE: u64 = 1_000_000_000;
    let octets = vec![GIGABYTE; job.parts.len()];
    let all = shapes(job.nodes.len());
    let [ring, others @ ..] = all.map(|shape| time(party, job, shape, &octets, |_| true));
    let mut most = 0.0;
    for other in others.iter().filter(|other| other.depth < ring.depth) {
        let gained = (ring.depth - other.depth) as f64 * LATENCY.as_secs_f64();
        let slower = (other.link.as_secs_f64() - ring.link.as_secs_f64()) / GIGABYTE as f64;
        most = f64::max(most, if slower > 0.0 { gained / slower } else { f64::INFINITY });
    }
    most.is_finite().then_some(most as u64)
}
