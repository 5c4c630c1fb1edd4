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
/// plan `now`, so that nodes can change from one plan to the other.
///
/// # Errors
/// The error of `bridge`.
pub fn keep(directory: &Directory, now: &Plan, next: &Plan) -> Result<(), RunError> {
    let both = configs_keeping(next, now);
    configs(now)
        .iter()
        .zip(&both)
        .try_for_each(|(now, both)| reconfigure(directory, Some(now), both))
}

/// Removes from every switch of a running lab the VLANs that only the plan `old` has, after all nodes
/// have changed to the plan `new`.
///
/// # Errors
/// The error of `bridge`.
pub fn settle(directory: &Directory, old: &Plan, new: &Plan) -> Result<(), RunError> {
    let both = configs_keeping(new, old);
    both.iter()
        .zip(&configs(new))
        .try_for_each(|(both, new)| reconfigure(directory, Some(both), new))
}

/// Changes one switch of a running lab from the configuration `old` to `new`: first deletes the VIDs
/// that no longer belong to a port, then adds those that are missing.
///
/// # Errors
/// The error of `bridge`.
pub fn reconfigure(
    directory: &Directory,
    old: Option<&SwitchConfig>,
    new: &SwitchConfig,
) -> Result<(), RunError> {
    let (old, new_set) = (old.map(memberships).unwrap_or_default(), memberships(new));
    let gone = old.difference(&new_set).copied().collect();
    let more = new_set.difference(&old).copied().collect();
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
