//! The wiring table of a flat neighbourhood (switches without cables between them; PCs that talk share a
//! switch), in the text format of the paper: one line per switch with its number, a colon and the sorted
//! numbers of the PCs on it (flat-neighborhood-network-compiler, section 2.3). The table names neither
//! ports nor NICs. By convention a PC's lowest-numbered NIC goes to its lowest-numbered switch.

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;

/// A wiring table: for each switch of a flat neighbourhood, the numbers of the PCs that are cabled to
/// it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Wiring {
    /// The PCs of each switch, ascending; indexed by switch.
    pub switches: Vec<Vec<u32>>,
}

/// The error of a text that is not a valid wiring table: the faulty line, and what is wrong in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WiringError {
    /// A line does not start with a number and a colon.
    #[error("line {line}: expected `switch: pc pc ...`, found `{text}`")]
    Line {
        /// The line, from 1.
        line: usize,
        /// The offending text.
        text: String,
    },
    /// A word is not the number of a PC.
    #[error("line {line}: expected the number of a PC (at most {MAX_NUMBER}), found `{text}`")]
    Pc {
        /// The line, from 1.
        line: usize,
        /// The offending text.
        text: String,
    },
    /// A PC is listed twice on one switch. A second NIC there would connect it to nothing new.
    #[error("line {line}: PC {pc} is twice on switch {switch}: take one of them away")]
    Twice {
        /// The line, from 1.
        line: usize,
        /// The switch.
        switch: usize,
        /// The PC.
        pc: u32,
    },
    /// A switch has two lines.
    #[error("line {line}: switch {switch} has a line already (line {before}): join them")]
    Again {
        /// The line, from 1.
        line: usize,
        /// The switch.
        switch: usize,
        /// The earlier line of the same switch.
        before: usize,
    },
    /// The text has no line of a table.
    #[error("there is no line `switch: pc pc ...`")]
    Empty,
}

impl Wiring {
    /// Builds the table from the switches of every PC: `rows[pc]` lists the switches of `pc`.
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

    /// Returns the switches of every PC, ascending, indexed by PC. NIC `i` of a PC goes to the `i`-th of them.
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

    /// Returns the number of PCs: one more than the highest PC number.
    #[must_use]
    pub fn pcs(&self) -> usize {
        self.switches.iter().flatten().max().map_or(0, |pc| *pc as usize + 1)
    }

    /// Reads a table from text. Empty lines and comments after `#` are skipped.
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

    /// Returns how many switches each pair of PCs shares, as a symmetric matrix at `[a * pcs + b]`.
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
