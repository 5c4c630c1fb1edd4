//! A wiring as the paper writes it: one line per switch, its number, a colon and the sorted numbers
//! of the PCs on it (flat-neighborhood-network-compiler, section 2.3). Which port and which NIC of a
//! PC is left open; by convention the lowest-numbered NIC goes to the lowest-numbered switch.

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;

/// The PCs on every switch, ascending.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Wiring {
    /// Indexed by switch.
    pub switches: Vec<Vec<u32>>,
}

/// Why a text is no wiring.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WiringError {
    /// A line without a number and a colon.
    #[error("line {line}: expected `switch: pc pc ...`, found `{text}`")]
    Line {
        /// From 1.
        line: usize,
        /// As found.
        text: String,
    },
    /// Not a number that a PC can have.
    #[error("line {line}: expected the number of a PC (at most {MAX_NUMBER}), found `{text}`")]
    Pc {
        /// From 1.
        line: usize,
        /// As found.
        text: String,
    },
    /// A PC with two NICs on one switch, which would add nothing.
    #[error("line {line}: PC {pc} is twice on switch {switch}: take one of them away")]
    Twice {
        /// From 1.
        line: usize,
        /// The switch.
        switch: usize,
        /// The PC.
        pc: u32,
    },
    /// Two lines for one switch.
    #[error("line {line}: switch {switch} has a line already (line {before}): join them")]
    Again {
        /// From 1.
        line: usize,
        /// The switch.
        switch: usize,
        /// The line before.
        before: usize,
    },
    /// No line at all.
    #[error("no line `switch: pc pc ...` found")]
    Empty,
}

impl Wiring {
    /// A wiring from the switches of every PC.
    #[must_use]
    pub fn from_rows(switches: usize, rows: &[Vec<u32>]) -> Self {
        let mut wiring = Self { switches: vec![Vec::new(); switches] };
        for (pc, row) in rows.iter().enumerate() {
            for switch in row {
                wiring.switches[*switch as usize].push(pc as u32);
            }
        }
        wiring
    }

    /// The switches of every PC, ascending: NIC `i` of a PC goes to the `i`-th of them.
    #[must_use]
    pub fn rows(&self, pcs: usize) -> Vec<Vec<u32>> {
        let mut rows = vec![Vec::new(); pcs];
        for (switch, members) in self.switches.iter().enumerate() {
            for pc in members {
                rows[*pc as usize].push(switch as u32);
            }
        }
        rows
    }

    /// Number of PCs: one more than the highest.
    #[must_use]
    pub fn pcs(&self) -> usize {
        self.switches.iter().flatten().max().map_or(0, |pc| *pc as usize + 1)
    }

    /// Reads the text table; empty lines and what follows `#` are skipped.
    pub fn parse(text: &str) -> Result<Self, WiringError> {
        let mut lines: Vec<Option<usize>> = Vec::new();
        let mut wiring = Self::default();
        for (index, whole) in text.lines().enumerate() {
            let line = index + 1;
            let text = whole.split('#').next().unwrap_or_default().trim();
            if text.is_empty() {
                continue;
            }
            let unread = || WiringError::Line { line, text: text.chars().take(60).collect() };
            let (switch, members) = text.split_once(':').ok_or_else(unread)?;
            let switch: usize = switch.trim().parse().map_err(|_| unread())?;
            if switch > MAX_NUMBER as usize {
                return Err(unread());
            }
            if lines.len() <= switch {
                lines.resize(switch + 1, None);
                wiring.switches.resize(switch + 1, Vec::new());
            }
            if let Some(before) = lines[switch].replace(line) {
                return Err(WiringError::Again { line, switch, before });
            }
            let mut sorted = BTreeSet::new();
            for word in members.split_whitespace() {
                let pc = word.parse().ok().filter(|pc| *pc <= MAX_NUMBER);
                let text = || word.chars().take(60).collect();
                let pc = pc.ok_or_else(|| WiringError::Pc { line, text: text() })?;
                if !sorted.insert(pc) {
                    return Err(WiringError::Twice { line, switch, pc });
                }
            }
            wiring.switches[switch] = sorted.into_iter().collect();
        }
        if wiring.switches.is_empty() { Err(WiringError::Empty) } else { Ok(wiring) }
    }

    /// Links of every pair, `[a * pcs + b]`, both ways.
    #[must_use]
    pub fn links(&self, pcs: usize) -> Vec<u16> {
        let mut links = vec![0; pcs * pcs];
        for members in &self.switches {
            for a in members {
                for b in members.iter().filter(|b| *b != a) {
                    links[*a as usize * pcs + *b as usize] += 1;
                }
            }
        }
        links
    }
}

impl fmt::Display for Wiring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (switch, members) in self.switches.iter().enumerate() {
            write!(f, "{switch}:")?;
            for pc in members {
                write!(f, " {pc}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

const MAX_NUMBER: u32 = 65_535;
