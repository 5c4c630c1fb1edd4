//! Tables whose lines stand for themselves: `bridge fdb show`, and RouterOS's records of `key=value`.

use tresse_base::units::Mac;

use crate::port;
use crate::table::{Learned, Neighbour, SwitchTable};

/// Reads a line of `bridge fdb show`; false if it is none.
/// ```text
/// 22:3e:b1:04:72:d6 dev p1 vlan 100 master br0
/// 02:3f:31:e2:e4:c8 dev p1 master br0 permanent
/// 01:80:c2:00:00:0e dev p1 self permanent
/// 02:54:00:00:00:02 dev p1 vlan 100 master br0 static
/// ```
pub(super) fn fdb(line: &str, table: &mut SwitchTable) -> bool {
    let words: Vec<&str> = line.split_whitespace().take(24).collect();
    let (Some(mac), Some(&"dev"), Some(dev)) =
        (words.first().and_then(|word| word.parse::<Mac>().ok()), words.get(1), words.get(2))
    else {
        return false;
    };
    let has = |flag: &str| words[3..].contains(&flag);
    let after = |key: &str| words.windows(2).find(|pair| pair[0] == key).map(|pair| pair[1]);
    let vid = after("vlan").and_then(|vid| vid.parse().ok());
    let state = ["permanent", "static"].into_iter().find(|state| has(state)).unwrap_or_default();
    entry(mac, dev, vid, state, after("master").is_some(), table);
    true
}

/// An entry of a Linux bridge: learned; or, if `permanent` and not of a group, the port's own MAC; or `static`, written by
/// somebody. Entries of the port itself (`self` alone) are none of the bridge.
pub(super) fn entry(
    mac: Mac,
    dev: &str,
    vid: Option<u16>,
    state: &str,
    of_bridge: bool,
    table: &mut SwitchTable,
) {
    table.fdb = true;
    match state {
        "permanent" if of_bridge && mac.0[0] & 1 == 0 => {
            table.own.insert(mac, dev.to_owned());
        }
        "permanent" | "static" => {}
        _ if of_bridge => table.learn(Learned { port: dev.to_owned(), mac, vid }),
        _ => {}
    }
}

/// A record of RouterOS, which may go over several lines:
/// ```text
///  0 interface=ether2,bridge_local mac-address=12:34:56:78:90:AB identity="CLEAR" interface-name="ether1"
///    system-caps=bridge,router
/// 0 D E  mac-address=11:22:33:44:55:01 interface=ether4 bridge=lan-bridge on-interface=ether4
/// ```
#[derive(Debug, Default)]
pub(super) struct Record {
    fields: Vec<(String, String)>,
    flags: String,
    /// Whether it began with a number and flags.
    has_flags: bool,
}

/// The most fields of a record.
const MOST_FIELDS: usize = 64;

impl Record {
    /// Reads a line; false if it belongs to no record.
    pub(super) fn add(&mut self, line: &str, table: &mut SwitchTable) -> bool {
        let mut words = words(line);
        let starts = words.first().is_some_and(|w| w.bytes().all(|b| b.is_ascii_digit()));
        let first = words.iter().position(|word| field(word).is_some());
        let Some(first) = first.filter(|first| starts || *first == 0) else { return false };
        if starts {
            self.end(table);
            self.flags = words[1..first.max(1)].concat();
            self.has_flags = true;
        } else if self.fields.is_empty() {
            return false;
        }
        let room = MOST_FIELDS.saturating_sub(self.fields.len());
        self.fields.extend(words.drain(first..).filter_map(|word| field(&word)).take(room));
        true
    }

    /// Takes the record that has been read, if any.
    pub(super) fn end(&mut self, table: &mut SwitchTable) {
        let fields = std::mem::take(&mut self.fields);
        let flags = std::mem::take(&mut self.flags);
        let has_flags = std::mem::take(&mut self.has_flags);
        let of = |key: &str| {
            let found = fields.iter().find(|(name, _)| name == key);
            found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
        };
        let Some(mac) = of("mac-address").and_then(port::mac) else { return };
        if let Some(on) = of("on-interface") {
            table.fdb = true;
            let vid = of("vid").and_then(|vid| vid.parse().ok());
            // Without D somebody wrote it; earlier releases have no D, but an age.
            if has_flags && !flags.contains(['D', 'L']) && of("age").is_none() {
                return;
            }
            host(&flags, Learned { port: on.to_owned(), mac, vid }, table);
        } else if let (Some(interfaces), true) = (of("interface"), neighbour(&fields)) {
            table.lldp = true;
            // The port comes first, then the bridge that it is in.
            let on = interfaces.split(',').next().unwrap_or_default();
            let caps = of("system-caps-enabled").or(of("system-caps"));
            let bridges = |caps: &str| caps.contains("bridge") || caps.contains("router");
            // MNDP, RouterOS's own protocol, crosses switches.
            if of("discovered-by").is_none_or(|by| by.contains("lldp")) {
                table.hear(Neighbour {
                    port: on.to_owned(),
                    system: of("identity").map(str::to_owned),
                    chassis: Some(mac.to_string()),
                    far: of("interface-name").into_iter().map(str::to_owned).collect(),
                    bridge: caps.map(bridges),
                });
            }
        }
    }
}

/// An entry of a bridge's host table: L marks the bridge's own MACs, X and I entries out of use.
pub(super) fn host(flags: &str, learned: Learned, table: &mut SwitchTable) {
    if flags.contains('L') {
        table.own.insert(learned.mac, learned.port);
    } else if !flags.contains(['X', 'I']) {
        table.learn(learned);
    }
}

fn neighbour(fields: &[(String, String)]) -> bool {
    fields.iter().any(|(name, _)| matches!(&**name, "identity" | "interface-name" | "platform"))
}

/// Words at spaces, where what is in quotes is one.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), false);
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            c if c.is_whitespace() && !quoted => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            c => word.push(c),
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// `key=value` with a key of RouterOS.
fn field(word: &str) -> Option<(String, String)> {
    let (key, value) = word.split_once('=')?;
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    (!key.is_empty() && key.chars().all(fits)).then(|| (key.to_owned(), value.to_owned()))
}
