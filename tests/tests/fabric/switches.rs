//! What operators do to the switches of a test's lab.

use tresse_export::SwitchConfig;
use tresse_plan::Plan;
use tresse_tests::switches;
use tresse_topology::cluster::Port;

use super::lab::Lab;

impl Lab {
    /// Gives every switch the VLANs of a next plan beside those of this one.
    pub fn keep(&self, next: &Plan) {
        switches::keep(&self.directory, &self.now.plan, next, &std::collections::BTreeSet::new())
            .unwrap();
    }

    /// Takes from every switch what only the old plan has.
    pub fn settle(&self, old: &Plan) {
        switches::settle(&self.directory, old, &self.now.plan).unwrap();
    }

    /// One switch from one configuration to another.
    pub fn reconfigure(&self, old: Option<&SwitchConfig>, new: &SwitchConfig) {
        switches::reconfigure(&self.directory, old, new).unwrap();
    }

    /// `add` or `del` one VID at one port.
    pub fn member(&self, verb: &str, port: Port, vid: u16) {
        let name = &self.now.plan.cluster().switch(port.switch).name;
        switches::member(&self.directory, name, verb, port.port, vid).unwrap();
    }
}
