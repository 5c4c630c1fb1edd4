//! What the trial of broken rollouts breaks, and how it is mended again.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tresse_lab::{netns, run};

use super::checkpoint::{Checkpoint, Step, Word};
use crate::lab::Lab;

/// What is broken at a step of a rollout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The daemon of a node dies and is started again, as systemd does it.
    Killed,
    /// The daemon of a node stands still for a moment.
    Hung,
    /// It stands still for longer than the time of `--confirm`.
    HungLong,
    /// The operator does not reach a node any more.
    Unreachable,
    /// A node does what it is asked for, and its answers do not arrive.
    AnswerLost,
    /// A node loses its daemon, its links and everything in its kernel, and starts.
    Rebooted,
    /// The operator is gone.
    OperatorKilled,
    /// A second operator rolls out another plan meanwhile.
    SecondOperator,
    /// The operator stands still until all is over and another one is at work.
    OperatorLate,
    /// A node's disk is full.
    DiskFull,
    /// A route that is not ours is in the way on a node.
    ForeignRoute,
    /// A NIC of a node is missing.
    NicMissing,
    /// A NIC of a node has another MAC.
    OtherMac,
    /// A node computes another plan.
    OtherPlan,
}

impl Fault {
    /// All, in order.
    pub const ALL: [Self; 14] = [
        Self::Killed,
        Self::Hung,
        Self::HungLong,
        Self::Unreachable,
        Self::AnswerLost,
        Self::Rebooted,
        Self::OperatorKilled,
        Self::SecondOperator,
        Self::OperatorLate,
        Self::DiskFull,
        Self::ForeignRoute,
        Self::NicMissing,
        Self::OtherMac,
        Self::OtherPlan,
    ];

    /// Its name in the table.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Killed => "daemon-killed",
            Self::Hung => "daemon-hung",
            Self::HungLong => "daemon-hung-long",
            Self::Unreachable => "unreachable",
            Self::AnswerLost => "answers-lost",
            Self::Rebooted => "rebooted",
            Self::OperatorKilled => "operator-killed",
            Self::SecondOperator => "second-operator",
            Self::OperatorLate => "operator-late",
            Self::DiskFull => "disk-full",
            Self::ForeignRoute => "foreign-route",
            Self::NicMissing => "nic-missing",
            Self::OtherMac => "other-mac",
            Self::OtherPlan => "other-plan",
        }
    }

    /// Can it be told from other rows at this step?
    #[must_use]
    pub const fn fits(self, step: Step) -> bool {
        match self {
            Self::OperatorLate => matches!(step, Step::Settled),
            Self::OtherPlan => matches!(step, Step::Begun | Step::Asked),
            _ => true,
        }
    }

    /// How long it lasts; `None`: until the rollout has ended.
    pub(super) fn lasts(self, confirm: Duration) -> Option<Duration> {
        match self {
            Self::Killed => Some(Duration::from_millis(1500)),
            Self::Hung => Some(Duration::from_secs(3)),
            Self::HungLong => Some(confirm + Duration::from_secs(3)),
            Self::Rebooted => Some(Duration::from_secs(2)),
            _ => None,
        }
    }

    /// Is the node itself, with its cables, out of order?
    pub(super) const fn breaks_node(self) -> bool {
        matches!(self, Self::Rebooted | Self::NicMissing | Self::OtherMac)
    }

    /// The node to which a route that is not ours leads astray.
    pub(super) fn misleads(self, lab: &Lab, node: &str) -> Option<String> {
        let other = lab.stations().into_iter().find(|at| at.name != node);
        other.filter(|_| self == Self::ForeignRoute).map(|at| at.name)
    }

    /// Breaks it.
    pub(super) fn strike(
        self,
        lab: &mut Lab,
        node: &str,
        checkpoint: &Checkpoint,
    ) -> Result<(), String> {
        match self {
            Self::Killed => lab.kill(node),
            Self::Hung | Self::HungLong => signal(lab, node, Signal::SIGSTOP),
            Self::Unreachable => {
                checkpoint.say(node, Word::Refuse);
                Ok(())
            }
            Self::AnswerLost => {
                checkpoint.say(node, Word::Lose);
                Ok(())
            }
            Self::OtherPlan => {
                checkpoint.say(node, Word::Alter);
                Ok(())
            }
            Self::Rebooted => {
                for nic in nics(lab, node) {
                    ip(lab, node, &format!("link set {nic} down\n"))?;
                }
                lab.kill(node)?;
                flush(lab, node)
            }
            Self::DiskFull => {
                let (state, away) = state(lab, node);
                let fault = |e: std::io::Error| format!("{}: {e}", state.display());
                fs::rename(&state, &away).map_err(fault)?;
                fs::write(&state, "").map_err(fault)
            }
            Self::ForeignRoute => ip(
                lab,
                node,
                &format!("route add {} dev {} metric 1\n", other(lab, node), nics(lab, node)[0]),
            ),
            Self::NicMissing => {
                let nic = &nics(lab, node)[0];
                ip(lab, node, &format!("link set {nic} down\nlink set {nic} name odd\n"))
            }
            Self::OtherMac => {
                let nic = &nics(lab, node)[0];
                ip(lab, node, &format!("link set {nic} address 02:00:00:00:99:99\n"))
            }
            Self::OperatorKilled | Self::SecondOperator | Self::OperatorLate => Ok(()),
        }
    }

    /// Mends it.
    pub(super) fn mend(self, lab: &mut Lab, node: &str) -> Result<(), String> {
        match self {
            Self::Killed => lab.start(node),
            Self::Hung | Self::HungLong => signal(lab, node, Signal::SIGCONT),
            Self::Rebooted => {
                for nic in nics(lab, node) {
                    ip(lab, node, &format!("link set {nic} up\n"))?;
                }
                lab.start(node)
            }
            Self::DiskFull => {
                let (state, away) = state(lab, node);
                let fault = |e: std::io::Error| format!("{}: {e}", state.display());
                // What was answered before holds for the next start, too.
                lab.kill(node)?;
                fs::remove_file(&state).map_err(fault)?;
                fs::rename(&away, &state).map_err(fault)?;
                lab.start(node)
            }
            Self::ForeignRoute => ip(
                lab,
                node,
                &format!("route del {} dev {} metric 1\n", other(lab, node), nics(lab, node)[0]),
            ),
            Self::NicMissing => {
                let nic = &nics(lab, node)[0];
                ip(lab, node, &format!("link set odd name {nic}\nlink set {nic} up\n"))
            }
            Self::OtherMac => {
                let (nic, mac) = first(lab, node);
                ip(lab, node, &format!("link set {nic} address {mac}\n"))
            }
            _ => Ok(()),
        }
    }
}

fn signal(lab: &Lab, node: &str, signal: Signal) -> Result<(), String> {
    kill(Pid::from_raw(lab.daemon(node)?), signal).map_err(|e| format!("{signal} to {node}: {e}"))
}

fn ip(lab: &Lab, node: &str, lines: &str) -> Result<(), String> {
    run::batch(Some(&lab.directory().netns(node)), "ip", lines).map_err(|e| e.to_string())
}

fn state(lab: &Lab, node: &str) -> (PathBuf, PathBuf) {
    let state = lab.directory().node(node).join("state");
    let away = state.with_extension("away");
    (state, away)
}

fn nics(lab: &Lab, node: &str) -> Vec<String> {
    let cluster = lab.now().plan.cluster();
    let node = cluster.nodes.iter().find(|it| it.name == node);
    node.into_iter().flat_map(|node| &node.nics).map(|nic| nic.name.clone()).collect()
}

fn first(lab: &Lab, node: &str) -> (String, String) {
    let view = lab.now().plan.view();
    let node = view.nodes.into_iter().find(|it| it.name == node);
    let nic = node.and_then(|node| node.nics.into_iter().next());
    nic.map(|nic| (nic.name.clone(), nic.mac.to_string())).unwrap_or_default()
}

/// The address of another node.
fn other(lab: &Lab, node: &str) -> String {
    let stations = lab.stations();
    stations.iter().find(|at| at.name != node).map(|at| at.address.to_string()).unwrap_or_default()
}

/// Takes away what a reboot takes away.
fn flush(lab: &Lab, node: &str) -> Result<(), String> {
    const LINES: &str = "ip link del tresse0; ip link del tresse-push; ip nexthop flush; \
        for f in -4 -6; do ip $f route flush proto 78 table all; ip $f neigh flush nud permanent; \
        while ip $f rule del proto 78; do :; done; done; \
        for l in $(ip -o link show type vlan | cut -d: -f2 | cut -d@ -f1); do ip link del $l; done; \
        for l in $(ls /sys/class/net); do [ $l = lo ] || ip addr flush dev $l; done; true";
    let ran = netns::inside(&lab.directory().netns(node), || {
        Command::new("sh").args(["-c", LINES]).output()
    });
    ran.map_err(|e| e.to_string())?.map(drop).map_err(|e| e.to_string())
}
