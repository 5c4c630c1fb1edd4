//! Reads what an operator copied from a switch: the output of the command that lists its LLDP neighbours, that of the
//! command that lists its forwarding table, or both in one file, with prompts and whatever else between them. The
//! vendor is recognised by the text.
//!
//! | switch | LLDP neighbours | forwarding table |
//! |---|---|---|
//! | Linux, Open vSwitch | `lldpcli show neighbors`, also with `-f json`, `-f json0` | `bridge fdb show`, `bridge -j fdb show`; `ovs-appctl fdb/show br0` |
//! | SONiC | `show lldp table`, `show lldp neighbors` | `show mac` |
//! | IOS, IOS XE | `show lldp neighbors`, better `show lldp neighbors detail` | `show mac address-table` |
//! | EOS | `show lldp neighbors`, with `detail`, `\| json` | `show mac address-table`, `\| json` |
//! | Junos | `show lldp neighbors` | `show ethernet-switching table` |
//! | RouterOS | `/ip neighbor print detail` | `/interface bridge host print`, also `terse` |
//!
//! The forms were taken from published output: the test data of ntc-templates, SONiC's command reference and
//! `lldpshow`, lldpd 1.0.16 and iproute2 6.1 themselves.

mod block;
mod columns;
mod json;
mod line;
#[cfg(test)]
mod tests;

use serde_json::Value;

use self::block::Blocks;
use self::columns::Columns;
use crate::table::SwitchTable;

/// The longest text that is read, in bytes.
pub const MOST_BYTES: usize = 16 << 20;
/// So many texts that begin like JSON and are none are tried.
const MOST_TRIED: usize = 64;

/// Why the text of a switch is of no use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PastedError {
    /// Nothing in the text is a known table.
    #[error(
        "{name}: no table of LLDP neighbours or of MAC addresses is recognised in it\n  help: paste what \
         `lldpcli show neighbors -f json` and `bridge -j fdb show` print (Linux), `show lldp neighbors detail` and \
         `show mac address-table` (IOS, EOS), `show lldp table` and `show mac` (SONiC), `show lldp neighbors` and \
         `show ethernet-switching table` (Junos), `/ip neighbor print detail` and `/interface bridge host print` (RouterOS)"
    )]
    Unknown {
        /// The switch's name.
        name: String,
    },
    /// The text is in another encoding.
    #[error(
        "{name}: its text is UTF-16\n  help: save it as UTF-8, or `iconv -f UTF-16 -t UTF-8 FILE`"
    )]
    Utf16 {
        /// The switch's name.
        name: String,
    },
    /// The text is too long.
    #[error("{name}: longer than {MOST_BYTES} bytes: paste the tables alone")]
    Long {
        /// The switch's name.
        name: String,
    },
}

/// Reads the bytes of a file of the switch `name`: text in UTF-8, with a byte order mark or without. Descriptions may be in
/// any encoding.
///
/// # Errors
/// As [`PastedError`] lists.
pub fn read_bytes(name: &str, bytes: &[u8]) -> Result<SwitchTable, PastedError> {
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(PastedError::Utf16 { name: name.to_owned() });
    }
    read(name, &String::from_utf8_lossy(bytes))
}

/// Reads the text of the switch `name`. O(bytes).
///
/// # Errors
/// As [`PastedError`] lists. Lines that are understood by nobody are passed over.
pub fn read(name: &str, text: &str) -> Result<SwitchTable, PastedError> {
    if text.len() > MOST_BYTES {
        return Err(PastedError::Long { name: name.to_owned() });
    }
    let mut table = SwitchTable::new(name);
    let (mut columns, mut blocks) = (None, Blocks::default());
    let mut record = line::Record::default();
    let (mut rest, mut tried) = (text.strip_prefix('\u{feff}').unwrap_or(text), 0);
    while !rest.is_empty() {
        if rest.trim_start().starts_with(['{', '[']) && tried < MOST_TRIED {
            let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
            if let Some(Ok(value)) = values.next() {
                json::read(&value, &mut table);
                rest = &rest[values.byte_offset()..];
                continue;
            }
            tried += 1;
        }
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        rest = after;
        let line = line.trim_end();
        if let Some(head) = Columns::of(line) {
            blocks.end(&mut table);
            head.announce(&mut table);
            columns = Some(head);
        } else if line::fdb(line, &mut table)
            || record.add(line, &mut table)
            || blocks.read(line, &mut table)
        {
            columns = None;
        } else if let Some(columns) = &columns {
            columns.row(line, &mut table);
        }
    }
    record.end(&mut table);
    blocks.end(&mut table);
    match table.lldp || table.fdb {
        true => Ok(table),
        false => Err(PastedError::Unknown { name: name.to_owned() }),
    }
}
