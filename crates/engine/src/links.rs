//! Which NICs of the plan in force can be used.

use std::collections::BTreeMap;

use tresse_control::StateLine;

/// What a NIC is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinkState {
    Up,
    NoCarrier,
    Down,
    Absent,
}

impl LinkState {
    /// Why it is so.
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Up => "has carrier",
            Self::NoCarrier => StateLine::NO_CARRIER,
            Self::Down => StateLine::SET_DOWN,
            Self::Absent => StateLine::ABSENT,
        }
    }
}

/// The NICs of the plan in force as they were last seen.
#[derive(Debug, Default)]
pub(super) struct Links(BTreeMap<String, LinkState>);

impl Links {
    /// A line for each NIC.
    pub(super) fn lines(&self) -> impl Iterator<Item = StateLine> {
        self.0.iter().map(|(name, state)| StateLine {
            kind: "link".into(),
            object: name.clone(),
            up: *state == LinkState::Up,
            since: None,
            today: 0,
            why: if *state == LinkState::Up { String::new() } else { state.words().into() },
        })
    }

    /// Takes note of a NIC; `true` if that is news. What is up when it is first seen is none.
    pub(super) fn set(&mut self, name: &str, state: LinkState) -> bool {
        self.0.insert(name.to_owned(), state).unwrap_or(LinkState::Up) != state
    }

    /// Forgets all other NICs.
    pub(super) fn keep(&mut self, is_kept: impl Fn(&str) -> bool) {
        self.0.retain(|name, _| is_kept(name));
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }
}
