//! Changes which ports of a running lab's switches are in which VLANs. The switches are Linux bridges,
//! and the program `bridge` changes them, as operators change real switches.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use tresse_export::{ExportOptions, SwitchConfig, switch_configs, switch_configs_keeping};
use tresse_lab::run::{self, RunError};
use tresse_lab::state::Directory;
use tresse_plan::Plan;

const OPTIONS: ExportOptions = ExportOptions { cyclic: true, static_fdb: false };

/// (port, VID, untagged).
type Memberships = BTreeSet<(u32, u16, bool)>;

/// Adds the VLANs of the plan `next` to every switch of a running lab and keeps those of the present
/// plan `now`, so that nodes can change from one plan to the other. The ports `fresh` are in no VLAN
/// yet.
///
/// # Errors
/// The error of `bridge`.
pub fn keep(
    directory: &Directory,
    now: &Plan,
    next: &Plan,
    fresh: &BTreeSet<(String, u32)>,
) -> Result<(), RunError> {
    let mut present = configs_of(now);
    for config in &mut present {
        let is_fresh = |port: u32| fresh.contains(&(config.name.clone(), port));
        config.ports.retain(|port| !is_fresh(port.port));
    }
    change(directory, &present, &both_of(next, now))
}

/// Removes from every switch of a running lab the VLANs that only the plan `old` has, after all nodes
/// have changed to the plan `new`.
///
/// # Errors
/// The error of `bridge`.
pub fn settle(directory: &Directory, old: &Plan, new: &Plan) -> Result<(), RunError> {
    let mut both = both_of(new, old);
    let wanted = configs_of(new);
    // Switches that only the old plan has.
    for config in configs_of(old) {
        if !wanted.iter().any(|wanted| wanted.name == config.name) {
            both.push(config);
        }
    }
    change(directory, &both, &wanted)?;
    let gone = both.iter().filter(|old| !wanted.iter().any(|wanted| wanted.name == old.name));
    gone.into_iter().try_for_each(|old| {
        let empty = SwitchConfig { ports: Vec::new(), ..old.clone() };
        reconfigure(directory, Some(old), &empty)
    })
}

/// Changes every switch of `new` from its configuration in `old`, if it has one there.
fn change(
    directory: &Directory,
    old: &[SwitchConfig],
    new: &[SwitchConfig],
) -> Result<(), RunError> {
    new.iter().try_for_each(|new| {
        let old = old.iter().find(|old| old.name == new.name);
        reconfigure(directory, old, new)
    })
}

/// The configurations that can be changed: none where switches know no VLANs.
fn configs_of(plan: &Plan) -> Vec<SwitchConfig> {
    if plan.cluster().is_untagged() { Vec::new() } else { configs(plan) }
}

fn both_of(next: &Plan, now: &Plan) -> Vec<SwitchConfig> {
    if next.cluster().is_untagged() { Vec::new() } else { configs_keeping(next, now) }
}

/// Changes one switch of a running lab from the configuration `old` to `new`: first deletes the VIDs
/// that no longer belong to a port, then adds those that are missing. Ports without a cable are left out.
///
/// # Errors
/// The error of `bridge`.
pub fn reconfigure(
    directory: &Directory,
    old: Option<&SwitchConfig>,
    new: &SwitchConfig,
) -> Result<(), RunError> {
    let (old, new_set) = (old.map(memberships).unwrap_or_default(), memberships(new));
    let there = plugged(directory, &new.name);
    let is_there =
        |at: &&(u32, u16, bool)| there.as_ref().is_none_or(|there| there.contains(&at.0));
    let gone = old.difference(&new_set).filter(is_there).copied().collect();
    let more = new_set.difference(&old).filter(is_there).copied().collect();
    bridge(directory, &new.name, &(lines("del", &gone) + &lines("add", &more)))
}

/// Adds one VID to a port of a switch of a running lab (`verb` is `add`), or deletes it (`del`).
///
/// # Errors
/// The error of `bridge`.
pub fn member(
    directory: &Directory,
    switch: &str,
    verb: &str,
    port: u32,
    vid: u16,
) -> Result<(), RunError> {
    bridge(directory, switch, &lines(verb, &[(port, vid, false)].into()))
}

/// Returns the configuration of every switch of `plan`, as `tresse export` writes it.
#[must_use]
pub fn configs(plan: &Plan) -> Vec<SwitchConfig> {
    switch_configs(plan, OPTIONS)
}

/// Returns the configuration that every switch has while nodes change from the plan `old` to `plan`: it
/// carries the VLANs of both, as with `tresse export --keep`.
///
/// # Panics
/// If a switch cannot hold the VLANs of both plans.
#[must_use]
pub fn configs_keeping(plan: &Plan, old: &Plan) -> Vec<SwitchConfig> {
    switch_configs_keeping(plan, old, OPTIONS).expect("labs have switches of 4094 VLANs")
}

/// The ports of a switch that have a cable. In a lab a port without one is no interface.
fn plugged(directory: &Directory, switch: &str) -> Option<BTreeSet<u32>> {
    let record = directory.load_up().ok()?;
    let ends = record.blueprint.cables.iter().flat_map(|cable| [&cable.a, &cable.b]);
    let here = ends.filter(|end| end.place == switch);
    Some(here.filter_map(|end| end.interface.strip_prefix('p')?.parse().ok()).collect())
}

fn memberships(config: &SwitchConfig) -> Memberships {
    let ports = config.ports.iter();
    ports
        .flat_map(|p| {
            let tagged = p.tagged.iter().map(|vid| (p.port, vid.0, false));
            tagged.chain(p.untagged.map(|vid| (p.port, vid.0, true)))
        })
        .collect()
}

fn lines(verb: &str, memberships: &Memberships) -> String {
    let mut text = String::new();
    for (port, vid, untagged) in memberships {
        let more = if *untagged && verb == "add" { " pvid untagged" } else { "" };
        let _ = writeln!(text, "vlan {verb} dev p{port} vid {vid}{more}");
    }
    text
}

fn bridge(directory: &Directory, switch: &str, lines: &str) -> Result<(), RunError> {
    run::batch(Some(&directory.netns(switch)), "bridge", lines)
}
