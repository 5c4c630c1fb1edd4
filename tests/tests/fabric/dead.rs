//! What becomes of packets for a node that is dead, on fabrics without VLANs.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tresse_base::id::NodeId;

use crate::attacks::Sniffer;
use crate::lab::{Lab, eventually, soon};
use crate::silent::whole;
use crate::suite::Tests;

pub const TESTS: Tests = &[
    ("routed_bfd_packets_for_a_dead_node_are_refused_and_do_not_circle", || are_refused(&[])),
    ("routed_bfd_packets_for_a_silent_node_are_refused_and_do_not_circle", || {
        are_refused(&["--silent"])
    }),
    ("routed_bfd_goes_round_a_node_whose_plan_is_withdrawn", go_round_the_withdrawn),
];

/// Sends a datagram every 10 ms for 5 s, the n-th of n octets, and prints of each when, and whether it was refused.
const SENDER: &str = "
import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
begun = time.time()
for n in range(500):
    time.sleep(max(0, begun + n / 100 - time.time()))
    now = time.time()
    try:
        s.sendto(bytes(n), (sys.argv[1], 9))
        print(now, 0)
    except OSError:
        print(now, 1)
";

/// How many nodes may receive a packet: the TTL that Linux gives it.
const TTL: usize = 64;

fn are_refused(how: &[&str]) {
    for text in [
        "[fabric]\ntopology = { kind = \"direct-torus\", dims = [3, 3] }\n",
        "[fabric]\ntopology = { kind = \"pmesh\", dims = [3, 3] }\n",
        "[fabric]\ntopology = { kind = \"full-mesh\", nodes = 4 }\n",
        "[fabric]\ntopology = { kind = \"fnn\", wiring = \"0: 0 1 2\\n1: 2 3 4\\n2: 4 5 0\\n3: 1 3 5\\n\" }\n",
    ] {
        refused(text, how);
    }
}

fn refused(text: &str, how: &[&str]) {
    let lab = Lab::up(text, &["--bfd-ms", "100"]);
    eventually("in sync, all sessions up", 60, || whole(&lab));
    let dead = lab.now.nodes().last().unwrap();
    let [name, to] = [lab.now.node(dead).to_owned(), lab.address(dead).to_string()];
    let others: Vec<NodeId> = lab.now.nodes().filter(|node| *node != dead).collect();
    let sniffers: Vec<Sniffer> =
        others.iter().map(|node| Sniffer::start(&lab, *node, "any")).collect();
    let mut sender = lab.inside(lab.now.node(others[0]), || {
        let mut command = Command::new("python3");
        command.args(["-u", "-c", SENDER, &to]).stdout(Stdio::piped()).spawn().unwrap()
    });
    let mut output = BufReader::new(sender.stdout.take().unwrap()).lines().map(Result::unwrap);
    // It takes a while to start where the machine is busy.
    let before: Vec<String> = output.by_ref().take(50).collect();
    let failed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
    assert!(lab.verb(&[&["fail"], how, &[&name]].concat()).1);
    let begun = Instant::now();
    // Detection, twice that where a peer is silent on several paths, and one second.
    soon("no node has a route to the dead one", 2, || {
        let knows = |node: &&NodeId| refuses(&lab, **node, &to);
        others.iter().find(|node| !knows(node)).map_or(Ok(()), |node| Err(lab.now.node(*node)))
    });
    let all_know = begun.elapsed();
    let sent: Vec<(f64, bool)> =
        before.into_iter().chain(output).map(|line| parsed(&line).unwrap()).collect();
    assert!(sender.wait().unwrap().success() && sent.len() == 500);
    std::thread::sleep(Duration::from_millis(500));
    // Received by somebody else: outgoing ones are seen too, and count once.
    let mut seen = vec![0; sent.len()];
    for length in sniffers.iter().flat_map(|sniffer| sniffer.lengths(&to)) {
        seen[length] += 1;
    }
    let last = sent.iter().rposition(|(_, refused)| !refused).unwrap();
    let circled = seen.iter().filter(|seen| **seen > 1).count();
    eprintln!(
        "{text:?} {how:?}: {:.0} ms after the failure the sender has no route, after {:.0} ms nobody; {circled} of {} circled, {} seen by others",
        (sent[last].0 - failed).max(0.0) * 1000.0,
        all_know.as_secs_f64() * 1000.0,
        last + 1,
        seen.iter().sum::<usize>(),
    );
    assert!(sent[last].0 - failed < 2.0);
    for (number, ((time, _), seen)) in sent.iter().zip(seen).enumerate() {
        // At most one node is in the way of a planned path here. While nodes learn of the failure packets may circle
        // until their TTL is over; one that was on its way when the failure came is with these.
        let most = match number {
            _ if *time < failed - 0.05 => 1,
            _ if number <= last => TTL,
            _ => 0,
        };
        assert!(seen <= most, "packet {number} was received {seen} times, {most} allowed");
    }
}

/// A node whose plan is withdrawn forwards nothing any more. It says so, and others go round it.
fn go_round_the_withdrawn() {
    for text in [
        "[fabric]\ntopology = { kind = \"direct-torus\", dims = [4] }\n",
        "[fabric]\ntopology = { kind = \"direct-torus\", dims = [3, 3] }\n",
        "[fabric]\ntopology = { kind = \"pmesh\", dims = [3, 3] }\n",
        "[fabric]\ntopology = { kind = \"fnn\", wiring = \"0: 0 1 2\\n1: 2 3 4\\n2: 4 5 0\\n3: 1 3 5\\n\" }\n",
    ] {
        let lab = Lab::up(text, &["--bfd-ms", "100"]);
        eventually("in sync, all sessions up", 60, || whole(&lab));
        let out = NodeId(1);
        let others: Vec<(NodeId, NodeId)> =
            lab.now.plan.pairs().filter(|(from, to)| ![*from, *to].contains(&out)).collect();
        lab.client(out).withdraw(false).unwrap();
        let begun = Instant::now();
        soon("others go round it", 5, || match lab.ping_briefly(&others)[..] {
            [] => Ok(()),
            [(from, to), ..] => {
                Err(format!("{} does not reach {}", lab.now.node(from), lab.now.node(to)))
            }
        });
        eprintln!("{text:?}: others go round it after {:?} at most", begun.elapsed());
        lab.apply(out, &lab.now);
        eventually("all sessions are up again", 60, || whole(&lab));
        let all: Vec<(NodeId, NodeId)> = lab.now.plan.pairs().collect();
        assert_eq!(lab.ping_briefly(&all), []);
    }
}

/// Whether a node's kernel has no way to an address.
fn refuses(lab: &Lab, node: NodeId, to: &str) -> bool {
    !lab.inside(lab.now.node(node), || {
        let mut command = Command::new("ip");
        command.args(["route", "get", to]).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().unwrap().success()
    })
}

fn parsed(line: &str) -> Option<(f64, bool)> {
    let (time, refused) = line.split_once(' ')?;
    Some((time.parse().ok()?, refused == "1"))
}
