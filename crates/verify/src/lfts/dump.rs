//! Reads a dump of the forwarding tables of all InfiniBand switches, as OpenSM writes it with
//! routing logs on (`-D 0x43`), or as `dump_fts` of infiniband-diags reads it from the switches:
//!
//! ```text
//! Unicast lids [0-80] of switch Lid 2 guid 0x0000000000200000 ('S0'):
//! 0x0001 001 # Channel Adapter portguid 0x0000000000100001: 'H0_0'
//! 80 lids dumped
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use tresse_base::problem::{Found, ProblemKind, Problems};

use super::{FAULTS, TextLine, hexadecimal, leading, name};

/// The highest unicast LID (InfiniBand Architecture, volume 1, section 4.1.3).
const LAST_LID: u64 = 0xbfff;
const HEAD: &str = "Unicast lids [0-80] of switch Lid 2 guid 0x0000000000200000 ('S0'):";
const ENTRY: &str = "0x0001 001 # Channel Adapter portguid 0x0000000000100001: 'H0_0'";
const COUNT: &str = "80 lids dumped";

/// The forwarding tables of all switches of an InfiniBand network, read from a dump.
#[derive(Debug, Clone)]
pub struct Dump {
    pub(super) file: String,
    pub(super) tables: Vec<Table>,
    /// The LIDs of every port that is no switch's own, by its GUID, with the first place that names
    /// it.
    pub(super) lids: BTreeMap<u64, (BTreeSet<u16>, Range<usize>)>,
}

/// One switch.
#[derive(Debug, Clone)]
pub(super) struct Table {
    pub guid: u64,
    pub name: String,
    /// Where the dump names it.
    pub place: Range<usize>,
    /// The port by LID; [`NONE`] where there is no entry.
    ports: Vec<u8>,
    entries: u64,
}

/// Facts from the tables before.
#[derive(Debug, Default)]
struct Seen {
    guids: BTreeSet<u64>,
    /// GUID and name of the switch by its LID.
    lids: BTreeMap<u16, (u64, String)>,
}

/// No way to this LID (OSM_NO_PATH).
const NONE: u8 = 255;

impl Table {
    /// Returns the port by which frames to `lid` leave; 0 is the switch itself.
    pub fn port(&self, lid: u16) -> Option<u8> {
        self.ports.get(usize::from(lid)).copied().filter(|port| *port != NONE)
    }
}

impl Dump {
    /// Reads a dump. `file` only names it in problems.
    ///
    /// # Errors
    /// Every line that is not understood, up to twenty, and tables that are cut short.
    pub fn parse(text: &str, file: &str) -> Result<Self, Problems> {
        let mut found = Found::default();
        let mut dump = Self { file: file.into(), tables: Vec::new(), lids: BTreeMap::new() };
        let mut seen = Seen::default();
        let mut open = false;
        for line in TextLine::all(text) {
            if found.len() >= FAULTS {
                break;
            }
            let word = line.text.trim_start();
            if word.is_empty() || word.starts_with('#') || is_column_head(word) {
                continue;
            }
            if word.starts_with("Unicast lids") {
                if open {
                    dump.cut(&mut found);
                }
                open = true;
                dump.begin(&line, &mut seen, &mut found);
            } else if word.starts_with("0x") && open {
                dump.entry(&line, word, &mut found);
            } else if word.ends_with("lids dumped") && open {
                open = false;
                dump.end(&line, word, &mut found);
            } else if open {
                line.expected(&mut found, word, "an entry or the number of entries", ENTRY);
            } else {
                line.expected(&mut found, word, "the head of a switch's table", HEAD);
            }
        }
        if open && found.len() < FAULTS {
            dump.cut(&mut found);
        }
        if dump.tables.is_empty() && found.is_empty() {
            let help = format!("have OpenSM write one with `-D 0x43`; it begins `{HEAD}`");
            found.add(ProblemKind::Incomplete, &(0..0), "no switch's table is here", help);
        }
        if found.is_empty() { Ok(dump) } else { Err(found.into_problems(text, file)) }
    }

    /// The number of switches that have a table.
    #[must_use]
    pub fn switches(&self) -> usize {
        self.tables.len()
    }

    fn begin(&mut self, line: &TextLine<'_>, seen: &mut Seen, found: &mut Found) {
        let after = line.text.split_once(" guid ");
        let named = after.and_then(|(_, rest)| {
            let (guid, rest) = rest.split_once(' ')?;
            Some((guid, hexadecimal(guid)?, rest.strip_suffix(':')?))
        });
        let Some((text, guid, description)) = named else {
            line.expected(found, line.text.trim_start(), "the GUID and name of a switch", HEAD);
            self.push(0, String::new(), line.span(line.text));
            return;
        };
        let place = line.span(text);
        if !seen.guids.insert(guid) {
            let message = format!("switch {text} has a second table");
            let help = "take one dump of one sweep, and remove the other".to_owned();
            found.add(ProblemKind::DuplicateName, &place, message, help);
        }
        let description = description.trim_start_matches('(').trim_end_matches(')');
        let bare = description.strip_prefix('\'').and_then(|d| d.strip_suffix('\''));
        let name = name(bare.unwrap_or(description), guid);
        let lid_text =
            line.text.split_once(" Lid ").map(|(_, rest)| leading(rest, u8::is_ascii_digit));
        // A switch that has none yet has 0.
        let lid = lid_text.and_then(|text| text.parse().ok()).filter(|lid: &u16| *lid > 0);
        if let Some((text, first)) = lid_text.zip(lid.and_then(|lid| {
            let (first, other) = seen.lids.entry(lid).or_insert_with(|| (guid, name.clone()));
            (*first != guid).then(|| other.clone())
        })) {
            let message = format!("switches {first} and {name} both have LID {text}");
            let help = "each switch has a LID of its own: take one dump of one sweep".to_owned();
            found.add(ProblemKind::DuplicateName, &line.span(text), message, help);
        }
        self.push(guid, name, place);
    }

    fn push(&mut self, guid: u64, name: String, place: Range<usize>) {
        self.tables.push(Table { guid, name, place, ports: Vec::new(), entries: 0 });
    }

    fn entry(&mut self, line: &TextLine<'_>, word: &str, found: &mut Found) {
        let mut words = word.split_whitespace();
        let (lid_text, port_text) =
            (words.next().unwrap_or(word), words.next().unwrap_or_default());
        let lid = hexadecimal(lid_text).filter(|lid| (1..=LAST_LID).contains(lid));
        let Some(lid) = lid.and_then(|lid| u16::try_from(lid).ok()) else {
            return line.expected(found, lid_text, "a unicast LID from 0x0001 to 0xbfff", ENTRY);
        };
        let digits = port_text.bytes().all(|b| b.is_ascii_digit());
        let port: Option<u8> = port_text.parse().ok().filter(|_| digits);
        let Some(port) = port else {
            let at = if port_text.is_empty() { word } else { port_text };
            return line.expected(found, at, "a port from 000 to 255", ENTRY);
        };
        let Some(table) = self.tables.last_mut() else { return };
        if table.port(lid).is_some() {
            let message = format!("LID {lid_text} has a second entry in this table");
            let help = "take one dump of one sweep, and remove the other".to_owned();
            return found.add(ProblemKind::DuplicateName, &line.span(lid_text), message, help);
        }
        if table.ports.len() <= usize::from(lid) {
            table.ports.resize(usize::from(lid) + 1, NONE);
        }
        table.ports[usize::from(lid)] = port;
        table.entries += 1;
        if let Some((kind, rest)) = word.split_once("portguid 0x") {
            let guid_text = leading(rest, u8::is_ascii_hexdigit);
            let switch = kind.contains("Switch");
            if let Some(guid) = hexadecimal(guid_text).filter(|_| !switch) {
                let first = || (BTreeSet::new(), line.span(guid_text));
                self.lids.entry(guid).or_insert_with(first).0.insert(lid);
            }
        }
    }

    fn end(&self, line: &TextLine<'_>, word: &str, found: &mut Found) {
        let count = leading(word, u8::is_ascii_digit);
        let Some(table) = self.tables.last() else { return };
        match count.parse::<u64>() {
            Ok(number) if number == table.entries => {}
            Ok(number) => {
                let message = format!("{} entries, not {number}, were above", table.entries);
                let help = format!("lines of the table of {} are missing: dump again", table.name);
                found.add(ProblemKind::Incomplete, &line.span(count), message, help);
            }
            Err(_) => line.expected(found, word, "the number of entries", COUNT),
        }
    }

    /// The last table has no end.
    fn cut(&self, found: &mut Found) {
        let Some(table) = self.tables.last() else { return };
        let message = format!("the table of {} is cut short", table.name);
        let help = format!("dump again: a table ends with a line such as `{COUNT}`");
        found.add(ProblemKind::Incomplete, &table.place, message, help);
    }
}

/// The two lines that `dump_fts` writes above the entries.
fn is_column_head(word: &str) -> bool {
    let mut words = word.split_whitespace();
    matches!(
        (words.next(), words.next()),
        (Some("Lid"), Some("Out")) | (Some("Port"), Some("Info"))
    )
}
