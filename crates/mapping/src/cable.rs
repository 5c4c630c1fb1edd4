//! Cables between switches, by the names that the switches and their ports have there.

use serde::Serialize;

/// A port of a switch, by the names that the switch and its port have there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct PortAt {
    /// The switch.
    pub switch: String,
    /// The port, as the switch spells it; empty if nothing names it.
    pub port: String,
}

/// By what a cable between switches was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SeenBy {
    /// Each end hears the other by LLDP.
    BothEnds,
    /// The first end hears the other by LLDP.
    OneEnd,
    /// Their forwarding tables complement each other.
    ForwardingTables,
}

/// A cable between two switches.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct SeenCable {
    /// One end.
    pub a: PortAt,
    /// The other end.
    pub b: PortAt,
    /// By what it was seen.
    pub by: SeenBy,
}

impl PortAt {
    /// `s1 port p3`.
    #[must_use]
    pub fn words(&self) -> String {
        match &*self.port {
            "" => format!("{} at a port that is not named", self.switch),
            port => format!("{} port {port}", self.switch),
        }
    }
}

impl SeenCable {
    /// `the cable from s1 port p3 to s2 port p1 (both ends say so)`.
    #[must_use]
    pub fn words(&self) -> String {
        let by = match self.by {
            SeenBy::BothEnds => "both ends say so",
            SeenBy::OneEnd => "one end says so",
            SeenBy::ForwardingTables => "forwarding tables say so",
        };
        format!("the cable from {} to {} ({by})", self.a.words(), self.b.words())
    }
}
