//! FRR's BFD daemon at the other end of our sessions (RFC 5881): it runs in a node's namespace, in the place of
//! the node's `tressed`, whose routes stay in the kernel.

use nix::sys::signal::{Signal, kill};
use tresse_base::id::NodeId;
use tresse_tests::frr::Frr;

use crate::lab::{Lab, eventually};
use crate::suite::Tests;

pub const TESTS: Tests = &[("routed_bfd_frr_answers_and_finds_what_we_find", answers)];

/// Two nodes with two switches in common, and so two paths of one segment.
const PAIR: &str = "[fabric]\ntopology = { kind = \"fnn\", wiring = \"0: 0 1\\n1: 0 1\\n\" }\n";

fn answers() {
    let lab = Lab::up(PAIR, &["--bfd-ms", "100"]);
    let (ours, theirs) = (NodeId(0), NodeId(1));
    let up = |wanted: u32| {
        let status = lab.status(ours)?;
        if (status.sessions_up, status.broken.len()) == (wanted, 2 - wanted as usize) {
            Ok(())
        } else {
            Err(format!("{} up, {:?} broken", status.sessions_up, status.broken))
        }
    };
    eventually("two sessions between our own", 60, || up(2));
    let daemon = lab.daemon(lab.now.node(theirs));
    kill(daemon, Signal::SIGTERM).unwrap();
    // It holds BFD's ports until it has ended.
    eventually("our daemon has ended", 10, || {
        kill(daemon, None).err().map_or(Err(daemon), |_| Ok(()))
    });

    let frr = with_bfd(&lab, theirs, ours);
    let states = |wanted: [&str; 2]| {
        let found = frr.sessions()?;
        if found.iter().map(|(_, state)| state).eq(wanted) {
            Ok(())
        } else {
            Err(format!("{found:?} {}", frr.log()))
        }
    };
    eventually("FRR has both sessions up", 60, || states(["up", "up"]));
    eventually("and so have we", 60, || up(2));

    let nic = format!("{}:eth0", lab.now.node(theirs));
    assert!(lab.verb(&["fail", "--silent", &nic]).1);
    eventually("FRR has lost one", 10, || states(["down", "up"]));
    eventually("and so have we", 10, || up(1));
    assert!(lab.verb(&["heal", &nic]).1);
    eventually("FRR has both sessions up again", 60, || states(["up", "up"]));
    eventually("and so have we", 60, || up(2));
}

/// Starts `bfdd` on a node with a session to `peer` over each NIC.
fn with_bfd(lab: &Lab, node: NodeId, peer: NodeId) -> Frr {
    let sessions = ["eth0", "eth1"].map(|nic| {
        format!(
            " peer {} local-address {} interface {nic}\n  detect-multiplier 3\n  receive-interval 100\n  \
             transmit-interval 100\n exit\n",
            lab.address(peer),
            lab.address(node)
        )
    });
    let mut frr = Frr::new(&lab.directory.netns(lab.now.node(node))).unwrap();
    frr.start("zebra", "").unwrap();
    frr.start("bfdd", &format!("bfd\n{}exit\n", sessions.concat())).unwrap();
    frr
}
