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
//! Where networks are behind nodes they and the fabric are passed alike. A rule for each pair of them would be too many, so what
//! arrives goes on to rules for sources and then to rules for destinations, after the rules of others, which it does not meet:
//!
//! ```text
//! 779:  from all iif eth0 goto 7790                  instead of the blackhole
//! 7790: from 10.77.0.0/16 goto 7795
//! 7790: from 192.168.10.0/24 goto 7795
//! 7791: from all iif eth0 blackhole
//! 7795: from all to 10.77.0.0/16 goto 7799
//! 7795: from all to 192.168.10.0/24 goto 7799
//! 7796: from all iif eth0 blackhole
//! ```
//!
//! On a gateway one of the two is enough, and the rules of others are asked as ever:
//!
//! ```text
//! 777: from 10.77.0.0/16 goto 780
//! 777: from all to 10.77.0.0/16 goto 780
//! 779: from all iif eth0 blackhole
//! 780: from all nop
//! ```
//!
//! Where nodes route, packets go between them and gateways by a tunnel (RFC 7348), so that nodes between see addresses of the fabric
//! alone. A gateway sends what comes from elsewhere back by it. What it sends itself has no source yet when its route is looked
//! up, and goes straight. In IPv6 a rule with a source does not match it, so there the rules at 778 are for `::/1` and `8000::/1`:
//!
//! ```text
//! 776: from 0.0.0.0 iif lo goto 780
//! 777: from 10.77.0.0/16 goto 780
//! 778: from all to 10.77.0.0/16 lookup 7994           10.77.0.2 via 10.77.0.2 dev tresse-gw
//! 779: from all iif eth0 blackhole
//! 779: from all iif tresse-gw blackhole
//! 780: from all nop
//! ```
//!
//! What is behind another node gets what comes by a gateway (778, `from all to 192.168.10.0/24 goto 7799`).
//!
//! The rules stay when the daemon dies. Without the last one the kernel skips those that lead to it, and drops all
//! that is to be forwarded.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Serialize};
use tresse_base::units::Prefix;

/// A policy rule that keeps packets of a fabric inside it. In the order in which they are added; they are removed in reverse. What
/// passes comes before what drops: when a node becomes a gateway, or is one no more, it has for a moment the rules of both
/// kinds, and packets that went on past [`GuardRule::Past`] meet the others.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GuardRule {
    /// FR_ACT_NOP: where passed packets go on, past the rules that drop.
    Resume {
        /// Does it concern IPv4 packets? Otherwise IPv6.
        ipv4: bool,
    },
    /// FR_ACT_NOP: where packets from and to inside go on at a gateway.
    Past {
        /// Does it concern IPv4 packets? Otherwise IPv6.
        ipv4: bool,
    },
    /// FR_ACT_GOTO: passes packets from inside to a prefix.
    Destination {
        /// FRA_DST.
        to: Prefix,
    },
    /// FR_ACT_GOTO: leads packets from a prefix to the rules for destinations.
    Source {
        /// FRA_SRC.
        from: Prefix,
    },
    /// FR_ACT_BLACKHOLE: drops what arrived by a NIC from inside and does not go to there.
    DropBeyond {
        /// FRA_IIFNAME.
        interface: String,
        /// Does it concern IPv4 packets? Otherwise IPv6.
        ipv4: bool,
    },
    /// FR_ACT_BLACKHOLE: drops what arrived by a NIC from elsewhere.
    DropOutside {
        /// FRA_IIFNAME.
        interface: String,
        /// Does it concern IPv4 packets? Otherwise IPv6.
        ipv4: bool,
    },
    /// FR_ACT_GOTO: passes packets from a prefix to everywhere.
    Out {
        /// FRA_SRC.
        from: Prefix,
    },
    /// FR_ACT_GOTO: passes packets from everywhere to a prefix.
    In {
        /// FRA_DST.
        to: Prefix,
    },
    /// FR_ACT_GOTO: leads what a gateway itself sends, without a source yet, past [`GuardRule::Back`]. Of IPv4.
    Own,
    /// FR_ACT_TO_TBL of [`GuardRule::BACK_TABLE`]: leads packets from everywhere to a prefix through the tunnel, at a gateway
    /// where nodes route.
    Back {
        /// FRA_SRC. Without it also packets that have no source yet.
        from: Option<Prefix>,
        /// FRA_DST.
        to: Prefix,
    },
    /// FR_ACT_GOTO: passes packets from everywhere to a network behind this node, where another one is a gateway.
    Into {
        /// FRA_DST.
        to: Prefix,
    },
    /// FR_ACT_GOTO: passes packets from one prefix to another. Both are of one family.
    Pass {
        /// FRA_SRC.
        from: Prefix,
        /// FRA_DST.
        to: Prefix,
    },
    /// FR_ACT_GOTO: leads what arrives by a NIC to be forwarded to the rules for sources.
    Enter {
        /// FRA_IIFNAME.
        interface: String,
        /// Does it concern IPv4 packets? Otherwise IPv6.
        ipv4: bool,
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

/// What a policy rule of a guard matches and does, in the kernel's terms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardParts {
    /// Does it concern IPv4 packets? Otherwise IPv6.
    pub ipv4: bool,
    /// FRA_PRIORITY.
    pub priority: u32,
    /// FRA_SRC.
    pub from: Option<Prefix>,
    /// FRA_DST.
    pub to: Option<Prefix>,
    /// FRA_IIFNAME.
    pub interface: Option<String>,
    /// Is it for ICMP alone (FRA_IP_PROTO)?
    pub icmp: bool,
    /// What it does.
    pub action: GuardAction,
}

/// What a policy rule does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GuardAction {
    /// FR_ACT_NOP.
    Nop,
    /// FR_ACT_GOTO, with FRA_GOTO.
    Goto(u32),
    /// FR_ACT_BLACKHOLE.
    Blackhole,
    /// FR_ACT_TO_TBL, with FRA_TABLE.
    Table(u32),
}

/// The source of a packet that has none yet.
const NO_SOURCE: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
/// By this interface arrives what a host sends itself (LOOPBACK_IFINDEX).
const LOOPBACK: &str = "lo";
/// The table `local` (RT_TABLE_LOCAL).
const LOCAL: u32 = 255;

impl GuardRule {
    /// Priority of [`GuardRule::Resume`]: the last before the rules of [`super::TABLES`].
    pub const RESUME: u32 = super::TABLES.start - 1;
    /// Priority of [`GuardRule::Past`]: after the rules that drop.
    const PAST: u32 = 780;
    /// Priority of the rules for sources: before all others for what arrives.
    const SOURCES: u32 = Self::RESUME - 9;
    /// Priority of the rules for destinations.
    const DESTINATIONS: u32 = Self::RESUME - 4;

    /// The table of the routes at metric [`super::METRIC_ICMP`], and the priority of [`GuardRule::Icmp`]: after all
    /// others of ours.
    pub const ICMP_TABLE: u32 = super::TABLES.end + 64;

    /// The table of the routes back from a gateway ([`super::Wanted::back`]).
    pub const BACK_TABLE: u32 = Self::ICMP_TABLE + 2;

    /// What it matches and does.
    #[must_use]
    pub fn parts(&self) -> GuardParts {
        let loopback = LOOPBACK.to_owned();
        let (from, to, interface) = match self {
            Self::Resume { .. } | Self::Past { .. } | Self::Local { .. } | Self::Icmp { .. } => {
                (None, None, None)
            }
            Self::Source { from } | Self::Out { from } => (Some(*from), None, None),
            Self::Destination { to } | Self::In { to } | Self::Into { to } => {
                (None, Some(*to), None)
            }
            Self::Back { from, to } => (*from, Some(*to), None),
            Self::Own => (Some(Prefix::host(NO_SOURCE)), None, Some(&loopback)),
            Self::Pass { from, to } => (Some(*from), Some(*to), None),
            Self::Enter { interface, .. }
            | Self::Drop { interface, .. }
            | Self::DropOutside { interface, .. }
            | Self::DropBeyond { interface, .. } => (None, None, Some(interface)),
            Self::Hide { interface, address } => {
                (None, Some(Prefix::host(*address)), Some(interface))
            }
        };
        let (priority, action) = match self {
            Self::Hide { .. } => (10, GuardAction::Blackhole),
            Self::Local { .. } => (90, GuardAction::Table(LOCAL)),
            Self::Pass { .. } | Self::Into { .. } => (778, GuardAction::Goto(Self::RESUME)),
            Self::Drop { .. } => (779, GuardAction::Blackhole),
            Self::Enter { .. } => (779, GuardAction::Goto(Self::SOURCES)),
            Self::Source { .. } => (Self::SOURCES, GuardAction::Goto(Self::DESTINATIONS)),
            Self::Own => (776, GuardAction::Goto(Self::PAST)),
            Self::Back { .. } => (778, GuardAction::Table(Self::BACK_TABLE)),
            Self::Out { .. } | Self::In { .. } => (777, GuardAction::Goto(Self::PAST)),
            Self::Past { .. } => (Self::PAST, GuardAction::Nop),
            Self::DropOutside { .. } => (Self::SOURCES + 1, GuardAction::Blackhole),
            Self::Destination { .. } => (Self::DESTINATIONS, GuardAction::Goto(Self::RESUME)),
            Self::DropBeyond { .. } => (Self::DESTINATIONS + 1, GuardAction::Blackhole),
            Self::Resume { .. } => (Self::RESUME, GuardAction::Nop),
            Self::Icmp { .. } => (Self::ICMP_TABLE, GuardAction::Table(Self::ICMP_TABLE)),
        };
        let icmp = matches!(self, Self::Icmp { .. });
        let (ipv4, interface) = (self.is_ipv4(), interface.cloned());
        GuardParts { ipv4, priority, from, to, interface, icmp, action }
    }

    /// The rule that has these parts, if it is one of ours.
    #[must_use]
    pub fn of_parts(parts: &GuardParts) -> Option<Self> {
        let GuardParts { ipv4, priority, from, to, action, .. } = *parts;
        let interface = || parts.interface.clone().unwrap_or_default();
        let rule = match priority {
            10 => Self::Hide { interface: interface(), address: to?.address },
            90 => Self::Local { ipv4 },
            776 => Self::Own,
            777 => match from {
                Some(from) => Self::Out { from },
                None => Self::In { to: to? },
            },
            778 => match from {
                _ if matches!(action, GuardAction::Table(_)) => Self::Back { from, to: to? },
                Some(from) => Self::Pass { from, to: to? },
                None => Self::Into { to: to? },
            },
            Self::PAST => Self::Past { ipv4 },
            779 if action == GuardAction::Blackhole => Self::Drop { interface: interface(), ipv4 },
            779 => Self::Enter { interface: interface(), ipv4 },
            Self::SOURCES => Self::Source { from: from? },
            Self::DESTINATIONS => Self::Destination { to: to? },
            Self::RESUME => Self::Resume { ipv4 },
            Self::ICMP_TABLE => Self::Icmp { ipv4 },
            _ if priority == Self::SOURCES + 1 => {
                Self::DropOutside { interface: interface(), ipv4 }
            }
            _ if priority == Self::DESTINATIONS + 1 => {
                Self::DropBeyond { interface: interface(), ipv4 }
            }
            _ => return None,
        };
        // Nothing more, and nothing else.
        Some(rule).filter(|rule| rule.parts() == *parts)
    }

    /// Does it concern IPv4 packets? Otherwise IPv6.
    #[must_use]
    pub const fn is_ipv4(&self) -> bool {
        match self {
            Self::Resume { ipv4 }
            | Self::Past { ipv4 }
            | Self::Drop { ipv4, .. }
            | Self::DropOutside { ipv4, .. }
            | Self::DropBeyond { ipv4, .. }
            | Self::Enter { ipv4, .. }
            | Self::Local { ipv4 }
            | Self::Icmp { ipv4 } => *ipv4,
            Self::Own => true,
            Self::Hide { address, .. } => address.is_ipv4(),
            Self::Pass { from: of, .. }
            | Self::Source { from: of }
            | Self::Out { from: of }
            | Self::In { to: of }
            | Self::Into { to: of }
            | Self::Back { to: of, .. }
            | Self::Destination { to: of } => of.address.is_ipv4(),
        }
    }

    /// The NIC of arrival, of those rules that drop or that lead there.
    #[must_use]
    pub fn arriving(&self) -> Option<&str> {
        match self {
            Self::Drop { interface, .. }
            | Self::Enter { interface, .. }
            | Self::DropOutside { interface, .. }
            | Self::DropBeyond { interface, .. } => Some(interface),
            _ => None,
        }
    }

    /// FRA_PRIORITY.
    #[must_use]
    pub fn priority(&self) -> u32 {
        self.parts().priority
    }

    /// What it matches and its action, as `ip rule add` takes them. Without the priority.
    #[must_use]
    pub fn words(&self) -> String {
        let GuardParts { ipv4, from, to, interface, icmp, action, .. } = self.parts();
        // As many write an address of one host.
        let to = to.map(|to| match self {
            Self::Hide { address, .. } => format!("to {address}"),
            _ => format!("to {to}"),
        });
        let protocol = if ipv4 { "ipproto icmp" } else { "ipproto ipv6-icmp" };
        let action = match action {
            GuardAction::Nop => "nop".to_owned(),
            GuardAction::Goto(priority) => format!("goto {priority}"),
            GuardAction::Blackhole => "blackhole".to_owned(),
            GuardAction::Table(LOCAL) => "lookup local".to_owned(),
            GuardAction::Table(table) => format!("lookup {table}"),
        };
        let from = from.map(|from| match self {
            Self::Own => format!("from {}", from.address),
            _ => format!("from {from}"),
        });
        let words = [
            from,
            to,
            interface.map(|interface| format!("iif {interface}")),
            icmp.then(|| protocol.to_owned()),
            Some(action),
        ];
        words.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    /// The rules of a gateway ([`of_all`](Self::of_all)), changed so that what comes from elsewhere goes through the tunnel.
    #[must_use]
    pub fn with_tunnel(rules: BTreeSet<Self>) -> BTreeSet<Self> {
        let own = rules.contains(&Self::Past { ipv4: true }).then_some(Self::Own);
        let back = |rule| match rule {
            Self::In { to } => Self::back(to),
            other => vec![other],
        };
        rules.into_iter().flat_map(back).chain(own).collect()
    }

    /// The rules that lead packets from elsewhere to a prefix through the tunnel.
    fn back(to: Prefix) -> Vec<Self> {
        if to.address.is_ipv4() {
            return vec![Self::Back { from: None, to }];
        }
        let half = |first| {
            let address = Ipv6Addr::from([first, 0, 0, 0, 0, 0, 0, 0]);
            Self::Back { from: Some(Prefix { len: 1, ..Prefix::host(address.into()) }), to }
        };
        [0, 0x8000].map(half).into()
    }

    /// The rules of two plans that are in use at once. If one of them makes the node a gateway, what passes by its rules would be
    /// dropped by those of the other, so those become rules of a gateway too.
    #[must_use]
    pub fn united(rules: BTreeSet<Self>) -> BTreeSet<Self> {
        if !rules.iter().any(|rule| matches!(rule, Self::Past { .. })) {
            return rules;
        }
        let by_tunnel = rules.iter().any(|rule| matches!(rule, Self::Back { .. }));
        let opened = |rule| match rule {
            Self::Source { from } => vec![Self::Out { from }],
            Self::Destination { to } if by_tunnel => Self::back(to),
            Self::Destination { to } => vec![Self::In { to }],
            Self::Enter { interface, ipv4 } => vec![Self::Drop { interface, ipv4 }],
            Self::DropOutside { .. } | Self::DropBeyond { .. } => Vec::new(),
            other => vec![other],
        };
        rules.into_iter().flat_map(opened).collect()
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

    /// The rules for packets that arrive by a NIC and go from one of these prefixes of the fabric to
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

    /// As [`of`](Self::of), and with networks behind nodes. `open`: the node is a gateway, behind which is everything.
    #[must_use]
    pub fn of_all(
        interface: &str,
        prefixes: &[Prefix],
        networks: &[Prefix],
        open: bool,
    ) -> BTreeSet<Self> {
        let mut rules: BTreeSet<Self> = Self::of(interface, prefixes).collect();
        if networks.is_empty() && !open {
            return rules;
        }
        let families = rules.iter().filter(|rule| matches!(rule, Self::Resume { .. }));
        let families: Vec<bool> = families.map(Self::is_ipv4).collect();
        let inside = prefixes.iter().chain(networks).copied();
        let inside = Prefix::merged(inside.filter(|p| families.contains(&p.address.is_ipv4())));
        if open {
            rules.retain(|rule| matches!(rule, Self::Drop { .. }));
            rules.extend(families.into_iter().map(|ipv4| Self::Past { ipv4 }));
            let both = |of| [Self::Out { from: of }, Self::In { to: of }];
            rules.extend(inside.into_iter().flat_map(both));
            return rules;
        }
        rules.retain(|rule| !matches!(rule, Self::Drop { .. }));
        for ipv4 in families {
            let interface = || interface.to_owned();
            rules.insert(Self::Enter { interface: interface(), ipv4 });
            rules.insert(Self::DropOutside { interface: interface(), ipv4 });
            rules.insert(Self::DropBeyond { interface: interface(), ipv4 });
        }
        let both = |of| [Self::Source { from: of }, Self::Destination { to: of }];
        rules.extend(inside.into_iter().flat_map(both));
        rules
    }
}
