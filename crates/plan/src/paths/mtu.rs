//! Checks that the IP MTU of every path, after the bytes of its labels are subtracted, is at least the 1280 bytes that
//! IPv6 needs, if the nodes have IPv6 addresses.

use super::Paths;
use crate::address::Addresses;

/// The smallest MTU of IPv6 (RFC 8200, section 5).
const LEAST: u32 = 1280;
/// The bytes of more labels than any path has: if all MTUs have this much room, no path is examined.
const ROOM: u32 = 4 * 16;

/// The error for a path whose labels leave an IP MTU below the 1280 bytes that IPv6 needs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "from {from} to {to} {} leave{} an MTU of {mtu}, and IPv6 needs {LEAST}: raise `mtu` of the NICs and \
     `max_frame` of the switches on the way by {}, or leave the IPv6 prefixes out",
    if *.labels == 1 { "1 label".to_owned() } else { format!("{} labels", .labels) },
    if *.labels == 1 { "s" } else { "" },
    LEAST - .mtu
)]
pub struct SmallMtu {
    /// The source's name.
    pub from: String,
    /// The destination's name.
    pub to: String,
    /// Labels that the source pushes.
    pub labels: usize,
    /// The MTU that is left, in bytes.
    pub mtu: u32,
}

impl Paths {
    /// Checks the paths with labels. Reading the cluster file has checked all others.
    pub(crate) fn check_mtu(&self, addresses: &Addresses) -> Result<(), SmallMtu> {
        let ipv6 = addresses.node.iter().flatten().any(std::net::IpAddr::is_ipv6);
        let nics = self.cluster.nodes.iter().flat_map(|node| &node.nics);
        let switches = self.cluster.switches.iter().map(|s| s.max_frame.saturating_sub(22));
        let least = nics.map(|nic| self.nic_mtu(nic)).chain(switches).min();
        if !ipv6 || !self.has_labels() || least.is_none_or(|least| least >= LEAST + ROOM) {
            return Ok(());
        }
        for (src, dst) in self.pairs() {
            for path in self.paths(src, dst) {
                let (labels, mtu) = (path.segments.len() - 1, self.path_mtu(&path.segments));
                if labels > 0 && mtu < LEAST {
                    let [from, to] = [src, dst].map(|node| self.cluster.node(node).name.clone());
                    return Err(SmallMtu { from, to, labels, mtu });
                }
            }
        }
        Ok(())
    }
}
