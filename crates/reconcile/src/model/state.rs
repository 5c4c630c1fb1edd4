//! The state of the fake kernel.

use crate::{ALIAS_PREFIX, Observed, ObservedLink, Operation, PROTOCOL};

/// A fake kernel for tests: the state of one network namespace, which operations change as Linux
/// would change it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KernelModel {
    /// The state as a dump would show it.
    pub observed: Observed,
    /// Does this kernel store IFA_PROTO (5.18 and later)?
    pub ifa_proto: bool,
    /// Sysctl files of an interface, `net/ipv4/conf/*/rp_filter`, with the initial value of a new
    /// interface.
    pub sysctls: Vec<(String, String)>,
    /// Descriptions of foreign objects that an operation harmed.
    pub damage: Vec<String>,
}

pub(super) type Outcome = Result<(), &'static str>;

impl KernelModel {
    /// Notes that an operation harmed an object of this routing protocol, unless it is ours.
    pub(super) fn note(&mut self, protocol: u8, operation: &Operation) {
        if protocol != PROTOCOL {
            self.damage.push(operation.to_string());
        }
    }

    /// The interface of this name.
    pub(super) fn link(&mut self, name: &str) -> Result<&mut ObservedLink, &'static str> {
        self.observed.links.get_mut(name).ok_or("ENODEV")
    }

    /// A copy of the state without ifindexes, which no undo can restore.
    #[must_use]
    pub fn comparable(&self) -> Observed {
        let mut observed = self.observed.clone();
        for link in observed.links.values_mut() {
            link.index = 0;
            if link.alias.as_deref().is_some_and(|a| a.starts_with(ALIAS_PREFIX)) {
                link.carrier &= link.up;
            }
        }
        observed
    }
}
