//! What an operator leaves out of a discovery: NICs by name, on all nodes or one, whole switches, and ports of switches that
//! lead into another network, such as that of management.

use std::collections::BTreeSet;

use crate::port;

/// Names of what is left out: `eth0` (a NIC of every node), `n3:eth2` (a NIC of one), `core` (a switch), `s0:Gi1/0/48` (a
/// port).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Without {
    names: BTreeSet<String>,
}

/// Why a NIC or a port cannot be left out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WithoutError {
    /// Its node has no NIC of this name.
    #[error("`{entry}`: {node} has no such NIC\n  help: it has {}", nics.join(" "))]
    Nic {
        /// The entry.
        entry: String,
        /// Its node.
        node: String,
        /// The NICs of the node.
        nics: Vec<String>,
    },
    /// Its switch was not seen, and is no node.
    #[error(
        "`{entry}`: no switch `{switch}` was seen\n  help: {}",
        if seen.is_empty() { "write NODE:NIC; SWITCH:PORT needs --switches or --snmp".to_owned() } else { format!("switches seen are {}", seen.join(", ")) }
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

    /// Whether this NIC of a node is left out.
    #[must_use]
    pub fn has_nic(&self, node: &str, nic: &str) -> bool {
        self.names.contains(nic) || self.names.contains(&format!("{node}:{nic}"))
    }

    /// Looks whether a node with these NICs has those that are left out of it alone.
    ///
    /// # Errors
    ///
    /// [`WithoutError::Nic`].
    pub fn check(&self, node: &str, nics: &[&str]) -> Result<(), WithoutError> {
        let of_node = |entry: &&String| {
            let nic = entry.strip_prefix(node).and_then(|rest| rest.strip_prefix(':'));
            nic.is_some_and(|nic| !nics.contains(&nic))
        };
        match self.names.iter().find(of_node) {
            None => Ok(()),
            Some(entry) => Err(WithoutError::Nic {
                entry: entry.clone(),
                node: node.to_owned(),
                nics: nics.iter().map(|nic| (*nic).to_owned()).collect(),
            }),
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nic_is_left_out_of_all_nodes_or_of_one() {
        let without = Without::new(["eth0", "n3:eth2"].map(str::to_owned));
        let left = [("n1", "eth0"), ("n3", "eth0"), ("n3", "eth2")];
        assert!(left.into_iter().all(|(node, nic)| without.has_nic(node, nic)));
        assert!(!without.has_nic("n1", "eth2") && !without.has_nic("n3", "eth1"));
        assert_eq!(without.check("n3", &["eth1", "eth2"]), Ok(()));
        assert_eq!(without.check("n", &[]), Ok(()));
        let error = without.check("n3", &["eth0", "eth1"]).unwrap_err().to_string();
        assert_eq!(error, "`n3:eth2`: n3 has no such NIC\n  help: it has eth0 eth1");
    }
}
