//! Decodes a dump of many routes, as `kernel` reads them and by netlink-packet-route, in turn, several
//! times over: the reason why `kernel/route.rs` reads attributes in place. Needs root.
//!
//! `cargo run --release -p tresse-linux --example dump -- [ROUTES] [ROUNDS]`, by default 100000 and 9.
//! The kernel is asked once; both decode the same bytes in memory, to the same list of routes. Prints
//! one JSON object: medians of the processor time.

use std::fmt::Write as _;
use std::io::Write as _;
use std::net::IpAddr;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use netlink_packet_core::{
    NLM_F_DUMP, NLM_F_REQUEST, NLMSG_DONE, NLMSG_ERROR, NetlinkBuffer, NetlinkHeader,
    NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteMetric, RouteType,
};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use nix::sched::{CloneFlags, unshare};
use nix::time::{ClockId, clock_gettime};
use serde_json::json;
use tresse_base::units::Prefix;
use tresse_linux::kernel::fuzz;
use tresse_reconcile::{
    METRIC_PRIMARY, NEXTHOP_BASE, ObservedRoute, ObservedRoutes, PROTOCOL, RouteKey, RouteList,
};

/// The sequence number of a recorded dump.
const SEQUENCE: u32 = 1;

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let mut count = |default| arguments.next().map_or(Ok(default), |a| a.parse::<usize>());
    let (routes, rounds) = (count(100_000)?, count(9)?);
    unshare(CloneFlags::CLONE_NEWNET).context("a new network namespace needs root")?;
    install(routes)?;
    let before = processor()?;
    let dump = record()?;
    let received = processor()?.saturating_sub(before);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let before = processor()?;
        let by_us = fuzz::routes(&dump).map_err(anyhow::Error::msg)?;
        ours.push(processor()?.saturating_sub(before));
        let before = processor()?;
        let by_crate = decoded(&dump)?;
        theirs.push(processor()?.saturating_sub(before));
        ensure!(by_us == by_crate && by_us.len() == routes, "the two differ");
    }
    let (ours, theirs) = (median(ours), median(theirs));
    let report = json!({
        "format": 1,
        "routes": routes,
        "rounds": rounds,
        "dump_bytes": dump.len(),
        "kernel_cpu_seconds": received.as_secs_f64(),
        "tresse_cpu_seconds": ours.as_secs_f64(),
        "netlink_packet_route_cpu_seconds": theirs.as_secs_f64(),
        "netlink_packet_route_to_tresse": theirs.as_secs_f64() / ours.as_secs_f64(),
    });
    println!("{report:#}");
    Ok(())
}

/// Routes through one nexthop group, as a slice has them.
fn install(routes: usize) -> anyhow::Result<()> {
    let group = NEXTHOP_BASE + 1;
    let mut batch = format!(
        "link add eth0 type veth peer name far0\nlink set eth0 up\nlink set far0 up\n\
         link add tresse0 type bridge\nlink set tresse0 up\naddress add 10.77.0.1/32 dev tresse0\n\
         nexthop add id {NEXTHOP_BASE} via 10.64.0.2 dev eth0 onlink protocol {PROTOCOL}\n\
         nexthop add id {group} group {NEXTHOP_BASE} protocol {PROTOCOL}\n"
    );
    let prefix: Prefix = "10.128.0.0/9".parse()?;
    for n in 0..routes {
        let dst = prefix.nth(n as u128).context("prefix too small")?;
        writeln!(
            batch,
            "route add {dst}/32 nhid {group} src 10.77.0.1 metric {METRIC_PRIMARY} proto {PROTOCOL} \
             mtu 1500 advmss 1460"
        )?;
    }
    let mut child = Command::new("ip").args(["-batch", "-"]).stdin(Stdio::piped()).spawn()?;
    child.stdin.take().context("ip has no input")?.write_all(batch.as_bytes())?;
    ensure!(child.wait()?.success(), "ip -batch failed");
    Ok(())
}

/// All datagrams of one dump of the IPv4 routes.
fn record() -> anyhow::Result<Vec<u8>> {
    let mut socket = Socket::new(NETLINK_ROUTE)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | NLM_F_DUMP;
    header.sequence_number = SEQUENCE;
    let mut all = RouteMessage::default();
    all.header.address_family = netlink_packet_route::AddressFamily::Inet;
    let mut request = NetlinkMessage::new(header, RouteNetlinkMessage::GetRoute(all).into());
    request.finalize();
    let mut bytes = vec![0; request.buffer_len()];
    request.serialize(&mut bytes);
    socket.send(&bytes, 0)?;
    let (mut dump, mut datagram) = (Vec::new(), Vec::with_capacity(64 * 1024));
    loop {
        datagram.clear();
        socket.recv(&mut datagram, 0)?;
        dump.extend_from_slice(&datagram);
        let mut left = datagram.as_slice();
        while !left.is_empty() {
            let message = NetlinkBuffer::new_checked(left)?;
            match message.message_type() {
                NLMSG_DONE => return Ok(dump),
                NLMSG_ERROR => bail!("the kernel refused the dump"),
                _ => {}
            }
            let length = (message.length() as usize).next_multiple_of(4);
            left = left.get(length..).unwrap_or_default();
        }
    }
}

/// The routes of the main table, decoded by netlink-packet-route.
fn decoded(mut dump: &[u8]) -> anyhow::Result<ObservedRoutes> {
    let mut routes = RouteList::default();
    while !dump.is_empty() {
        let message = NetlinkMessage::<RouteNetlinkMessage>::deserialize(dump)?;
        let length = (message.header.length as usize).next_multiple_of(4);
        dump = dump.get(length..).unwrap_or_default();
        let NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewRoute(route)) = message.payload
        else {
            continue;
        };
        let RouteHeader { kind, table, .. } = route.header;
        if kind == RouteType::Unicast && table == RouteHeader::RT_TABLE_MAIN {
            let (key, route) = observed(route);
            routes.push(key, route);
        }
    }
    Ok(routes.finish())
}

fn observed(message: RouteMessage) -> (RouteKey, ObservedRoute) {
    let len = message.header.destination_prefix_length;
    let mut prefix = Prefix { address: IpAddr::from([0; 4]), len };
    let mut metric = 0;
    let mut route = ObservedRoute {
        protocol: message.header.protocol.into(),
        nexthop: None,
        interface: None,
        src: None,
        mtu: None,
        advmss: None,
    };
    for attribute in message.attributes {
        match attribute {
            RouteAttribute::Destination(RouteAddress::Inet(to)) => prefix.address = to.into(),
            RouteAttribute::Priority(of_route) => metric = of_route,
            RouteAttribute::PrefSource(RouteAddress::Inet(from)) => route.src = Some(from.into()),
            RouteAttribute::NhId(id) => route.nexthop = Some(id),
            RouteAttribute::Metrics(metrics) => {
                for metric in metrics {
                    match metric {
                        RouteMetric::Mtu(mtu) => route.mtu = Some(mtu),
                        RouteMetric::Advmss(advmss) => route.advmss = Some(advmss),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    ((prefix, metric), route)
}

fn median(mut values: Vec<Duration>) -> Duration {
    values.sort();
    values[values.len() / 2]
}

/// Processor time of this process.
fn processor() -> anyhow::Result<Duration> {
    Ok(clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID)?.into())
}
