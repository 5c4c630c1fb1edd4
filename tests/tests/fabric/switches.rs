//! What operators do to switches: VLAN memberships changed on a running bridge, by `bridge`.

use std::collections::BTreeSet;
use std::fmt::Write;

use tresse_fabric::cluster::Port;
use tresse_fabric::export::{Options, SwitchConfig, switch_configs};
use tresse_fabric::plan::Plan;
use tresse_lab::run;

use super::lab::Lab;

/// (port, VID, untagged).
type Memberships = BTreeSet<(u32, u16, bool)>;

fn memberships(config: &SwitchConfig) -> Memberships {
    let ports = config.ports.iter();
    ports
        .flat_map(|p| {
            let tagged = p.tagged.iter().map(|vid| (p.port, vid.0, false));
            tagged.chain(p.untagged.map(|vid| (p.port, vid.0, true)))
        })
        .collect()
}

/// What the export says of every switch.
pub fn configs(plan: &Plan) -> Vec<SwitchConfig> {
    switch_configs(plan, Options { cyclic: true, static_fdb: false })
}

impl Lab {
    /// Gives every switch the VLANs of a plan, keeping what it has.
    pub fn add_vlans(&self, plan: &Plan) {
        for config in configs(plan) {
            self.bridge(&config.name, &lines("add", &memberships(&config)));
        }
    }

    /// Takes from every switch what only the old plan has.
    pub fn remove_vlans(&self, old: &Plan, new: &Plan) {
        for (old, new) in configs(old).iter().zip(configs(new)) {
            let gone = memberships(old).difference(&memberships(&new)).copied().collect();
            self.bridge(&old.name, &lines("del", &gone));
        }
    }

    /// One switch from one configuration to another, as the export's order has it: prune, then add.
    pub fn reconfigure(&self, old: Option<&SwitchConfig>, new: &SwitchConfig) {
        let (old, new_set) = (old.map(memberships).unwrap_or_default(), memberships(new));
        let gone = old.difference(&new_set).copied().collect();
        let more = new_set.difference(&old).copied().collect();
        self.bridge(&new.name, &(lines("del", &gone) + &lines("add", &more)));
    }

    /// `add` or `del` one VID at one port.
    pub fn member(&self, verb: &str, port: Port, vid: u16) {
        let name = &self.now.plan.cluster().switch(port.switch).name;
        self.bridge(name, &lines(verb, &[(port.port, vid, false)].into()));
    }

    fn bridge(&self, switch: &str, lines: &str) {
        run::batch(Some(&self.directory.netns(switch)), "bridge", lines).unwrap();
    }
}

fn lines(verb: &str, memberships: &Memberships) -> String {
    let mut text = String::new();
    for (port, vid, untagged) in memberships {
        let more = if *untagged && verb == "add" { " pvid untagged" } else { "" };
        writeln!(text, "vlan {verb} dev p{port} vid {vid}{more}").unwrap();
    }
    text
}
