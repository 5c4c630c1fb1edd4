//! When things went up or down, as events tell it.

use std::collections::{BTreeMap, BTreeSet};

use tresse_control::{Alert, Event, StateLine};

/// Things of which turns are kept: a large fabric has ten thousands of paths, of which few ever turn.
const MOST: usize = 2000;
/// What can be up or down.
const KINDS: [&str; 4] = ["link", "path", "vlan", "plan"];
/// Milliseconds of a day.
const DAY: u64 = 86_400_000;

/// The last turn of each thing that was ever down, by kind and name.
#[derive(Debug, Default)]
pub(super) struct Turns(BTreeMap<(&'static str, String), Turn>);

#[derive(Debug, Clone, Copy)]
struct Turn {
    up: bool,
    /// Milliseconds since the Unix epoch.
    since: u64,
    /// Turns on the day of the last one, in UTC.
    count: u32,
}

impl Turns {
    /// Takes note of what an event says.
    pub fn hear(&mut self, event: &Event) {
        // The paths of a plan that is gone are no more.
        if matches!(event.kind.as_str(), "applied" | "rolled-back" | "withdrawn") {
            self.0.retain(|(kind, _), turn| *kind != "path" || !turn.up);
        }
        let Some((kind, up)) = turn(event) else { return };
        let key = (kind, event.object.clone());
        if self.0.len() >= MOST && !self.0.contains_key(&key) {
            let oldest = self.0.iter().min_by_key(|(_, turn)| turn.since);
            let Some(oldest) = oldest.map(|(key, _)| key.clone()) else { return };
            self.0.remove(&oldest);
        }
        let before = self.0.get(&key).copied();
        let same_day = before.filter(|turn| turn.since / DAY == event.time_ms / DAY);
        // A daemon that starts says again what is down.
        let turns = before.is_none_or(|turn| turn.up != up);
        let count = same_day.map_or(0, |turn| turn.count) + u32::from(turns);
        let since = before.filter(|_| !turns).map_or(event.time_ms, |turn| turn.since);
        self.0.insert(key, Turn { up, since, count });
    }

    /// Dates `states`, and adds what is up but has turned today.
    pub fn date(&self, states: &mut Vec<StateLine>, now: u64) {
        let today = |turn: &Turn| if turn.since / DAY == now / DAY { turn.count } else { 0 };
        let mut told = BTreeSet::new();
        for line in &mut *states {
            let Some(kind) = KINDS.into_iter().find(|kind| *kind == line.kind) else { continue };
            let key = (kind, line.object.clone());
            if let Some(turn) = self.0.get(&key) {
                line.since = (turn.up == line.up).then_some(turn.since);
                line.today = today(turn);
            }
            told.insert(key);
        }
        let turned =
            self.0.iter().filter(|(key, turn)| turn.up && today(turn) > 0 && !told.contains(*key));
        let again: Vec<StateLine> = turned
            .map(|((kind, name), turn)| StateLine {
                kind: (*kind).into(),
                object: name.clone(),
                up: true,
                since: Some(turn.since),
                today: today(turn),
                why: String::new(),
            })
            .collect();
        states.extend(again);
        states.sort_by(|a, b| (&a.kind, &a.object).cmp(&(&b.kind, &b.object)));
    }
}

/// The kind of a thing, and whether it is up, if the event says so.
fn turn(event: &Event) -> Option<(&'static str, bool)> {
    Some(match (event.kind.as_str(), event.alert) {
        ("link", alert) => ("link", alert == Alert::Info),
        ("path-down", _) => ("path", false),
        ("path-up", _) => ("path", true),
        ("fused", _) => ("vlan", false),
        ("unfused", _) => ("vlan", true),
        ("other-plan", _) => ("plan", false),
        ("same-plan", _) => ("plan", true),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: &str, time_ms: u64) -> Event {
        let alert = if kind.ends_with("up") { Alert::Info } else { Alert::Warning };
        let (object, message) = ("n1 rank 0".into(), String::new());
        Event { seq: 1, time_ms, kind: kind.into(), object, message, alert }
    }

    fn line(up: bool) -> StateLine {
        let (kind, object) = ("path".into(), "n1 rank 0".into());
        StateLine { kind, object, up, since: None, today: 0, why: String::new() }
    }

    #[test]
    fn what_is_down_has_a_date_and_the_turns_of_the_day() {
        let mut turns = Turns::default();
        let times = [(DAY - 5, "path-down"), (DAY + 1, "path-up"), (DAY + 2, "path-down")];
        times.iter().for_each(|(at, kind)| turns.hear(&event(kind, *at)));
        // A daemon that starts says it again.
        turns.hear(&event("path-down", DAY + 9));
        let mut states = vec![line(false)];
        turns.date(&mut states, DAY + 10);
        assert_eq!((states[0].since, states[0].today), (Some(DAY + 2), 2));
        turns.date(&mut states, 2 * DAY + 10);
        assert_eq!((states[0].since, states[0].today), (Some(DAY + 2), 0));
    }

    #[test]
    fn what_is_up_again_is_told_on_that_day_alone() {
        let mut turns = Turns::default();
        turns.hear(&event("path-down", DAY));
        turns.hear(&event("path-up", DAY + 3));
        let mut states = Vec::new();
        turns.date(&mut states, DAY + 10);
        assert_eq!(states, [StateLine { since: Some(DAY + 3), today: 2, ..line(true) }]);
        let mut states = Vec::new();
        turns.date(&mut states, 2 * DAY);
        assert_eq!(states, []);
    }

    #[test]
    fn paths_that_were_down_are_of_their_plan() {
        let mut turns = Turns::default();
        for kind in ["path-down", "path-up", "applied"] {
            turns.hear(&event(kind, DAY));
        }
        let mut states = Vec::new();
        turns.date(&mut states, DAY + 10);
        assert_eq!(states, []);
    }

    #[test]
    fn what_the_events_do_not_know_has_no_date() {
        let mut turns = Turns::default();
        turns.hear(&event("path-up", DAY));
        let mut states = vec![line(false)];
        turns.date(&mut states, DAY + 10);
        assert_eq!((states.len(), states[0].since), (1, None));
    }
}
