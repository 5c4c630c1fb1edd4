//! Changes the VLAN memberships of a running lab's bridges with `bridge`, as operators do with
//! switches.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use tresse_export::{Options, SwitchConfig, switch_configs, switch_configs_keeping};
use tresse_lab::run::{self, RunError};
use tresse_lab::state::Directory;
use tresse_plan::Plan;

const OPTIONS: Options = Options { cyclic: true, static_fdb: false };

/// (port, VID, untagged).
type Memberships = BTreeSet<(u32, u16, bool)>;

/// Adds the VLANs of the next plan to every switch, besides those of the present plan.
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

/// Removes from every switch the VLANs that only the old plan has.
///
/// # Errors
/// The error of `bridge`.
pub fn settle(directory: &Directory, old: &Plan, new: &Plan) -> Result<(), RunError> {
    let both = configs_keeping(new, old);
    both.iter()
        .zip(&configs(new))
        .try_for_each(|(both, new)| reconfigure(directory, Some(both), new))
}

/// Changes one switch from one configuration to another, in the order of the export: prune, then
/// add.
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

/// Adds or deletes (`add`, `del`) one VID at one port of a switch.
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

/// Returns the exported configuration of every switch.
#[must_use]
pub fn configs(plan: &Plan) -> Vec<SwitchConfig> {
    switch_configs(plan, OPTIONS)
}

/// Returns the exported configuration of every switch while nodes change from `old` to `plan`
/// (`--keep`).
///
/// # Panics
/// If a switch cannot hold the VLANs of both.
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
