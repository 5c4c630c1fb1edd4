//! Plans and verifies a torus and prints what each step took: `large 16 16 16`; or a P-Mesh, with its
//! backups: `large pmesh 24 24`.
//!
//! Wall clock, and processor time of all threads together, which a busy machine distorts less
//! (proc(5), first field of `/proc/self/task/*/schedstat`). One node's slice is taken from the
//! text of the cluster file, ten times over, and the median is told; nothing is kept from the plan
//! that was verified.

use std::time::{Duration, Instant};

use tresse_base::id::NodeId;
use tresse_plan::Plan;
use tresse_verify as verify;

const SLICES: usize = 10;

fn main() {
    let mut dims: Vec<String> = std::env::args().skip(1).collect();
    let routed = dims.first().is_some_and(|word| word == "pmesh");
    let (kind, routing) = if routed {
        dims.remove(0);
        ("pmesh", "")
    } else {
        ("torus", "[routing]\nstrategy = \"dor\"\npaths = 1\n")
    };
    let text = format!(
        "[fabric]\nname = \"large\"\ntopology = {{ kind = \"{kind}\", dims = [{}] }}\n{routing}",
        dims.join(", ")
    );
    let parse = || tresse_cluster::parse(&text, "large").expect("sizes of a fabric");
    let build = |cluster| Plan::build(cluster).expect("a fabric of such sizes plans");

    let whole = Clock::start();
    let plan = build(parse());
    println!("plan:            {}", whole.reported());
    let report = verify::check(&plan);
    println!("plan and verify: {}", whole.reported());
    println!(
        "                 {} switches, {} VLANs, {} pairs, load {}, deadlock-free {}",
        plan.cluster().switches.len(),
        report.vlans,
        report.pairs,
        report.max_link_load,
        report.deadlock_free
    );
    drop(plan);

    let mut steps: [Vec<Clock>; 3] = Default::default();
    let mut routes = 0;
    for _ in 0..SLICES {
        let mut step = |at: usize, clock: Clock| steps[at].push(clock.stopped());
        let clock = Clock::start();
        let cluster = parse();
        step(0, clock);
        let clock = Clock::start();
        let plan = build(cluster);
        step(1, clock);
        let clock = Clock::start();
        routes = tresse_slice::Slice::of(&plan, NodeId::from(plan.cluster().nodes.len() / 2))
            .wanted
            .routes
            .len();
        step(2, clock);
    }
    for (name, step) in ["parse the file", "plan", "the slice"].iter().zip(&mut steps) {
        step.sort_by_key(|clock| clock.processor);
        println!("one slice, {name:<14}: {}", step[SLICES / 2].words());
    }
    println!("                 {routes} routes");
}

/// What passed since its start; once stopped, until then.
#[derive(Clone, Copy)]
struct Clock {
    began: Instant,
    wall: Duration,
    processor: Duration,
}

impl Clock {
    #[expect(clippy::disallowed_methods, reason = "a benchmark needs a clock")]
    fn start() -> Self {
        Self { began: Instant::now(), wall: Duration::ZERO, processor: processor() }
    }

    fn stopped(self) -> Self {
        let (wall, processor) = (self.began.elapsed(), processor() - self.processor);
        Self { wall, processor, ..self }
    }

    fn words(self) -> String {
        format!(
            "{:8.4} s wall, {:8.4} s CPU",
            self.wall.as_secs_f64(),
            self.processor.as_secs_f64()
        )
    }

    fn reported(self) -> String {
        self.stopped().words()
    }
}

/// Processor time of all threads that live.
#[expect(clippy::disallowed_methods, reason = "a benchmark reads what it used")]
fn processor() -> Duration {
    std::thread::yield_now();
    let tasks = std::fs::read_dir("/proc/self/task").expect("proc is mounted");
    let nanoseconds = |task: std::fs::DirEntry| {
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    };
    Duration::from_nanos(tasks.flatten().filter_map(nanoseconds).sum())
}
