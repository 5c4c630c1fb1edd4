//! The checks, one function each: what the plan needs of this host beside what the host says.

mod fabric;
mod kernel;
mod links;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::Path;

use tresse_control::{NeighbourList, Status};
use tresse_fabric::cluster::{self, Nic};
use tresse_fabric::id::NodeId;
use tresse_fabric::plan::Plan;
use tresse_fabric::slice::Slice;
use tresse_fabric::units::Mac;

use super::host::Link;
use super::{Finding, Verdict};
use crate::fail::{Code, Failure};

/// What all checks look at.
pub struct Seen<'a> {
    pub plan: &'a Plan,
    pub node: NodeId,
    pub links: BTreeMap<String, Link>,
    pub status: Result<Status, Failure>,
    /// Who is heard by the daemon, where it runs.
    pub neighbours: Option<NeighbourList>,
    pub local: bool,
}

/// Which node of the plan this host is.
pub fn which(
    plan: &Plan,
    links: &BTreeMap<String, Link>,
    name: Option<&str>,
    file: &Path,
) -> Result<NodeId, Failure> {
    let cluster = plan.cluster();
    if let Some(name) = name {
        return cluster
            .node_named(name)
            .ok_or_else(|| Failure::new(Code::Usage, format!("the cluster has no node `{name}`")));
    }
    let macs: BTreeSet<Mac> = links.values().filter_map(Link::mac).collect();
    let has = |node: &cluster::Node| {
        node.nics.iter().any(|nic| !nic.mac_derived && macs.contains(&nic.mac))
    };
    cluster.nodes.iter().position(has).map(NodeId::from).ok_or_else(|| {
        let message = format!(
            "no node of {} has a NIC of this host: say which with --node, or run `tresse macs`",
            file.display()
        );
        Failure::new(Code::BadFile, message)
    })
}

/// All of them, in the order in which one depends on the other.
pub fn all(seen: &Seen<'_>) -> Vec<Finding> {
    let slice = Slice::of(&seen.plan, seen.node);
    let checks: [fn(&Seen<'_>, &Slice) -> Vec<Finding>; 13] = [
        fabric::daemon,
        kernel::modules,
        links::nics,
        links::masters,
        links::twins,
        links::managers,
        kernel::reverse_paths,
        kernel::forwarding,
        kernel::ipv6,
        kernel::pause,
        fabric::watched,
        kernel::clock,
        fabric::paths,
    ];
    let mut findings = Vec::new();
    for check in checks {
        findings.extend(check(seen, &slice));
    }
    findings
}

impl Seen<'_> {
    fn nics(&self) -> &[Nic] {
        &self.plan.cluster().node(self.node).nics
    }
}

/// Begins a finding of one check.
struct Check(&'static str);

impl Check {
    fn fine(&self, cause: impl Into<String>) -> Finding {
        self.says(Verdict::Fine, "", cause, "", "")
    }

    fn warns(
        &self,
        object: &str,
        cause: impl Into<String>,
        effect: &str,
        fix: impl Into<String>,
    ) -> Finding {
        self.says(Verdict::Warning, object, cause, effect, fix)
    }

    fn fails(
        &self,
        object: &str,
        cause: impl Into<String>,
        effect: &str,
        fix: impl Into<String>,
    ) -> Finding {
        self.says(Verdict::Fault, object, cause, effect, fix)
    }

    fn says(
        &self,
        verdict: Verdict,
        object: &str,
        cause: impl Into<String>,
        effect: &str,
        fix: impl Into<String>,
    ) -> Finding {
        Finding {
            check: self.0,
            verdict,
            object: object.into(),
            cause: cause.into(),
            effect: effect.into(),
            fix: fix.into(),
        }
    }

    /// The findings, or that there are none.
    fn or_fine(&self, findings: Vec<Finding>, cause: &str) -> Vec<Finding> {
        if findings.is_empty() { vec![self.fine(cause)] } else { findings }
    }
}

/// The families of the plan's addresses: is it IPv4?
fn families(seen: &Seen<'_>) -> BTreeSet<bool> {
    seen.plan.addresses().node[seen.node.index()].iter().map(IpAddr::is_ipv4).collect()
}
