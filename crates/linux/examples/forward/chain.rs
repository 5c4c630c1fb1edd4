//! TCP over a chain of two nodes: the source pushes a label through its TUN interface, as where a kernel
//! cannot, a transit node pops it by the engine. Beside it the kernel's IPv4 forwarding over the same
//! cables, all offloads of the cables off.
//!
//! ```text
//! source vs3 --- vf3 node vf4 --- vd4 sink
//! ```
//!
//! Acknowledgements are forwarded by the kernel both times. The source's TUN interface leaves TCP whole
//! as far as the source's engine, which cuts it: that part of the sender is cheaper than in the kernel
//! with offloads off.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tresse_base::id::Label;
use tresse_base::label::LabelExit;
use tresse_base::units::Mac;
use tresse_frame::forward::{ForwardingTable, LabelPath, PushTable, TableNic, Ttl};
use tresse_linux::forward::{Config, ForwardingEngine, Pusher};
use tresse_linux::kernel::execute;
use tresse_reconcile::{LinkKind, Operation, PUSH_INTERFACE};

use super::host::{Host, mac, pin, run};
use super::tcp::{self, ENGINE, SOURCE};

const LABEL: Label = Label(16);
const SINK_AT: &str = "10.4.0.3:7801";

/// The cables of the chain.
pub struct Chain {
    table: Arc<ForwardingTable>,
    push: Arc<PushTable>,
}

/// In bits a second.
pub struct Rates {
    pub kernel: f64,
    pub chain: f64,
}

/// The cables and their ends; the calling thread is on the node.
pub fn lay(source: &Host, sink: &Host) -> anyhow::Result<Chain> {
    let (s, d) = (source.thread, sink.thread);
    run(&format!("ip link add vf3 mtu 1600 type veth peer name vs3 mtu 1600 netns {s}"))?;
    run(&format!("ip link add vf4 mtu 1600 type veth peer name vd4 mtu 1600 netns {d}"))?;
    for name in ["vf3", "vf4"] {
        run(&format!("ip link set {name} up"))?;
        run(&format!("ethtool -K {name} tx off tso off gso off gro off"))?;
        for setting in ["forwarding=1", "rp_filter=0", "send_redirects=0"] {
            run(&format!("sysctl -qw net.ipv4.conf.{name}.{setting}"))?;
        }
    }
    let (near, far) = (mac("vf3")?, mac("vf4")?);
    let end = move |name: &'static str, own: u8, other: u8, node: Mac| {
        run(&format!("ethtool -K {name} tx off tso off gso off gro off"))?;
        run(&format!("sysctl -qw net.ipv4.conf.{name}.rp_filter=0"))?;
        run(&format!("ip addr add 10.4.0.{own}/32 dev {name}"))?;
        run(&format!("ip link set {name} up"))?;
        run(&format!("ip neigh add 10.4.0.1 lladdr {node} dev {name} nud permanent"))?;
        run(&format!("ip route add 10.4.0.{other} via 10.4.0.1 dev {name} onlink mtu 1500"))?;
        mac(name)
    };
    let first = source.call(move || end("vs3", 2, 3, near))?;
    let last = sink.call(move || end("vd4", 3, 2, far))?;
    for (name, host, mac) in [("vf3", 2, first), ("vf4", 3, last)] {
        run(&format!("ip neigh add 10.4.0.{host} lladdr {mac} dev {name} nud permanent"))?;
        run(&format!("ip route add 10.4.0.{host} dev {name}"))?;
    }
    let nics = [
        TableNic { mac: near, mtu_bytes: 1600, neighbours: vec![(None, first)] },
        TableNic { mac: far, mtu_bytes: 1600, neighbours: Vec::new() },
    ];
    let exit = LabelExit { nic: 1, vid: None, mac: last };
    let table = ForwardingTable::new(&nics, [(LABEL, exit)], Ttl::Propagate)?;
    let nic = TableNic { mac: first, mtu_bytes: 1600, neighbours: Vec::new() };
    let path = LabelPath { nic: 0, vid: None, mac: near, labels: vec![LABEL], weight: 1 };
    let push = PushTable::new(&[nic], [("10.4.0.3".parse()?, vec![path])], Ttl::Propagate)?;
    Ok(Chain { table: table.into(), push: push.into() })
}

/// Both ways in turn.
pub fn round(
    source: &Host,
    sink: &Host,
    chain: &Chain,
    duration: Duration,
) -> anyhow::Result<Rates> {
    let kernel = tcp::bits(source, sink, SINK_AT, duration)?;
    let push = chain.push.clone();
    let pusher = source.call(move || {
        pin([SOURCE])?;
        let name = || PUSH_INTERFACE.to_owned();
        let outcome = execute(&[
            Operation::AddLink {
                name: name(),
                link: LinkKind::Tun,
                mtu: 1500,
                alias: "tresse:push".into(),
                mac: None,
            },
            Operation::SetLinkState { name: name(), up: true },
        ]);
        let tun = outcome.tuns.into_iter().next().context("no TUN interface")?;
        run(&format!("ip route add 10.4.0.3 dev {PUSH_INTERFACE} src 10.4.0.2 metric 1 mtu 1500"))?;
        run("ip route del 10.4.0.3 dev vs3")?;
        Ok(Pusher::start(tun, &["vs3".into()], push)?)
    })?;
    pin([ENGINE])?;
    let config = Config { threads: 1, ..Config::new(vec!["vf3".into(), "vf4".into()]) };
    let engine = ForwardingEngine::start(&config, chain.table.clone())?;
    let rate = tcp::bits(source, sink, SINK_AT, duration)?;
    engine.stop();
    drop(pusher);
    source.call(|| run("ip route add 10.4.0.3 via 10.4.0.1 dev vs3 onlink mtu 1500"))?;
    Ok(Rates { kernel, chain: rate })
}
