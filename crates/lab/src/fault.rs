//! Makes links, switches and nodes of a lab fail, with or without carrier loss, and heals them.
//!
//! A failure takes one port of each cable concerned out of use: a switch port, or a NIC if the
//! cable joins two nodes. With carrier loss the port is set down, which the other end notices. In a
//! silent failure a switch port's bridge state becomes `disabled`, and of a cable between nodes, or of a link
//! aggregation group, a filter at each end takes all frames: they vanish while the carrier stays. Healing restores every
//! port that no remaining failure needs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::blueprint::{Blueprint, End, port_name};
use crate::run::{self, RunError};
use crate::state::{Directory, Fault, LabState, StateError};

/// Why a link, switch or node of a lab could not be made to fail, or could not be healed.
#[derive(Debug, thiserror::Error)]
pub enum FaultError {
    /// No object of that name.
    #[error("no link, switch or node `{object}`: links are `s00-s01`, `n00-s00` or `s00:3`")]
    Unknown {
        /// What was asked for.
        object: String,
    },
    /// It has not failed.
    #[error("`{object}` has not failed: `tresse lab status` lists what has")]
    Whole {
        /// What was asked for.
        object: String,
    },
    /// The lab's directory.
    #[error(transparent)]
    State(#[from] StateError),
    /// iproute2.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Makes the link, switch or node `object` of a lab fail until [`heal`] is called. `silent`: its
/// frames are lost while the carrier stays up.
pub fn fail(directory: &Directory, object: &str, silent: bool) -> Result<(), FaultError> {
    let _lock = directory.lock()?;
    let mut record = directory.load_up()?;
    ports(&record.blueprint, object)?;
    let fault = Fault { object: object.into(), silent };
    if !record.faults.contains(&fault) {
        let before = affected(&record);
        record.faults.push(fault);
        directory.store(&record)?;
        bring(directory, &record.blueprint, &before, &affected(&record))?;
    }
    Ok(())
}

/// Ends the failures of `object` (a link, switch or node of a lab), or without `object` all
/// failures of the lab.
pub fn heal(directory: &Directory, object: Option<&str>) -> Result<(), FaultError> {
    let _lock = directory.lock()?;
    let mut record = directory.load_up()?;
    let before = affected(&record);
    match object {
        None => record.faults.clear(),
        Some(object) => {
            let count = record.faults.len();
            record.faults.retain(|f| f.object != object);
            if record.faults.len() == count {
                return Err(FaultError::Whole { object: object.into() });
            }
        }
    }
    bring(directory, &record.blueprint, &before, &affected(&record))?;
    Ok(directory.store(&record)?)
}

/// Ports that faults touch, by place and interface.
type Ports = BTreeMap<(String, String), Want>;

/// How a port is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Want {
    down: bool,
    disabled: bool,
    /// Whether it is a bridge port, so that it can be disabled.
    bridged: bool,
    /// Whether it neither sends nor hears: the NIC of a node, or a port of a link aggregation group.
    mute: bool,
}

fn affected(record: &LabState) -> Ports {
    let mut all = Ports::new();
    let mut port = |end: &End, how: fn(&mut Want)| {
        let want = all.entry((end.place.clone(), end.interface.clone())).or_default();
        want.bridged = end.switch && end.bond.is_none();
        how(want);
    };
    for fault in &record.faults {
        for end in ports(&record.blueprint, &fault.object).unwrap_or_default() {
            match (fault.silent, end.switch && end.bond.is_none()) {
                (false, _) => port(end, |want| want.down = true),
                (true, true) => port(end, |want| want.disabled = true),
                (true, false) => {
                    let cables = record.blueprint.cables.iter();
                    let ends = cables.filter(|cable| [&cable.a, &cable.b].contains(&end));
                    for end in ends.flat_map(|cable| [&cable.a, &cable.b]) {
                        port(end, |want| want.mute = true);
                    }
                }
            }
        }
    }
    all
}

/// Ups and downs first, then bridge states. A port that comes up forwards by itself.
fn bring(
    directory: &Directory,
    blueprint: &Blueprint,
    before: &Ports,
    after: &Ports,
) -> Result<(), RunError> {
    let changed: Vec<_> = before
        .keys()
        .chain(after.keys())
        .filter(|port| before.get(*port) != after.get(*port))
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    let mut texts: BTreeMap<&str, Commands> = BTreeMap::new();
    let mut places: BTreeSet<&str> = BTreeSet::new();
    for port in changed {
        let (place, interface) = (port.0.as_str(), port.1.as_str());
        let is = |end: &End| end.place == *place && end.interface == *interface;
        let cables = blueprint.cables.iter().filter(|cable| is(&cable.a) || is(&cable.b));
        places.extend(cables.flat_map(|cable| [cable.a.place.as_str(), cable.b.place.as_str()]));
        let whole = || before.get(port).map(|b| Want { bridged: b.bridged, ..Want::default() });
        let now = after.get(port).copied().or_else(whole).unwrap_or_default();
        let Want { down, disabled, bridged, mute } = now;
        let Commands { downs, ups, states, filters } = texts.entry(place).or_default();
        if down { downs } else { ups }.push(interface);
        let was = before.get(port).copied().unwrap_or_default();
        if mute != was.mute {
            filters.push_str(&filter(interface, mute));
        }
        if !down && bridged && (disabled || was.disabled) {
            let state = if disabled { 0 } else { 3 };
            states.push(format!("link set dev {interface} state {state}\n"));
        }
    }
    for (place, Commands { downs, ups, states, filters }) in texts {
        let netns = directory.netns(place);
        run::batch(Some(&netns), "ip", &(all_down(&downs) + &each(&ups, "up")))?;
        if !filters.is_empty() {
            run::batch(Some(&netns), "tc", &filters)?;
        }
        for state in states {
            match run::batch(Some(&netns), "bridge", &state) {
                // It has no carrier yet and forwards when the carrier comes.
                Err(RunError::Failed { message, .. }) if message.contains("Network is down") => {}
                other => other?,
            }
        }
    }
    // A node at either end has lost neighbours, or nexthops with their carrier.
    for place in places {
        if let Ok(again) = std::fs::read_to_string(directory.again_file(place)) {
            // A port that another failure still needs stays down.
            let netns = directory.netns(place);
            let _ = run::read(&netns, "ip", &["-force", "-batch", "-"], &again);
        }
    }
    Ok(())
}

/// What is done at one place.
#[derive(Default)]
struct Commands<'a> {
    downs: Vec<&'a str>,
    ups: Vec<&'a str>,
    states: Vec<String>,
    /// For `tc -batch`.
    filters: String,
}

/// The commands of `tc -batch` after which a NIC neither sends nor hears (`mute`), or does so again. The filter comes before all
/// others. It returns `TC_ACT_STOLEN`, for which senders get no error, as on a real cable. It may be gone already, if
/// somebody has deleted the qdisc, so it is set once more before it is deleted.
fn filter(interface: &str, mute: bool) -> String {
    let mut text = format!("qdisc replace dev {interface} clsact\n");
    for hook in ["egress", "ingress"] {
        let at = format!("dev {interface} {hook} pref 1 handle 1");
        let _ = writeln!(text, "filter replace {at} bpf da bytecode \"1,6 0 0 4\"");
        if !mute {
            let _ = writeln!(text, "filter del dev {interface} {hook} pref 1");
        }
    }
    text
}

/// The commands of `ip -batch` that set interfaces down in one request: who loses its power loses all carriers at
/// once, while one after the other takes the kernel some 20 ms each.
fn all_down(interfaces: &[&str]) -> String {
    match interfaces {
        [] | [_] => each(interfaces, "down"),
        _ => format!(
            "{}link set group {FAILING} down\n{}",
            each(interfaces, &format!("group {FAILING}")),
            each(interfaces, "group default")
        ),
    }
}

fn each(interfaces: &[&str], words: &str) -> String {
    interfaces.iter().fold(String::new(), |mut text, interface| {
        let _ = writeln!(text, "link set dev {interface} {words}");
        text
    })
}

/// The group of interfaces that are being set down.
const FAILING: u32 = 7078;

/// Returns the ends of cables that are taken out of use when `object` fails: of each cable of the
/// object a switch port, or a node's NIC if the cable joins two nodes.
fn ports<'a>(blueprint: &'a Blueprint, object: &str) -> Result<Vec<&'a End>, FaultError> {
    let of_place = |place: &str, cable: &'a crate::blueprint::Cable| -> Option<&'a End> {
        let (near, far) = if cable.a.place == place {
            (&cable.a, &cable.b)
        } else if cable.b.place == place {
            (&cable.b, &cable.a)
        } else {
            return None;
        };
        // The other end is chosen if it is a switch port, so that `place` sees its carrier go. A
        // node's own interface is chosen only on a cable between two nodes: when an interface is
        // set down, the kernel deletes its neighbours (K1).
        Some(if far.switch { far } else { near })
    };
    let cables = blueprint.cables.iter();
    let found: Vec<&End> = if blueprint.places().any(|p| p == object) {
        cables.filter_map(|c| of_place(object, c)).collect()
    } else if let Some((place, port)) = object.split_once(':') {
        let interface = if port.parse::<u32>().is_ok() && blueprint.is_switch(place) {
            port_name(port.parse().unwrap_or(0))
        } else {
            port.to_owned()
        };
        let is = |e: &End| e.place == place && e.interface == interface;
        cables.filter(|c| is(&c.a) || is(&c.b)).filter_map(|c| of_place(place, c)).collect()
    } else {
        object
            .match_indices('-')
            .map(|(at, _)| (&object[..at], &object[at + 1..]))
            .flat_map(|(a, b)| {
                blueprint.cables.iter().filter(move |c| {
                    (c.a.place == a && c.b.place == b) || (c.a.place == b && c.b.place == a)
                })
            })
            .map(|c| &c.b)
            .collect()
    };
    if found.is_empty() {
        return Err(FaultError::Unknown { object: object.into() });
    }
    Ok(found)
}
