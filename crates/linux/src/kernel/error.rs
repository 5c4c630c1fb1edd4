//! The error of an operation on the kernel (add a route, delete a link ...) that did not take
//! effect in [`super::execute`].

use std::io;

use nix::errno::Errno;
use tresse_reconcile::{LinkKind, Operation};

/// Why an operation on the kernel did not take effect.
#[derive(Debug, thiserror::Error)]
pub enum ExecuteError {
    /// The kernel refused it.
    #[error(
        "{verb} {object}: {} ({}){}{}",
        Errno::from_raw(*errno).desc(),
        *errno,
        text.as_deref().map(|t| format!(": kernel says \"{t}\"")).unwrap_or_default(),
        advice.map(|a| format!("; {a}")).unwrap_or_default()
    )]
    Refused {
        /// The verb: `add`, `replace`, `delete`, `set`.
        verb: &'static str,
        /// The object: `route 10.77.0.2/32 metric 7800`.
        object: String,
        /// The errno, positive.
        errno: i32,
        /// The kernel's extended-ACK text.
        text: Option<String>,
        /// What to do about it, if known.
        advice: Option<&'static str>,
    },
    /// The operation names an interface that does not exist.
    #[error("{verb} {object}: there is no interface `{interface}`")]
    NoInterface {
        /// The verb.
        verb: &'static str,
        /// The object.
        object: String,
        /// The interface.
        interface: String,
    },
    /// A file below `/proc/sys` could not be written.
    #[error("write `{value}` to /proc/sys/{key}")]
    Sysctl {
        /// Path below `/proc/sys`.
        key: String,
        /// The value.
        value: String,
        /// The error.
        #[source]
        source: io::Error,
    },
    /// The netlink socket failed before the operation was sent.
    #[error("{verb} {object}: netlink socket")]
    Socket {
        /// The verb.
        verb: &'static str,
        /// The object.
        object: String,
        /// The error.
        #[source]
        source: io::Error,
    },
    /// The operation was sent, but its reply was lost. Only a new observation shows whether it took
    /// effect.
    #[error("{verb} {object}: the kernel's answer was lost ({reason})")]
    Unanswered {
        /// The verb.
        verb: &'static str,
        /// The object.
        object: String,
        /// How the reply was lost.
        reason: String,
    },
}

impl ExecuteError {
    /// The kernel's errno, if the error has one.
    #[must_use]
    pub fn errno(&self) -> Option<i32> {
        match self {
            Self::Refused { errno, .. } => Some(*errno),
            Self::NoInterface { .. } => Some(libc::ENODEV),
            Self::Sysctl { source, .. } | Self::Socket { source, .. } => source.raw_os_error(),
            Self::Unanswered { .. } => None,
        }
    }

    pub(super) fn refused(operation: &Operation, errno: i32, text: Option<String>) -> Self {
        let (verb, object) = describe(operation);
        let advice = advice(operation, errno, text.as_deref());
        Self::Refused { verb, object, errno, text, advice }
    }

    pub(super) fn no_interface(operation: &Operation, interface: &str) -> Self {
        let (verb, object) = describe(operation);
        Self::NoInterface { verb, object, interface: interface.to_owned() }
    }

    pub(super) fn socket(operation: &Operation, source: io::Error) -> Self {
        let (verb, object) = describe(operation);
        Self::Socket { verb, object, source }
    }

    pub(super) fn unanswered(operation: &Operation, reason: String) -> Self {
        let (verb, object) = describe(operation);
        Self::Unanswered { verb, object, reason }
    }
}

/// Does `errno` mean that the object which `operation` deletes is already gone?
pub(super) fn already_absent(operation: &Operation, errno: i32) -> bool {
    match operation {
        Operation::DeleteLink { .. } => errno == libc::ENODEV,
        Operation::DeleteAddress { .. } => matches!(errno, libc::EADDRNOTAVAIL | libc::ENODEV),
        Operation::DeleteNeighbour { .. } | Operation::DeleteFdb { .. } => {
            matches!(errno, libc::ENOENT | libc::ENODEV | libc::ENXIO)
        }
        Operation::DeleteNexthop { .. } => errno == libc::ENOENT,
        Operation::DeleteRoute { .. }
        | Operation::DeleteUnreachable { .. }
        | Operation::DeleteTableRoute { .. } => {
            matches!(errno, libc::ESRCH | libc::ENODEV)
        }
        Operation::DeleteRule { .. }
        | Operation::DeleteSourceRule { .. }
        | Operation::DeleteGuardRule { .. }
        | Operation::DeleteLocalRule { .. } => errno == libc::ENOENT,
        Operation::DeleteEndpoint { .. } => matches!(errno, libc::EINVAL | libc::ENOENT),
        // For a label within its table the kernel returns EINVAL whether or not it had a route.
        Operation::DeleteLabel { .. } => errno == libc::EINVAL,
        // EINVAL: the qdisc to which the filter was attached is gone.
        Operation::DeleteIngress { .. } | Operation::DeleteFilter { .. } => {
            matches!(errno, libc::ENOENT | libc::EINVAL | libc::ENODEV)
        }
        _ => false,
    }
}

fn verb(replace: bool) -> &'static str {
    if replace { "replace" } else { "add" }
}

fn named(operation: &Operation) -> String {
    let object = operation.object();
    format!("{} {object}", object.kind())
}

/// Verb and object, for messages.
fn describe(operation: &Operation) -> (&'static str, String) {
    match operation {
        Operation::AddLink { name, link: LinkKind::Vlan { parent, vid }, .. } => {
            ("add", format!("VLAN interface {name} (VID {vid} on {parent})"))
        }
        Operation::AddLink { name, link: LinkKind::Dummy, .. } => {
            ("add", format!("dummy interface {name}"))
        }
        Operation::AddLink { name, link: LinkKind::Vxlan { .. }, .. } => {
            ("add", format!("VXLAN interface {name}"))
        }
        Operation::AddLink { name, link: LinkKind::Tun, .. } => {
            ("add", format!("TUN interface {name}"))
        }
        Operation::ChangeLink { name, mtu, .. } => {
            ("set", format!("MTU {mtu} and alias of interface {name}"))
        }
        Operation::SetLinkState { name, up } => {
            ("set", format!("interface {name} {}", if *up { "up" } else { "down" }))
        }
        Operation::DeleteLink { name } => ("delete", format!("interface {name}")),
        Operation::WriteSysctl { key, value, .. } => ("set", format!("sysctl {key} = {value}")),
        Operation::AddAddress { interface, address } => {
            ("add", format!("address {address} on {interface}"))
        }
        Operation::DeleteAddress { interface, address } => {
            ("delete", format!("address {address} on {interface}"))
        }
        Operation::AddNeighbour { interface, address, mac, replace } => {
            (verb(*replace), format!("neighbour {address} lladdr {mac} on {interface}"))
        }
        Operation::DeleteNeighbour { interface, address } => {
            ("delete", format!("neighbour {address} on {interface}"))
        }
        Operation::AddFdb { interface, mac, at, replace } => {
            (verb(*replace), format!("forwarding entry {mac} dst {at} on {interface}"))
        }
        Operation::AddNexthop { id, interface, via, labels } if labels.is_empty() => {
            ("add", format!("nexthop {id} via {via} on {interface}"))
        }
        Operation::AddNexthop { id, interface, via, labels } => {
            let stack: Vec<_> = labels.iter().map(|l| l.0.to_string()).collect();
            ("add", format!("nexthop {id} encap mpls {} via {via} on {interface}", stack.join("/")))
        }
        Operation::AddGroup { id, replace, .. } => (verb(*replace), format!("nexthop group {id}")),
        Operation::DeleteNexthop { id } => ("delete", format!("nexthop {id}")),
        Operation::AddRoute { dst, metric, group, replace, .. } => {
            (verb(*replace), format!("route {dst} metric {metric} through group {group}"))
        }
        Operation::DeleteRoute { dst, metric } => {
            ("delete", format!("route {dst} metric {metric}"))
        }
        Operation::AddLabel { replace, .. } | Operation::AddTableRoute { replace, .. } => {
            (verb(*replace), named(operation))
        }
        Operation::LimitSubflows { limit, .. } => ("set", format!("{limit} MPTCP subflows")),
        Operation::DeleteLabel { .. }
        | Operation::DeleteSourceRule { .. }
        | Operation::DeleteGuardRule { .. }
        | Operation::DeleteLocalRule { .. }
        | Operation::DeleteEndpoint { .. }
        | Operation::DeleteTableRoute { .. }
        | Operation::DeleteUnreachable { .. }
        | Operation::DeleteFdb { .. }
        | Operation::DeleteRule { .. }
        | Operation::DeleteIngress { .. }
        | Operation::DeleteFilter { .. } => ("delete", named(operation)),
        Operation::AddRule { .. }
        | Operation::AddUnreachable { .. }
        | Operation::AddSourceRule { .. }
        | Operation::AddLocalRule { .. }
        | Operation::AddGuardRule { .. }
        | Operation::AddEndpoint { .. }
        | Operation::AddIngress { .. }
        | Operation::AddFilter { .. } => ("add", named(operation)),
    }
}

fn advice(operation: &Operation, errno: i32, text: Option<&str>) -> Option<&'static str> {
    let text = text.unwrap_or_default();
    match (operation, errno) {
        (_, libc::EPERM | libc::EACCES) => {
            Some("CAP_NET_ADMIN in this network namespace is needed: run as root or by the unit")
        }
        (Operation::AddLink { link: LinkKind::Vlan { .. }, .. }, libc::EOPNOTSUPP) => {
            Some("the kernel has no 802.1Q: load the module with `modprobe 8021q`")
        }
        (Operation::AddLink { link: LinkKind::Vxlan { .. }, .. }, libc::EOPNOTSUPP) => Some(
            "the kernel has no VXLAN, by which packets go to gateways where nodes route: `modprobe vxlan`, or leave out \
             `gateway`",
        ),
        (
            Operation::AddLink { link: LinkKind::Tun, .. },
            libc::ENOENT | libc::ENODEV | libc::ENXIO,
        ) => Some("the kernel has no TUN interfaces, or hides /dev/net/tun: `modprobe tun`"),
        (Operation::AddLink { link: LinkKind::Tun, .. }, libc::EBUSY | libc::EINVAL) => {
            Some("an interface with this name exists and is not ours")
        }
        (Operation::AddLink { .. }, libc::EOPNOTSUPP) => {
            Some("the kernel has neither dummy nor bridge: `modprobe dummy`")
        }
        (Operation::AddLink { .. }, libc::EEXIST) => {
            Some("an interface with this name or this VID on its parent exists and is not ours")
        }
        (Operation::ChangeLink { .. } | Operation::AddLink { .. }, libc::ERANGE | libc::EINVAL) => {
            Some("a VLAN interface's MTU cannot exceed that of the interface below")
        }
        (Operation::AddNexthop { labels, .. }, libc::EOPNOTSUPP | libc::EINVAL)
            if !labels.is_empty() && !text.contains("own") =>
        {
            Some(
                "the kernel may lack MPLS encapsulation: `modprobe mpls_iptunnel`, or let the \
                 daemon push labels: `source = \"tun\"`",
            )
        }
        (Operation::AddNexthop { .. }, libc::ENETDOWN) => {
            Some("the interface is down or without carrier: the nexthop is installed when it is up")
        }
        (Operation::AddTableRoute { .. }, libc::ENETDOWN) => {
            Some("the interface is down: the route is installed when it is up")
        }
        (
            Operation::AddRule { .. }
            | Operation::AddSourceRule { .. }
            | Operation::AddGuardRule { .. }
            | Operation::AddTableRoute { .. },
            libc::EOPNOTSUPP | libc::EAFNOSUPPORT,
        ) => Some(
            "the kernel has no rules and tables beside the main one (CONFIG_IP_MULTIPLE_TABLES, \
             CONFIG_IPV6_MULTIPLE_TABLES): `paths = 1` without `mptcp` needs none",
        ),
        (Operation::AddLabel { .. }, libc::EOPNOTSUPP) => Some(
            "the kernel forwards no labels: `modprobe -a mpls_router mpls_iptunnel`, or `engine = \
             \"packet\"`",
        ),
        (Operation::AddLabel { .. }, libc::EINVAL) if text.contains("platform_labels") => {
            Some("net.mpls.platform_labels must be above the label")
        }
        (Operation::AddIngress { .. } | Operation::AddFilter { .. }, libc::ENOENT) => Some(
            "the kernel lacks the filter on labelled frames: `modprobe -a sch_ingress cls_flower \
             act_gact`, or `engine = \"packet\"`",
        ),
        (Operation::AddEndpoint { .. }, libc::ERANGE) => {
            Some("the kernel holds 8 endpoints, none of them twice: `ip mptcp endpoint`")
        }
        (Operation::AddRoute { .. }, libc::EINVAL) if text.contains("prefsrc") => {
            Some("the node address must be on tresse0 before its routes")
        }
        (
            Operation::AddRoute { replace: false, .. }
            | Operation::AddNeighbour { replace: false, .. }
            | Operation::AddGroup { replace: false, .. }
            | Operation::AddLabel { replace: false, .. }
            | Operation::AddTableRoute { replace: false, .. }
            | Operation::AddUnreachable { .. }
            | Operation::AddRule { .. }
            | Operation::AddSourceRule { .. }
            | Operation::AddGuardRule { .. }
            | Operation::AddNexthop { .. }
            | Operation::AddAddress { .. }
            | Operation::AddIngress { .. }
            | Operation::AddFilter { .. },
            libc::EEXIST,
        ) => Some("the object exists already; an object without our mark is never replaced"),
        (
            Operation::AddRoute { replace: true, .. } | Operation::AddGroup { replace: true, .. },
            libc::ENOENT,
        ) => Some(
            "the kernel has just removed it, as it does on carrier loss: the daemon tries \
             again",
        ),
        _ => None,
    }
}
