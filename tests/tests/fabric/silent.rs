//! Failures that no carrier shows, on any kernel: nodes that watch their paths find them.

use nix::sys::signal::{Signal, kill};
use tresse_base::id::NodeId;

use crate::lab::{Lab, RESTART, eventually};
use crate::routed::{none, silent};
use crate::suite::Tests;

pub const TESTS: Tests = &[
    ("routed_bfd_a_p_mesh_outlives_every_nic", || outlives_nics(P_MESH, 3, &[])),
    ("routed_bfd_a_p_mesh_outlives_nics_that_fail_silently", || {
        outlives_nics(P_MESH, 5, &["--silent"])
    }),
    ("routed_bfd_flat_pairs_over_third_nodes_outlive_every_switch", outlive_switches_beyond),
    ("routed_bfd_flat_nodes_outlive_every_nic", || outlives_nics(FLAT, 5, &[])),
    ("routed_bfd_a_daemon_that_is_killed_breaks_nothing", killed),
    ("routed_bfd_what_died_while_no_daemon_ran_is_not_used", || {
        dead_before(P_MESH);
        dead_before(FLAT);
    }),
    ("routed_bfd_a_node_that_never_came_is_gone_round", node_dead_before),
];

const P_MESH: &str = "kind = \"pmesh\", dims = [3, 3]";
/// Six nodes of which no two opposite ones share a switch.
const FLAT: &str = "kind = \"fnn\", wiring = \"0: 0 1 2\\n1: 2 3 4\\n2: 4 5 0\\n3: 1 3 5\\n\"";
const WATCHED: &[&str] = &["--bfd-ms", "100", "--engine", "packet", "--source", "tun"];

fn up(topology: &str) -> Lab {
    up_with(topology, WATCHED)
}

fn up_with(topology: &str, options: &[&str]) -> Lab {
    let lab = Lab::up(&format!("[fabric]\ntopology = {{ {topology} }}\n"), options);
    eventually("in sync, all sessions up", 60, || whole(&lab));
    assert_eq!(silent(&lab), []);
    lab
}

/// In sync, with every session up and nothing broken.
pub fn whole(lab: &Lab) -> Result<(), String> {
    lab.in_sync()?;
    for node in lab.now.nodes() {
        let status = lab.status(node)?;
        let up = status.sessions > 0 && status.sessions_up == status.sessions;
        if !(up && status.broken.is_empty()) {
            let (up, all) = (status.sessions_up, status.sessions);
            return Err(format!("{node:?}: {up} of {all} up, broken {:?}", status.broken));
        }
    }
    Ok(())
}

/// Others keep their carrier when one NIC of a switch fails; the first of every so many does.
fn outlives_nics(topology: &str, every: usize, how: &[&str]) {
    let lab = up(topology);
    let nodes = &lab.now.plan.cluster().nodes;
    let nics = nodes.iter().flat_map(|node| node.nics.iter().map(move |nic| (node, nic)));
    for (node, nic) in nics.step_by(every) {
        outlives(&lab, &format!("{}:{}", node.name, nic.name), how);
    }
    assert_eq!(silent(&lab), []);
}

/// A source sees nothing of the switch between a third node and its destination.
fn outlive_switches_beyond() {
    let lab = up(FLAT);
    for switch in &lab.now.plan.cluster().switches {
        outlives(&lab, &switch.name, &[]);
    }
    assert_eq!(silent(&lab), []);
}

fn outlives(lab: &Lab, object: &str, how: &[&str]) {
    let words = [&["fail"], how, &[object]].concat();
    assert!(lab.verb(&words).1, "{words:?}");
    eventually(&format!("all answer without {object}"), 30, || none(silent(lab)));
    assert!(lab.verb(&["heal", object]).1);
    eventually(&format!("whole after {object}"), 120, || whole(lab));
}

/// The kernel of a node goes on forwarding without its daemon, and nobody takes its paths for broken.
fn killed() {
    let lab = up(P_MESH);
    let node = lab.now.node(NodeId(4)).to_owned();
    kill(lab.daemon(&node), Signal::SIGKILL).unwrap();
    for _ in 0..30 {
        assert_eq!(silent(&lab), []);
        for other in lab.now.nodes().filter(|other| *other != NodeId(4)) {
            assert_eq!(lab.status(other).unwrap().broken, [""; 0]);
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
}

/// Sessions over a NIC that is dead from the beginning never come up, so none of them ends.
fn dead_before(topology: &str) {
    let lab = up_with(topology, &[WATCHED, &[RESTART]].concat());
    let first = &lab.now.plan.cluster().nodes[0];
    restarted_without(&lab, &format!("{}:{}", first.name, first.nics[0].name), None);
}

/// Nor do those with a node that is not there when the others are switched on, and forwards nothing.
fn node_dead_before() {
    let lab = up_with(P_MESH, &[WATCHED, &[RESTART]].concat());
    let node = lab.now.node(NodeId(1)).to_owned();
    restarted_without(&lab, &node, Some(&node));
}

/// Kills all daemons, has something fail, and waits until the daemons have found it that are started again. A node that is
/// `dead` answers nobody.
fn restarted_without(lab: &Lab, object: &str, dead: Option<&str>) {
    let lost = || {
        let is_alive = |name: &String| Some(&name[..]) != dead;
        let of_living = silent(lab).into_iter().filter(|(s, d)| is_alive(s) && is_alive(d));
        of_living.collect::<Vec<_>>()
    };
    let nodes = lab.now.plan.cluster().nodes.iter();
    let names: Vec<&str> = nodes.map(|node| node.name.as_str()).collect();
    assert!(lab.verb(&[&["kill"], &names[..]].concat()).1);
    assert!(lab.verb(&["fail", "--silent", object]).1);
    assert_ne!(lost(), [], "the kernels send by it as before");
    eventually("all daemons run", 30, || lab.in_sync());
    eventually(&format!("all answer without {object}"), 60, || none(lost()));
    assert_ne!(lab.status(NodeId(0)).unwrap().broken, [""; 0]);
    assert!(lab.verb(&["heal", object]).1);
    eventually(&format!("whole after {object}"), 120, || whole(lab));
}
