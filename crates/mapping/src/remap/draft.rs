//! Writes the cluster file as the wires are.

use std::collections::{BTreeMap, BTreeSet};

use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, value};
use tresse_base::id::{LinkId, NodeId, SwitchId};
use tresse_base::units::{Mac, Rate};
use tresse_topology::cluster::{Learning, Nic, Node, Stp, Strategy, Switch};

use super::change::{Delta, End, Placed};
use super::sight::{RemapError, Sight};

/// Returns the text. What the old one says beside switches, nodes and cables stays, with its comments.
pub(super) fn write(deltas: &[Delta], sight: Sight<'_>, text: &str) -> Result<String, RemapError> {
    let cluster = sight.cluster;
    let mut document: DocumentMut =
        text.parse().map_err(|_| RemapError::Form { what: "the text" })?;
    let fabric = table(&mut document, "fabric")?;
    let mut kind = InlineTable::new();
    kind.insert("kind", "explicit".into());
    fabric.insert("topology", value(kind));
    // The defaults of both depend on the kind.
    set(fabric, "name", &cluster.name);
    let strategy = match cluster.routing.strategy {
        // They need a mesh or a torus.
        Strategy::Dor | Strategy::Pdor => Strategy::Minimal,
        other => other,
    };
    set(table(&mut document, "routing")?, "strategy", tresse_cluster::strategy_name(strategy));
    for key in ["switch", "node", "link"] {
        document.remove(key);
    }
    let parts = Parts::of(deltas, sight);
    demand(&mut document, &parts.dropped);
    let switches = parts.switches.iter().map(|(name, old)| switch(name, *old, parts.most(name)));
    document.insert("switch", Item::ArrayOfTables(switches.collect()));
    document.insert("link", Item::ArrayOfTables(parts.links.iter().map(link).collect()));
    document.insert("node", Item::ArrayOfTables(parts.nodes.iter().map(node).collect()));
    for key in ["switch", "link", "node"] {
        if document.get(key).and_then(Item::as_array_of_tables).is_some_and(ArrayOfTables::is_empty)
        {
            document.remove(key);
        }
    }
    let head = "# A draft by `tresse remap`: look through it before it is used.\n";
    Ok(head.to_owned() + &document.to_string())
}

fn table<'a>(
    document: &'a mut DocumentMut,
    key: &'static str,
) -> Result<&'a mut dyn toml_edit::TableLike, RemapError> {
    let item = document.entry(key).or_insert_with(|| Item::Table(Table::new()));
    item.as_table_like_mut().ok_or(RemapError::Form { what: key })
}

/// Sets a key, unless it has the value already: comments beside it stay.
fn set(table: &mut dyn toml_edit::TableLike, key: &str, text: &str) {
    if table.get(key).and_then(Item::as_str) != Some(text) {
        table.insert(key, value(text));
    }
}

/// Takes what is gone out of `[[demand]]`, and entries that name nothing any more.
fn demand(document: &mut DocumentMut, dropped: &BTreeSet<String>) {
    let Some(all) = document.get_mut("demand").and_then(Item::as_array_of_tables_mut) else {
        return;
    };
    if dropped.is_empty() {
        return;
    }
    all.retain(|entry| {
        ["from", "to"].iter().all(|key| {
            let names = entry.get(key).and_then(Item::as_str).unwrap_or_default();
            let names = tresse_base::hostlist::expand_all(names).unwrap_or_default();
            names.iter().any(|name| !dropped.contains(name))
        })
    });
    for entry in all.iter_mut() {
        for key in ["from", "to"] {
            let names = entry.get(key).and_then(Item::as_str).unwrap_or_default();
            let mut names = tresse_base::hostlist::expand_all(names).unwrap_or_default();
            let before = names.len();
            names.retain(|name| !dropped.contains(name));
            if names.len() < before {
                entry.insert(key, value(names.join(",")));
            }
        }
    }
}

/// A node of the new fabric: its name, what it is in the file, and its NICs, each with what it is in the file.
type NewNode<'a> = (String, Option<&'a Node>, Vec<(Placed, Option<&'a Nic>)>);

/// The parts of the new fabric, by names.
#[derive(Default)]
struct Parts<'a> {
    switches: Vec<(String, Option<&'a Switch>)>,
    links: Vec<([End; 2], Rate)>,
    nodes: Vec<NewNode<'a>>,
    /// Switches and nodes that are gone.
    dropped: BTreeSet<String>,
}

impl<'a> Parts<'a> {
    fn of(deltas: &[Delta], sight: Sight<'a>) -> Self {
        let cluster = sight.cluster;
        let mut gone: (BTreeSet<SwitchId>, BTreeSet<LinkId>, BTreeSet<NodeId>) = Default::default();
        let mut cables: BTreeMap<LinkId, [End; 2]> = BTreeMap::new();
        let mut nics: BTreeMap<(NodeId, usize), Option<Placed>> = BTreeMap::new();
        let mut more: BTreeMap<NodeId, Vec<Placed>> = BTreeMap::new();
        let mut parts = Parts::default();
        let mut new = (BTreeSet::new(), Vec::new(), Vec::new());
        for delta in deltas {
            match delta.clone() {
                Delta::SwitchAdded { name, cables } => {
                    new.0.insert(name);
                    new.1.extend(cables);
                }
                Delta::SwitchGone { switch, .. } => _ = gone.0.insert(switch),
                Delta::CableAdded(ends) => new.1.push(ends),
                Delta::CableGone { link, .. } => _ = gone.1.insert(link),
                Delta::CableMoved { link, to } => _ = cables.insert(link, to),
                Delta::NodeAdded { name, nics } => new.2.push((name, nics)),
                Delta::NodeGone { node, .. } => _ = gone.2.insert(node),
                Delta::NicAdded { node, nic } => more.entry(node).or_default().push(nic),
                Delta::NicGone { node, nic, .. } => _ = nics.insert((node, nic), None),
                Delta::NicMoved { node, nic, to } => _ = nics.insert((node, nic), Some(to)),
            }
        }
        for (index, switch) in cluster.switches.iter().enumerate() {
            if gone.0.contains(&index.into()) {
                parts.dropped.insert(switch.name.clone());
            } else {
                parts.switches.push((switch.name.clone(), Some(switch)));
            }
        }
        parts.switches.extend(new.0.into_iter().map(|name| (name, None)));
        for (index, link) in cluster.links.iter().enumerate() {
            let lost = [link.a.switch, link.b.switch].iter().any(|end| gone.0.contains(end));
            if !lost && !gone.1.contains(&index.into()) {
                let file = [End::of(cluster, link.a), End::of(cluster, link.b)];
                parts.links.push((cables.remove(&index.into()).unwrap_or(file), link.rate));
            }
        }
        // A cable between two new switches is listed with both.
        let mut seen = BTreeSet::new();
        new.1.retain(|ends| seen.insert(ends.clone()));
        parts.links.extend(new.1.into_iter().map(|ends| (ends, Rate::GIGABIT)));
        for (index, node) in cluster.nodes.iter().enumerate() {
            let id = NodeId::from(index);
            if gone.2.contains(&id) {
                parts.dropped.insert(node.name.clone());
                continue;
            }
            let mut own = Vec::new();
            for (k, nic) in node.nics.iter().enumerate() {
                let at = || End { switch: cluster.switch(nic.switch).name.clone(), port: nic.port };
                let name = nic.name.clone();
                let file = || Placed { name: name.clone(), mac: nic.mac, at: at() };
                match nics.remove(&(id, k)) {
                    Some(None) => {}
                    Some(Some(to)) => own.push((Placed { name, ..to }, Some(nic))),
                    None => own.push((file(), Some(nic))),
                }
            }
            own.extend(more.remove(&id).into_iter().flatten().map(|nic| (nic, None)));
            real_macs(id, &mut own, sight);
            parts.nodes.push((node.name.clone(), Some(node), own));
        }
        for (name, nics) in new.2 {
            parts.nodes.push((name, None, nics.into_iter().map(|nic| (nic, None)).collect()));
        }
        parts.number();
        parts
    }

    /// Gives ports without a number one that is free.
    fn number(&mut self) {
        let ends = |parts: &Self| -> BTreeSet<End> {
            let links = parts.links.iter().flat_map(|(ends, _)| ends.clone());
            let nics = parts
                .nodes
                .iter()
                .flat_map(|(_, _, nics)| nics.iter().map(|(nic, _)| nic.at.clone()));
            links.chain(nics).collect()
        };
        let mut used = ends(self);
        let links = self.links.iter_mut().flat_map(|(ends, _)| ends.iter_mut());
        let nics = self
            .nodes
            .iter_mut()
            .flat_map(|(_, _, nics)| nics.iter_mut().map(|(nic, _)| &mut nic.at));
        for end in links.chain(nics).filter(|end| end.port == 0) {
            while end.port == 0 || used.contains(end) {
                end.port += 1;
            }
            used.insert(end.clone());
        }
    }

    /// The largest port of a switch that is in use.
    fn most(&self, name: &str) -> u32 {
        let links = self.links.iter().flat_map(|(ends, _)| ends);
        let nics = self.nodes.iter().flat_map(|(_, _, nics)| nics.iter().map(|(nic, _)| &nic.at));
        links.chain(nics).filter(|end| end.switch == name).map(|end| end.port).max().unwrap_or(0)
    }
}

/// NICs whose MAC is derived get that of the node that answered.
fn real_macs(node: NodeId, nics: &mut [(Placed, Option<&Nic>)], sight: Sight<'_>) {
    let names = [&*sight.cluster.node(node).name, sight.cluster.machine(node)];
    let Some(host) = sight.hosts.iter().find(|host| names.contains(&&*host.name)) else { return };
    let taken: BTreeSet<Mac> = nics.iter().map(|(nic, _)| nic.mac).collect();
    for (nic, old) in nics.iter_mut().filter(|(_, old)| old.is_some_and(|old| old.mac_derived)) {
        let has = host.nics.iter().any(|own| own.mac == nic.mac);
        let named = host.nics.iter().find(|own| old.is_some_and(|old| old.name == own.name));
        if let Some(own) = named.filter(|own| !has && !taken.contains(&own.mac)) {
            nic.mac = own.mac;
        }
    }
}

fn switch(name: &str, old: Option<&Switch>, most: u32) -> Table {
    let mut table = Table::new();
    table.insert("name", value(name));
    let Some(old) = old else { return table };
    let number = |number: u32| value(i64::from(number));
    table.insert("ports", number(old.ports.max(most)));
    if old.max_vlans != 4094 {
        table.insert("max_vlans", number(old.max_vlans));
    }
    if old.learning == Learning::Svl {
        table.insert("learning", value("svl"));
    }
    if old.max_frame != 1522 {
        table.insert("max_frame", number(old.max_frame));
    }
    if old.stp == Stp::Mstp {
        table.insert("stp", value("mstp"));
    }
    if let Some(size) = old.fdb_size {
        table.insert("fdb_size", number(size));
    }
    if old.fdb_age_seconds != 300 {
        table.insert("fdb_age_seconds", number(old.fdb_age_seconds));
    }
    if old.lag {
        table.insert("lag", value(true));
    }
    table
}

fn link(([a, b], rate): &([End; 2], Rate)) -> Table {
    let mut table = Table::new();
    table.insert("a", value(a.to_string()));
    table.insert("b", value(b.to_string()));
    if *rate != Rate::GIGABIT {
        table.insert("rate", value(rate.to_string()));
    }
    table
}

fn node((name, old, nics): &NewNode<'_>) -> Table {
    let mut table = Table::new();
    table.insert("name", value(name));
    if old.is_some_and(|old| !old.transit) {
        table.insert("transit", value(false));
    }
    if let Some(old) = old.filter(|old| old.gateway) {
        let order = i64::from(old.gateway_order);
        table.insert("gateway", if order == 0 { value(true) } else { value(order) });
    }
    if let Some(old) = old.filter(|old| !old.prefixes.is_empty()) {
        table.insert(
            "prefixes",
            value(Array::from_iter(old.prefixes.iter().map(ToString::to_string))),
        );
    }
    let mut list = Array::new();
    for (nic, old) in nics {
        let mut entry = InlineTable::new();
        entry.insert("name", nic.name.as_str().into());
        entry.insert("mac", nic.mac.to_string().into());
        entry.insert("switch", nic.at.switch.as_str().into());
        entry.insert("port", i64::from(nic.at.port).into());
        if let Some(old) = old.filter(|old| old.rate != Rate::GIGABIT) {
            entry.insert("rate", old.rate.to_string().into());
        }
        if let Some(old) = old.filter(|old| old.mtu != 1500) {
            entry.insert("mtu", i64::from(old.mtu).into());
        }
        list.push(entry);
    }
    table.insert("nics", value(list));
    table
}
