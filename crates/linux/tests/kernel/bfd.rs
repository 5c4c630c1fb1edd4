//! Failure detection over real cables.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use libtest_mimic::Trial;
use tresse_base::id::{NodeId, PathId};
use tresse_linux::bfd::Bfd;
use tresse_linux::kernel::observe;
use tresse_liveness::{Secrets, SendingInterface, SessionState, Timing, WatchedPath, Watching};
use tresse_namespace::{eventually, trial};

use crate::cables::cables;

pub fn trials() -> Vec<Trial> {
    vec![trial("a_socket_is_open_as_long_as_its_interface_is_watched", &[], closed)]
}

/// One end of the cable `at`: `eth0` is of node 0, `far0` of node 1.
fn watching(node: u32, at: usize) -> Watching {
    let address = |node: u32| IpAddr::from([10, 77, 0, node as u8 + 1]);
    let [here, there] = match node {
        0 => [format!("eth{at}"), format!("far{at}")],
        _ => [format!("far{at}"), format!("eth{at}")],
    };
    let links = observe([]).unwrap().links;
    let mac = |name: &str| links[name].mac.unwrap();
    let path = WatchedPath {
        id: PathId { src: NodeId(node), dst: NodeId(1 - node), rank: 0 },
        source: address(node),
        destination: address(1 - node),
        interface: here.clone(),
        mac: mac(&there),
        labels: Vec::new(),
        arrival: Some(here.clone()),
        shared: false,
        transits: 0,
        active: true,
        nodes: None,
    };
    let interface = SendingInterface { ifindex: links[&here].index, mac: mac(&here) };
    Watching {
        generation: [at as u8 + 1; 8],
        paths: Arc::new(vec![path]),
        interfaces: [(here, interface)].into(),
        ..Watching::default()
    }
}

fn closed() {
    cables(2);
    let timing = Timing { interval: Duration::from_millis(20), multiplier: 3 };
    let secret = |mut last: u64| -> Secrets {
        Box::new(move || {
            last += 1;
            last
        })
    };
    let ends = [10, 20].map(|first| Bfd::start(timing, [secret(first), secret(first)]).unwrap());
    // Every end receives by one socket of each family, and sends by one of each interface.
    let sockets = || {
        let listed = std::fs::read_to_string("/proc/thread-self/net/packet").unwrap();
        listed.lines().skip(1).count()
    };
    for at in [0, 1, 0] {
        for (node, end) in ends.iter().enumerate() {
            let watching = watching(node as u32, at);
            let interface = watching.paths[0].interface.clone();
            end.set(watching);
            eventually("it is watched", || {
                end.path_events().borrow().sessions.iter().all(|line| line.interface == interface)
            });
        }
        let up = |of: &Bfd| {
            let event = of.path_events();
            event.borrow().sessions.iter().any(|line| line.state == SessionState::Up)
        };
        eventually("both are up", || ends.iter().all(up));
        assert_eq!(sockets(), 2 * 3, "cable {at}");
    }
}
