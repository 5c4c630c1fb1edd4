//! The tables of a switch as SNMP gives them: LLDP-MIB (IEEE 802.1AB-2005, clause 12.2), BRIDGE-MIB (RFC 4188),
//! Q-BRIDGE-MIB (RFC 4363), and the names of interfaces (RFC 2863).

use std::collections::BTreeMap;

use tresse_base::units::Mac;

use crate::port::{self, Numbering};
use crate::table::{Learned, Neighbour, SwitchTable};

/// A value of the MIB with its object identifier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The object identifier, with the index.
    pub oid: Vec<u32>,
    /// The value.
    pub value: Value,
}

/// A value: of all types of SNMP those that the tables here have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// An integer of any kind.
    Number(i64),
    /// Bytes: text, a MAC, a set of bits.
    Bytes(Vec<u8>),
}

/// The columns and tables to walk, in this order.
pub const ROOTS: [&[u32]; 9] =
    [LOCAL, REMOTE, IF_NAME, IF_DESCR, BASE_PORT, FDB_PORT, FDB_STATUS, VLAN_FDB, QFDB];

/// `lldpLocalSystemData`.
const LOCAL: &[u32] = &[1, 0, 8802, 1, 1, 2, 1, 3];
/// `lldpLocPortEntry`: column 2 kind of port ID, 3 port ID, 4 description; index: port number.
const LOCAL_PORT: &[u32] = &[1, 0, 8802, 1, 1, 2, 1, 3, 7, 1];
/// `lldpRemEntry`: columns 4 kind of chassis ID, 5 chassis ID, 6 kind of port ID, 7 port ID, 8 port's description, 9
/// system name, 12 capabilities that are on; index: time, local port number, number.
const REMOTE: &[u32] = &[1, 0, 8802, 1, 1, 2, 1, 4, 1, 1];
/// `ifName`; index: interface.
const IF_NAME: &[u32] = &[1, 3, 6, 1, 2, 1, 31, 1, 1, 1, 1];
/// `ifDescr`; index: interface.
const IF_DESCR: &[u32] = &[1, 3, 6, 1, 2, 1, 2, 2, 1, 2];
/// `dot1dBasePortIfIndex`; index: bridge port.
const BASE_PORT: &[u32] = &[1, 3, 6, 1, 2, 1, 17, 1, 4, 1, 2];
/// `dot1dTpFdbPort`; index: the MAC's bytes.
const FDB_PORT: &[u32] = &[1, 3, 6, 1, 2, 1, 17, 4, 3, 1, 2];
/// `dot1dTpFdbStatus`: 3 learned, 4 own, 5 by management.
const FDB_STATUS: &[u32] = &[1, 3, 6, 1, 2, 1, 17, 4, 3, 1, 3];
/// `dot1qVlanFdbId`; index: time, VID.
const VLAN_FDB: &[u32] = &[1, 3, 6, 1, 2, 1, 17, 7, 1, 4, 2, 1, 3];
/// `dot1qTpFdbEntry`: columns 2 port, 3 status; index: number of the table, the MAC's bytes.
const QFDB: &[u32] = &[1, 3, 6, 1, 2, 1, 17, 7, 1, 2, 2, 1];

/// Kinds of LLDP IDs: tables 8-2 and 8-3 of IEEE 802.1AB-2016.
const CHASSIS_MAC: i64 = 4;
const PORT_MAC: i64 = 3;
const PORT_NAME: i64 = 5;
/// Bits of the first byte of capabilities, the first bit the highest: bridge, router.
const BRIDGE_OR_ROUTER: u8 = 0x20 | 0x08;
/// States of an entry of the forwarding table.
const LEARNED: i64 = 3;
const OWN: i64 = 4;

/// All rows below one root: index to value.
type Column<'a> = BTreeMap<&'a [u32], &'a Value>;

/// Reads the rows of the switch `name`. Rows that belong to none of the tables, or are incomplete, are passed over.
/// O(rows log rows).
#[must_use]
pub fn table(name: &str, rows: &[Row]) -> SwitchTable {
    let mut table = SwitchTable::new(name);
    let interfaces = Interfaces::of(rows);
    neighbours(rows, &interfaces, &mut table);
    stations(rows, &interfaces, &mut table);
    // `Ethernet0` is SONiC's first port; a switch that counts from 1 has none.
    if table.ports().contains("Ethernet0") {
        table.numbering = Numbering::Sonic;
    }
    table
}

fn below<'a>(rows: &'a [Row], root: &[u32]) -> Column<'a> {
    let index = |row: &'a Row| Some((row.oid.strip_prefix(root)?, &row.value));
    rows.iter().filter_map(index).collect()
}

fn column<'a>(rows: &'a [Row], entry: &[u32], column: u32) -> Column<'a> {
    below(rows, &[entry, &[column]].concat())
}

/// Names of interfaces, and which interface a bridge port is.
struct Interfaces<'a> {
    names: Column<'a>,
    descriptions: Column<'a>,
    of_port: Column<'a>,
}

impl<'a> Interfaces<'a> {
    fn of(rows: &'a [Row]) -> Self {
        Self {
            names: below(rows, IF_NAME),
            descriptions: below(rows, IF_DESCR),
            of_port: below(rows, BASE_PORT),
        }
    }

    /// The name of a bridge port.
    fn of_bridge(&self, port: i64) -> Option<String> {
        let port = u32::try_from(port).ok()?;
        let index = self.of_port.get(&[port][..]).and_then(|value| number(value));
        let index = u32::try_from(index?).ok()?;
        self.name(index)
    }

    /// The name of an interface.
    fn name(&self, index: u32) -> Option<String> {
        let text = |column: &Column<'_>| column.get(&[index][..]).and_then(|value| text(value));
        text(&self.names).or_else(|| text(&self.descriptions))
    }
}

fn number(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => Some(*number),
        Value::Bytes(_) => None,
    }
}

/// Text that is not empty, without what surrounds it; control characters become `?`.
fn text(value: &Value) -> Option<String> {
    let Value::Bytes(bytes) = value else { return None };
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    let text: String = text.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    Some(text).filter(|text| !text.is_empty())
}

/// An ID: a MAC where its kind says so, else text.
fn id(kind: Option<i64>, of_mac: i64, value: &Value) -> Option<String> {
    match value {
        Value::Bytes(bytes) if kind == Some(of_mac) && bytes.len() == 6 => {
            Some(Mac(bytes[..].try_into().ok()?).to_string())
        }
        _ => text(value),
    }
}

fn neighbours(rows: &[Row], interfaces: &Interfaces<'_>, table: &mut SwitchTable) {
    let [kinds, ids, descriptions] = [2, 3, 4].map(|k| column(rows, LOCAL_PORT, k));
    let local = |number: u32| -> Option<String> {
        let index = &[number][..];
        let kind = kinds.get(index).and_then(|value| self::number(value));
        let id = ids.get(index).and_then(|value| id(kind, PORT_MAC, value));
        let described = descriptions.get(index).and_then(|value| text(value));
        match kind {
            Some(PORT_NAME) => id,
            Some(PORT_MAC) => described.or_else(|| interfaces.of_bridge(number.into())).or(id),
            _ => interfaces.of_bridge(number.into()).or(id).or(described),
        }
    };
    for (index, value) in &ids {
        let kind = kinds.get(index).and_then(|value| number(value));
        let own = id(kind, PORT_MAC, value).and_then(|id| port::mac(&id));
        if let (Some(mac), [number]) = (own, index)
            && let Some(name) = local(*number)
        {
            table.own.insert(mac, name);
        }
    }
    let chassis = below(rows, LOCAL);
    if let Some(Value::Bytes(bytes)) = chassis.get(&[2, 0][..])
        && let Ok(mac) = <[u8; 6]>::try_from(&bytes[..])
        && chassis.get(&[1, 0][..]).and_then(|value| number(value)) == Some(CHASSIS_MAC)
    {
        table.own.entry(Mac(mac)).or_default();
    }
    table.lldp = !chassis.is_empty();
    let remote = |k: u32| column(rows, REMOTE, k);
    let [chassis_kinds, chassis_ids, port_kinds, port_ids] = [4, 5, 6, 7].map(remote);
    let [port_descriptions, systems, capabilities] = [8, 9, 12].map(remote);
    for (index, value) in &chassis_ids {
        let [_, number, _] = index else { continue };
        let Some(on) = local(*number) else { continue };
        let kind = |column: &Column<'_>| column.get(index).and_then(|value| self::number(value));
        let port = port_ids.get(index).and_then(|value| id(kind(&port_kinds), PORT_MAC, value));
        let described = port_descriptions.get(index).and_then(|value| text(value));
        let capable = |value: &&Value| match value {
            Value::Bytes(bytes) => bytes.first().copied().filter(|bits| *bits != 0),
            Value::Number(_) => None,
        };
        table.lldp = true;
        table.hear(Neighbour {
            port: on,
            system: systems.get(index).and_then(|value| text(value)),
            chassis: id(kind(&chassis_kinds), CHASSIS_MAC, value),
            far: port.into_iter().chain(described).collect(),
            bridge: capabilities
                .get(index)
                .and_then(capable)
                .map(|bits| bits & BRIDGE_OR_ROUTER != 0),
        });
    }
}

fn stations(rows: &[Row], interfaces: &Interfaces<'_>, table: &mut SwitchTable) {
    let mut vids: BTreeMap<u32, u16> = BTreeMap::new();
    for (index, value) in below(rows, VLAN_FDB) {
        if let ([_, vid], Some(fdb)) = (index, number(value))
            && let (Ok(vid), Ok(fdb)) = (u16::try_from(*vid), u32::try_from(fdb))
        {
            vids.insert(fdb, vid);
        }
    }
    let mut add = |mac: &[u32], vid: Option<u16>, port: &Value, status: Option<&&Value>| {
        let bytes: Option<Vec<u8>> = mac.iter().map(|byte| u8::try_from(*byte).ok()).collect();
        let mac = bytes.and_then(|bytes| Some(Mac(bytes.try_into().ok()?)));
        let port = number(port).and_then(|port| interfaces.of_bridge(port));
        table.fdb = true;
        match (mac, status.and_then(|status| number(status))) {
            (Some(mac), Some(OWN)) => _ = table.own.entry(mac).or_insert(port.unwrap_or_default()),
            (Some(mac), Some(LEARNED)) => {
                port.into_iter().for_each(|port| table.learn(Learned { port, mac, vid }));
            }
            _ => {}
        }
    };
    let status = column(rows, QFDB, 3);
    let by_vlan = column(rows, QFDB, 2);
    for (index, port) in &by_vlan {
        if let [fdb, mac @ ..] = index {
            let vid = vids.get(fdb).copied().or_else(|| u16::try_from(*fdb).ok());
            add(mac, vid, port, status.get(index));
        }
    }
    if by_vlan.is_empty() {
        let status = below(rows, FDB_STATUS);
        for (index, port) in &below(rows, FDB_PORT) {
            add(index, None, port, status.get(index));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(root: &[u32], index: &[u32], value: impl Into<Value>) -> Row {
        Row { oid: [root, index].concat(), value: value.into() }
    }

    impl From<i64> for Value {
        fn from(number: i64) -> Self {
            Self::Number(number)
        }
    }

    impl From<&[u8]> for Value {
        fn from(bytes: &[u8]) -> Self {
            Self::Bytes(bytes.into())
        }
    }

    /// As lldpd 1.0.16 answers, with a port whose ID is its MAC; and a forwarding table of RFC 4363.
    #[test]
    fn tables_are_put_together() {
        let mac = |last: u8| [2, 0x54, 0, 0, 0, last];
        let rows = [
            row(LOCAL, &[1, 0], 4),
            row(LOCAL, &[2, 0], &mac(0x10)[..]),
            row(LOCAL_PORT, &[2, 3], 3),
            row(LOCAL_PORT, &[3, 3], &mac(0x11)[..]),
            row(LOCAL_PORT, &[4, 3], &b"p1"[..]),
            row(LOCAL_PORT, &[2, 4], 5),
            row(LOCAL_PORT, &[3, 4], &b"p2"[..]),
            row(REMOTE, &[4, 0, 3, 1], 4),
            row(REMOTE, &[5, 0, 3, 1], &mac(0x20)[..]),
            row(REMOTE, &[6, 0, 3, 1], 3),
            row(REMOTE, &[7, 0, 3, 1], &mac(0x21)[..]),
            row(REMOTE, &[8, 0, 3, 1], &b"p7"[..]),
            row(REMOTE, &[9, 0, 3, 1], &b"s1\0"[..]),
            row(REMOTE, &[12, 0, 3, 1], &[0x28, 0][..]),
            row(REMOTE, &[5, 0, 9, 1], &mac(0x30)[..]),
            row(IF_NAME, &[103], &b"p3"[..]),
            row(BASE_PORT, &[3], 103),
            row(VLAN_FDB, &[0, 100], 7),
            row(QFDB, &[2, 7, 2, 0x54, 0, 0, 0, 1], 3),
            row(QFDB, &[3, 7, 2, 0x54, 0, 0, 0, 1], 3),
            row(QFDB, &[2, 7, 2, 0x54, 0, 0, 0, 2], 3),
            row(QFDB, &[3, 7, 2, 0x54, 0, 0, 0, 2], 5),
            row(QFDB, &[2, 7, 2, 0x54, 0, 0, 0, 3, 9], 3),
        ];
        let found = table("s0", &rows);
        let heard = Neighbour {
            port: "p1".into(),
            system: Some("s1".into()),
            chassis: Some("02:54:00:00:00:20".into()),
            far: vec!["02:54:00:00:00:21".into(), "p7".into()],
            bridge: Some(true),
        };
        assert_eq!(found.neighbours, [heard]);
        assert_eq!(
            found.learned,
            [Learned { port: "p3".into(), mac: Mac(mac(1)), vid: Some(100) }]
        );
        assert_eq!(found.own[&Mac(mac(0x11))], "p1");
        assert!(found.own.contains_key(&Mac(mac(0x10))) && found.lldp && found.fdb);
        // RFC 4188's table where there is no other.
        let rows = [
            row(IF_DESCR, &[103], &b"p3"[..]),
            row(BASE_PORT, &[3], 103),
            row(FDB_PORT, &[2, 0x54, 0, 0, 0, 1], 3),
            row(FDB_STATUS, &[2, 0x54, 0, 0, 0, 1], 3),
        ];
        let found = table("s0", &rows);
        assert_eq!(found.learned, [Learned { port: "p3".into(), mac: Mac(mac(1)), vid: None }]);
        assert!(!found.lldp);
        assert!(!table("s0", &[]).fdb);
    }
}
