//! Changes some of many routes of one node, as `tressed` does for an apply, in turn with `ip -batch`
//! replacing the same routes on the same table, several times over. Needs root.
//!
//! `cargo run --release -p tresse-linux --example change -- [ROUTES] [CHANGED] [ROUNDS]`, by default
//! 100000, 1000 and 9. Prints one JSON object: medians of each phase, and that no other message was
//! sent and no other route changed.
//!
//! - The change moves the routes from one nexthop group to another and back.
//! - Ours is a transaction of the daemon: observe, reconcile, execute, observe, reconcile (nothing is
//!   left). The two observations read the whole table, whatever changes; they are listed apart.
//! - `ip -batch` reads one `route replace` for each of the same routes, and looks at nothing.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::net::IpAddr;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use nix::sched::{CloneFlags, unshare};
use nix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use tresse_base::units::{Mac, Prefix};
use tresse_linux::kernel::{execute, observe};
use tresse_reconcile::{
    LinkKind, METRIC_PRIMARY, Nexthop, Observed, Operation, PROTOCOL, Saved, Wanted, WantedLink,
    WantedNeighbour, WantedRoute, reconcile,
};

const VIA: [&str; 2] = ["10.64.0.2", "10.64.0.3"];
const SOURCE: &str = "10.77.0.1";

/// The phases that are measured, in the order of the report.
const PHASES: [&str; 6] =
    ["observe_before", "reconcile", "execute", "verify", "tresse_in_all", "ip_batch"];

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let mut count = |default| arguments.next().map_or(Ok(default), |a| a.parse::<usize>());
    let (routes, changed, rounds) = (count(100_000)?, count(1000)?, count(9)?);
    ensure!(changed < routes, "change fewer routes than there are");
    unshare(CloneFlags::CLONE_NEWNET).context("a new network namespace needs root")?;
    ip_batch("link add eth0 type veth peer name far0\nlink set eth0 up\nlink set far0 up\n")?;
    // Every hundredth route of 100,000, and one that stays there, so that both groups last.
    let step = routes / changed;
    let here = wanted(routes, |n| n == 1)?;
    let there = wanted(routes, |n| n == 1 || n % step == 0 && n / step < changed)?;
    change(&here, usize::MAX)?;
    let moved: Vec<String> = names(&here, &there);
    let mut spent: BTreeMap<&str, Vec<Spent>> = BTreeMap::new();
    for _ in 0..rounds {
        for (phase, took) in change(&there, moved.len())? {
            spent.entry(phase).or_default().push(took);
        }
        let back = batch(&moved, 0)?;
        spent.entry("ip_batch").or_default().push(timed(|| ip_batch(&back))?.1);
        let left = reconcile(&here, &observe([])?, &Saved::default()).operations.len();
        ensure!(left == 0, "{left} operations left after ip -batch");
    }
    let phase = |name: &&str| {
        let median = |of: fn(&Spent) -> Duration| {
            let mut all: Vec<f64> = spent[name].iter().map(|s| of(s).as_secs_f64()).collect();
            all.sort_by(f64::total_cmp);
            all[all.len() / 2]
        };
        json!({ "seconds": median(|s| s.wall), "cpu_seconds": median(|s| s.processor) })
    };
    let phases: serde_json::Map<String, Value> =
        PHASES.iter().map(|name| ((*name).to_owned(), phase(name))).collect();
    let report = json!({
        "format": 1,
        "routes": routes,
        "changed": moved.len(),
        "rounds": rounds,
        "operations": moved.len(),
        "phases": phases,
    });
    println!("{report:#}");
    Ok(())
}

/// A transaction; fails unless it takes `most` operations at most, and leaves nothing to do.
fn change(wanted: &Wanted, most: usize) -> anyhow::Result<Vec<(&'static str, Spent)>> {
    let saved = Saved::default();
    let mut spent = Vec::new();
    let mut phase = |name, (observed, took)| {
        spent.push((name, took));
        observed
    };
    let began = (Instant::now(), processor()?);
    let observed: Observed = phase("observe_before", timed(|| Ok(observe([])?))?);
    let (operations, took) = timed(|| {
        let planned = reconcile(wanted, &observed, &saved).operations;
        Ok(planned.into_iter().map(|p| p.operation).collect::<Vec<Operation>>())
    })?;
    spent.push(("reconcile", took));
    ensure!(operations.len() <= most, "{} operations for {most} changes", operations.len());
    let ((), took) = timed(|| match execute(&operations).errors.pop() {
        Some((_, error)) => Err(error.into()),
        None => Ok(()),
    })?;
    spent.push(("execute", took));
    let (left, took) = timed(|| Ok(reconcile(wanted, &observe([])?, &saved).operations.len()))?;
    spent.push(("verify", took));
    ensure!(left == 0, "{left} operations left");
    let processor = processor()?.saturating_sub(began.1);
    spent.push(("tresse_in_all", Spent { wall: began.0.elapsed(), processor }));
    Ok(spent)
}

/// What a slice would want: the routes go through the first nexthop, those that `other` names through
/// the second.
fn wanted(routes: usize, other: impl Fn(usize) -> bool) -> anyhow::Result<Wanted> {
    let src: IpAddr = SOURCE.parse()?;
    let mut wanted = Wanted::default();
    let node = WantedLink {
        kind: LinkKind::Dummy,
        mtu: 1500,
        alias: "tresse:node".into(),
        up: true,
        mac: None,
    };
    wanted.links.insert("tresse0".into(), node);
    wanted.addresses.insert(("tresse0".into(), src));
    let mut nexthops = Vec::new();
    for (via, last) in VIA.iter().zip(2..) {
        let via = via.parse()?;
        let neighbour = WantedNeighbour { mac: Mac([2, 0, 0, 0, 0, last]) };
        wanted.neighbours.insert(("eth0".into(), via), neighbour);
        nexthops.push(Nexthop { interface: "eth0".into(), via, labels: Vec::new(), weight: 1 });
    }
    let prefix: Prefix = "10.128.0.0/9".parse()?;
    for n in 0..routes {
        let dst = prefix.nth(n as u128).context("prefix too small")?;
        let nexthops = vec![nexthops[usize::from(other(n))].clone()];
        let route = WantedRoute { src, mtu: 1500, advmss: 1460, nexthops };
        wanted.routes.insert((Prefix::host(dst), METRIC_PRIMARY), route);
    }
    Ok(wanted)
}

/// The destinations whose routes differ.
fn names(a: &Wanted, b: &Wanted) -> Vec<String> {
    let differ = |(key, route): &(&(Prefix, u32), &WantedRoute)| b.routes[*key] != **route;
    a.routes.iter().filter(differ).map(|((dst, _), _)| dst.address.to_string()).collect()
}

/// The same change for `ip -batch`: to the group of the routes that always go by the first or second
/// nexthop.
fn batch(destinations: &[String], like: usize) -> anyhow::Result<String> {
    let prefix: Prefix = "10.128.0.0/9".parse()?;
    // Route 1 goes by the second nexthop in both states, route 2 by the first: see `main`.
    let stays = prefix.nth(if like == 0 { 2 } else { 1 }).context("prefix too small")?;
    let observed = observe([])?;
    let key = (Prefix::host(stays), METRIC_PRIMARY);
    let group = observed.routes.get(&key).and_then(|route| route.nexthop);
    let group = group.context("no group to move the routes to")?;
    let mut batch = String::new();
    for dst in destinations {
        writeln!(
            batch,
            "route replace {dst}/32 nhid {group} src {SOURCE} metric {METRIC_PRIMARY} proto {PROTOCOL} \
             mtu 1500 advmss 1460"
        )?;
    }
    Ok(batch)
}

fn ip_batch(commands: &str) -> anyhow::Result<()> {
    let mut child = Command::new("ip").args(["-batch", "-"]).stdin(Stdio::piped()).spawn()?;
    child.stdin.take().context("ip has no input")?.write_all(commands.as_bytes())?;
    ensure!(child.wait()?.success(), "ip -batch failed");
    Ok(())
}

/// What one phase took: wall clock, and processor time of this process and its children.
#[derive(Clone, Copy)]
struct Spent {
    wall: Duration,
    processor: Duration,
}

fn timed<T>(work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<(T, Spent)> {
    let (began, before) = (Instant::now(), processor()?);
    let answer = work()?;
    Ok((answer, Spent { wall: began.elapsed(), processor: processor()?.saturating_sub(before) }))
}

/// Processor time of this process, all threads, and of its children so far, to 10 ms (fields 16 and
/// 17 of proc(5) `stat`).
fn processor() -> anyhow::Result<Duration> {
    let own: Duration = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID)?.into();
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit_once(')').context("no command in /proc/self/stat")?.1;
    let ticks: u64 = fields.split_whitespace().skip(13).take(2).flat_map(str::parse::<u64>).sum();
    Ok(own + Duration::from_millis(10 * ticks))
}
