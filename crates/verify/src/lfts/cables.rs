//! Reads the cables of an InfiniBand network, in either of two formats that accompany a dump of its
//! forwarding tables.
//!
//! `opensm-subnet.lst`, which OpenSM writes into the same directory; each line describes both ends of
//! one cable:
//! ```text
//! { CA Ports:01 .. NodeGUID:.. PortGUID:.. .. {H0_0} LID:0001 PN:01 } { SW .. } PHY=4x LOG=ACT SPD=25
//! ```
//!
//! The output of `ibnetdiscover`, of which only the sections of switches are read; they list every cable
//! of a switch, one port a line:
//! ```text
//! Switch  8 "S-0000000000200000"          # "S0" base port 0 lid 2 lmc 0
//! [1]     "H-0000000000100000"[1](100001) # "H0_0" lid 1 4xEDR
//! ```

use std::collections::BTreeMap;
use std::ops::Range;

use tresse_base::problem::{Found, ProblemKind, Problems};

use super::{FAULTS, TextLine, hexadecimal, leading, name, port};

const PAIR: &str = "{ SW Ports:08 SystemGUID:0000000000200000 NodeGUID:0000000000200000 \
                    PortGUID:0000000000200000 VenID:000000 DevID:0000 Rev:000000A1 {S0} LID:0002 PN:01 } \
                    { .. } PHY=4x LOG=ACT SPD=25";
const HEAD: &str = "Switch 8 \"S-0000000000200000\" # \"S0\" base port 0 lid 2 lmc 0";
const CABLE: &str = "[1] \"H-0000000000100000\"[1](100001) # \"H0_0\" lid 1 4xEDR";

/// All cables of an InfiniBand network, read from `opensm-subnet.lst` or from the output of
/// `ibnetdiscover`.
#[derive(Debug, Clone, Default)]
pub struct Cables {
    pub(super) file: String,
    /// Descriptions by node GUID.
    pub(super) switches: BTreeMap<u64, String>,
    /// The far end of each switch port.
    pub(super) ports: BTreeMap<(u64, u8), (End, Option<u64>)>,
}

/// The far end of a cable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    /// A switch's node GUID and port.
    Switch(u64, u8),
    /// A host's port: port GUID, LID, description.
    Host(u64, u16, String),
}

impl Cables {
    /// Reads either form. `file` only names it in problems.
    ///
    /// # Errors
    /// Every line that is not understood, up to twenty, and ports with two cables.
    pub fn parse(text: &str, file: &str) -> Result<Self, Problems> {
        let mut found = Found::default();
        let mut cables = Self { file: file.into(), ..Self::default() };
        if text.trim_start().starts_with('{') {
            cables.read_list(text, &mut found);
        } else {
            cables.read_discovered(text, &mut found);
        }
        if cables.ports.is_empty() && found.is_empty() {
            let message = "no switch with a cable is here";
            let help = "give OpenSM's opensm-subnet.lst or the output of ibnetdiscover".to_owned();
            found.add(ProblemKind::Incomplete, &(0..0), message, help);
        }
        if found.is_empty() { Ok(cables) } else { Err(found.into_problems(text, file)) }
    }

    fn read_list(&mut self, text: &str, found: &mut Found) {
        for line in TextLine::all(text).filter(|line| !line.text.trim().is_empty()) {
            if found.len() >= FAULTS {
                return;
            }
            let ends = Listed::read(line.text)
                .ok_or(line.text)
                .and_then(|(a, rest)| Ok((a, Listed::read(rest).ok_or(rest)?)));
            let (a, (b, rest)) = match ends {
                Ok(ends) => ends,
                Err(at) => {
                    line.expected(found, at.trim(), "an end of a cable", PAIR);
                    continue;
                }
            };
            let field = |key| rest.split_once(key)?.1.split_whitespace().next();
            let rate = field("PHY=").zip(field("SPD="));
            let rate = rate.and_then(|(width, speed)| rate_of(width, speed));
            for (near, far) in [(&a, &b), (&b, &a)] {
                if near.switch {
                    self.switches.entry(near.node).or_insert_with(|| near.name.clone());
                    self.add((near.node, near.port), far.end(), rate, line.span(line.text), found);
                }
            }
        }
    }

    fn read_discovered(&mut self, text: &str, found: &mut Found) {
        let mut switch = None;
        for line in TextLine::all(text) {
            if found.len() >= FAULTS {
                return;
            }
            let word = line.text.trim_start();
            if let Some(rest) = word.strip_prefix("Switch") {
                let named = quoted(rest).and_then(|(id, after)| {
                    let guid = hexadecimal(id.strip_prefix("S-")?)?;
                    Some((guid, name(described(after), guid)))
                });
                if let Some((guid, name)) = named {
                    switch = Some(guid);
                    self.switches.insert(guid, name);
                } else {
                    line.expected(found, word, "a switch and its GUID", HEAD);
                }
            } else if word.starts_with("Ca") || word.starts_with("Rt") {
                switch = None;
            } else if let (Some(guid), Some(rest)) = (switch, word.strip_prefix('[')) {
                match discovered(rest) {
                    Some((port, end, rate)) => {
                        self.add((guid, port), end, rate, line.span(word), found);
                    }
                    None => line.expected(found, word, "a port and what is at it", CABLE),
                }
            } else if !is_other(word) {
                line.expected(found, word, "a switch or a cable", HEAD);
            }
        }
    }

    fn add(
        &mut self,
        at: (u64, u8),
        end: End,
        rate: Option<u64>,
        place: Range<usize>,
        found: &mut Found,
    ) {
        if let End::Switch(guid, port) = end {
            let back = End::Switch(at.0, at.1);
            let other = self.ports.entry((guid, port)).or_insert_with(|| (back.clone(), rate));
            if other.0 != back {
                return in_use(guid, port, &place, found);
            }
        }
        let known = self.ports.entry(at).or_insert_with(|| (end.clone(), rate));
        if known.0 != end {
            in_use(at.0, at.1, &place, found);
        }
    }
}

fn in_use(guid: u64, port: u8, place: &Range<usize>, found: &mut Found) {
    let message = format!("port {port} of switch {guid:#018x} has two cables");
    let help = "take the file of one sweep: cables were moved between the two".to_owned();
    found.add(ProblemKind::PortInUse, &(place.start..place.start), message, help);
}

/// One end of a line of `opensm-subnet.lst`.
struct Listed {
    switch: bool,
    node: u64,
    guid: u64,
    name: String,
    lid: u16,
    port: u8,
}

impl Listed {
    /// Reads `{ .. }` and returns it with the remaining text.
    fn read(text: &str) -> Option<(Self, &str)> {
        let rest = text.trim_start().strip_prefix('{')?.trim_start();
        let (head, rest) = rest.split_once('{')?;
        // A description may contain anything, so it ends only at text that cannot be part of it.
        let (description, rest) = rest.split_once("} LID:")?;
        let (lid, rest) = rest.split_once(" PN:")?;
        let (port_text, rest) = rest.split_once('}')?;
        let field = |key| hexadecimal(head.split_once(key)?.1.split_whitespace().next()?);
        let (node, guid) = (field("NodeGUID:")?, field("PortGUID:")?);
        let switch = head.starts_with("SW");
        let port = port(hexadecimal(port_text.trim()))?;
        let lid = u16::try_from(hexadecimal(lid)?).ok()?;
        let name = name(description, if switch { node } else { guid });
        Some((Self { switch, node, guid, name, lid, port }, rest))
    }

    fn end(&self) -> End {
        if self.switch {
            End::Switch(self.node, self.port)
        } else {
            End::Host(self.guid, self.lid, self.name.clone())
        }
    }
}

/// A line below a switch in what `ibnetdiscover` writes, without the first bracket.
fn discovered(text: &str) -> Option<(u8, End, Option<u64>)> {
    let decimal = |text: &str| leading(text, u8::is_ascii_digit).parse().ok();
    let near = port(decimal(text))?;
    let (id, rest) = quoted(text)?;
    let far = port(decimal(rest.strip_prefix('[')?))?;
    let (before, comment) = rest.split_once('#').unwrap_or((rest, ""));
    let last = comment.split_whitespace().next_back();
    let rate = last.and_then(|word| word.find('x').map(|at| word.split_at(at + 1)));
    let rate = rate.and_then(|(width, speed)| rate_of(width, speed));
    if let Some(guid) = id.strip_prefix("S-") {
        return Some((near, End::Switch(hexadecimal(guid)?, far), rate));
    }
    let guid = hexadecimal(before.split_once('(')?.1.split_once(')')?.0)?;
    let after = comment.rsplit_once("\" lid ")?.1;
    let lid = decimal(after).and_then(|lid| u16::try_from(lid).ok())?;
    Some((near, End::Host(guid, lid, name(described(rest), guid)), rate))
}

/// The text between the first quotes, and what follows.
fn quoted(text: &str) -> Option<(&str, &str)> {
    text.split_once('"')?.1.split_once('"')
}

/// The description in the comment of a line of `ibnetdiscover`.
fn described(text: &str) -> &str {
    let comment = text.split_once('#').map_or("", |(_, comment)| comment);
    let inside = comment.split_once('"').and_then(|(_, rest)| rest.rsplit_once('"'));
    inside.map_or("", |(description, _)| description)
}

/// Lines of `ibnetdiscover` that say nothing about cables.
fn is_other(word: &str) -> bool {
    let keys = ["vendid=", "devid=", "sysimgguid=", "switchguid=", "caguid=", "rtguid="];
    word.is_empty()
        || word.starts_with(['#', '['])
        || word.starts_with("Chassis")
        || keys.iter().any(|key| word.starts_with(key))
}

/// Mbit/s of data, of `4x` and `25` or `EDR`; `None` where this version does not know the speed.
fn rate_of(width: &str, speed: &str) -> Option<u64> {
    let lanes: u64 = width.strip_suffix('x')?.parse().ok().filter(|n| *n <= 12)?;
    let lane = match speed {
        "2.5" | "SDR" => 2_000,
        "5" | "5.0" | "DDR" => 4_000,
        "10" | "10.0" | "QDR" => 8_000,
        "FDR10" => 10_000,
        "14" | "14.0625" | "FDR" => 13_636,
        "25" | "25.78125" | "EDR" => 25_000,
        "50" | "53.125" | "HDR" => 50_000,
        "100" | "106.25" | "NDR" => 100_000,
        "200" | "212.5" | "XDR" => 200_000,
        _ => return None,
    };
    Some(lanes * lane).filter(|rate| *rate > 0)
}
