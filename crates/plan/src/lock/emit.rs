//! Writes a [`Lock`] as the text of `tresse.lock`.

use std::fmt::Write as _;
use std::net::IpAddr;

use tresse_topology::cluster::AddressLayout;

use super::content::{Lock, LockedVid, Retired};

impl Lock {
    /// The text of the lock: one line per entry, sorted, so that a change shows as changed lines.
    #[must_use]
    pub fn emit(&self) -> String {
        let mut text = String::from("# written by tresse: keep it beside the cluster file\n");
        let _ = writeln!(text, "format = {}", self.format);
        if let Some(base) = &self.base {
            let _ = writeln!(text, "base = {}", quoted(base));
        }
        if self.layout == Some(AddressLayout::Coordinates) {
            text.push_str("layout = \"coordinates\"\n");
        }
        if !self.vids.is_empty() {
            text.push_str("\n[vids]\n");
        }
        for (name, LockedVid { vid, tree }) in &self.vids {
            let _ = writeln!(text, "{} = {{ vid = {vid}, tree = {} }}", quoted(name), quoted(tree));
        }
        for (table, entries) in [("nodes", &self.nodes), ("nics", &self.nics)] {
            if !entries.is_empty() {
                let _ = writeln!(text, "\n[{table}]");
            }
            for (name, addresses) in entries {
                let _ = writeln!(text, "{} = {}", quoted(name), list(addresses));
            }
        }
        if !self.places.is_empty() {
            text.push_str("\n[places]\n");
        }
        for (name, place) in &self.places {
            let _ = writeln!(text, "{} = {}", quoted(name), quoted(place));
        }
        if !self.labels.is_empty() {
            text.push_str("\n[labels]\n");
        }
        for (node, labels) in &self.labels {
            let each = |(label, meaning): (&u32, &String)| format!("{label} = {}", quoted(meaning));
            let labels: Vec<_> = labels.iter().map(each).collect();
            let _ = writeln!(text, "{} = {{ {} }}", quoted(node), labels.join(", "));
        }
        if let Some(balance) = &self.balance {
            let _ =
                writeln!(text, "\n[balance]\nof = {}\n\n[balance.switches]", quoted(&balance.of));
            for (switch, [nodes, transit]) in &balance.switches {
                let _ = writeln!(text, "{} = [{nodes}, {transit}]", quoted(switch));
            }
            if !balance.ports.is_empty() {
                text.push_str("\n[balance.ports]\n");
            }
            for (switch, ports) in &balance.ports {
                let ports: Vec<_> = ports.iter().map(u32::to_string).collect();
                let _ = writeln!(text, "{} = [{}]", quoted(switch), ports.join(", "));
            }
        }
        if self.retired != Retired::default() {
            text.push_str("\n[retired]\n");
            text.push_str("vids = [\n");
            for LockedVid { vid, tree } in &self.retired.vids {
                let _ = writeln!(text, "    {{ vid = {vid}, tree = {} }},", quoted(tree));
            }
            text.push_str("]\n");
            let _ = writeln!(text, "addresses = {}", list(&self.retired.addresses));
            if !self.retired.labels.is_empty() {
                text.push_str("\n[retired.labels]\n");
            }
            for (node, labels) in &self.retired.labels {
                let labels: Vec<_> = labels.iter().map(u32::to_string).collect();
                let _ = writeln!(text, "{} = [{}]", quoted(node), labels.join(", "));
            }
        }
        text
    }
}

/// Returns a text as a TOML string, which is also valid as a key.
#[must_use]
pub fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

fn list(addresses: &[IpAddr]) -> String {
    let texts: Vec<_> = addresses.iter().map(|a| format!("\"{a}\"")).collect();
    format!("[{}]", texts.join(", "))
}
