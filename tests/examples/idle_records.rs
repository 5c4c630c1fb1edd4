//! What an idle `tressed` takes that holds the records of all nodes of a large fabric: memory, wake-ups and processor
//! time, on a node of a direct torus of 1,000 nodes whose six neighbours run daemons too. Needs root.
//!
//! `idle_records [SECONDS]`, by default 60. The records of the 993 others are made up, and sent by the first neighbour.

use std::path::Path;
use std::time::Duration;

use tresse_engine::digest;
use tresse_frame::records::{self, Emitter, Instance, Item, Origin, RecordId, RecordsFrame};
use tresse_lab::netns;
use tresse_linux::kernel::RecordsSocket;
use tresse_liveness::records::{PathState, Report};
use tresse_plan::Plan;
use tresse_tests::idle::{Daemon, Outcome, count, ip, namespace};

const NODE: &str = "tresse-idle";
const CLUSTER: &str =
    "[fabric]\nname = \"idle\"\ntopology = { kind = \"direct-torus\", dims = [10, 10, 10] }\n";

fn main() -> Outcome<()> {
    let seconds = std::env::args().nth(1).map_or(Ok(60), |a| a.parse())?;
    let home = tempfile::tempdir()?;
    let mut places = vec![NODE.to_owned()];
    let result = measure(home.path(), &mut places, seconds);
    for place in places {
        let _ = ip(&["netns", "delete", &place]);
    }
    result
}

fn measure(home: &Path, places: &mut Vec<String>, seconds: u64) -> Outcome<()> {
    let cluster = tresse_cluster::parse(CLUSTER, "cluster").map_err(|e| e.to_string())?;
    let plan = Plan::build(cluster).map_err(|e| e.to_string())?;
    let nodes = &plan.cluster().nodes;
    namespace(NODE)?;
    let mut daemons = Vec::new();
    for (at, nic) in nodes[0].nics.iter().enumerate() {
        let peer = nic.peer.ok_or("a NIC without a neighbour")?;
        let place = format!("{NODE}-{at}");
        namespace(&place)?;
        places.push(place.clone());
        let beside = &nodes[peer.node.index()];
        for (k, other) in beside.nics.iter().enumerate() {
            let (mac, own) = (other.mac.to_string(), nic.mac.to_string());
            // The other NICs of a neighbour lead nowhere.
            let far: &[&str] = match k == peer.nic {
                true => &["address", &own, "netns", NODE],
                false => &[],
            };
            let name = if k == peer.nic { nic.name.clone() } else { format!("far{k}") };
            let words = ["-n", &place, "link", "add", &other.name, "address", &mac, "type", "veth"];
            ip(&[&words[..], &["peer", "name", &name], far].concat())?;
            ip(&["-n", &place, "link", "set", &other.name, "up"])?;
        }
        ip(&["-n", NODE, "link", "set", &nic.name, "up"])?;
        daemons.push(Daemon::start(&place, &home.join(&beside.name), &beside.name, CLUSTER)?);
    }
    let daemon = Daemon::start(NODE, &home.join("own"), &nodes[0].name, CLUSTER)?;
    daemon.settled()?;
    daemon.eventually(|client| {
        let status = client.status().map_err(|error| error.to_string())?;
        let (up, all) = (status.sessions_up, status.sessions);
        if all > 0 && up == all { Ok(()) } else { Err(format!("{up} of {all} sessions up")) }
    })?;
    println!(
        "one node of {}: {} routes, {} sessions",
        nodes.len(),
        count(NODE, &["route", "show"])?,
        daemon.client()?.status()?.sessions
    );
    println!("at first:                {}", daemon.memory()?);
    send(&plan, &places[1])?;
    daemon.eventually(|client| {
        let counters = client.counters().map_err(|error| error.to_string())?.counters;
        let held = counters.iter().find(|line| line.name == "records").map_or(0, |line| line.value);
        if held == nodes.len() as u64 { Ok(()) } else { Err(format!("{held} records")) }
    })?;
    println!("with {} records:       {}", nodes.len(), daemon.memory()?);
    std::thread::sleep(Duration::from_secs(10));
    let before = daemon.run()?;
    std::thread::sleep(Duration::from_secs(seconds));
    let after = daemon.run()?;
    println!(
        "idle for {seconds} s: {} wake-ups, {:.4} s CPU",
        after.wakes - before.wakes,
        (after.processor - before.processor).as_secs_f64()
    );
    println!("after that:              {}", daemon.memory()?);
    Ok(())
}

/// Sends what all nodes but the measured one and its neighbours say, by the first neighbour.
fn send(plan: &Plan, place: &str) -> Outcome<()> {
    let nodes = &plan.cluster().nodes;
    let layout = plan.layout().ok_or("nodes route here")?;
    let peer = nodes[0].nics[0].peer.ok_or("a neighbour")?;
    let near: Vec<usize> =
        nodes[0].nics.iter().filter_map(|nic| nic.peer).map(|p| p.node.index()).collect();
    let interface = nodes[peer.node.index()].nics[peer.nic].clone();
    let fabric = digest(&plan.cluster().name);
    let mut packets = vec![Emitter::new(fabric)];
    for (at, node) in nodes.iter().enumerate().filter(|(at, _)| *at != 0 && !near.contains(at)) {
        let hops = layout.neighbours(at.into()).len();
        let report = Report {
            generation: digest(plan.generation()),
            hops: vec![PathState::Sound; hops],
            ..Report::default()
        };
        let fields = report.emit();
        let instance = Instance { epoch: 1, number: 1, digest: records::digest(&fields) };
        let id = RecordId { origin: Origin(u64::from_be_bytes(digest(&node.name))), instance };
        let item = Item::Record { id, seconds: 3600, fields: &fields };
        if packets.last_mut().is_none_or(|packet| !packet.push(&item)) {
            let mut packet = Emitter::new(fabric);
            packet.push(&item);
            packets.push(packet);
        }
    }
    let sent = netns::inside(place, || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
        runtime.map_err(|e| e.to_string())?.block_on(async {
            let socket = RecordsSocket::open(&interface.name).map_err(|e| e.to_string())?;
            for packet in packets {
                let (source, destination) = (interface.mac, nodes[0].nics[0].mac);
                let frame = RecordsFrame { source, destination, packet: packet.finish() };
                socket.send(&frame).map_err(|e| e.to_string())?;
                // No faster than the node takes them.
                std::thread::sleep(Duration::from_millis(5));
            }
            Ok::<_, String>(())
        })
    });
    Ok(sent??)
}
