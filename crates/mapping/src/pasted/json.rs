//! Tables as JSON: of lldpcli (`json` and `json0`), of `bridge -j fdb show`, and of EOS.

use serde_json::Value;

use super::line;
use crate::port;
use crate::table::{Learned, Neighbour, SwitchTable};

/// Reads one value. One that is no known table is passed over.
pub(super) fn read(value: &Value, table: &mut SwitchTable) {
    if let Some(lldp) = value.get("lldp") {
        table.lldp = true;
        each(lldp, &mut |lldp| {
            each(lldp.get("interface").unwrap_or(&Value::Null), &mut |one| interface(one, table));
        });
    }
    match value.get("lldpNeighbors") {
        Some(Value::Array(rows)) => {
            table.lldp = true;
            rows.iter().filter_map(eos_row).for_each(|heard| table.hear(heard));
        }
        Some(Value::Object(ports)) => {
            table.lldp = true;
            for (port, all) in ports {
                let all = all.get("lldpNeighborInfo").and_then(Value::as_array);
                all.into_iter().flatten().for_each(|one| table.hear(eos_detail(port, one)));
            }
        }
        _ => {}
    }
    let entries = value.get("unicastTable").and_then(|all| all.get("tableEntries"));
    if let Some(entries) = entries.and_then(Value::as_array) {
        table.fdb = true;
        entries.iter().filter_map(eos_station).for_each(|learned| table.learn(learned));
    }
    value.as_array().into_iter().flatten().for_each(|entry| bridge(entry, table));
}

/// lldpcli writes a list of one thing as the thing.
fn each(value: &Value, then: &mut dyn FnMut(&Value)) {
    match value {
        Value::Array(all) => all.iter().for_each(then),
        Value::Null => {}
        one => then(one),
    }
}

/// An interface of lldpcli: `{"p1": {...}}`, or `{"name": "p1", ...}` in `json0`. In `json` an object may hold several.
fn interface(value: &Value, table: &mut SwitchTable) {
    let Some(object) = value.as_object() else { return };
    if let (Some(name), Some(_)) = (text(value, "name"), value.get("chassis")) {
        return table.hear(lldpcli(&name, value));
    }
    object.iter().for_each(|(name, one)| table.hear(lldpcli(name, one)));
}

fn lldpcli(port: &str, value: &Value) -> Neighbour {
    let mut heard = Neighbour { port: port.to_owned(), ..Neighbour::default() };
    let chassis = first(value.get("chassis"));
    // `json` has the name as a key, unless there is none.
    let (name, chassis) = match chassis.and_then(Value::as_object) {
        Some(object) if !object.contains_key("id") => match object.iter().next() {
            Some((name, inner)) => (Some(name.clone()), Some(inner)),
            None => (None, None),
        },
        _ => (None, chassis),
    };
    let chassis = chassis.unwrap_or(&Value::Null);
    heard.system = name.or_else(|| text(chassis, "name")).filter(|name| !name.is_empty());
    heard.chassis = text(chassis, "id");
    let kinds: Vec<&Value> = chassis.get("capability").map(list).unwrap_or_default();
    if !kinds.is_empty() {
        let on = |kind: &&Value| kind.get("enabled").and_then(Value::as_bool) == Some(true);
        let named = |kind: &&Value| {
            matches!(kind.get("type").and_then(Value::as_str), Some("Bridge" | "Router"))
        };
        heard.bridge = Some(kinds.iter().any(|kind| on(kind) && named(kind)));
    }
    let far = first(value.get("port")).unwrap_or(&Value::Null);
    heard.far = ["id", "descr"].iter().filter_map(|key| text(far, key)).collect();
    heard
}

fn list(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(all) => all.iter().collect(),
        one => vec![one],
    }
}

fn first(value: Option<&Value>) -> Option<&Value> {
    match value {
        Some(Value::Array(all)) => all.first(),
        other => other,
    }
}

/// A text, however deep lldpcli has put it: `"a"`, `{"type": "mac", "value": "a"}`, or one of these in a list.
fn text(value: &Value, key: &str) -> Option<String> {
    match first(value.get(key))? {
        Value::String(text) => Some(text.clone()),
        Value::Object(object) => object.get("value")?.as_str().map(str::to_owned),
        _ => None,
    }
}

/// `{"mac": "..", "ifname": "p1", "vlan": 100, "flags": [], "master": "br0", "state": ""}`
fn bridge(value: &Value, table: &mut SwitchTable) {
    let (Some(mac), Some(dev)) =
        (text(value, "mac").and_then(|m| port::mac(&m)), text(value, "ifname"))
    else {
        return;
    };
    let vid = value.get("vlan").and_then(Value::as_u64).and_then(|vid| u16::try_from(vid).ok());
    let state = text(value, "state").unwrap_or_default();
    line::entry(mac, &dev, vid, &state, value.get("master").is_some(), table);
}

fn eos_row(row: &Value) -> Option<Neighbour> {
    Some(Neighbour {
        port: text(row, "port")?,
        system: text(row, "neighborDevice").filter(|name| port::mac(name).is_none()),
        chassis: text(row, "neighborDevice").filter(|name| port::mac(name).is_some()),
        far: text(row, "neighborPort").into_iter().collect(),
        bridge: None,
    })
}

fn eos_detail(on: &str, one: &Value) -> Neighbour {
    let port = one.get("neighborInterfaceInfo").unwrap_or(&Value::Null);
    let id = text(port, "interfaceId_v2").or_else(|| text(port, "interfaceId"));
    let far = id.into_iter().chain(text(port, "interfaceDescription"));
    let caps = one.get("systemCapabilities").and_then(Value::as_object);
    let on_of = |name: &str| caps.and_then(|caps| caps.get(name)?.as_bool()).unwrap_or(false);
    Neighbour {
        port: on.to_owned(),
        system: text(one, "systemName").filter(|name| !name.is_empty()),
        chassis: text(one, "chassisId"),
        far: far.map(|text| text.trim_matches('"').to_owned()).filter(|f| !f.is_empty()).collect(),
        bridge: caps.map(|_| on_of("bridge") || on_of("router")),
    }
}

fn eos_station(entry: &Value) -> Option<Learned> {
    let vid = entry.get("vlanId").and_then(Value::as_u64).and_then(|vid| u16::try_from(vid).ok());
    let mac = port::mac(&text(entry, "macAddress")?)?;
    let kind = text(entry, "entryType").unwrap_or_default().to_ascii_lowercase();
    if kind.contains("static") {
        return None;
    }
    Some(Learned { port: text(entry, "interface")?, mac, vid })
}
