//! The policy rules that keep packets of a fabric inside it: what arrives by a NIC to be forwarded is dropped,
//! unless it goes from one address of the fabric to another.
//!
//! ```text
//! 778:  from 10.77.0.0/16 to 10.77.0.0/16 goto 7799
//! 779:  from all iif eth0 blackhole
//! 7799: from all nop
//! ```
//!
//! They come before all policy rules that look up a table, also before those of others (VPNs have theirs at
//! 5,000 and more): a route of theirs for other networks is then never asked. Only the table `local` is looked up
//! before, so packets for the node itself arrive as ever. IPv4 also looks up the way back to the source of a packet
//! (`rp_filter`), as if that had arrived by the NIC that the packet leaves by; the rules pass both directions alike.
//!
//! Packets for the node itself arrive as ever, also those for addresses that it has elsewhere (weak host model), unless
//! the node is isolated. Then the kernel's own rule for the table `local` gives way to one of ours:
//!
//! ```text
//! 10: from all to 192.0.2.7 iif eth0 blackhole
//! 90: from all lookup local                       instead of the kernel's at 0
//! ```
//!
//! A rule for what is cut off is here too, as long as something is:
//!
//! ```text
//! 7992: from all ipproto icmp lookup 7992         10.77.0.9 nhid 0x54000003 metric 7802
//! ```
//!
//! The main table has no route to such a node, so that programs get an error. Answers to the echo requests that it sends
//! still leave by its planned route, and `rp_filter` lets those requests in: they may be what shows that a path is
//! sound again, and that node's daemon may be dead.
//!
//! The rules stay when the daemon dies. Without the last one the kernel skips those that lead to it, and drops all
//! that is to be forwarded.

use std::collections::BTreeSet;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use tresse_base::units::Prefix;

/// A policy rule that keeps packets of a fabric inside it. In the order in which they are added.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GuardRule {
    /// FR_ACT_NOP: where passed packets go on, past the rules that drop.
    Resume {
        /// Does it concern IPv4 packets? Otherwise IPv6.
        ipv4: bool,
    },
    /// FR_ACT_GOTO: passes packets from one prefix to another. Both are of one family.
    Pass {
        /// FRA_SRC.
        from: Prefix,
        /// FRA_DST.
        to: Prefix,
    },
    /// FR_ACT_BLACKHOLE: drops what arrives by a NIC to be forwarded. No answer is sent, as the sender may be forged.
    Drop {
        /// FRA_IIFNAME.
        interface: String,
        /// Does it concern IPv4 packets? Otherwise IPv6.
        ipv4: bool,
    },
    /// FR_ACT_TO_TBL of the table `local`, in the place of the kernel's own rule at priority 0, so that
    /// [`GuardRule::Hide`] can come before it.
    Local {
        /// Does it concern IPv4 packets? Otherwise IPv6.
        ipv4: bool,
    },
    /// FR_ACT_BLACKHOLE: drops what arrives by a NIC for an address of this node that is not of the fabric.
    Hide {
        /// FRA_IIFNAME.
        interface: String,
        /// FRA_DST, a full address.
        address: IpAddr,
    },
    /// FR_ACT_TO_TBL of [`GuardRule::ICMP_TABLE`] for ICMP (`FRA_IP_PROTO`) of this family.
    Icmp {
        /// Does it concern IPv4 packets? Otherwise IPv6.
        ipv4: bool,
    },
}

impl GuardRule {
    /// Priority of [`GuardRule::Resume`]: the last before the rules of [`super::TABLES`].
    pub const RESUME: u32 = super::TABLES.start - 1;

    /// The table of the routes at metric [`super::METRIC_ICMP`], and the priority of [`GuardRule::Icmp`]: after all
    /// others of ours.
    pub const ICMP_TABLE: u32 = super::TABLES.end + 64;

    /// Does it concern IPv4 packets? Otherwise IPv6.
    #[must_use]
    pub const fn is_ipv4(&self) -> bool {
        match self {
            Self::Resume { ipv4 }
            | Self::Drop { ipv4, .. }
            | Self::Local { ipv4 }
            | Self::Icmp { ipv4 } => *ipv4,
            Self::Hide { address, .. } => address.is_ipv4(),
            Self::Pass { from, .. } => from.address.is_ipv4(),
        }
    }

    /// FRA_PRIORITY.
    #[must_use]
    pub const fn priority(&self) -> u32 {
        match self {
            Self::Pass { .. } => 778,
            Self::Drop { .. } => 779,
            Self::Resume { .. } => Self::RESUME,
            Self::Local { .. } => 90,
            Self::Hide { .. } => 10,
            Self::Icmp { .. } => Self::ICMP_TABLE,
        }
    }

    /// What it matches and its action, as `ip rule add` takes them. Without the priority.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Resume { .. } => "nop".into(),
            Self::Pass { from, to } => format!("from {from} to {to} goto {}", Self::RESUME),
            Self::Drop { interface, .. } => format!("iif {interface} blackhole"),
            Self::Local { .. } => "lookup local".into(),
            Self::Hide { interface, address } => format!("to {address} iif {interface} blackhole"),
            Self::Icmp { ipv4 } => {
                let protocol = if *ipv4 { "icmp" } else { "ipv6-icmp" };
                format!("ipproto {protocol} lookup {}", Self::ICMP_TABLE)
            }
        }
    }

    /// The rules that also pass packets from the prefixes that `rules` pass to other networks.
    #[must_use]
    pub fn behind(rules: &BTreeSet<Self>, networks: &[Prefix]) -> BTreeSet<Self> {
        let sources: BTreeSet<Prefix> = rules
            .iter()
            .filter_map(|rule| match rule {
                Self::Pass { from, .. } => Some(*from),
                _ => None,
            })
            .collect();
        let passes = sources.into_iter().flat_map(|from| {
            let family = move |to: &&Prefix| to.address.is_ipv4() == from.address.is_ipv4();
            networks.iter().filter(family).map(move |to| Self::Pass { from, to: *to })
        });
        passes.collect()
    }

    /// The rules for packets of one family that arrive by these NICs and go from one of these prefixes to
    /// another, or none where a family has no prefix.
    pub fn of(interface: &str, prefixes: &[Prefix]) -> impl Iterator<Item = Self> {
        let families = [true, false].into_iter();
        families.flat_map(move |ipv4| {
            let own = move || prefixes.iter().filter(move |p| p.address.is_ipv4() == ipv4);
            let passes = own().flat_map(move |from| own().map(|to| (*from, *to)));
            let passes = passes.map(|(from, to)| Self::Pass { from, to });
            let rules = [Self::Resume { ipv4 }, Self::Drop { interface: interface.into(), ipv4 }];
            let rules = rules.into_iter().filter(move |_| own().next().is_some());
            rules.chain(passes)
        })
    }
}
