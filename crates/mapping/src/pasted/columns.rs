//! Tables with a head line and columns.

use super::line;
use crate::port::{self, Numbering};
use crate::table::{Learned, Neighbour, SwitchTable};

/// The columns of a table, by its head line. Numbers are offsets of columns in the line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Columns {
    /// IOS: device, which is cut to 20 characters, port, hold time, capabilities, far port.
    /// `S2                  Fa0/13         120        B               Gi0/13`
    Ios { local: usize, hold: usize, capability: usize, far: usize },
    /// EOS: port, device, far port, time to live.
    /// `Et1        localhost                      Ethernet1                  120`
    Eos { device: usize, far: usize, ttl: usize },
    /// SONiC: port, device, far port, capabilities, description.
    /// `Ethernet0    sonic3          fortyGigE0/4       BR            Ethernet4`
    Sonic { device: usize, far: usize, capability: usize, description: usize },
    /// Junos: port, its aggregate, chassis, far port, device.
    /// `ge-0/0/1           -                   2c:6b:f5:a1:c2:c0   ge-0/0/1           vmx2`
    Junos { parent: bool },
    /// A forwarding table of any vendor: each line has a MAC, and a port after it.
    Stations(Kind),
    /// Open vSwitch's, where the port comes before the MAC.
    /// `    1     0  50:54:00:00:00:01    3`
    Ovs,
}

/// How a forwarding table marks entries that nobody has learned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// By words: `STATIC`, `Static`. IOS, EOS, and others.
    Words,
    /// By words; SONiC, whose ports count otherwise.
    Sonic,
    /// By flags behind the MAC: S static, P persistent; or the word `Static`.
    Junos,
    /// By flags before the MAC: D is learned, L the switch's own.
    RouterOs,
}

impl Kind {
    const fn numbering(self) -> Numbering {
        match self {
            Self::Words | Self::RouterOs => Numbering::FromOne,
            Self::Sonic => Numbering::Sonic,
            Self::Junos => Numbering::FromZero,
        }
    }
}

impl Columns {
    /// The table that this line is the head of.
    pub(super) fn of(line: &str) -> Option<Self> {
        let at = |words: &str| line.find(words);
        if let (Some(0), Some(local), Some(hold), Some(capability), Some(far)) =
            (at("Device ID"), at("Local Intf"), at("Hold-time"), at("Capability"), at("Port ID"))
        {
            return Some(Self::Ios { local, hold, capability, far });
        }
        if let (Some(0), Some(device), Some(far), Some(ttl)) =
            (at("Port"), at("Neighbor Device ID"), at("Neighbor Port ID"), at("TTL"))
        {
            return Some(Self::Eos { device, far, ttl });
        }
        if let (Some(0), Some(device), Some(far), Some(capability)) =
            (at("LocalPort"), at("RemoteDevice"), at("RemotePortID"), at("Capability"))
        {
            let description = at("RemotePortDescr").unwrap_or(usize::MAX);
            return Some(Self::Sonic { device, far, capability, description });
        }
        if at("Local Interface") == Some(0)
            && at("Chassis Id").is_some()
            && at("Port info").is_some()
        {
            return Some(Self::Junos { parent: at("Parent Interface").is_some() });
        }
        if line.len() > 200 || line.contains(['=', '{']) {
            return None;
        }
        let low = line.to_ascii_lowercase();
        let words: Vec<&str> = low.split_whitespace().collect();
        if words == ["port", "vlan", "mac", "age"] {
            return Some(Self::Ovs);
        }
        let has = |word: &str| words.contains(&word);
        if low.starts_with("ethernet switching table")
            || low.starts_with("ethernet-switching table")
        {
            return Some(Self::Stations(Kind::Junos));
        }
        if has("no.") && has("macaddress") && has("port") {
            return Some(Self::Stations(Kind::Sonic));
        }
        if has("mac-address") && has("on-interface") {
            return Some(Self::Stations(Kind::RouterOs));
        }
        let stations = (low.contains("mac address") || low.contains("destination address"))
            && (has("ports") || has("port"));
        stations.then_some(Self::Stations(Kind::Words))
    }

    /// Notes in the table of the switch what it is about to get.
    pub(super) fn announce(&self, table: &mut SwitchTable) {
        match self {
            Self::Stations(kind) => {
                table.fdb = true;
                self.number(kind.numbering(), table);
            }
            Self::Ovs => table.fdb = true,
            Self::Sonic { .. } => {
                table.lldp = true;
                self.number(Numbering::Sonic, table);
            }
            Self::Junos { .. } => {
                table.lldp = true;
                self.number(Numbering::FromZero, table);
            }
            Self::Ios { .. } | Self::Eos { .. } => table.lldp = true,
        }
    }

    fn number(&self, numbering: Numbering, table: &mut SwitchTable) {
        if numbering != Numbering::FromOne {
            table.numbering = numbering;
        }
    }

    /// Reads a line below the head. One that does not fit is passed over.
    pub(super) fn row(&self, line: &str, table: &mut SwitchTable) {
        match *self {
            Self::Ios { local, hold, capability, far } => {
                let [name, on, seconds, caps, port] = [
                    (0, local),
                    (local, hold),
                    (hold, capability),
                    (capability, far),
                    (far, line.len()),
                ]
                .map(|(from, to)| cut(line, from, to));
                if seconds.parse::<u32>().is_ok() {
                    let bridge = (!caps.is_empty()).then(|| caps.contains(['B', 'R']));
                    table.hear(heard(on, name, &[port], bridge));
                }
            }
            Self::Eos { device, far, ttl } => {
                let [on, name, port, seconds] =
                    [(0, device), (device, far), (far, ttl), (ttl, line.len())]
                        .map(|(from, to)| cut(line, from, to));
                if seconds.parse::<u32>().is_ok() {
                    table.hear(heard(on, name, &[port], None));
                }
            }
            Self::Sonic { device, far, capability, description } => {
                let [on, name, port, caps, words] = [
                    (0, device),
                    (device, far),
                    (far, capability),
                    (capability, description),
                    (description, line.len()),
                ]
                .map(|(from, to)| cut(line, from, to));
                if on.starts_with("Ethernet") {
                    let bridge = (!caps.is_empty()).then(|| caps.contains(['B', 'R']));
                    table.hear(heard(on, name, &[port, words], bridge));
                }
            }
            Self::Junos { parent } => junos(line, parent, table),
            Self::Stations(kind) => station(line, kind, table),
            Self::Ovs => {
                let words: Vec<&str> = line.split_whitespace().collect();
                if let [on, vid, mac, age] = words[..]
                    && let Some(mac) = port::mac(mac)
                {
                    let vid = vid.parse().ok().filter(|vid| *vid != 0);
                    match on {
                        "LOCAL" => _ = table.own.insert(mac, String::new()),
                        // `ovs-appctl fdb/add` made it.
                        _ if age.eq_ignore_ascii_case("static") => {}
                        _ => table.learn(Learned { port: on.to_owned(), mac, vid }),
                    }
                }
            }
        }
    }
}

/// A neighbour by name; a name that is a MAC is its chassis.
fn heard(on: &str, name: &str, far: &[&str], bridge: Option<bool>) -> Neighbour {
    let name = Some(name.to_owned()).filter(|name| !name.is_empty());
    let (system, chassis) = match name.as_deref().and_then(port::mac) {
        Some(_) => (None, name),
        None => (name, None),
    };
    let far = far.iter().filter(|text| !text.is_empty()).map(|text| (*text).to_owned());
    Neighbour { port: on.to_owned(), system, chassis, far: far.collect(), bridge }
}

/// The text between two offsets, as far as the line has it.
fn cut(line: &str, from: usize, to: usize) -> &str {
    let end = (0..=to.min(line.len())).rev().find(|at| line.is_char_boundary(*at)).unwrap_or(0);
    let from = (from..=line.len()).find(|at| line.is_char_boundary(*at)).unwrap_or(line.len());
    line.get(from..end.max(from)).unwrap_or_default().trim()
}

fn junos(line: &str, parent: bool, table: &mut SwitchTable) {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (on, rest) = match (words.split_first(), parent) {
        (Some((on, rest)), false) => (on, rest),
        (Some((on, [_, rest @ ..])), true) => (on, rest),
        _ => return,
    };
    let Some((chassis, rest)) = rest.split_first() else { return };
    if port::mac(chassis).is_none() {
        return;
    }
    // The last word is the name, what is before it the port, which may be a description of several words.
    let (far, system) = match rest {
        [] => (String::new(), None),
        [far] => ((*far).to_owned(), None),
        [far @ .., system] => (far.join(" "), Some((*system).to_owned())),
    };
    table.hear(Neighbour {
        port: port::without_unit(on).to_owned(),
        system,
        chassis: Some((*chassis).to_owned()),
        far: Some(far).filter(|far| !far.is_empty()).into_iter().collect(),
        bridge: None,
    });
}

/// A line with a MAC: the VID is the number before it, else the first number behind it or behind `Vlan`; the port is
/// the first word behind it that begins with a letter and has a digit. Only what was learned is a sighting: an entry that
/// somebody wrote says where a station should be.
fn station(line: &str, kind: Kind, table: &mut SwitchTable) {
    let words: Vec<&str> = line.split_whitespace().take(24).collect();
    let found = words.iter().enumerate().find_map(|(k, word)| Some((k, port::mac(word)?)));
    let Some((at, mac)) = found else { return };
    let (before, after) = (&words[..at], &words[at + 1..]);
    let number =
        |word: &&str| word.trim_start_matches(['V', 'v', 'l', 'a', 'n']).parse::<u16>().ok();
    let vid = |vid: &u16| (1..=4094).contains(vid);
    let is_port = |word: &&&str| {
        let mut chars = word.chars();
        chars.next().is_some_and(|c| c.is_ascii_alphabetic()) && chars.any(|c| c.is_ascii_digit())
    };
    let is_one_of =
        |all: &[&str]| after.iter().any(|w| all.iter().any(|one| w.eq_ignore_ascii_case(one)));
    let on = after.iter().find(is_port);
    // The switch's own.
    if is_one_of(&["self"]) || on.is_none() && is_one_of(&["cpu", "router", "switch"]) {
        table.own.insert(mac, String::new());
        return;
    }
    let flag = after.first().copied().unwrap_or_default();
    let is_flagged = flag.bytes().all(|b| b.is_ascii_uppercase() || b == b',')
        && flag.split(',').any(|flag| matches!(flag, "S" | "P"));
    if is_one_of(&["static", "permanent", "management", "mgmt"])
        || kind == Kind::Junos && is_flagged
    {
        return;
    }
    let Some(on) = on else { return };
    let between = after.iter().take_while(|word| *word != on);
    let behind = || between.filter_map(number).find(vid);
    let vid = before.last().and_then(number).filter(vid).or_else(behind);
    let flags: String = match before {
        [number, flags @ ..] if number.bytes().all(|b| b.is_ascii_digit()) => {
            flags.iter().filter(|word| is_flags(word)).copied().collect()
        }
        _ => String::new(),
    };
    let on = port::without_unit(on).to_owned();
    let learned = kind != Kind::RouterOs || flags.contains(['D', 'L']);
    if learned {
        line::host(&flags, Learned { port: on, mac, vid }, table);
    }
}

/// Flags of RouterOS: D dynamic, L local, E external, X disabled, I invalid.
fn is_flags(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| "DLEXI".contains(c))
}
