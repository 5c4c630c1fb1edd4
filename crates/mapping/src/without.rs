//! What an operator leaves out of a discovery: NICs by name, whole switches, and ports of switches that lead into another
//! network, such as that of management.

use std::collections::BTreeSet;

use crate::port;

/// Names of what is left out: `eth0` (a NIC of every node), `core` (a switch), `s0:Gi1/0/48` (a port).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Without {
    names: BTreeSet<String>,
}

/// Why a port cannot be left out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WithoutError {
    /// Its switch was not seen.
    #[error(
        "`{entry}`: no switch `{switch}` was seen\n  help: {}",
        if seen.is_empty() { "SWITCH:PORT needs --switches or --snmp".to_owned() } else { format!("switches seen are {}", seen.join(", ")) }
    )]
    Switch {
        /// The entry.
        entry: String,
        /// Its switch.
        switch: String,
        /// The switches that were seen.
        seen: Vec<String>,
    },
    /// An end is missing.
    #[error(
        "`{entry}`: it is no port\n  help: write SWITCH:PORT, as in s0:Gi1/0/48 or s0:48; a whole switch by its name alone"
    )]
    Form {
        /// The entry.
        entry: String,
    },
}

impl Without {
    /// Takes names, which stand for themselves.
    #[must_use]
    pub fn new(names: impl IntoIterator<Item = String>) -> Self {
        Self { names: names.into_iter().collect() }
    }

    /// Whether NICs of this name are left out.
    #[must_use]
    pub fn has_nic(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// The names that may be switches.
    pub(crate) fn switches(&self) -> impl Iterator<Item = &str> {
        let is_plain = |name: &&str| !name.contains(':') || port::mac(name).is_some();
        self.names.iter().map(String::as_str).filter(is_plain)
    }

    /// The ports: entry, switch, port.
    pub(crate) fn ports(&self) -> Result<Vec<(&str, &str, &str)>, WithoutError> {
        let all = self.names.iter().map(String::as_str);
        let ports = all.filter(|name| name.contains(':') && port::mac(name).is_none());
        let halves = |entry: &'_ str| -> Option<usize> {
            // A switch may be known by its MAC alone.
            let of_mac = entry.get(..17).is_some_and(|start| port::mac(start).is_some());
            if of_mac { Some(17) } else { entry.find(':') }
        };
        ports
            .map(|entry| {
                let (switch, port) = halves(entry)
                    .and_then(|at| Some((entry.get(..at)?, entry.get(at..)?.strip_prefix(':')?)))
                    .filter(|(switch, port)| !switch.is_empty() && !port.is_empty())
                    .ok_or_else(|| WithoutError::Form { entry: entry.to_owned() })?;
                Ok((entry, switch, port))
            })
            .collect()
    }
}
