//! The comment lines at the top of every exported switch configuration.

use super::switch::ports_text;
use super::{PortRole, SwitchConfig};

/// The parts of the comment that depend on the dialect.
pub(super) struct Preamble<'a> {
    /// The dialect's comment mark.
    pub mark: &'a str,
    /// The file's name.
    pub file: &'a str,
    /// The format's name.
    pub format: &'a str,
    /// How ports are named.
    pub ports: &'a str,
    /// How to apply the file, and the switch features that must be off (K24).
    pub advice: &'a [&'a str],
}

impl Preamble<'_> {
    pub(super) fn write(&self, config: &SwitchConfig, out: &mut String) {
        let mark = self.mark;
        line!(out, "{mark} {}: switch {} of fabric {}", self.file, config.name, config.fabric);
        line!(
            out,
            "{mark} Generation {}, written by `tresse export {}`.",
            config.generation,
            self.format
        );
        line!(out, "{mark}");
        line!(out, "{mark} {}", self.ports);
        line!(
            out,
            "{mark} Applying it again changes nothing. Plug in cables that close a loop last."
        );
        for text in self.advice {
            line!(out, "{mark} {text}");
        }
        for note in &config.notes {
            line!(out, "{mark} Note: {note}");
        }
        for port in &config.ports {
            let role = match port.role {
                PortRole::Node => "node",
                PortRole::Access => "access",
                PortRole::Trunk => "trunk",
                PortRole::Pruned => "pruned",
            };
            line!(out, "{mark} {}: {role}, {}", ports_text(&port.numbers()), port.peer);
        }
    }
}
