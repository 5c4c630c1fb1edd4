//! What of labels this kernel can do: forward them, filter them (K11), push them.

use std::net::Ipv4Addr;

use netlink_packet_route::route::{MplsLabel, RouteProtocol};
use rtnetlink::RouteMessageBuilder;
use tresse_frame::mpls::FIRST_LABEL;
use tresse_reconcile::{ALIAS_PREFIX, LinkKind, Operation, PLATFORM_LABELS, PROTOCOL};

use super::channel::{Channel, DumpError};
use super::message::bytes;
use super::{execute, ifindex, sysctl};

/// What this kernel can do with labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LabelSupport {
    /// It forwards them (mpls_router).
    pub routes: bool,
    /// It can filter them by source MAC (clsact and flower); not asked where it forwards none.
    pub filter: bool,
    /// Its routes push them (mpls_iptunnel).
    pub encap: bool,
}

/// Why the kernel engine cannot be chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoKernelEngine {
    /// Without mpls_router.
    #[error(
        "this kernel forwards no labels: `modprobe -a mpls_router mpls_iptunnel`, or `engine = \"packet\"`"
    )]
    Routes,
    /// Without what the label filter needs.
    #[error(
        "this kernel cannot filter labelled frames by their source, which `strict` asks for: `modprobe -a sch_ingress cls_flower act_gact`, or `engine = \"packet\"`"
    )]
    Filter,
}

impl LabelSupport {
    /// May the kernel engine be chosen? Without `strict` also where it cannot filter: then the
    /// caller says so, and wants no label sources.
    ///
    /// # Errors
    /// [`NoKernelEngine`], naming the fix.
    pub const fn kernel_engine(self, strict: bool) -> Result<(), NoKernelEngine> {
        match (self.routes, self.filter || !strict) {
            (false, _) => Err(NoKernelEngine::Routes),
            (true, false) => Err(NoKernelEngine::Filter),
            (true, true) => Ok(()),
        }
    }
}

/// Asks the kernel of the calling thread's network namespace. No list of what a kernel can filter
/// by exists, so an interface of ours that is never up gets a filter, and is deleted with it.
#[must_use]
pub fn label_support() -> LabelSupport {
    let routes = matches!(sysctl::read(PLATFORM_LABELS), Ok(Some(_)));
    LabelSupport { routes, filter: routes && filters(), encap: encapsulates() }
}

/// The kernel judges the kind of an encapsulation, and loads its module, before it finds out that the
/// interface of a route does not exist.
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

/// It bears our mark, so that what a crash leaves behind is removed as any leftover.
const PROBE: &str = "tresse-probe";

fn filters() -> bool {
    let interface = || PROBE.to_owned();
    let delete = || [Operation::DeleteLink { name: interface() }];
    if ifindex(PROBE).is_ok() {
        let _ = execute(&delete());
    }
    let alias = format!("{ALIAS_PREFIX}probe");
    let tried = execute(&[
        Operation::AddLink { name: interface(), link: LinkKind::Dummy, mtu: 1500, alias },
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
