//! Lists with a block of `key: value` lines for each neighbour.
//!
//! ```text
//! Interface:    p1, via: LLDP, RID: 1, ...   lldpcli, SONiC    Local Intf: Gi1/0/2     IOS
//!   ChassisID:    mac 22:3e:b1:04:72:d6                        Chassis id: 7c25.86c9.aaaa
//!   SysName:      swa                                          Port id: 502
//!   PortID:       ifname swp1                                  System Name: HpSwitch
//!
//! Interface Ethernet1 detected 1 LLDP neighbors:    EOS
//!   Neighbor 2cc2.6081.eaf9/"Ethernet1", age 12 seconds
//!   - Port ID type: Interface name (5)
//!     Port ID     : "Ethernet1"
//! ```

use crate::table::{Neighbour, SwitchTable};

/// The block that is being read.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    /// Whether a block has begun.
    open: bool,
    now: Neighbour,
    /// The port's description, which stands behind its ID.
    description: Option<String>,
}

impl Blocks {
    /// Reads a line; false if it belongs to no block.
    pub(super) fn read(&mut self, line: &str, table: &mut SwitchTable) -> bool {
        let line = line.trim().trim_start_matches("- ");
        if let Some(rest) = line.strip_prefix("Interface ")
            && let Some((port, _)) = rest.split_once(" detected ")
        {
            self.begin(port, table);
            return true;
        }
        if self.open && line.starts_with("Neighbor ") && line.contains(", age ") {
            let port = self.now.port.clone();
            self.begin(&port, table);
            return true;
        }
        let Some((key, value)) = line.split_once(':') else {
            return self.open && line.starts_with("System Name - ");
        };
        let key: String = key.chars().filter(|c| !c.is_whitespace()).collect();
        let value = value.trim().trim_matches('"');
        match &*key.to_ascii_lowercase() {
            "interface" if value.contains("via:") => {
                self.begin(value.split(',').next().unwrap_or_default(), table);
            }
            "localintf" => self.begin(value, table),
            _ if !self.open => return false,
            "chassisid" => set(&mut self.now.chassis, identifier(value)),
            "portid" if self.now.far.is_empty() => self.now.far.extend(some(identifier(value))),
            "portdescr" | "portdescription" => set(&mut self.description, value),
            "sysname" | "systemname" => set(&mut self.now.system, value),
            // lldpcli has a line for each: `Bridge, on`.
            "capability" => {
                let on = value.ends_with(", on")
                    && (value.starts_with("Bridge") || value.starts_with("Router"));
                self.now.bridge = Some(self.now.bridge == Some(true) || on);
            }
            "enabledcapabilities" if !value.is_empty() => {
                let bridge = value
                    .split([',', ' '])
                    .any(|word| matches!(word.trim(), "B" | "R" | "Bridge" | "Router"));
                self.now.bridge = Some(bridge);
            }
            _ => {}
        }
        true
    }

    fn begin(&mut self, port: &str, table: &mut SwitchTable) {
        self.end(table);
        table.lldp = true;
        self.open = true;
        self.now.port = port.trim().to_owned();
    }

    /// Takes the block that has been read, if any.
    pub(super) fn end(&mut self, table: &mut SwitchTable) {
        let mut now = std::mem::take(&mut self.now);
        now.far.extend(self.description.take());
        if std::mem::take(&mut self.open) {
            table.hear(now);
        }
    }
}

/// The first value counts: `Port ID` comes once more with another meaning.
fn set(field: &mut Option<String>, value: &str) {
    if field.is_none() {
        *field = some(value);
    }
}

fn some(value: &str) -> Option<String> {
    Some(value.to_owned()).filter(|value| !value.is_empty())
}

/// `22:3e:b1:04:72:d6` of lldpcli's `mac 22:3e:b1:04:72:d6`.
fn identifier(value: &str) -> &str {
    match value.split_once(' ') {
        Some(("mac" | "ifname" | "ifalias" | "local" | "ip" | "subtype", id)) => id.trim(),
        _ => value,
    }
}
