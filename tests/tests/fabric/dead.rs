//! What becomes of packets for a node that is dead, on fabrics without VLANs.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tresse_base::id::NodeId;

use crate::attacks::Sniffer;
use crate::lab::{Lab, eventually};
use crate::silent::whole;
use crate::suite::Tests;

pub const TESTS: Tests = &[
    ("routed_bfd_packets_for_a_dead_node_are_refused_and_do_not_circle", || are_refused(&[])),
    ("routed_bfd_packets_for_a_silent_node_are_refused_and_do_not_circle", || {
        are_refused(&["--silent"])
    }),
];

/// Sends a datagram every 10 ms for 5 s, and prints of each whether it was refused.
const SENDER: &str = "
import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
begun = time.time()
for n in range(500):
    time.sleep(max(0, begun + n / 100 - time.time()))
    try:
        s.sendto(b'', (sys.argv[1], 9))
        print(0)
    except OSError:
        print(1)
";

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
    let sender = lab.inside(lab.now.node(others[0]), || {
        let mut command = Command::new("python3");
        command.args(["-u", "-c", SENDER, &to]).stdout(Stdio::piped()).spawn().unwrap()
    });
    let begun = Instant::now();
    std::thread::sleep(Duration::from_secs(1));
    let failed = begun.elapsed();
    assert!(lab.verb(&[&["fail"], how, &[&name]].concat()).1);
    let output = String::from_utf8(sender.wait_with_output().unwrap().stdout).unwrap();
    let refused: Vec<bool> = output.lines().map(|line| line == "1").collect();
    assert_eq!(refused.len(), 500);
    let first = refused.iter().rposition(|refused| !refused).unwrap() + 1;
    let after = Duration::from_millis(first as u64 * 10).saturating_sub(failed);
    // Received by somebody else: outgoing ones are seen too, and count once.
    let seen = || sniffers.iter().map(|sniffer| sniffer.received(&to)).sum::<usize>();
    std::thread::sleep(Duration::from_millis(500));
    let (seen, sent) = (seen(), first);
    eprintln!(
        "{text:?} {how:?}: refused from {after:.2?} after the failure on, {sent} sent, {seen} seen by others"
    );
    // Detection, twice that where a peer is silent on several paths, and one second.
    assert!(after < Duration::from_secs(2), "{after:?}");
    // At most one node is in the way of a planned path here. While nodes learn of the failure packets may circle until
    // their TTL is over: for all that somebody tried to send, not more than one further frame each.
    assert!(seen <= sent + refused.len(), "{seen} of {sent}");
}
