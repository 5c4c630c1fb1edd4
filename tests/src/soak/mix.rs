//! A round of the soak test in which up to four things go wrong at a time, overlap, and end in another order.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tresse_base::random::Random;
use tresse_control::Drain;
use tresse_export::SwitchConfig;
use tresse_lab::blueprint::port_name;
use tresse_lab::run;

use crate::fault::{Fault, PartKind};
use crate::lab::Lab;
use crate::pace;
use crate::switches;

/// Something that goes wrong, and is put right again.
#[derive(Debug)]
pub enum Deed {
    /// A part fails.
    Fails(Fault),
    /// The frames that leave a switch's port or a node's NIC are lost, three of ten, or come at 1 Mbit/s.
    Disturbed(Disturbance, (String, String)),
    /// A switch forgets its VLANs, as one that starts without its configuration.
    Forgets(Box<SwitchConfig>),
    /// A daemon is killed, and started again at the end.
    Dead(String),
    /// A daemon hangs.
    Hung(String),
    /// The disk with a daemon's state is full.
    FullDisk(String),
    /// The clock of the machine is an hour ahead.
    Clock,
    /// A part is drained.
    Drained(String),
}

/// How frames are disturbed where they leave.
#[derive(Debug, Clone, Copy)]
pub enum Disturbance {
    /// Three of ten are lost, by chance.
    Lossy,
    /// They go at 1 Mbit/s.
    Slow,
}

/// A classic BPF program for `tc`: shoots three of ten frames. Linux: `SKF_AD_RANDOM`, `TC_ACT_SHOT`,
/// `TC_ACT_UNSPEC`.
const THREE_OF_TEN: &str = "4,32 0 0 4294963256,53 1 0 1288490188,6 0 0 2,6 0 0 4294967295";
/// How soon nodes know of all their hops.
const KNOWN: Duration = Duration::from_secs(5);
/// File that fills a disk.
const FILLER: &str = "filler";

impl Deed {
    /// One to four things that can go on at a time; `small_disk`: the node whose state is on a small disk.
    ///
    /// # Errors
    /// A part that has no name.
    pub fn drawn(lab: &Lab, small_disk: &str, random: &mut Random) -> Result<Vec<Self>, String> {
        let plan = &lab.now().plan;
        let cluster = plan.cluster();
        let mut faults = Fault::drawn(plan, 4, random)?;
        let nodes = random.some(&lab.nodes(), 4);
        let disturbed = |part: &Fault| match part.object.split_once(':') {
            _ if part.kind == PartKind::Switch || part.kind == PartKind::Node => None,
            Some((place, at)) => {
                let is_switch = cluster.switches.iter().any(|switch| switch.name == place);
                let interface = if is_switch { port_name(at.parse().ok()?) } else { at.into() };
                Some((place.to_owned(), interface))
            }
            None => None,
        };
        let mut deeds: Vec<Self> = Vec::new();
        let count = 1 + random.below(4);
        for node in nodes.into_iter().cycle().take(32) {
            if deeds.len() == count {
                break;
            }
            // Each of the faults concerns a part of its own.
            let deed = match random.below(10) {
                0..=2 => faults.pop().map(Self::Fails),
                3 => faults.pop().and_then(|part| {
                    let how = [Disturbance::Lossy, Disturbance::Slow][random.below(2)];
                    disturbed(&part).map(|at| Self::Disturbed(how, at))
                }),
                4 if !cluster.is_untagged() => {
                    let configs = switches::configs(plan);
                    Some(Self::Forgets(Box::new(configs[random.below(configs.len())].clone())))
                }
                5 => Some(Self::Dead(node)),
                6 => Some(Self::Hung(node)),
                7 => Some(Self::FullDisk(small_disk.to_owned())),
                8 if pace::is_emulated() => Some(Self::Clock),
                // Where nodes route, a whole node is not drained.
                _ => faults
                    .pop()
                    .filter(|part| part.kind != PartKind::Node)
                    .map(|part| Self::Drained(part.object)),
            };
            deeds.extend(deed.filter(|deed| deeds.iter().all(|other| deed.goes_with(other))));
        }
        Ok(deeds)
    }

    /// Can both go on at a time? Not twice the same, and a daemon that is dead does not hang.
    fn goes_with(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Dead(a) | Self::Hung(a), Self::Dead(b) | Self::Hung(b)) => a != b,
            (Self::Forgets(a), Self::Forgets(b)) => a.name != b.name,
            (Self::FullDisk(_), Self::FullDisk(_)) | (Self::Clock, Self::Clock) => false,
            (Self::Drained(a), Self::Drained(b)) => a != b,
            // A drain on a node whose daemon does not answer is refused.
            (Self::Drained(_), Self::Dead(_) | Self::Hung(_) | Self::FullDisk(_))
            | (Self::Dead(_) | Self::Hung(_) | Self::FullDisk(_), Self::Drained(_)) => false,
            _ => true,
        }
    }

    /// May datagrams be lost because of it?
    #[must_use]
    pub const fn loses(&self) -> bool {
        matches!(self, Self::Fails(_) | Self::Disturbed(..) | Self::Forgets(_))
    }

    /// Describes it for people.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Fails(fault) => fault.words(),
            Self::Disturbed(how, (place, interface)) => format!("{place}:{interface} {how:?}"),
            Self::Forgets(switch) => format!("{} forgets its VLANs", switch.name),
            Self::Dead(node) => format!("{node} killed"),
            Self::Hung(node) => format!("{node} hangs"),
            Self::FullDisk(node) => format!("{node}'s disk full"),
            Self::Clock => "clock an hour ahead".into(),
            Self::Drained(object) => format!("{object} drained"),
        }
    }

    /// Brings it about.
    ///
    /// # Errors
    /// What refused.
    pub fn begin(&self, lab: &mut Lab) -> Result<(), String> {
        lab.note(format!("begins: {}", self.words()));
        match self {
            Self::Fails(fault) => fault.bring(lab.name(), lab.directory(), true),
            Self::Disturbed(how, (place, interface)) => {
                let lines = match how {
                    Disturbance::Lossy => format!(
                        "qdisc replace dev {interface} clsact\n\
                         filter add dev {interface} egress pref 1 bpf da bytecode \"{THREE_OF_TEN}\"\n"
                    ),
                    Disturbance::Slow => {
                        format!(
                            "qdisc add dev {interface} root tbf rate 1mbit burst 4kb limit 64kb\n"
                        )
                    }
                };
                tc(lab, place, &lines)
            }
            Self::Forgets(switch) => reconfigure(lab, switch, true),
            Self::Dead(node) => lab.kill(node),
            Self::Hung(node) => signal(lab, node, Signal::SIGSTOP),
            Self::FullDisk(node) => fill(lab, node),
            Self::Clock => step_clock("+1 hour"),
            Self::Drained(object) => {
                let how = Drain { object, dry_run: false, force: true };
                // Where sessions have just come up, nodes do not know yet that they go round a second part.
                let drain = |node: String| {
                    pace::wait(KNOWN, Duration::from_millis(100), || {
                        let drained = lab.client(&node)?.drain(&how);
                        drained.map(drop).map_err(|e| format!("{node}: {e}"))
                    })
                };
                lab.nodes().into_iter().try_for_each(drain)
            }
        }
    }

    /// Puts it right.
    ///
    /// # Errors
    /// What refused.
    pub fn end(&self, lab: &mut Lab) -> Result<(), String> {
        lab.note(format!("ends: {}", self.words()));
        match self {
            Self::Fails(fault) => fault.bring(lab.name(), lab.directory(), false),
            Self::Disturbed(how, (place, interface)) => {
                // On a clsact qdisc are also filters of the daemon, and those that count for the lab.
                let what = match how {
                    Disturbance::Lossy => format!("filter del dev {interface} egress pref 1"),
                    Disturbance::Slow => format!("qdisc del dev {interface} root"),
                };
                tc(lab, place, &format!("{what}\n"))
            }
            Self::Forgets(switch) => reconfigure(lab, switch, false),
            Self::Dead(node) => lab.start(node),
            Self::Hung(node) => signal(lab, node, Signal::SIGCONT),
            Self::FullDisk(node) => {
                let filler = lab.directory().node(node).join("state").join(FILLER);
                std::fs::remove_file(&filler).map_err(|e| format!("{}: {e}", filler.display()))
            }
            Self::Clock => step_clock("-1 hour"),
            Self::Drained(object) => lab.nodes().into_iter().try_for_each(|node| {
                let undrained = lab.client(&node)?.undrain(object, false);
                undrained.map(drop).map_err(|e| format!("{node}: {e}"))
            }),
        }
    }
}

fn tc(lab: &Lab, place: &str, lines: &str) -> Result<(), String> {
    run::batch(Some(&lab.directory().netns(place)), "tc", lines).map_err(|e| e.to_string())
}

/// Takes all VLANs from a switch, or gives them back.
fn reconfigure(lab: &Lab, switch: &SwitchConfig, forgets: bool) -> Result<(), String> {
    let empty = SwitchConfig { ports: Vec::new(), ..switch.clone() };
    let (old, new) = if forgets { (switch, &empty) } else { (&empty, switch) };
    switches::reconfigure(lab.directory(), Some(old), new).map_err(|e| e.to_string())
}

fn signal(lab: &Lab, node: &str, signal: Signal) -> Result<(), String> {
    let pid = lab.daemon(node)?;
    kill(Pid::from_raw(pid), signal).map_err(|e| format!("{signal} to {node}: {e}"))
}

/// Writes until nothing more goes in.
fn fill(lab: &Lab, node: &str) -> Result<(), String> {
    use std::io::Write as _;
    let path = lab.directory().node(node).join("state").join(FILLER);
    let mut file = std::fs::File::create(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    while file.write_all(&[0; 4096]).is_ok() {}
    while file.write_all(&[0]).is_ok() {}
    Ok(())
}

fn step_clock(by: &str) -> Result<(), String> {
    let stepped = Command::new("date").args(["-s", by]).output();
    let stepped = stepped.map_err(|e| format!("date: {e}"))?;
    if stepped.status.success() { Ok(()) } else { Err(format!("date -s {by} is refused")) }
}

/// What a kernel holds of ours: how many routes, nexthops, neighbours and policy rules.
///
/// # Errors
/// `ip`, in words.
pub fn objects(lab: &Lab, node: &str) -> Result<Vec<(String, usize)>, String> {
    let kinds = [
        "-4 route show table all proto 78",
        "-6 route show table all proto 78",
        "nexthop show proto 78",
        "neigh show nud permanent",
        "-4 rule show",
        "-6 rule show",
        "-br link show",
    ];
    let count = |kind: &&str| {
        let words: Vec<&str> = kind.split(' ').collect();
        let found = run::read(&lab.directory().netns(node), "ip", &words, "");
        let found = found.map_err(|e| format!("{node}: {e}"))?;
        let lines: BTreeSet<&[u8]> = found.split(|byte| *byte == b'\n').collect();
        Ok(((*kind).to_owned(), lines.len()))
    };
    kinds.iter().map(count).collect()
}

/// A small disk for the state of a node, so that it can be filled; with it goes what is on it.
#[derive(Debug)]
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Moves the state of a node's daemon there.
    ///
    /// # Errors
    /// What refused.
    pub fn of(lab: &mut Lab, node: &str) -> Result<Self, String> {
        let state = lab.directory().node(node).join("state");
        let kept = lab.directory().path.join("kept");
        let run = |program: &str, args: &[&OsStr]| {
            let status = Command::new(program).args(args).status();
            match status {
                Ok(status) if status.success() => Ok(()),
                other => Err(format!("{program} {args:?}: {other:?}")),
            }
        };
        lab.kill(node)?;
        run("cp", &["-a".as_ref(), state.as_os_str(), kept.as_os_str()])?;
        let options = ["-t", "tmpfs", "-o", "size=1m,mode=755", "state"].map(AsRef::as_ref);
        run("mount", &[&options[..], &[state.as_os_str()]].concat())?;
        let disk = Self(state);
        let all = kept.join(".");
        run("cp", &["-a".as_ref(), all.as_os_str(), disk.0.as_os_str()])?;
        run("rm", &["-r".as_ref(), kept.as_os_str()])?;
        lab.start(node)?;
        Ok(disk)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = nix::mount::umount2(&self.0, nix::mount::MntFlags::MNT_DETACH);
    }
}
