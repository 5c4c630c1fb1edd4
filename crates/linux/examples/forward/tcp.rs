//! TCP through the node and back out of the NIC that it came in by, frames of 1500 bytes of payload,
//! all offloads off: by the kernel's IPv4 forwarding, and with one label that the engine pops, on
//! data and acknowledgements alike. The kernel forwards on the sender's core, the engine on the sink's.
//!
//! ```text
//! source vs2 --- vf2 node
//! sink   mc2 /                (macvlan of mode vepa: all that it sends goes to the cable)
//! ```

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::ensure;
use tresse_base::id::Label;
use tresse_base::label::LabelExit;
use tresse_frame::forward::{ForwardingTable, TableNic, Ttl};
use tresse_linux::forward::{Config, ForwardingEngine};

use super::host::{Host, mac, pin, receive_on, run};
use super::push;

const SINK_AT: &str = "10.3.0.3:7801";
const TO_SINK: Label = Label(16);
const TO_SOURCE: Label = Label(17);
/// Cores: the kernel forwards data on the source's, within its calls.
pub const SOURCE: usize = 0;
const SINK: usize = 1;
pub const ENGINE: usize = 1;
/// Not counted: the connection is still gaining speed.
const WARM: Duration = Duration::from_millis(300);

/// What [`bits`] has seen, in bits a second.
pub struct Tcp {
    pub kernel: f64,
    pub packet: f64,
}

/// The cable and its two hosts' ends; the calling thread is on the node.
pub fn lay(source: &Host, sink: &Host) -> anyhow::Result<Arc<ForwardingTable>> {
    let (s, d) = (source.thread, sink.thread);
    run(&format!("ip link add vf2 mtu 1600 type veth peer name vs2 mtu 1600 netns {s}"))?;
    source.call(move || {
        run("ip link add mc2 link vs2 type macvlan mode vepa")?;
        run(&format!("ip link set mc2 netns {d}"))
    })?;
    run("ip link set vf2 up")?;
    run("ip addr add 10.3.0.1/24 dev vf2")?;
    for setting in ["forwarding=1", "rp_filter=0", "send_redirects=0"] {
        run(&format!("sysctl -qw net.ipv4.conf.vf2.{setting}"))?;
    }
    let node = mac("vf2")?;
    let end = move |name: &'static str, own: u8, other: u8| {
        run(&format!("ip addr add 10.3.0.{own}/32 dev {name}"))?;
        run(&format!("ip link set {name} up"))?;
        run(&format!("ip neigh add 10.3.0.1 lladdr {node} dev {name} nud permanent"))?;
        run(&format!("ip route add 10.3.0.{other} via 10.3.0.1 dev {name} onlink mtu 1500"))?;
        mac(name)
    };
    source.call(|| run("ethtool -K vs2 tx off tso off gso off gro off"))?;
    let near = source.call(move || end("vs2", 2, 3))?;
    let far = sink.call(move || end("mc2", 3, 2))?;
    for (host, mac) in [(2, near), (3, far)] {
        run(&format!("ip neigh add 10.3.0.{host} lladdr {mac} dev vf2 nud permanent"))?;
    }
    let neighbours = vec![(None, near), (None, far)];
    let nic = TableNic { mac: node, mtu_bytes: 1500, neighbours };
    let exit = |mac| LabelExit { nic: 0, vid: None, mac };
    let labels = [(TO_SINK, exit(far)), (TO_SOURCE, exit(near))];
    Ok(Arc::new(ForwardingTable::new(&[nic], labels, Ttl::Propagate)?))
}

/// Source and sink process what arrives by these interfaces on cores of their own, as machines do, or on
/// that of whoever sent it, as namespaces do.
pub fn spread(source: &Host, sink: &Host, own: bool) -> anyhow::Result<()> {
    for (host, core, interfaces) in [(source, SOURCE, ["vs2", "vs3"]), (sink, SINK, ["mc2", "vd4"])]
    {
        let core = own.then_some(core);
        host.call(move || interfaces.iter().try_for_each(|name| receive_on(name, core)))?;
    }
    Ok(())
}

/// Both ways in turn.
pub fn round(
    source: &Host,
    sink: &Host,
    table: &Arc<ForwardingTable>,
    duration: Duration,
) -> anyhow::Result<Tcp> {
    let kernel = bits(source, sink, SINK_AT, duration)?;
    source.call(|| push::label("vs2", TO_SINK))?;
    sink.call(|| push::label("mc2", TO_SOURCE))?;
    pin([ENGINE])?;
    let config = Config { threads: 1, ..Config::new(vec!["vf2".into()]) };
    let engine = ForwardingEngine::start(&config, table.clone())?;
    let packet = bits(source, sink, SINK_AT, duration)?;
    engine.stop();
    source.call(|| push::plain("vs2"))?;
    sink.call(|| push::plain("mc2"))?;
    Ok(Tcp { kernel, packet })
}

/// One connection from source to sink, which is at `to`.
pub fn bits(
    source: &Host,
    sink: &Host,
    to: &'static str,
    duration: Duration,
) -> anyhow::Result<f64> {
    let listener = sink.call(move || Ok(TcpListener::bind(to)?))?;
    let received = sink.begin(move || {
        pin([SINK])?;
        let (mut stream, _) = listener.accept()?;
        let mut buffer = vec![0; 1 << 17];
        let (start, mut counted, mut bytes) = (Instant::now(), None, 0);
        loop {
            let count = stream.read(&mut buffer)?;
            ensure!(count > 0, "the source is gone");
            match counted {
                None if start.elapsed() >= WARM => counted = Some(Instant::now()),
                None => {}
                Some(since) => {
                    bytes += count;
                    let took = Instant::elapsed(&since);
                    if took >= duration {
                        return Ok(bytes as f64 * 8.0 / took.as_secs_f64());
                    }
                }
            }
        }
    })?;
    source.call(move || {
        pin([SOURCE])?;
        let mut stream = TcpStream::connect(to)?;
        let block = vec![0; 1 << 17];
        // The receiver closes.
        while stream.write_all(&block).is_ok() {}
        Ok(())
    })?;
    received.recv()?
}
