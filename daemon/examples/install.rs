//! Installs many routes and neighbours into an empty network namespace of its own and says how
//! fast that went; then the same objects with `ip -batch`, and as many routes with BIRD where that
//! is installed. Needs root.
//!
//! `cargo run --release -p tressed --example install -- [ROUTES] [NEIGHBOURS]`, by default 100000
//! and 10000. Prints one JSON object: seconds and operations per second of each phase. All routes
//! go through one nexthop group. `ip -batch` runs in a second, equal namespace.

use std::fmt::Write as _;
use std::io::Write as _;
use std::net::IpAddr;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use nix::sched::{CloneFlags, unshare};
use serde_json::json;
use tresse_fabric::reconcile::{
    Leg, LinkKind, METRIC_PRIMARY, NEXTHOP_BASE, Operation, PROTOCOL, Saved, Wanted, WantedLink,
    WantedNeighbour, WantedRoute, reconcile,
};
use tresse_fabric::units::{Mac, Prefix};
use tressed::kernel::{execute, observe};

const GROUP: u32 = NEXTHOP_BASE + 1;

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let mut count = |default| arguments.next().map_or(Ok(default), |a| a.parse::<u32>());
    let (routes, neighbours) = (count(100_000)?, count(10_000)?);
    let source: IpAddr = "10.77.0.1".parse()?;
    let host = |prefix: Prefix, n: u32| prefix.nth(u128::from(n)).context("prefix too small");
    let destinations: Vec<IpAddr> =
        (0..routes).map(|n| host("10.128.0.0/9".parse()?, n)).collect::<anyhow::Result<_>>()?;
    let peers: Vec<IpAddr> =
        (0..neighbours).map(|n| host("10.64.0.0/12".parse()?, n)).collect::<anyhow::Result<_>>()?;

    namespace(source)?;
    let adds: Vec<Operation> = destinations
        .iter()
        .map(|dst| Operation::AddRoute {
            dst: Prefix::host(*dst),
            metric: METRIC_PRIMARY,
            group: GROUP,
            src: Some(source),
            mtu: Some(1500),
            advmss: Some(1460),
            replace: false,
        })
        .collect();
    let seconds_neighbours = timed(|| run(&peers.iter().map(neighbour).collect::<Vec<_>>()))?;
    let seconds_routes = timed(|| run(&adds))?;
    let mut found = 0;
    let seconds_observe = timed(|| {
        found = observe([])?.routes.values().filter(|r| r.protocol == PROTOCOL).count();
        Ok(())
    })?;
    ensure!(found == adds.len(), "{found} of {} routes observed", adds.len());
    let wanted = wanted(source, &peers, &destinations)?;
    let mut left = 0;
    let seconds_nothing = timed(|| {
        left = reconcile(&wanted, &observe([])?, &Saved::default()).operations.len();
        Ok(())
    })?;
    ensure!(left == 0, "{left} operations where nothing is to do");
    let deletes: Vec<_> = destinations
        .iter()
        .map(|dst| Operation::DeleteRoute { dst: Prefix::host(*dst), metric: METRIC_PRIMARY })
        .collect();
    let seconds_delete = timed(|| run(&deletes))?;

    namespace(source)?;
    let mut batch = String::new();
    for peer in &peers {
        let Mac([.., a, b]) = mac(peer);
        writeln!(
            batch,
            "neigh add {peer} lladdr 02:00:00:00:{a:02x}:{b:02x} dev eth0 nud permanent protocol 78"
        )?;
    }
    let seconds_ip_neighbours = timed(|| ip_batch(&batch))?;
    batch.clear();
    for dst in &destinations {
        writeln!(
            batch,
            "route add {dst}/32 nhid {GROUP} src {source} metric {METRIC_PRIMARY} proto 78 \
             mtu 1500 advmss 1460"
        )?;
    }
    let seconds_ip_routes = timed(|| ip_batch(&batch))?;

    namespace(source)?;
    let seconds_bird = bird(&destinations)?;

    let phase = |n: u32, spent: &Spent| {
        let seconds = spent.wall.as_secs_f64();
        json!({
            "seconds": seconds,
            "per_second": (f64::from(n) / seconds).round(),
            "user_seconds": spent.user_seconds,
            "system_seconds": spent.system_seconds,
        })
    };
    let report = json!({
        "format": 1,
        "routes": routes,
        "neighbours": neighbours,
        "tresse": {
            "neighbours": phase(neighbours, &seconds_neighbours),
            "routes": phase(routes, &seconds_routes),
            "nothing_to_do": phase(routes + neighbours, &seconds_nothing),
            "observe": phase(routes, &seconds_observe),
            "delete_routes": phase(routes, &seconds_delete),
        },
        "ip_batch": {
            "neighbours": phase(neighbours, &seconds_ip_neighbours),
            "routes": phase(routes, &seconds_ip_routes),
        },
        "bird_from_start": seconds_bird.as_ref().map(|spent| phase(routes, spent)),
        "times_ip_batch": {
            "routes": ratio(&seconds_ip_routes, &seconds_routes),
            "neighbours": ratio(&seconds_ip_neighbours, &seconds_neighbours),
        },
        "routes_times_bird": seconds_bird.as_ref().map(|spent| ratio(spent, &seconds_routes)),
        "nothing_to_do_of_install": ratio(&seconds_nothing, &seconds_routes),
    });
    println!("{report:#}");
    Ok(())
}

/// Wall clock of one phase over that of another.
fn ratio(above: &Spent, below: &Spent) -> f64 {
    above.wall.as_secs_f64() / below.wall.as_secs_f64()
}

/// What the phases before installed, as a slice would want it.
fn wanted(source: IpAddr, peers: &[IpAddr], to: &[IpAddr]) -> anyhow::Result<Wanted> {
    let mut wanted = Wanted::default();
    let node =
        WantedLink { kind: LinkKind::Dummy, mtu: 1500, alias: "tresse:node".into(), up: true };
    wanted.links.insert("tresse0".into(), node);
    wanted.addresses.insert(("tresse0".into(), source));
    for peer in peers {
        let neighbour = WantedNeighbour { mac: mac(peer) };
        wanted.neighbours.insert(("eth0".into(), *peer), neighbour);
    }
    let via = "10.64.0.2".parse()?;
    let leg = Leg { interface: "eth0".into(), via, labels: Vec::new(), weight: 1 };
    for dst in to {
        let legs = vec![leg.clone()];
        let route = WantedRoute { src: source, mtu: 1500, advmss: 1460, legs };
        wanted.routes.insert((Prefix::host(*dst), METRIC_PRIMARY), route);
    }
    Ok(wanted)
}

/// BIRD with as many static device routes, from its start to the last route in the kernel. `None`
/// where it is not installed.
fn bird(destinations: &[IpAddr]) -> anyhow::Result<Option<Spent>> {
    let directory = std::env::temp_dir().join(format!("tresse-bird-{}", std::process::id()));
    std::fs::create_dir_all(&directory)?;
    let mut config = String::from(
        "router id 10.77.0.1;\nprotocol device {}\nprotocol kernel { ipv4 { export all; }; }\n\
         protocol static { ipv4;\n",
    );
    for dst in destinations {
        writeln!(config, "route {dst}/32 via \"eth0\";")?;
    }
    config.push_str("}\n");
    std::fs::write(directory.join("bird.conf"), config)?;
    let started = Command::new("bird")
        .current_dir(&directory)
        .args(["-f", "-c", "bird.conf", "-s", "bird.ctl"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = started else {
        std::fs::remove_dir_all(&directory)?;
        return Ok(None);
    };
    let spent = timed(|| {
        let deadline = Instant::now() + Duration::from_secs(60);
        while leaves()? < destinations.len() {
            ensure!(Instant::now() < deadline, "bird does not install the routes");
            ensure!(child.try_wait()?.is_none(), "bird ended");
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    });
    child.kill()?;
    child.wait()?;
    std::fs::remove_dir_all(&directory)?;
    spent.map(Some)
}

/// Routes in the main table of this thread's namespace: `Leaves` of proc(5) `net/fib_triestat`.
fn leaves() -> anyhow::Result<usize> {
    let text = std::fs::read_to_string("/proc/thread-self/net/fib_triestat")?;
    let counts = text.lines().filter_map(|l| l.trim().strip_prefix("Leaves:"));
    Ok(counts.filter_map(|n| n.trim().parse().ok()).max().unwrap_or(0))
}

/// Enters a fresh namespace with one cable, the node address, a nexthop and its group.
fn namespace(source: IpAddr) -> anyhow::Result<()> {
    unshare(CloneFlags::CLONE_NEWNET).context("a new network namespace needs root")?;
    ip_batch("link add eth0 type veth peer name far0\nlink set eth0 up\nlink set far0 up\n")?;
    let deadline = Instant::now() + Duration::from_secs(5);
    while !observe([])?.links.get("eth0").is_some_and(|l| l.carrier) {
        ensure!(Instant::now() < deadline, "eth0 gets no carrier");
    }
    let name = "tresse0".to_owned();
    run(&[
        Operation::AddLink {
            name: name.clone(),
            link: LinkKind::Dummy,
            mtu: 1500,
            alias: "tresse:node".into(),
        },
        Operation::SetLinkState { name: name.clone(), up: true },
        Operation::AddAddress { interface: name, address: source },
        Operation::AddNexthop {
            id: NEXTHOP_BASE,
            interface: "eth0".into(),
            via: "10.64.0.2".parse()?,
            labels: Vec::new(),
        },
        Operation::AddGroup { id: GROUP, members: vec![(NEXTHOP_BASE, 1)], replace: false },
    ])
}

fn neighbour(address: &IpAddr) -> Operation {
    Operation::AddNeighbour {
        interface: "eth0".into(),
        address: *address,
        mac: mac(address),
        replace: false,
    }
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
/// busy machine does not distort.
struct Spent {
    wall: Duration,
    user_seconds: f64,
    system_seconds: f64,
}

fn timed(work: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<Spent> {
    let (begin, (user, system)) = (Instant::now(), processor()?);
    work()?;
    let (user_after, system_after) = processor()?;
    Ok(Spent {
        wall: begin.elapsed(),
        user_seconds: user_after - user,
        system_seconds: system_after - system,
    })
}

/// User and system seconds so far, to 10 ms: fields 14 to 17 of proc(5) `/proc/[pid]/stat`.
fn processor() -> anyhow::Result<(f64, f64)> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit_once(')').context("no command in /proc/self/stat")?.1;
    let ticks: Vec<f64> =
        fields.split_whitespace().skip(11).take(4).map(str::parse).collect::<Result<_, _>>()?;
    let [user, system, child_user, child_system] = ticks[..] else {
        anyhow::bail!("/proc/self/stat is short");
    };
    Ok(((user + child_user) / 100.0, (system + child_system) / 100.0))
}
