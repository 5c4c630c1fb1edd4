//! What operators do to switches: VLAN memberships changed on a lab's running bridges, by `bridge`.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use tresse_fabric::export::{Options, SwitchConfig, switch_configs};
use tresse_fabric::plan::Plan;
use tresse_lab::run::{self, RunError};
use tresse_lab::state::Directory;

/// (port, VID, untagged).
type Memberships = BTreeSet<(u32, u16, bool)>;

/// Gives every switch the VLANs of a plan, keeping what it has.
///
/// # Errors
/// What `bridge` said.
pub fn add_vlans(directory: &Directory, plan: &Plan) -> Result<(), RunError> {
    for config in configs(plan) {
        bridge(directory, &config.name, &lines("add", &memberships(&config)))?;
    }
    Ok(())
}

/// Takes from every switch what only the old plan has.
///
/// # Errors
/// What `bridge` said.
pub fn remove_vlans(directory: &Directory, old: &Plan, new: &Plan) -> Result<(), RunError> {
    for (old, new) in configs(old).iter().zip(configs(new)) {
        let gone = memberships(old).difference(&memberships(&new)).copied().collect();
        bridge(directory, &old.name, &lines("del", &gone))?;
    }
    Ok(())
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
    switch_configs(plan, Options { cyclic: true, static_fdb: false })
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
