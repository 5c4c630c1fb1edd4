//! Installs many routes and neighbours into an empty network namespace of its own and says how
//! fast that went; then the same objects one by one through rtnetlink and with `ip -batch`, and as many
//! routes with BIRD where that is installed: in turn, several times over. Needs root.
//!
//! `cargo run --release -p tresse-linux --example install -- [ROUTES] [NEIGHBOURS] [ROUNDS]`, by default
//! 100000, 10000 and 5. Prints one JSON object: of each phase the median wall clock and processor
//! time, and the median over the rounds of each ratio.
//!
//! - Ours is what `tressed` does: observe, reconcile, execute; everything wanted, the node's
//!   interface and the nexthop group included. "Nothing to do" is observe and reconcile again.
//! - Through rtnetlink each request is awaited before the next is sent, as the daemon does with links,
//!   addresses and policy rules; the nexthop group made before. "Execute alone" is our batches of
//!   the same neighbours and routes, with the node's interface and the group.
//! - `ip -batch` reads one file with the same neighbours and routes, the nexthop group made before.
//! - BIRD counts from its start to the last route in the kernel, static device routes and no
//!   neighbours; the routes are counted every 20 ms.

use std::fmt::Write as _;
use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use netlink_packet_route::neighbour::NeighbourAttribute;
use netlink_packet_route::route::{RouteAttribute, RouteMetric, RouteProtocol};
use nix::net::if_::if_nametoindex;
use nix::sched::{CloneFlags, unshare};
use nix::time::{ClockId, clock_gettime};
use rtnetlink::RouteMessageBuilder;
use serde_json::{Value, json};
use tresse_base::units::{Mac, Prefix};
use tresse_linux::kernel::{execute, observe};
use tresse_reconcile::{
    LinkKind, METRIC_PRIMARY, NEXTHOP_BASE, Nexthop, Operation, PROTOCOL, Saved, Wanted,
    WantedLink, WantedNeighbour, WantedRoute, reconcile,
};

const GROUP: u32 = NEXTHOP_BASE + 1;
/// The only nexthop.
const VIA: &str = "10.64.0.2";

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let mut count = |default| arguments.next().map_or(Ok(default), |a| a.parse::<u32>());
    let (routes, neighbours, rounds) = (count(100_000)?, count(10_000)?, count(5)?);
    let scene = Scene::new(routes, neighbours)?;
    let rounds: Vec<Round> = (0..rounds).map(|_| scene.round()).collect::<anyhow::Result<_>>()?;

    let objects = f64::from(routes + neighbours);
    let phase = |count: f64, spent: fn(&Round) -> Option<Spent>| -> Value {
        let spent: Vec<Spent> = rounds.iter().filter_map(spent).collect();
        if spent.is_empty() {
            return Value::Null;
        }
        let wall = median(spent.iter().map(|s| s.wall.as_secs_f64()));
        let processor = median(spent.iter().map(|s| s.processor.as_secs_f64()));
        let per_second = (count / wall).round();
        json!({ "seconds": wall, "cpu_seconds": processor, "per_second": per_second })
    };
    let ratio = |above: fn(&Round) -> Option<Spent>, below: fn(&Round) -> Option<Spent>| {
        let pairs: Vec<_> = rounds.iter().filter_map(|r| Some((above(r)?, below(r)?))).collect();
        if pairs.is_empty() {
            return Value::Null;
        }
        let of = |part: fn(&Spent) -> Duration| {
            median(pairs.iter().map(|(a, b)| part(a).as_secs_f64() / part(b).as_secs_f64()))
        };
        json!({ "wall": of(|s| s.wall), "cpu": of(|s| s.processor) })
    };
    let report = json!({
        "format": 1,
        "routes": routes,
        "neighbours": neighbours,
        "rounds": rounds.len(),
        "tresse_install": phase(objects, |r| Some(r.install)),
        "tresse_execute_alone": phase(objects, |r| Some(r.execute)),
        "tresse_nothing_to_do": phase(objects, |r| Some(r.nothing)),
        "rtnetlink_one_by_one": phase(objects, |r| Some(r.rtnetlink)),
        "ip_batch": phase(objects, |r| Some(r.ip_batch)),
        "bird_from_start_routes_alone": phase(f64::from(routes), |r| r.bird),
        "rtnetlink_to_execute_alone": ratio(|r| Some(r.rtnetlink), |r| Some(r.execute)),
        "ip_batch_to_install": ratio(|r| Some(r.ip_batch), |r| Some(r.install)),
        "ip_batch_to_execute_alone": ratio(|r| Some(r.ip_batch), |r| Some(r.execute)),
        "bird_to_install": ratio(|r| r.bird, |r| Some(r.install)),
        "bird_to_execute_alone": ratio(|r| r.bird, |r| Some(r.execute)),
        "nothing_to_do_to_install": ratio(|r| Some(r.nothing), |r| Some(r.install)),
    });
    println!("{report:#}");
    Ok(())
}

/// What is installed, by whomever.
struct Scene {
    source: IpAddr,
    peers: Vec<IpAddr>,
    destinations: Vec<IpAddr>,
    wanted: Wanted,
    batch: String,
}

/// What each phase of one round took.
struct Round {
    install: Spent,
    execute: Spent,
    nothing: Spent,
    rtnetlink: Spent,
    ip_batch: Spent,
    bird: Option<Spent>,
}

impl Scene {
    fn new(routes: u32, neighbours: u32) -> anyhow::Result<Self> {
        let source: IpAddr = "10.77.0.1".parse()?;
        let hosts = |prefix: &str, count: u32| -> anyhow::Result<Vec<IpAddr>> {
            let prefix: Prefix = prefix.parse()?;
            let host = |n: u32| prefix.nth(u128::from(n)).context("prefix too small");
            (0..count).map(host).collect()
        };
        let destinations = hosts("10.128.0.0/9", routes)?;
        let peers = hosts("10.64.0.0/12", neighbours)?;
        let mut batch = String::new();
        for peer in &peers {
            let mac = mac(peer);
            writeln!(
                batch,
                "neigh add {peer} lladdr {mac} dev eth0 nud permanent protocol {PROTOCOL}"
            )?;
        }
        for dst in &destinations {
            writeln!(
                batch,
                "route add {dst}/32 nhid {GROUP} src {source} metric {METRIC_PRIMARY} \
                 proto {PROTOCOL} mtu 1500 advmss 1460"
            )?;
        }
        let wanted = wanted(source, &peers, &destinations)?;
        Ok(Self { source, peers, destinations, wanted, batch })
    }

    fn round(&self) -> anyhow::Result<Round> {
        let saved = Saved::default();
        namespace()?;
        let mut execute_alone = None;
        let install = timed(|| {
            let planned = reconcile(&self.wanted, &observe([])?, &saved).operations;
            let operations: Vec<_> = planned.into_iter().map(|p| p.operation).collect();
            execute_alone = Some(timed(|| run(&operations))?);
            Ok(())
        })?;
        let mut left = 0;
        let nothing = timed(|| {
            left = reconcile(&self.wanted, &observe([])?, &saved).operations.len();
            Ok(())
        })?;
        ensure!(left == 0, "{left} operations where nothing is to do");
        let routes = observe([])?.routes.values().filter(|r| r.protocol == PROTOCOL).count();
        ensure!(routes == self.destinations.len(), "{routes} routes observed");

        namespace()?;
        self.group()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        let rtnetlink = timed(|| runtime.block_on(self.one_by_one()))?;
        self.is_installed("rtnetlink")?;

        namespace()?;
        self.group()?;
        let ip_batch = timed(|| ip_batch(&self.batch))?;
        self.is_installed("ip -batch")?;

        namespace()?;
        let bird = bird(&self.destinations)?;
        let execute = execute_alone.context("nothing was executed")?;
        Ok(Round { install, execute, nothing, rtnetlink, ip_batch, bird })
    }

    fn is_installed(&self, by: &str) -> anyhow::Result<()> {
        let observed = observe([])?;
        let routes = observed.routes.values().filter(|r| r.protocol == PROTOCOL).count();
        ensure!(routes == self.destinations.len(), "{by} made {routes} routes");
        let neighbours = observed.neighbours.len();
        ensure!(neighbours == self.peers.len(), "{by} made {neighbours} neighbours");
        Ok(())
    }

    /// The neighbours and routes through rtnetlink, each awaited.
    async fn one_by_one(&self) -> anyhow::Result<()> {
        let (connection, handle, _) = rtnetlink::new_connection()?;
        let connection = tokio::spawn(connection);
        let protocol = RouteProtocol::Other(PROTOCOL);
        let eth0 = if_nametoindex("eth0")?;
        for peer in &self.peers {
            let mut request = handle.neighbours().add(eth0, *peer).link_layer_address(&mac(peer).0);
            request.message_mut().attributes.push(NeighbourAttribute::Protocol(protocol));
            request.execute().await?;
        }
        for dst in &self.destinations {
            let (IpAddr::V4(dst), IpAddr::V4(source)) = (*dst, self.source) else { continue };
            let mut route = RouteMessageBuilder::<Ipv4Addr>::new()
                .destination_prefix(dst, 32)
                .nhid(GROUP)
                .pref_source(source)
                .priority(METRIC_PRIMARY)
                .protocol(protocol);
            let metrics = vec![RouteMetric::Mtu(1500), RouteMetric::Advmss(1460)];
            route.get_mut().attributes.push(RouteAttribute::Metrics(metrics));
            handle.route().add(route.build()).execute().await?;
        }
        connection.abort();
        Ok(())
    }

    /// The node's interface, the nexthop and its group, for `ip -batch` to build on.
    fn group(&self) -> anyhow::Result<()> {
        let wanted = wanted(self.source, &[], &[])?;
        let planned = reconcile(&wanted, &observe([])?, &Saved::default()).operations;
        let mut operations: Vec<_> = planned.into_iter().map(|p| p.operation).collect();
        operations.push(Operation::AddNexthop {
            id: NEXTHOP_BASE,
            interface: "eth0".into(),
            via: VIA.parse()?,
            labels: Vec::new(),
        });
        let members = vec![(NEXTHOP_BASE, 1)];
        operations.push(Operation::AddGroup { id: GROUP, members, replace: false });
        run(&operations)
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// What a slice would want.
fn wanted(source: IpAddr, peers: &[IpAddr], to: &[IpAddr]) -> anyhow::Result<Wanted> {
    let mut wanted = Wanted::default();
    let node = WantedLink {
        kind: LinkKind::Dummy,
        mtu: 1500,
        alias: "tresse:node".into(),
        up: true,
        mac: None,
    };
    wanted.links.insert("tresse0".into(), node);
    wanted.addresses.insert(("tresse0".into(), source));
    for peer in peers {
        let neighbour = WantedNeighbour { mac: mac(peer) };
        wanted.neighbours.insert(("eth0".into(), *peer), neighbour);
    }
    let nexthop =
        Nexthop { interface: "eth0".into(), via: VIA.parse()?, labels: Vec::new(), weight: 1 };
    for dst in to {
        let nexthops = vec![nexthop.clone()];
        let route = WantedRoute { src: source, mtu: 1500, advmss: 1460, nexthops };
        wanted.routes.insert((Prefix::host(*dst), METRIC_PRIMARY), route);
    }
    Ok(wanted)
}

/// BIRD with as many static device routes, from its start to the last route in the kernel. `None`
/// where it is not installed.
fn bird(destinations: &[IpAddr]) -> anyhow::Result<Option<Spent>> {
    let directory = tempfile::tempdir()?;
    let mut config = String::from(
        "router id 10.77.0.1;\nprotocol device {}\nprotocol kernel { ipv4 { export all; }; }\n\
         protocol static { ipv4;\n",
    );
    for dst in destinations {
        writeln!(config, "route {dst}/32 via \"eth0\";")?;
    }
    config.push_str("}\n");
    std::fs::write(directory.path().join("bird.conf"), config)?;
    let began = Instant::now();
    let started = Command::new("bird")
        .current_dir(&directory)
        .args(["-f", "-c", "bird.conf", "-s", "bird.ctl"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = started else { return Ok(None) };
    let watch = || -> anyhow::Result<Spent> {
        while leaves()? < destinations.len() {
            ensure!(began.elapsed() < Duration::from_secs(60), "bird does not install the routes");
            std::thread::sleep(Duration::from_millis(20));
        }
        let wall = began.elapsed();
        let schedstat = std::fs::read_to_string(format!("/proc/{}/schedstat", child.id()))?;
        Ok(Spent { wall, processor: first_field(&schedstat)? })
    };
    let spent = watch();
    child.kill()?;
    child.wait()?;
    spent.map(Some)
}

/// Routes in the main table of this thread's namespace: `Leaves` of proc(5) `net/fib_triestat`.
fn leaves() -> anyhow::Result<usize> {
    let text = std::fs::read_to_string("/proc/thread-self/net/fib_triestat")?;
    let counts = text.lines().filter_map(|l| l.trim().strip_prefix("Leaves:"));
    Ok(counts.filter_map(|n| n.trim().parse().ok()).max().unwrap_or(0))
}

/// Enters a fresh namespace with one cable, once the kernel had time to clear away the one before.
fn namespace() -> anyhow::Result<()> {
    std::thread::sleep(Duration::from_millis(300));
    unshare(CloneFlags::CLONE_NEWNET).context("a new network namespace needs root")?;
    ip_batch("link add eth0 type veth peer name far0\nlink set eth0 up\nlink set far0 up\n")?;
    let deadline = Instant::now() + Duration::from_secs(5);
    while !observe([])?.links.get("eth0").is_some_and(|l| l.carrier) {
        ensure!(Instant::now() < deadline, "eth0 gets no carrier");
    }
    Ok(())
}

fn mac(address: &IpAddr) -> Mac {
    match address {
        IpAddr::V4(a) => Mac([2, 0, 0, 0, a.octets()[2], a.octets()[3]]),
        IpAddr::V6(a) => Mac([2, 0, 0, 0, a.octets()[14], a.octets()[15]]),
    }
}

fn run(operations: &[Operation]) -> anyhow::Result<()> {
    let mut outcome = execute(operations);
    match outcome.errors.pop() {
        Some((_, error)) => Err(error.into()),
        None => Ok(()),
    }
}

fn ip_batch(commands: &str) -> anyhow::Result<()> {
    let mut child = Command::new("ip").args(["-batch", "-"]).stdin(Stdio::piped()).spawn()?;
    child.stdin.take().context("ip has no input")?.write_all(commands.as_bytes())?;
    ensure!(child.wait()?.success(), "ip -batch failed");
    Ok(())
}

/// What one phase took: wall clock, and processor time of this process and its children, which a
/// busy machine distorts less.
#[derive(Clone, Copy)]
struct Spent {
    wall: Duration,
    processor: Duration,
}

fn timed(work: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<Spent> {
    let (begin, before) = (Instant::now(), processor()?);
    work()?;
    Ok(Spent { wall: begin.elapsed(), processor: processor()?.saturating_sub(before) })
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

fn first_field(schedstat: &str) -> anyhow::Result<Duration> {
    let nanoseconds = schedstat.split_whitespace().next().context("schedstat is empty")?;
    Ok(Duration::from_nanos(nanoseconds.parse()?))
}
