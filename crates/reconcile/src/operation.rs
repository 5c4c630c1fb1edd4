//! The operations that change a node's kernel from the observed to the wanted state.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use tresse_base::id::Label;
use tresse_base::units::{Mac, Prefix};

use super::guard::GuardRule;
use super::rule::{Rule, SourceRule};
use super::wanted::{LinkKind, WantedLabel};

/// One operation on a kernel object. An operation that adds an object fails if the object exists
/// (NLM_F_CREATE and NLM_F_EXCL), unless its field `replace` is set. That is set only for an object
/// that a dump showed to be ours (K15).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "kebab-case")]
pub enum Operation {
    /// RTM_NEWLINK: create an interface with alias and MTU, set down.
    AddLink {
        /// Its name.
        name: String,
        /// Its kind.
        link: LinkKind,
        /// IP MTU.
        mtu: u32,
        /// Its alias.
        alias: String,
        /// Its MAC address; `None`: that which the kernel gives it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mac: Option<Mac>,
    },
    /// Set MTU, alias and MAC address of an interface of ours.
    ChangeLink {
        /// Its name.
        name: String,
        /// IP MTU.
        mtu: u32,
        /// Its alias.
        alias: String,
        /// Its MAC address; `None`: it stays.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mac: Option<Mac>,
    },
    /// Set an interface up or down.
    SetLinkState {
        /// Its name.
        name: String,
        /// IFF_UP.
        up: bool,
    },
    /// RTM_DELLINK of an interface of ours.
    DeleteLink {
        /// Its name.
        name: String,
    },
    /// Write one file below `/proc/sys`.
    WriteSysctl {
        /// Path below `/proc/sys`.
        key: String,
        /// New value.
        value: String,
        /// Value found before, which undo writes back; `None` if an earlier operation creates the
        /// file together with its interface.
        before: Option<String>,
    },
    /// RTM_NEWADDR: /32 or /128, scope link for NIC addresses and global on the node interface,
    /// IFA_F_NOPREFIXROUTE, IPv6 with IFA_F_NODAD, IFA_PROTO 78 where the kernel has it.
    AddAddress {
        /// Interface.
        interface: String,
        /// Address.
        address: IpAddr,
    },
    /// RTM_DELADDR.
    DeleteAddress {
        /// Interface.
        interface: String,
        /// Address.
        address: IpAddr,
    },
    /// RTM_NEWNEIGH, NUD_PERMANENT, NDA_PROTOCOL 78.
    AddNeighbour {
        /// Interface.
        interface: String,
        /// Address.
        address: IpAddr,
        /// MAC address (lladdr).
        mac: Mac,
        /// Is there already one of ours with another MAC address (NLM_F_REPLACE)?
        replace: bool,
    },
    /// RTM_DELNEIGH.
    DeleteNeighbour {
        /// Interface.
        interface: String,
        /// Address.
        address: IpAddr,
    },
    /// RTM_NEWNEIGH of family AF_BRIDGE, NTF_SELF, NUD_PERMANENT: a forwarding entry (FDB) of a VXLAN interface of ours.
    AddFdb {
        /// Interface.
        interface: String,
        /// MAC address (lladdr).
        mac: Mac,
        /// Address to which frames for it are sent (NDA_DST).
        at: IpAddr,
        /// Is there already one with another address (NLM_F_REPLACE)?
        replace: bool,
    },
    /// RTM_DELNEIGH of such an entry.
    DeleteFdb {
        /// Interface.
        interface: String,
        /// MAC address (lladdr).
        mac: Mac,
    },
    /// RTM_NEWNEXTHOP of a plain nexthop, RTNH_F_ONLINK.
    AddNexthop {
        /// Id within our range.
        id: u32,
        /// Outgoing interface.
        interface: String,
        /// Gateway.
        via: IpAddr,
        /// Label stack, outermost first.
        labels: Vec<Label>,
    },
    /// RTM_NEWNEXTHOP of a group.
    AddGroup {
        /// Id within our range.
        id: u32,
        /// (nexthop id, weight 1-255).
        members: Vec<(u32, u8)>,
        /// Does a group of ours with this id exist (NLM_F_REPLACE)?
        replace: bool,
    },
    /// RTM_DELNEXTHOP of a nexthop or group of ours.
    DeleteNexthop {
        /// Its id.
        id: u32,
    },
    /// RTM_NEWROUTE through a group.
    AddRoute {
        /// Destination.
        dst: Prefix,
        /// Metric.
        metric: u32,
        /// The group's id (RTA_NH_ID).
        group: u32,
        /// RTA_PREFSRC; `None` only when undo restores a route that had none.
        src: Option<IpAddr>,
        /// RTAX_MTU; `None` as with `src`.
        mtu: Option<u32>,
        /// RTAX_ADVMSS; `None` as with `src`.
        advmss: Option<u32>,
        /// Does a route of ours with this key exist (NLM_F_REPLACE)?
        replace: bool,
    },
    /// RTM_NEWROUTE of an unreachable route of the main table, at metric [`super::METRIC_UNREACHABLE`].
    AddUnreachable {
        /// Destination.
        dst: Prefix,
    },
    /// RTM_DELROUTE of an unreachable route of ours.
    DeleteUnreachable {
        /// Destination.
        dst: Prefix,
    },
    /// RTM_DELROUTE of a route of ours.
    DeleteRoute {
        /// Destination.
        dst: Prefix,
        /// Metric.
        metric: u32,
    },
    /// RTM_NEWROUTE of a label route that pops its label.
    AddLabel {
        /// The incoming label.
        label: Label,
        /// Interface and neighbour to which the packet goes.
        #[serde(rename = "way")]
        nexthop: WantedLabel,
        /// Does a route of ours for this label exist (NLM_F_REPLACE)?
        replace: bool,
    },
    /// RTM_DELROUTE of a label route of ours.
    DeleteLabel {
        /// The label.
        label: Label,
        /// Interface and neighbour to which the packets went.
        #[serde(rename = "way")]
        nexthop: WantedLabel,
    },
    /// RTM_NEWROUTE of a table route in one of [`super::TABLES`], RTNH_F_ONLINK, metric
    /// [`super::METRIC_PRIMARY`].
    #[serde(rename = "add-turn")]
    AddTableRoute {
        /// The table.
        table: u32,
        /// Destination.
        dst: Prefix,
        /// Outgoing interface.
        interface: String,
        /// Gateway.
        via: IpAddr,
        /// Does a route of ours with this key exist (NLM_F_REPLACE)?
        replace: bool,
    },
    /// RTM_DELROUTE of a table route of ours.
    #[serde(rename = "delete-turn")]
    DeleteTableRoute {
        /// The table.
        table: u32,
        /// Destination.
        dst: Prefix,
    },
    /// RTM_NEWRULE of a policy rule by arrival interface, FRA_PROTOCOL 78.
    AddRule {
        /// The rule.
        rule: Rule,
    },
    /// RTM_DELRULE of a policy rule of ours.
    DeleteRule {
        /// The rule.
        rule: Rule,
    },
    /// RTM_NEWRULE of a policy rule by source address, FRA_PROTOCOL 78.
    #[serde(rename = "add-from-rule")]
    AddSourceRule {
        /// The rule.
        rule: SourceRule,
    },
    /// RTM_DELRULE of a policy rule of ours.
    #[serde(rename = "delete-from-rule")]
    DeleteSourceRule {
        /// The rule.
        rule: SourceRule,
    },
    /// RTM_NEWRULE of a policy rule that keeps packets of the fabric inside it, FRA_PROTOCOL 78.
    AddGuardRule {
        /// The rule.
        rule: GuardRule,
    },
    /// RTM_DELRULE of such a rule of ours.
    DeleteGuardRule {
        /// The rule.
        rule: GuardRule,
    },
    /// RTM_NEWRULE of the kernel's own rule for the table `local`, at priority 0.
    AddLocalRule {
        /// Does it concern IPv4 packets? Otherwise IPv6.
        ipv4: bool,
    },
    /// RTM_DELRULE of that rule, for which [`GuardRule::Local`] stands.
    DeleteLocalRule {
        /// Does it concern IPv4 packets? Otherwise IPv6.
        ipv4: bool,
    },
    /// MPTCP_PM_CMD_ADD_ADDR, MPTCP_PM_ADDR_FLAG_SUBFLOW.
    AddEndpoint {
        /// Its id: one of [`super::ENDPOINT_IDS`].
        id: u8,
        /// Address from which subflows start.
        address: IpAddr,
    },
    /// MPTCP_PM_CMD_DEL_ADDR of an endpoint of ours.
    DeleteEndpoint {
        /// Its id.
        id: u8,
        /// Its address.
        address: IpAddr,
    },
    /// MPTCP_PM_CMD_SET_LIMITS: the number of subflows that a connection may have besides its
    /// first.
    LimitSubflows {
        /// New limit.
        limit: u32,
        /// Limit found before, which undo writes back.
        before: u32,
    },
    /// RTM_NEWQDISC: a clsact qdisc, to which the label filter is attached.
    AddIngress {
        /// Interface.
        interface: String,
    },
    /// RTM_DELQDISC of a clsact qdisc that we created.
    DeleteIngress {
        /// Interface.
        interface: String,
    },
    /// RTM_NEWTFILTER of a flower filter on ingress (K11), with [`super::FILTER_COOKIE`].
    AddFilter {
        /// Interface.
        interface: String,
        /// Its handle within its preference.
        handle: u32,
        /// The MAC address whose labelled frames pass ([`super::PREF_PASS`]); `None` for the filter
        /// that drops all others ([`super::PREF_DROP`]).
        source: Option<Mac>,
    },
    /// RTM_DELTFILTER of a filter of ours.
    DeleteFilter {
        /// Interface.
        interface: String,
        /// Its handle.
        handle: u32,
        /// As in `AddFilter`.
        source: Option<Mac>,
    },
}
