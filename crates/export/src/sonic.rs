//! Export for SONiC: a part of `config_db.json` (VLAN, VLAN_MEMBER, PORT) for `config load`,
//! forwarding entries for `swssconfig` (nothing reads them from CONFIG_DB), and a text with the
//! remarks that JSON cannot hold.

use serde_json::{Map, Value, json};
use tresse_base::id::Vid;

use super::preamble::Preamble;
use super::{ExportFile, PortRole, SwitchConfig};

pub(super) fn render(config: &SwitchConfig) -> Vec<ExportFile> {
    let json_name = format!("{}.config_db.json", config.name);
    let fdb_name = format!("{}.fdb.json", config.name);
    let mut files = vec![
        ExportFile { name: format!("{}.sonic.txt", config.name), text: advice(config, &fdb_name) },
        ExportFile { name: json_name, text: pretty(&database(config)) },
    ];
    if !config.fdb.is_empty() {
        files.push(ExportFile { name: fdb_name, text: pretty(&forwarding(config)) });
    }
    files
}

fn database(config: &SwitchConfig) -> Value {
    let (mut vlans, mut members, mut ports) = (Map::new(), Map::new(), Map::new());
    let (mut groups, mut cables) = (Map::new(), Map::new());
    for vid in config.vlans.iter().map(|v| v.vid).chain(base(config)) {
        vlans.insert(format!("Vlan{vid}"), json!({"vlanid": vid.to_string()}));
    }
    for port in &config.ports {
        let name = interface(config, port.port);
        let mut member = |vid: Vid, mode| {
            members.insert(format!("Vlan{vid}|{name}"), json!({"tagging_mode": mode}));
        };
        for vid in &port.tagged {
            member(*vid, "tagged");
        }
        let access = port.role == PortRole::Access;
        let untagged =
            if access { port.untagged } else { port.untagged.and_then(|_| base(config)) };
        if let Some(vid) = untagged {
            member(vid, "untagged");
        }
        let mode = if access { "access" } else { "trunk" };
        if port.group.is_empty() {
            ports.insert(
                name,
                json!({"admin_status": "up", "description": port.peer, "mode": mode}),
            );
            continue;
        }
        for member in port.group.iter().map(|port| ethernet(*port)) {
            cables.insert(format!("{name}|{member}"), json!({}));
            ports.insert(member, json!({"admin_status": "up", "description": port.peer}));
        }
        groups.insert(
            name,
            json!({"admin_status": "up", "lacp_key": "auto", "min_links": "1", "mode": mode}),
        );
    }
    let mut all = json!({"PORT": ports, "VLAN": vlans, "VLAN_MEMBER": members});
    if !groups.is_empty() {
        all["PORTCHANNEL"] = groups.into();
        all["PORTCHANNEL_MEMBER"] = cables.into();
    }
    all
}

/// SONiC has no VLAN 1; the base VLAN is untagged everywhere, so its number stays in the switch.
fn base(config: &SwitchConfig) -> Option<Vid> {
    config.base.map(|vid| if vid.0 == 1 { config.parking } else { vid })
}

fn forwarding(config: &SwitchConfig) -> Value {
    let entries = config.fdb.iter().map(|entry| {
        let mac = entry.mac.to_string().to_uppercase().replace(':', "-");
        let key = format!("FDB_TABLE:Vlan{}:{mac}", entry.vid);
        json!({"OP": "SET", key: {"port": interface(config, entry.port), "type": "static"}})
    });
    entries.collect()
}

fn advice(config: &SwitchConfig, fdb: &str) -> String {
    let mut out = String::new();
    let load =
        format!("1. config load {0}.config_db.json (it merges), then config save.", config.name);
    let remove = match base(config) {
        Some(vid) => {
            format!("0. Take the ports out of every VLAN but Vlan{vid} and the planned ones:")
        }
        None => "0. Take the ports out of every VLAN but the planned ones:".into(),
    };
    let entries = format!("2. docker cp {fdb} swss:/ && docker exec swss swssconfig /{fdb}");
    Preamble {
        mark: "#",
        file: &format!("{}.sonic.txt", config.name),
        format: "sonic",
        ports: "Port 1 = Ethernet0, port 2 = Ethernet1, ...: one lane per port. On 4-lane ports \
                multiply by 4.",
        advice: &[
            &remove,
            "   config vlan member del VID PORT; and remove their IP addresses: the ports must",
            "   not be in INTERFACE. PORT \"mode\" is for images of 2024 and later.",
            &load,
            if config.fdb.is_empty() { "2. No static forwarding entries." } else { &entries },
            "   They live in APPL_DB and are lost at a reload: repeat after it.",
            "3. Last: spanning tree off on these VLANs; community images run none. Where PVST runs:",
            "   config spanning-tree vlan disable VID, for every VID of the file.",
            "Pre-flight: no storm control, no MAC limits, no MCLAG on these ports. Link-level flow",
            "control is off unless a vendor's image turns it on; take PFC off PORT_QOS_MAP.",
        ],
    }
    .write(config, &mut out);
    out
}

/// SONiC takes `PortChannel0` to `PortChannel9999`.
fn interface(config: &SwitchConfig, port: u32) -> String {
    config.interface(port, ethernet, |group| format!("PortChannel{group}"))
}

fn ethernet(port: u32) -> String {
    format!("Ethernet{}", port.saturating_sub(1))
}

fn pretty(value: &Value) -> String {
    let mut text = serde_json::to_string_pretty(value).expect("values of text are valid JSON");
    text.push('\n');
    text
}
