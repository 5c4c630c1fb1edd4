//! Resolves the tables of a cluster file into a [`Cluster`], with every default filled in and every name resolved.
//! Each submodule resolves one table or key: it reports all faults and continues with the default, so that one fault
//! does not hide another.

mod addressing;
mod behind;
mod cabled;
mod cables;
mod demand;
mod fabric;
mod hosts;
mod lags;
mod names;
mod nodes;
mod routing;
mod shape;
mod spares;
mod untagged;
mod uplink;
mod values;
mod vlans;
mod whole;

use tresse_base::problem::{Found, ProblemKind};
use tresse_topology::cluster::{Cluster, Strategy};
use tresse_topology::default_name;

pub use self::names::name_fault;
use self::names::{bad_name, name_help, valid_name};
pub use self::routing::strategy_name;
use crate::file::File;
use crate::read::Keys;

/// Resolves the whole file. The result is valid only if `found` stays empty.
pub(super) fn resolve(file: &File, found: &mut Found) -> Cluster {
    let mut shape = shape::shape(file.fabric.as_ref(), file.lacks("fabric"), found);
    let topology = file.fabric.as_ref().and_then(|f| f.value.topology.as_ref());
    let topology = topology.map(|t| t.span.clone()).unwrap_or_default();
    let mut cabled = None;
    if cabled::is_cabled(&shape, file) {
        let (read, of_cables) = cabled::Cabled::read(file, &topology, found);
        (cabled, shape) = (Some(read), of_cables);
    }
    let (kind, listed) = (shape.kind(), cabled.is_some());
    let (mut routing, strategy) =
        routing::routing(file.routing.as_ref(), file.lacks("routing"), &shape, found);
    let flat = strategy == Some(Strategy::Direct) || shape.is_fnn();
    let untagged = flat || kind.is_routed() || listed;
    let vlans = file.vlans.as_ref().filter(|_| !untagged || kind.shares_switches());
    let vlans = vlans::vlans(vlans, &shape, strategy, &topology, found);
    let mut draft = fabric::Draft::new(&shape, file);
    if let Some(cabled) = cabled {
        draft.name_cabled(cabled);
    }
    draft.switches(file.switch.as_ref(), found);
    draft.nodes(file.node.as_ref(), found);
    draft.plug_uplinks(&kind, found);
    if untagged && !kind.shares_switches() {
        untagged::refuse_vlans(file, flat, found);
    }
    if kind.is_routed() || listed {
        untagged::refuse_cables(file, listed, found);
    } else if flat {
        untagged::refuse_links(file, found);
    } else {
        draft.links(file.link.as_ref(), found);
    }
    draft.check_lags(found);
    draft.finish(file, &topology, &kind, flat, found);
    if let Strategy::Updown { root } | Strategy::Transit { root } = &mut routing.strategy {
        let name = file.routing.as_ref().and_then(|r| r.value.root.as_ref());
        *root = name.map(|name| draft.find_switch(&name.value, &name.span, found));
    }
    let known = shape.is_known().then_some(&kind);
    let addressing = addressing::addressing(file.addressing.as_ref(), &draft.nodes, known, found);
    draft.check_mtu(&addressing, found);
    draft.check_behind(&addressing, found);
    draft.replace(file, found);
    let demand = draft.demand(file.demand.as_ref(), found);
    let name = file.fabric.as_ref().and_then(|f| f.value.name.as_ref());
    if let Some(name) = name
        && !valid_name(&name.value)
    {
        found.add(ProblemKind::BadName, &name.span, bad_name(&name.value), name_help(&name.value));
    }
    let mut cluster = Cluster {
        name: name.map_or_else(|| default_name(&kind), |n| n.value.clone()),
        kind,
        switches: draft.switches,
        nodes: draft.nodes,
        links: draft.links,
        lags: Vec::new(),
        routing,
        vlans,
        addressing,
        demand,
    };
    cluster.bundle();
    cluster
}
