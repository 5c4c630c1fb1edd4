//! The TOML specification that `tresse design` reads. PCs and switches are numbered from 0.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use toml::de::DeTable;

use super::pattern::{Pattern, PatternError};
use super::problem::{Maximize, Required, WiringProblem};
use super::search::MOST_PCS;

/// The TOML specification of a design: the table `[design]`, and the communication patterns, each a
/// `[[pattern]]`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// What is there and what is asked for.
    pub design: DesignTable,
    /// Who talks with whom; a list of patterns is their union.
    #[serde(default)]
    pub pattern: Vec<Pattern>,
}

/// The table `[design]` of a specification: the PCs, NICs and switches, which pairs of PCs must
/// share a switch, what is maximised, and how long to search.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DesignTable {
    /// Number of PCs.
    pub pcs: u32,
    /// NICs of each PC: one number, or a list with one entry per PC; 0 finds the fewest.
    pub nics: Nics,
    /// Ports of each switch; left out with `switch_types` to find the fewest.
    #[serde(default)]
    pub switches: Vec<u32>,
    /// What can be bought when the number of switches is to be found.
    #[serde(default)]
    pub switch_types: Vec<SwitchType>,
    /// Ports kept free on each switch for an uplink: to a switch of their own, or folded into the
    /// widest one.
    #[serde(default)]
    pub uplinks: Uplinks,
    /// Hot spare PCs on the uplink switch; with folded uplinks they take ports of the widest one.
    #[serde(default)]
    pub spares: u32,
    /// Which pairs must share a switch.
    #[serde(default)]
    pub require: Require,
    /// Links that every pair of a pattern needs.
    #[serde(default = "one")]
    pub minimum_pattern_links: u32,
    /// What is made as large as possible.
    #[serde(default)]
    pub maximize: Maximized,
    /// Seconds of search at most.
    #[serde(default = "ten")]
    pub seconds: f64,
    /// Moves of search instead: repeats exactly.
    #[serde(default)]
    pub moves: Option<u64>,
    /// Where chance begins.
    #[serde(default = "seed")]
    pub seed: u64,
    /// Prices, for the list of what could be bought.
    #[serde(default)]
    pub cost: Option<PriceTable>,
    /// Racks in a row, to be filled so that cables are short.
    #[serde(default)]
    pub placement: Option<Racks>,
}

/// The value of `placement` in the table `[design]`: how many PCs fit into a rack, for placing PCs
/// and switches into racks.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Racks {
    /// PCs that one rack holds.
    pub rack: u32,
}

/// The number of NICs per PC in a specification: one number for all PCs, or a list with one number
/// per PC.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Nics {
    /// The same for all.
    Each(u32),
    /// One entry per PC.
    List(Vec<u32>),
}

/// A type of switch that can be bought: its number of ports and its price.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SwitchType {
    /// Its ports.
    pub ports: u32,
    /// Its price.
    #[serde(default)]
    pub price: f64,
}

/// Whether the design keeps one port of each switch for an uplink, a cable to one common switch
/// that carries multicast and other networks. That switch is a separate one, or the widest of the
/// wired switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Uplinks {
    /// No port is kept.
    #[default]
    None,
    /// One port of each switch goes to a switch for uplinks alone.
    Switch,
    /// One port of each switch goes to the widest one.
    Folded,
}

/// Which pairs of PCs must share a switch, as the specification says: all, or those of the
/// communication patterns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Require {
    /// All.
    #[default]
    All,
    /// Those of the patterns.
    Patterns,
}

/// What the specification asks to maximise: the links (shared switches) of the pairs in the
/// patterns, those of all pairs, or nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Maximized {
    /// Links between pairs of patterns.
    #[default]
    Patterns,
    /// Links between all pairs.
    All,
    /// The first wiring that satisfies.
    None,
}

/// The value of `cost` in the table `[design]`: the prices of a NIC and of a switch port.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PriceTable {
    /// Of a NIC.
    pub nic: f64,
    /// Of a port of a switch.
    pub port: f64,
}

/// Why a specification of a design is invalid.
#[derive(Debug, thiserror::Error)]
pub enum SpecError {
    /// A fault at a place of the text: it is not TOML, a key is unknown, or `source` explains it.
    #[error("line {line}, column {column}: {message}")]
    At {
        /// From 1.
        line: usize,
        /// From 1, in characters.
        column: usize,
        /// In words.
        message: String,
    },
    /// A number is outside its range.
    #[error("{key} = {found}: expected {expected}")]
    Range {
        /// The key.
        key: &'static str,
        /// As given.
        found: String,
        /// In words.
        expected: String,
    },
    /// A pattern does not fit the number of PCs.
    #[error("[[pattern]] number {index}, {kind}: {source}")]
    Pattern {
        /// From 1.
        index: usize,
        /// Its kind.
        kind: &'static str,
        /// Why.
        source: PatternError,
    },
}

impl SpecError {
    /// Adds to an error the place in the specification to which it refers.
    #[must_use]
    pub fn in_text(self, text: &str) -> Self {
        let found = match &self {
            Self::At { .. } => None,
            Self::Range { key: "[[pattern]]", .. } => Some(0),
            Self::Range { key, .. } => value_of(text, key),
            Self::Pattern { index, .. } => {
                text.match_indices("[[pattern]]").nth(index - 1).map(|(at, _)| at)
            }
        };
        match found {
            Some(at) => place(text, at, &self.to_string()),
            None => self,
        }
    }
}

/// Returns where the value of a key of `[design]` begins; `ports` stands for the keys of both kinds.
fn value_of(text: &str, key: &str) -> Option<usize> {
    let document = DeTable::parse(text).ok()?;
    let design = document.get_ref().get("design")?.get_ref().as_table()?;
    let keys: &[&str] = if key == "ports" { &["switches", "switch_types"] } else { &[key] };
    keys.iter().find_map(|key| design.get(*key)).map(|value| value.span().start)
}

fn place(text: &str, at: usize, message: &str) -> SpecError {
    let before = text.get(..at).unwrap_or_default();
    let line_start = before.rfind('\n').map_or(0, |n| n + 1);
    SpecError::At {
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
        message: message.to_owned(),
    }
}

impl Spec {
    /// Reads a specification and makes all checks that need no number of switches.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        let spec: Self = toml::from_str(text).map_err(|error| {
            place(text, error.span().map_or(0, |span| span.start), error.message())
        })?;
        spec.check().map_err(|error| error.in_text(text))?;
        Ok(spec)
    }

    fn check(&self) -> Result<(), SpecError> {
        let table = &self.design;
        let pcs = table.pcs as usize;
        let range =
            |key, found: String, expected: String| SpecError::Range { key, found, expected };
        if !(2..=MOST_PCS).contains(&pcs) {
            return Err(range("pcs", pcs.to_string(), format!("2 to {MOST_PCS}")));
        }
        let most = MOST_NICS;
        match &table.nics {
            Nics::Each(nics) if *nics > most => {
                return Err(range("nics", nics.to_string(), format!("0 to {most}")));
            }
            Nics::List(list) if list.len() != pcs => {
                let expected = format!("one entry for each of the {pcs} PCs");
                return Err(range("nics", format!("a list of {}", list.len()), expected));
            }
            Nics::List(list) => {
                if let Some(nics) = list.iter().find(|n| !(1..=most).contains(*n)) {
                    return Err(range("nics", nics.to_string(), format!("1 to {most}")));
                }
            }
            Nics::Each(_) => {}
        }
        let ports = table.switches.iter().chain(table.switch_types.iter().map(|t| &t.ports));
        if let Some(ports) = ports.clone().find(|p| !(1..=MOST_PORTS).contains(*p)) {
            return Err(range("ports", ports.to_string(), format!("1 to {MOST_PORTS}")));
        }
        if table.switches.len() > MOST_SWITCHES {
            let expected = format!("at most {MOST_SWITCHES}");
            return Err(range("switches", format!("{} of them", table.switches.len()), expected));
        }
        if table.switches.is_empty() == table.switch_types.is_empty() {
            let expected = "either the ports of each switch, or `switch_types` to choose from";
            return Err(range("switches", format!("{:?}", table.switches), expected.into()));
        }
        let parts = table.cost.iter().flat_map(|cost| [cost.nic, cost.port]);
        let mut prices = table.switch_types.iter().map(|of| of.price).chain(parts);
        if let Some(price) = prices.find(|price| !(0.0..f64::INFINITY).contains(price)) {
            return Err(range("price", price.to_string(), "0 or more".into()));
        }
        if table.spares > 0 && table.uplinks == Uplinks::None {
            let expected = "0, or `uplinks` for the switch that spares are on";
            return Err(range("spares", table.spares.to_string(), expected.into()));
        }
        if let Some(Racks { rack: 0 }) = table.placement {
            return Err(range("placement", "0 PCs to a rack".into(), "at least 1".into()));
        }
        if !(1..=most).contains(&table.minimum_pattern_links) {
            let found = table.minimum_pattern_links.to_string();
            return Err(range("minimum_pattern_links", found, format!("1 to {most}")));
        }
        if !(0.0..=MOST_SECONDS).contains(&table.seconds) {
            let expected = format!("0 to {MOST_SECONDS}");
            return Err(range("seconds", table.seconds.to_string(), expected));
        }
        let patterns = table.require == Require::Patterns || table.minimum_pattern_links > 1;
        if patterns && self.pattern.is_empty() {
            let found = format!("{} patterns", self.pattern.len());
            return Err(range("[[pattern]]", found, "at least one, as they are required".into()));
        }
        self.weights().map(drop)
    }

    /// Returns the pairs of all patterns, each with its largest weight.
    pub fn weights(&self) -> Result<BTreeMap<(u32, u32), f64>, SpecError> {
        let mut weights = BTreeMap::new();
        for (index, pattern) in self.pattern.iter().enumerate() {
            let kind = pattern.kind.name();
            let pairs = pattern.pairs(self.design.pcs as usize);
            let pairs =
                pairs.map_err(|source| SpecError::Pattern { index: index + 1, kind, source })?;
            for pair in pairs {
                let weight = weights.entry(pair).or_insert(pattern.weight);
                *weight = weight.max(pattern.weight);
            }
        }
        Ok(weights)
    }

    /// Whether the design must find the number of NICs or of switches.
    #[must_use]
    pub fn is_open(&self) -> bool {
        matches!(self.design.nics, Nics::Each(0)) || self.design.switches.is_empty()
    }

    /// Returns the problem with these ports, and with `nics` NICs per PC if the specification says 0.
    pub fn problem(&self, switches: &[u32], nics: u32) -> Result<WiringProblem, SpecError> {
        let table = &self.design;
        let nics = match &table.nics {
            Nics::Each(0) => vec![nics; table.pcs as usize],
            Nics::Each(nics) => vec![*nics; table.pcs as usize],
            Nics::List(list) => list.clone(),
        };
        let weights = self.weights()?;
        let maximize = match table.maximize {
            Maximized::Patterns if weights.is_empty() => Maximize::None,
            Maximized::Patterns => Maximize::Patterns,
            Maximized::All => Maximize::All,
            Maximized::None => Maximize::None,
        };
        Ok(WiringProblem {
            nics,
            ports: self.usable(switches)?,
            required: match table.require {
                Require::All => Required::All,
                Require::Patterns => Required::Patterns,
            },
            minimum_pattern_links: table.minimum_pattern_links,
            maximize,
            weights,
            patterns: self.pattern.clone(),
        })
    }

    /// Returns the number of ports of the separate uplink switch: one for each of `switches` and for each spare
    /// PC; 0 if there is no separate uplink switch.
    #[must_use]
    pub fn uplink_ports(&self, switches: usize) -> u32 {
        match self.design.uplinks {
            Uplinks::Switch => switches as u32 + self.design.spares,
            Uplinks::None | Uplinks::Folded => 0,
        }
    }

    /// Returns the ports left for NICs after uplinks and spare PCs have theirs.
    fn usable(&self, switches: &[u32]) -> Result<Vec<u32>, SpecError> {
        let mut usable = switches.to_vec();
        if self.design.uplinks == Uplinks::None {
            return Ok(usable);
        }
        usable.iter_mut().for_each(|ports| *ports -= 1);
        if self.design.uplinks == Uplinks::Folded {
            let others = switches.len() as u32 - 1 + self.design.spares;
            let widest = usable.iter_mut().max();
            let left = widest.and_then(|ports| {
                *ports = (*ports + 1).checked_sub(others)?;
                Some(())
            });
            left.ok_or_else(|| SpecError::Range {
                key: "uplinks",
                found: "folded".into(),
                expected: format!("a switch with more than the {others} ports this takes"),
            })?;
        }
        Ok(usable)
    }
}

const fn one() -> u32 {
    1
}

const fn ten() -> f64 {
    10.0
}

const fn seed() -> u64 {
    1
}

/// Largest number of NICs of a PC. The search counts in four bits how many switches a pair of PCs
/// shares; that number can be as high as a PC's number of NICs.
pub const MOST_NICS: u32 = 15;
const MOST_PORTS: u32 = 4096;
const MOST_SWITCHES: usize = 4096;
const MOST_SECONDS: f64 = 86_400.0;
