//! Local users who take the UDP ports of BFD, before the daemon and after it, and who send to them.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use nix::sys::signal::Signal;

use super::daemon::{N0, start, stop, up};
use crate::lab::{Lab, eventually};
use crate::routed::silent;
use crate::silent::whole;

/// As `nobody`, binds the ports of BFD on the addresses in the way asked for, says how many it got, and then sends what is
/// no packet of BFD, and what is one with a foreign number, to its own host, ten times a second, until it is ended.
const THIEF: &str = "
import os, socket, struct, sys, time
os.setgid(65534)
os.setuid(65534)
reuse, addresses = sys.argv[1] == 'reuse', sys.argv[2:]
held = []
for address in addresses:
    for port in 3784, 4784:
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        if reuse:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        try:
            s.bind((address, port))
            held.append(s)
        except OSError:
            pass
print(len(held), flush=True)
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, 255)
packet = struct.pack('!BBBBIIIII', 1 << 5 | 1, 1 << 6, 3, 24, 77, 78, 100000, 100000, 0)
while True:
    for address in addresses:
        for port in 3784, 4784:
            s.sendto(b'nonsense', (address, port))
            s.sendto(packet, (address, port))
    time.sleep(0.1)
";

/// The program above, and how many ports it holds.
struct Thief(Child, usize);

impl Thief {
    fn begin(lab: &Lab, how: &str, addresses: &[String]) -> Self {
        let mut command = Command::new("python3");
        command.args(["-c", THIEF, how]).args(addresses).stdout(Stdio::piped());
        let mut child = lab.inside("n0", || command.spawn().unwrap());
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self(child, line.trim().parse().unwrap())
    }
}

impl Drop for Thief {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// What the node took for something of BFD that is nothing of the kind.
fn nonsense(lab: &Lab) -> u64 {
    let counters = lab.client(N0).counters().unwrap().counters;
    counters.iter().find(|line| line.name == "bfd_malformed_total").unwrap().value
}

/// How often this host said that a port is closed.
fn refusals(lab: &Lab) -> String {
    let all = lab.run("n0", "nstat -asz IcmpOutDestUnreachs");
    all.lines().last().unwrap().to_owned()
}

/// Neither who was there before the daemon nor who comes later takes its packets away, hides a failure, or is heard.
pub fn taken() {
    let lab = up();
    let mut own = vec!["127.0.0.1".to_owned()];
    let addresses = lab.now.plan.addresses();
    let all = addresses.nic[0].iter().flatten().chain(&addresses.node[0]);
    own.extend(all.map(ToString::to_string));
    let before = refusals(&lab);
    let beside = Thief::begin(&lab, "plain", &own);
    assert_eq!(beside.1, 0, "the daemon has them");
    drop(beside);
    let beside = Thief::begin(&lab, "reuse", &own);
    assert_eq!(beside.1, 0, "the daemon has them");
    finds_a_failure(&lab);
    assert_eq!(nonsense(&lab), 0);
    assert_eq!(refusals(&lab), before);
    drop(beside);

    stop(&lab, Signal::SIGTERM);
    let first = Thief::begin(&lab, "reuse", &own);
    assert_eq!(first.1, 2 * own.len());
    let mut daemon = start(&lab);
    let socket = lab.directory.socket("n0");
    eventually("it answers", 30, || tresse_control::Client::connect(&socket).map(drop));
    eventually("in sync, all sessions up", 60, || whole(&lab));
    let second = Thief::begin(&lab, "reuse", &["0.0.0.0".to_owned()]);
    assert_eq!(second.1, 2);
    finds_a_failure(&lab);
    assert_eq!(nonsense(&lab), 0);
    assert_eq!(silent(&lab), []);
    drop((first, second, lab));
    daemon.wait().unwrap();
}

fn finds_a_failure(lab: &Lab) {
    assert!(lab.verb(&["fail", "--silent", "n0:eth0"]).1);
    eventually("the silent NIC is found", 15, || match lab.status(N0)? {
        status if status.broken.is_empty() => Err("nothing is broken".to_owned()),
        _ => Ok(()),
    });
    assert!(lab.verb(&["heal", "n0:eth0"]).1);
    eventually("all sessions are up again", 60, || whole(lab));
}
