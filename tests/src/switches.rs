//! What operators do to switches: VLAN memberships changed on a lab's running bridges, by `bridge`.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use tresse_export::{Options, SwitchConfig, switch_configs, switch_configs_keeping};
use tresse_lab::run::{self, RunError};
use tresse_lab::state::Directory;
use tresse_plan::Plan;

const OPTIONS: Options = Options { cyclic: true, static_fdb: false };

/// (port, VID, untagged).
type Memberships = BTreeSet<(u32, u16, bool)>;

/// Gives every switch of a fabric the VLANs of a next plan beside those of the one it has.
///
/// # Errors
/// What `bridge` said.
pub fn keep(directory: &Directory, now: &Plan, next: &Plan) -> Result<(), RunError> {
    let both = configs_keeping(next, now);
    configs(now)
        .iter()
        .zip(&both)
        .try_for_each(|(now, both)| reconfigure(directory, Some(now), both))
}

/// Takes from every switch what only the old plan has.
///
/// # Errors
/// What `bridge` said.
pub fn settle(directory: &Directory, old: &Plan, new: &Plan) -> Result<(), RunError> {
    let both = configs_keeping(new, old);
    both.iter()
        .zip(&configs(new))
        .try_for_each(|(both, new)| reconfigure(directory, Some(both), new))
}

/// One switch from one configuration to another, as the export's order has it: prune, then add.
///
/// # Errors
/// What `bridge` said.
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

/// `add` or `del` one VID at one port of a switch.
///
/// # Errors
/// What `bridge` said.
pub fn member(
    directory: &Directory,
    switch: &str,
    verb: &str,
    port: u32,
    vid: u16,
) -> Result<(), RunError> {
    bridge(directory, switch, &lines(verb, &[(port, vid, false)].into()))
}

/// What the export says of every switch.
#[must_use]
pub fn configs(plan: &Plan) -> Vec<SwitchConfig> {
    switch_configs(plan, OPTIONS)
}

/// What it says of every switch while nodes change from `old` to `plan` (`--keep`).
///
/// # Panics
/// Where a switch cannot hold the VLANs of both.
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
