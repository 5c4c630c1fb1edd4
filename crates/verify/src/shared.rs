//! Names, pair by pair, what all planned paths of two nodes need although several are asked for.

use std::fmt;

use serde::Serialize;
use tresse_base::id::{LinkId, NodeId, SwitchId};
use tresse_plan::Plan;
use tresse_topology::cluster::Strategy;

use super::direct::Parts;
use super::failures::{Common, Cuts};
use super::names::{link_name, nic_name};

/// A pair of nodes without a second path that avoids all of the first between its ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Shared {
    /// Name of the source.
    pub src: String,
    /// Name of the destination.
    pub dst: String,
    /// How many paths are planned.
    pub paths: usize,
    /// What all of them need, by name: switches between the pair's own, then links; on flat neighbourhoods switches and NICs.
    pub shared: Vec<String>,
    /// Those of them that every way along cables needs. `None` on flat neighbourhoods, where it is not looked at.
    pub forced: Option<Vec<String>>,
}

impl fmt::Display for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { src, dst, paths, shared, forced } = self;
        let ending = if *paths == 1 { "" } else { "s" };
        write!(f, "{src} -> {dst}  {paths} path{ending}: {}", shared.join(", "))?;
        match forced {
            Some(forced) if !forced.is_empty() => {
                write!(f, "  no cables go round {}", forced.join(", "))
            }
            _ => Ok(()),
        }
    }
}

/// Error: the nodes of a plan route. They have next hops, and no paths of a pair to compare.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "nodes that route go round what fails by any next hop that is left\n  help: `tresse check` says what that does not save"
)]
pub struct Routed;

/// Finds what the paths of each pair share.
pub struct SharedParts<'a> {
    plan: &'a Plan,
    cuts: Cuts<'a>,
    /// First NIC number of each node.
    first_nic: Vec<usize>,
}

impl<'a> SharedParts<'a> {
    /// Takes a plan whose pairs have paths.
    ///
    /// # Errors
    /// [`Routed`].
    pub fn of(plan: &'a Plan) -> Result<Self, Routed> {
        if plan.node_routes().is_some() {
            return Err(Routed);
        }
        Ok(Self { plan, cuts: Cuts::new(plan.graph()), first_nic: plan.first_nics() })
    }

    /// What all paths of a pair need; `None` if two of them share nothing between its ends, or the two nodes are on one
    /// switch. O(paths of the pair x hops).
    #[must_use]
    pub fn of_pair(&self, s: NodeId, d: NodeId) -> Option<Shared> {
        let plan = self.plan;
        let (paths, shared, forced): (_, Vec<_>, _) =
            if plan.cluster().routing.strategy == Strategy::Direct {
                let paths = plan.paths(s, d);
                let parts = Parts::common(plan, &self.first_nic, &paths);
                let switches = parts.switches.iter().map(|s| self.switch(SwitchId::from(*s)));
                let nics = parts.nics.iter().map(|nic| nic_name(plan, &self.first_nic, *nic));
                (paths.len(), switches.chain(nics).collect(), None)
            } else {
                let common = Common::of(plan, s, d);
                let names = |switches: &[SwitchId], links: &[LinkId]| {
                    let switches = switches.iter().map(|s| self.switch(*s));
                    let links = links.iter().map(|link| link_name(plan, *link));
                    switches.chain(links).collect::<Vec<_>>()
                };
                let (switches, links) = common.forced(plan, &self.cuts);
                let shared = names(&common.inner().collect::<Vec<_>>(), &common.links);
                (common.paths, shared, Some(names(&switches, &links)))
            };
        if shared.is_empty() {
            return None;
        }
        let name = |node| plan.cluster().node(node).name.clone();
        Some(Shared { src: name(s), dst: name(d), paths, shared, forced })
    }

    fn switch(&self, switch: SwitchId) -> String {
        self.plan.cluster().switch(switch).name.clone()
    }
}
