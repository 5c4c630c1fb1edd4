//! Checks of the daemon, its BFD sessions, and the paths to other nodes.

use tresse_base::id::NodeId;
use tresse_base::units::Prefix;
use tresse_reconcile::METRIC_PRIMARY;
use tresse_slice::Slice;

use crate::finding::{Check, Finding};
use crate::host;
use crate::seen::{BETWEEN, Seen};

/// How many peers are asked at most; of more, those spread evenly over the cluster.
const PEERS: usize = 64;

pub(super) fn daemon(seen: &Seen<'_>, _: &Slice) -> Vec<Finding> {
    let check = Check("daemon");
    let status = match &seen.status {
        Ok(status) => status,
        Err(why) => {
            let cause = why.lines().next().unwrap_or_default();
            let effect = "the kernel stays as it is: nothing is installed, repaired or watched";
            let fix = "systemctl start tressed; `journalctl -u tressed` says why it does not run";
            return vec![check.fails("tressed", cause, effect, fix)];
        }
    };
    let mut findings = Vec::new();
    let own = env!("CARGO_PKG_VERSION");
    if status.version != own {
        let cause = format!("the daemon is {}, this program {own}", status.version);
        let effect = "they may not understand each other";
        findings.push(check.warns("tressed", cause, effect, "systemctl restart tressed (hitless)"));
    }
    let planned = seen.plan.generation();
    match &status.generation {
        Some(generation) if generation == planned => {}
        Some(generation) => findings.push(check.warns(
            "plan",
            format!("the daemon has generation {generation}, the file is {planned}"),
            "this node sends by another plan than the nodes that have this file's plan",
            "tresse apply, on this node or on the others",
        )),
        None => findings.push(check.fails(
            "plan",
            "the daemon has none",
            "no fabric address works on this node",
            "tresse apply FILE",
        )),
    }
    if let Some(fault) = &status.fault {
        let effect = "the kernel is not as planned";
        findings.push(check.fails(
            "tressed",
            fault.clone(),
            effect,
            "mend what the message names, then run tresse reload",
        ));
    }
    for line in status.drift.iter().filter(|line| line.op == "refused") {
        let object = if line.object.is_empty() { "tressed" } else { &line.object };
        findings.push(check.fails(
            object,
            line.why.clone(),
            "the daemon does not touch it, so what the plan needs there is missing",
            "do what the message says; the daemon goes on by itself",
        ));
    }
    check.or_fine(findings, "runs, with the plan of this file")
}

pub(super) fn watched(seen: &Seen<'_>, _: &Slice) -> Vec<Finding> {
    let check = Check("bfd");
    let Ok(status) = &seen.status else { return Vec::new() };
    if status.sessions > 0 && status.sessions_up == 0 {
        let cause = format!("none of {} sessions is up", status.sessions);
        let effect = "failures that no carrier shows are not found";
        let fix = "check that tressed runs on the other nodes, with `bfd` and with the same keys, and that nothing between the \
                   nodes drops UDP ports 3784 and 4784";
        return vec![check.warns("", cause, effect, fix)];
    }
    let broken = status.broken.iter().map(|path| {
        let effect = "it is not used while it is broken";
        let fix = "the cables and ports on it (`tresse trace`, `tresse cables`)";
        check.warns(path, "the path is broken", effect, fix)
    });
    let up = format!("{} of {} sessions are up", status.sessions_up, status.sessions);
    check.or_fine(broken.collect(), &up)
}

/// Checks whether other nodes have other keys, and whether another program has BFD's ports.
pub(super) fn strangers(seen: &Seen<'_>, _: &Slice) -> Vec<Finding> {
    let check = Check("keys");
    let Ok(status) = &seen.status else { return Vec::new() };
    let sums = |name: &str| -> [u64; 2] {
        let [earlier, later] = &seen.counters;
        [earlier, later].map(|all| all.iter().filter(|l| l.name == name).map(|l| l.value).sum())
    };
    let mut findings = Vec::new();
    let unsigned = ["bfd_unsigned_total", "records_unsigned_total", "announcements_unsigned_total"];
    let unsigned = unsigned.iter().map(|name| sums(name)).map(|[was, is]| is.saturating_sub(was));
    let unsigned: u64 = unsigned.sum();
    if unsigned > 0 {
        let seconds = BETWEEN.as_secs_f64();
        let cause =
            format!("{unsigned} packets that no key of this node signs came in {seconds} s");
        let effect = "what the nodes that sent them say is not heard: their paths are not watched";
        let fix = "the same lines in `key_file` on all nodes, then tresse reload";
        findings.push(check.warns("", cause, effect, fix));
    }
    if sums("bfd_ports_taken")[1] > 0 {
        let effect = "it is given BFD's packets too, and without a key it can speak for this node";
        let fix = "`ss -lunp` names the program that has UDP port 3784 or 4784; end it, then systemctl restart tressed";
        findings.push(check.warns("udp", "another program has ports of BFD", effect, fix));
    }
    let fine = format!("packets between nodes: authentication {}", status.authentication);
    check.or_fine(findings, &fine)
}

/// Checks the paths to other nodes, at most 64: sends each an echo request as large as the MTU of
/// the route to it, by the routes in the kernel. Returns a finding for each address that does not
/// answer.
pub(super) fn paths(seen: &Seen<'_>, slice: &Slice) -> Vec<Finding> {
    let check = Check("path");
    if seen.local {
        return Vec::new();
    }
    let peers: Vec<NodeId> = (0..seen.plan.cluster().nodes.len())
        .map(NodeId::from)
        .filter(|n| *n != seen.node)
        .collect();
    let step = peers.len().div_ceil(PEERS).max(1);
    let mut asked = 0;
    let mut findings = Vec::new();
    for peer in peers.into_iter().step_by(step) {
        let name = &seen.plan.cluster().node(peer).name;
        for &to in &seen.plan.addresses().node[peer.index()] {
            let key = (Prefix::host(to), METRIC_PRIMARY);
            let Some(route) = slice.wanted.routes.get(&key) else { continue };
            asked += 1;
            let least = if to.is_ipv4() { 100 } else { 1280 };
            if host::answers(to, route.mtu) {
                continue;
            }
            findings.push(if host::answers(to, least) {
                let cause = format!("{to} answers small packets but none of {} bytes", route.mtu);
                let effect = "connections hang as soon as they send full packets";
                let fix =
                    "the MTU of the switches between (jumbo frames), or `mtu` in the cluster file";
                check.fails(name, cause, effect, fix)
            } else {
                let effect = "packets to it are lost, or its replies are";
                let fix = "`tresse doctor` there; `tresse trace` shows the switches between";
                check.fails(name, format!("{to} does not answer"), effect, fix)
            });
        }
    }
    check.or_fine(findings, &format!("{asked} addresses answer packets of the planned size"))
}
