//! Runs a verb of `tresse lab` in this machine's kernel or in the virtual machine.

use tresse_lab::vm;

use super::arguments::{Lab, LabVerb};
use super::found::Found;
use super::{machine, status, up};
use crate::fail::{Code, Failure};

impl Lab {
    /// Runs the verb here or in the virtual machine.
    pub fn run(self, json: bool) -> Result<Code, Failure> {
        if matches!(self.verb, LabVerb::Guest) {
            vm::guest::main();
        }
        if let Some(machine) = machine::choose(&self)? {
            return machine::run(&self, &machine);
        }
        match self.verb {
            LabVerb::Up(ref verb) => verb.run(self.name.as_deref(), json),
            LabVerb::Ping(ref verb) => verb.run(&self.found()?, json),
            LabVerb::Counters(ref verb) => verb.run(&self.found()?, json),
            LabVerb::Load(ref verb) => verb.run(&self.found()?, json),
            LabVerb::Exec(ref verb) => verb.run(&self.found()?),
            LabVerb::Fail(ref verb) => verb.run(&self.found()?),
            LabVerb::Heal(ref verb) => verb.run(&self.found()?),
            LabVerb::Kill(ref verb) => verb.run(&self.found()?),
            LabVerb::Start(ref verb) => verb.run(&self.found()?),
            LabVerb::Supervise { ref tressed } => up::supervise(self.name.as_deref(), tressed),
            LabVerb::Status => status::status(json),
            LabVerb::Down(ref verb) => verb.run(self.name.as_deref()),
            LabVerb::Guest => unreachable!("served above"),
        }
    }

    fn found(&self) -> Result<Found, Failure> {
        Found::new(self.name.as_deref())
    }
}
