//! Finds out what the running kernel can do with MPLS labels: forward labelled frames, filter them
//! by source (K11), and push labels.

use std::net::Ipv4Addr;

use netlink_packet_route::route::{MplsLabel, RouteProtocol};
use rtnetlink::RouteMessageBuilder;
use tresse_frame::mpls::FIRST_LABEL;
use tresse_reconcile::{ALIAS_PREFIX, LinkKind, Operation, PLATFORM_LABELS, PROTOCOL};

use super::channel::{Channel, DumpError};
use super::message::bytes;
use super::{execute, ifindex, sysctl};

/// What the running kernel can do with MPLS labels: forward, filter and push them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LabelSupport {
    /// Can it forward labelled packets (mpls_router)?
    pub routes: bool,
    /// Can it filter labelled frames by source MAC address (clsact and flower)? Not tested if it
    /// cannot forward them.
    pub filter: bool,
    /// Can its routes push labels (mpls_iptunnel)?
    pub encap: bool,
}

/// Why the `kernel` forwarding engine, in which the kernel forwards labelled frames, cannot be used
/// on this host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoKernelEngine {
    /// The kernel lacks mpls_router.
    #[error(
        "this kernel forwards no labels: `modprobe -a mpls_router mpls_iptunnel`, or `engine = \"packet\"`"
    )]
    Routes,
    /// The kernel lacks what the label filter needs.
    #[error(
        "this kernel cannot filter labelled frames by their source, which `strict` asks for: `modprobe -a sch_ingress cls_flower act_gact`, or `engine = \"packet\"`"
    )]
    Filter,
}

impl LabelSupport {
    /// Can the `kernel` forwarding engine be used? Without `strict` also on a kernel that cannot
    /// filter; the caller must then report that, and want no label sources.
    ///
    /// # Errors
    /// [`NoKernelEngine`], which names the remedy.
    pub const fn kernel_engine(self, strict: bool) -> Result<(), NoKernelEngine> {
        match (self.routes, self.filter || !strict) {
            (false, _) => Err(NoKernelEngine::Routes),
            (true, false) => Err(NoKernelEngine::Filter),
            (true, true) => Ok(()),
        }
    }
}

/// Returns what the kernel can do with MPLS labels in the calling thread's network namespace. The
/// kernel has no list of the filters that it supports, so a filter is set on a temporary interface,
/// which is never up and is deleted afterwards.
#[must_use]
pub fn label_support() -> LabelSupport {
    let routes = matches!(sysctl::read(PLATFORM_LABELS), Ok(Some(_)));
    LabelSupport { routes, filter: routes && filters(), encap: encapsulates() }
}

/// Tests whether routes can push labels. The kernel checks the kind of an encapsulation, and loads
/// its module, before it finds out that the route's interface does not exist.
fn encapsulates() -> bool {
    const NO_INTERFACE: u32 = i32::MAX as u32;
    const NOWHERE: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);

    let Ok(mut channel) = Channel::open() else { return true };
    let entry = MplsLabel { label: FIRST_LABEL.0, traffic_class: 0, bottom_of_stack: true, ttl: 0 };
    let route = RouteMessageBuilder::<Ipv4Addr>::new()
        .destination_prefix(NOWHERE, 32)
        .output_interface(NO_INTERFACE)
        .output_mpls(vec![entry])
        .protocol(RouteProtocol::Other(PROTOCOL))
        .build();
    let answer = channel.ask(libc::RTM_NEWROUTE, &bytes(&route), |_| Ok(()));
    let errno = match answer {
        Err(DumpError::Kernel(error, _)) => error.raw_os_error(),
        _ => None,
    };
    errno != Some(libc::EOPNOTSUPP)
}

/// Name of the temporary interface. It bears our mark, so that one left by a crash is removed as
/// ours.
const PROBE: &str = "tresse-probe";

fn filters() -> bool {
    let interface = || PROBE.to_owned();
    let delete = || [Operation::DeleteLink { name: interface() }];
    if ifindex(PROBE).is_ok() {
        let _ = execute(&delete());
    }
    let alias = format!("{ALIAS_PREFIX}probe");
    let tried = execute(&[
        Operation::AddLink {
            name: interface(),
            link: LinkKind::Dummy,
            mtu: 1500,
            alias,
            mac: None,
        },
        Operation::AddIngress { interface: interface() },
        Operation::AddFilter { interface: interface(), handle: 1, source: None },
    ]);
    let _ = execute(&delete());
    tried.is_complete()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k11_strict_refuses_a_kernel_engine_without_its_filter() {
        for (routes, filter, strict, expected) in [
            (true, true, true, Ok(())),
            (true, false, false, Ok(())),
            (true, false, true, Err(NoKernelEngine::Filter)),
            (false, true, false, Err(NoKernelEngine::Routes)),
            (false, false, true, Err(NoKernelEngine::Routes)),
        ] {
            let support = LabelSupport { routes, filter, encap: true };
            assert_eq!(support.kernel_engine(strict), expected);
        }
    }
}
