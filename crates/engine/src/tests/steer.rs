//! What is drained or pinned, and what that does to the routes.

use std::collections::BTreeSet;
use std::net::IpAddr;

use tresse_base::id::{NodeId, PathId};
use tresse_base::units::Prefix;
use tresse_control::{NodeError, Steered};
use tresse_plan::Plan;
use tresse_reconcile::{METRIC_BACKUP, METRIC_PRIMARY};
use tresse_slice::watch::Watches;

use super::watch::path_event;
use super::{Host, Input, Prepared, Reply};
use crate::{Index, Steer};

/// Three nodes, each with a NIC on each of three switches.
pub(super) const FLAT: &str = "[fabric]\ntopology = { kind = \"fnn\", wiring = \"0: 0 1 2\\n1: 0 1 2\\n2: 0 1 2\" }\n\
     [routing]\npaths = 3\n";

pub(super) fn prepared(text: &str) -> Prepared {
    let plan = Plan::build(tresse_cluster::parse(text, "test.toml").unwrap()).unwrap();
    prepared_for(&plan, NodeId(0), text)
}

pub(super) fn prepared_for(plan: &Plan, node: NodeId, text: &str) -> Prepared {
    let mut prepared = Prepared::new(plan, node, text.into(), None);
    prepared.watches = Watches::new(plan, node).into();
    prepared.index = Index::new(plan, node).into();
    prepared
}

pub(super) fn host(prepared: &Prepared) -> Host {
    let mut host = cabled(prepared);
    assert!(host.apply(prepared).unwrap().is_ok());
    host.settle();
    host
}

/// A host with the NICs of the plan.
pub(super) fn cabled(prepared: &Prepared) -> Host {
    let mut host = Host::new(false);
    host.kernel.observed.links.clear();
    for (index, (name, (mac, _))) in (2..).zip(&prepared.wanted.nics) {
        let mut link = super::bare().observed.links.into_values().next().unwrap();
        (link.index, link.mac) = (index, Some(*mac));
        host.kernel.observed.links.insert(name.clone(), link);
    }
    host
}

pub(super) fn steer(host: &mut Host, steer: Steer, force: bool) -> Result<Steered, NodeError> {
    asked(host, steer, force, false)
}

/// The same, perhaps as a dry run.
pub(super) fn asked(
    host: &mut Host,
    steer: Steer,
    force: bool,
    dry_run: bool,
) -> Result<Steered, NodeError> {
    let call = 7_000 + host.recording.len() as u64;
    host.input(Input::Steer { call, steer, force, dry_run });
    host.settle();
    match host.replies.remove(&call).unwrap()? {
        Reply::Steered(steered) => Ok(steered),
        other => panic!("{other:?}"),
    }
}

/// NICs that the kernel's route to a destination uses.
pub(super) fn nics(host: &Host, destination: IpAddr, metric: u32) -> BTreeSet<String> {
    let observed = &host.kernel.observed;
    let route = observed.routes.get(&(Prefix::host(destination), metric)).unwrap();
    let group = &observed.nexthops[&route.nexthop.unwrap()];
    let members: Vec<u32> = match group.group.is_empty() {
        true => vec![route.nexthop.unwrap()],
        false => group.group.iter().map(|member| member.0).collect(),
    };
    members.iter().map(|id| observed.nexthops[id].interface.clone().unwrap()).collect()
}

fn peers(prepared: &Prepared) -> BTreeSet<IpAddr> {
    prepared.watches.paths().iter().map(|watch| watch.destination).collect()
}

#[test]
fn routes_keep_off_what_is_drained_until_it_is_not() {
    let prepared = prepared(FLAT);
    let mut host = host(&prepared);
    let before = host.kernel.observed.clone();
    let all: BTreeSet<String> = prepared.wanted.nics.keys().cloned().collect();
    assert_eq!(all.len(), 3);
    let switches: Vec<String> = {
        let cluster = tresse_cluster::parse(FLAT, "test.toml").unwrap();
        cluster.switches.iter().map(|switch| switch.name.clone()).collect()
    };
    let peers = peers(&prepared);

    let steered = steer(&mut host, Steer::Drain(switches[0].clone()), false).unwrap();
    assert_eq!((steered.moved.len(), steered.single.len(), steered.cut.len()), (2, 0, 0));
    for peer in &peers {
        // Should both others lose their carrier, what is drained is better than nothing.
        let others: BTreeSet<String> = ["eth1".into(), "eth2".into()].into();
        assert_eq!(nics(&host, *peer, METRIC_PRIMARY), others);
        assert_eq!(nics(&host, *peer, METRIC_BACKUP), ["eth0".to_owned()].into());
    }
    let status = host.engine.status(host.now);
    assert_eq!(status.drained, [switches[0].clone()]);
    assert!(status.in_sync && status.drift.is_empty() && status.backup.is_empty(), "{status:?}");

    // A daemon that starts keeps off it too.
    let drained = host.kernel.observed.clone();
    host.restart();
    assert_eq!(host.kernel.observed, drained);

    let steered = steer(&mut host, Steer::Drain(switches[1].clone()), false).unwrap();
    assert_eq!((steered.single.len(), steered.cut.len()), (2, 0));
    for peer in &peers {
        assert_eq!(nics(&host, *peer, METRIC_PRIMARY), ["eth2".to_owned()].into());
    }
    // The last way stays: also by force it is used, as there is nothing else.
    let refused = steer(&mut host, Steer::Drain("n0:eth2".into()), false).unwrap_err();
    assert!(matches!(refused, NodeError::WouldCut { destinations, .. } if destinations.len() == 2));
    let steered = steer(&mut host, Steer::Drain("n0:eth2".into()), true).unwrap();
    assert_eq!(steered.cut.len(), 2);
    for peer in &peers {
        assert!(!nics(&host, *peer, METRIC_PRIMARY).is_empty());
    }

    for object in ["n0:eth2", &switches[1], &switches[0]] {
        steer(&mut host, Steer::Undrain(object.into()), false).unwrap();
    }
    assert_eq!(host.kernel.observed.routes, before.routes);
    assert_eq!(host.engine.status(host.now).drained, [""; 0]);
}

#[test]
fn a_pinned_pair_uses_its_path_until_it_breaks() {
    let prepared = prepared(FLAT);
    let mut host = host(&prepared);
    let before = host.kernel.observed.clone();
    let watch = prepared.watches.paths().iter().find(|w| w.peer == "n1" && w.id.rank == 2).unwrap();
    let to = || "n1".to_owned();
    steer(&mut host, Steer::Pin { to: to(), rank: 2 }, false).unwrap();
    let used = nics(&host, watch.destination, METRIC_PRIMARY);
    assert_eq!(used, [watch.nexthop.interface.clone()].into());
    // The kernel falls back to another NIC.
    assert!(!nics(&host, watch.destination, METRIC_BACKUP).contains(&watch.nexthop.interface));
    assert_eq!(host.engine.status(host.now).pinned, ["n1 rank 2"]);

    path_event(&mut host, &[watch.id]);
    assert!(!nics(&host, watch.destination, METRIC_PRIMARY).contains(&watch.nexthop.interface));
    path_event(&mut host, &[]);
    assert_eq!(nics(&host, watch.destination, METRIC_PRIMARY), used);

    steer(&mut host, Steer::Unpin(to()), false).unwrap();
    assert_eq!(host.kernel.observed.routes, before.routes);
    // Of another plan the rank may be another path.
    steer(&mut host, Steer::Pin { to: to(), rank: 2 }, false).unwrap();
    let fewer = self::prepared(&FLAT.replace("paths = 3", "paths = 2"));
    assert!(host.apply(&fewer).unwrap().is_ok());
    host.settle();
    assert!(host.published.iter().any(|(kind, _)| kind == "unpinned"));
    assert_eq!(host.engine.status(host.now).pinned, [""; 0]);
}

#[test]
fn what_cannot_be_steered_is_named() {
    let prepared = prepared(FLAT);
    let mut host = host(&prepared);
    let before = host.disk.clone();
    for (wrong, word) in [
        (Steer::Drain("s9".into()), "s9: the fabric has no such part: name a switch"),
        (Steer::Drain("n0".into()), "n0: a node cannot be drained on itself: "),
        (Steer::Undrain("s0".into()), "s0: this is not drained here: `tresse status`"),
        (Steer::Pin { to: "n1".into(), rank: 9 }, "has rank 9: the ranks are 0, 1, 2"),
        (Steer::Pin { to: "n0".into(), rank: 0 }, "n0: a node has no path to itself: "),
        (Steer::Pin { to: "zz".into(), rank: 0 }, "zz: the fabric has no such node: "),
        (Steer::Pin { to: "s0".into(), rank: 0 }, "s0: the fabric has no such node: "),
        (Steer::Unpin("n1".into()), "n1: no path to this node is pinned here: "),
        (Steer::Unpin("n99".into()), "n99: the fabric has no such node: "),
    ] {
        let error = steer(&mut host, wrong, true).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }
    assert_eq!(host.disk, before);
    let nic = |rank| {
        let mut paths = prepared.watches.paths().iter();
        paths.find(|w| w.peer == "n1" && w.id.rank == rank).unwrap().nexthop.interface.clone()
    };
    steer(&mut host, Steer::Drain(format!("n0:{}", nic(2))), false).unwrap();
    let pin = |rank| Steer::Pin { to: "n1".into(), rank };
    let error = steer(&mut host, pin(2), true).unwrap_err().to_string();
    assert!(error.contains("which is drained: undrain that first"), "{error}");
    steer(&mut host, pin(0), false).unwrap();
    let mesh = self::prepared("[fabric]\ntopology = { kind = \"pmesh\", dims = [3, 3] }\n");
    let mut host = self::host(&mesh);
    let error = steer(&mut host, Steer::Drain("n1".into()), true).unwrap_err().to_string();
    assert!(error.contains("route for each other"), "{error}");
    let error = steer(&mut host, Steer::Pin { to: "n1".into(), rank: 2 }, true).unwrap_err();
    assert!(error.to_string().contains("has rank 2: the ranks are 0, 1"), "{error}");
    let error = steer(&mut host, Steer::Pin { to: "zz".into(), rank: 0 }, true).unwrap_err();
    assert!(error.to_string().contains("no such node"), "{error}");
    // Where nodes tell each other nothing, each would go round the other's.
    steer(&mut host, Steer::Drain("s0".into()), false).unwrap();
    let error = steer(&mut host, Steer::Drain("s5".into()), true).unwrap_err().to_string();
    assert!(error.contains("s0 is drained already"), "{error}");
    path_event(&mut host, &[]);
    // Both NICs of n2.
    let error = steer(&mut host, Steer::Drain("s5".into()), false).unwrap_err().to_string();
    assert!(error.contains("no other path leads to 10.77.0.17"), "{error}");
    steer(&mut host, Steer::Drain("s1".into()), false).unwrap();
    assert_eq!(host.engine.status(host.now).drained, ["s0", "s1"]);
    let alone = self::prepared(
        "[fabric]\ntopology = { kind = \"pmesh\", dims = [3, 3] }\n[routing]\npaths = 1\n",
    );
    let mut host = self::host(&alone);
    asked(&mut host, Steer::Drain("s0".into()), true, false).unwrap();
    let error = steer(&mut host, Steer::Drain("s5".into()), true).unwrap_err().to_string();
    assert!(error.contains("s0 is drained already"), "{error}");
}

#[test]
fn what_is_drained_comes_after_what_a_pin_leaves_out() {
    let prepared = prepared(FLAT);
    let mut host = host(&prepared);
    let to_n1 = |nic: &str| {
        let mut paths = prepared.watches.paths().iter();
        paths.find(|w| w.peer == "n1" && w.nexthop.interface == nic).unwrap()
    };
    let pinned = to_n1("eth1");
    steer(&mut host, Steer::Drain("s0".into()), false).unwrap();
    steer(&mut host, Steer::Pin { to: "n1".into(), rank: pinned.id.rank }, false).unwrap();
    let used = |host: &Host| nics(host, pinned.destination, METRIC_PRIMARY);
    assert_eq!(used(&host), ["eth1".to_owned()].into());
    // Draining what it is pinned to cuts nothing off, as another path takes over.
    let dry = asked(&mut host, Steer::Drain("s1".into()), false, true).unwrap();
    assert_eq!((dry.cut.len(), dry.single_nodes), (0, vec!["n1".to_owned(), "n2".to_owned()]));
    for (broken, left) in [(&["eth1"][..], "eth2"), (&["eth1", "eth2"], "eth0")] {
        let down: Vec<PathId> = broken.iter().map(|nic| to_n1(nic).id).collect();
        path_event(&mut host, &down);
        assert_eq!(used(&host), [left.to_owned()].into(), "without {broken:?}");
    }
}

#[test]
fn a_drain_that_fails_is_not_done_later() {
    let prepared = prepared(FLAT);
    let mut host = host(&prepared);
    let before = host.kernel.observed.clone();
    host.fail_at = Some(1);
    steer(&mut host, Steer::Drain("s0".into()), false).unwrap_err();
    host.settle();
    assert_eq!(host.kernel.observed.routes, before.routes);
    assert_eq!(nics(&host, *peers(&prepared).first().unwrap(), METRIC_PRIMARY).len(), 3);
    let status = host.engine.status(host.now);
    assert!(status.drained.is_empty() && status.in_sync, "{status:?}");
    assert!(host.disk.steering.drained.is_empty());
    assert!(!host.published.iter().any(|(kind, _)| kind == "drained"));
}

/// A cable has a name from each of its ends, and by each NIC.
#[test]
fn a_cable_is_undrained_by_any_of_its_names() {
    let text = "[fabric]\ntopology = { kind = \"ring\", nodes = 4 }\n";
    let prepared = prepared(text);
    let mut host = host(&prepared);
    host.apply(&prepared).unwrap().unwrap();
    let mut steer = |steer: Steer| {
        let made = |call| Input::Steer { call, steer, force: false, dry_run: false };
        let reply = host.call(made);
        host.settle();
        (reply.unwrap(), host.engine.status(host.now).drained)
    };
    for name in ["n0-n1", "n0:eth1"] {
        let (reply, drained) = steer(Steer::Drain("n1-n0".into()));
        assert!(reply.is_ok(), "{reply:?}");
        assert_eq!(drained, ["n1-n0"]);
        let (again, drained) = steer(Steer::Drain(name.into()));
        assert!(again.is_ok(), "{again:?}");
        assert_eq!(drained, ["n1-n0"]);
        let (reply, drained) = steer(Steer::Undrain(name.into()));
        assert!(reply.is_ok() && drained.is_empty(), "{reply:?} {drained:?}");
    }
}
