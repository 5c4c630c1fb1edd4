//! Schedules for communication patterns of a flat neighbourhood (flat-neighborhood-network-compiler, abstract and section
//! 2: "code for specific communication patterns that will use an optimized schedule rather than simply applying the basic
//! routing"): phases in which no NIC sends two messages or receives two.
//!
//! A message may go over any switch that its two PCs share. Once each has its switch, the messages of a switch are a
//! bipartite graph from NICs that send to NICs that receive, and as many phases do as the busiest NIC has messages (König
//! 1916). So the search is for switches that leave no NIC many messages: from the bound upwards, by moves of single
//! messages.

use std::collections::BTreeMap;

use thiserror::Error;
use tresse_base::random::Random;
use tresse_base::wiring::Wiring;

/// Moves per message until one phase more is granted.
const MOVES: usize = 100;
/// A message that was moved stays for so many moves.
const STAYS: usize = 12;
/// But no more than this, which takes seconds.
const MOVES_MOST: usize = 2_000_000;
const NONE: u32 = u32::MAX;

/// A message of a pattern, and the switch that it goes over; PCs and switches from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sent {
    /// Source.
    pub from: u32,
    /// Destination.
    pub to: u32,
    /// The switch that both share.
    pub switch: u32,
}

/// A schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    /// In each phase each NIC sends one message at most and receives one at most.
    pub phases: Vec<Vec<Sent>>,
    /// No schedule has fewer phases: so many a PC needs that sends, or receives, its messages as evenly by its NICs as the
    /// wiring allows.
    pub bound: usize,
}

/// Two PCs that share no switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("PCs {from} and {to} share no switch")]
pub struct Apart {
    /// Source of the message.
    pub from: u32,
    /// Its destination.
    pub to: u32,
}

/// A switch for a message, and the ports by which it would be sent and received: each NIC is one that sends and one that
/// receives.
#[derive(Debug, Clone, Copy)]
struct Choice {
    switch: u32,
    ports: [u32; 2],
}

impl Schedule {
    /// Finds a schedule for messages between different PCs of a wiring of `pcs` PCs; the same one each time.
    ///
    /// # Errors
    /// The first message whose PCs share no switch.
    pub fn of(wiring: &Wiring, pcs: usize, messages: &[(u32, u32)]) -> Result<Self, Apart> {
        let choices = Choices::of(wiring, pcs, messages)?;
        let bound = choices.bound(messages);
        let mut search = Search::new(&choices);
        let mut most = bound;
        while !search.reach(most as u32) {
            most += 1;
        }
        let mut phases = vec![Vec::new(); most];
        for (message, phase) in
            colours(&search.chosen(), choices.ports, most).into_iter().enumerate()
        {
            let (from, to) = messages[message];
            let switch = search.choice(message).switch;
            phases[phase as usize].push(Sent { from, to, switch });
        }
        phases.iter_mut().for_each(|phase| phase.sort_unstable());
        Ok(Self { phases, bound })
    }
}

/// How many messages the busiest NIC sends or receives: so many phases these messages need by these switches.
#[must_use]
pub fn busiest(messages: impl IntoIterator<Item = Sent>) -> usize {
    let mut busy: BTreeMap<(usize, u32, u32), usize> = BTreeMap::new();
    for sent in messages {
        for (side, pc) in [sent.from, sent.to].into_iter().enumerate() {
            *busy.entry((side, pc, sent.switch)).or_default() += 1;
        }
    }
    busy.into_values().max().unwrap_or_default()
}

/// What each message may choose from.
struct Choices {
    of: Vec<Vec<Choice>>,
    ports: usize,
}

impl Choices {
    fn of(wiring: &Wiring, pcs: usize, messages: &[(u32, u32)]) -> Result<Self, Apart> {
        let rows = wiring.rows(pcs);
        let mut nics = 0;
        let mut place = BTreeMap::new();
        for (pc, row) in rows.iter().enumerate() {
            for switch in row {
                place.insert((pc as u32, *switch), nics);
                nics += 1;
            }
        }
        let of = |&(from, to): &(u32, u32)| {
            let row = rows.get(from as usize).into_iter().flatten();
            let shared = row.filter_map(|switch| {
                let ports = [2 * place[&(from, *switch)], 2 * place.get(&(to, *switch))? + 1];
                Some(Choice { switch: *switch, ports })
            });
            let shared: Vec<Choice> = shared.collect();
            if shared.is_empty() { Err(Apart { from, to }) } else { Ok(shared) }
        };
        let of = messages.iter().map(of).collect::<Result<_, _>>()?;
        Ok(Self { of, ports: 2 * nics as usize })
    }

    /// The fewest phases that a PC needs for itself, of the one that needs most.
    fn bound(&self, messages: &[(u32, u32)]) -> usize {
        let mut by_end: BTreeMap<(usize, u32), Vec<Vec<u32>>> = BTreeMap::new();
        for ((from, to), choices) in messages.iter().zip(&self.of) {
            for (side, pc) in [*from, *to].into_iter().enumerate() {
                let ports = choices.iter().map(|choice| choice.ports[side]).collect();
                by_end.entry((side, pc)).or_default().push(ports);
            }
        }
        by_end.values().map(|messages| fewest(messages)).max().unwrap_or_default()
    }
}

/// The least number of messages that the busiest port must have, where each message may choose among some ports.
fn fewest(messages: &[Vec<u32>]) -> usize {
    let mut ports: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    ports.extend(messages.iter().flatten().map(|port| (*port, Vec::new())));
    let mut most = messages.len().div_ceil(ports.len());
    for message in 0..messages.len() {
        while !put(message, messages, &mut ports, most, &mut Vec::new()) {
            most += 1;
        }
    }
    most
}

/// Gives a message a port, moving others along a path to a port with fewer than `most`.
fn put(
    message: usize,
    messages: &[Vec<u32>],
    ports: &mut BTreeMap<u32, Vec<usize>>,
    most: usize,
    tried: &mut Vec<u32>,
) -> bool {
    for port in &messages[message] {
        if tried.contains(port) {
            continue;
        }
        tried.push(*port);
        if ports[port].len() < most {
            ports.entry(*port).or_default().push(message);
            return true;
        }
        for at in 0..ports[port].len() {
            let other = ports[port][at];
            if put(other, messages, ports, most, tried) {
                ports.entry(*port).or_default()[at] = message;
                return true;
            }
        }
    }
    false
}

/// A search for a choice of each message, by which no port has too many.
struct Search<'a> {
    choices: &'a Choices,
    /// By message: which of its choices.
    chosen: Vec<usize>,
    /// By port: its messages.
    on: Vec<Vec<u32>>,
    /// By message: it is moved again when fewer moves than this are left.
    stays: Vec<usize>,
    random: Random,
}

impl<'a> Search<'a> {
    /// Begins with those that have the least choice, each by the port that is least busy.
    fn new(choices: &'a Choices) -> Self {
        let messages = choices.of.len();
        let mut search = Self {
            choices,
            chosen: vec![0; messages],
            on: vec![Vec::new(); choices.ports],
            stays: vec![usize::MAX; messages],
            random: Random::new(1),
        };
        let mut order: Vec<usize> = (0..messages).collect();
        order.sort_by_key(|message| choices.of[*message].len());
        for message in order {
            let busy = |at: &usize| {
                let ports = choices.of[message][*at].ports.map(|port| search.load(port));
                (ports[0].max(ports[1]), ports[0] + ports[1])
            };
            let best = (0..choices.of[message].len()).min_by_key(busy).unwrap_or_default();
            search.choose(message, best);
        }
        search
    }

    fn load(&self, port: u32) -> u32 {
        self.on[port as usize].len() as u32
    }

    fn choice(&self, message: usize) -> Choice {
        self.choices.of[message][self.chosen[message]]
    }

    /// The two ports of each message.
    fn chosen(&self) -> Vec<[u32; 2]> {
        (0..self.chosen.len()).map(|message| self.choice(message).ports).collect()
    }

    fn choose(&mut self, message: usize, choice: usize) {
        self.chosen[message] = choice;
        for port in self.choice(message).ports {
            self.on[port as usize].push(message as u32);
        }
    }

    fn leave(&mut self, message: usize) {
        for port in self.choice(message).ports {
            self.on[port as usize].retain(|other| *other != message as u32);
        }
    }

    /// Moves messages until no port has more than `most`. Returns whether that was reached.
    fn reach(&mut self, most: u32) -> bool {
        self.stays.fill(usize::MAX);
        let ports = 0..self.on.len() as u32;
        let mut busy: Vec<u32> = ports.filter(|port| self.load(*port) > most).collect();
        let mut left = (MOVES * self.chosen.len()).min(MOVES_MOST);
        while !busy.is_empty() {
            let at = self.random.below(busy.len());
            if self.load(busy[at]) <= most {
                busy.swap_remove(at);
                continue;
            }
            if left == 0 {
                return false;
            }
            left -= 1;
            if let Some((message, choice)) = self.best(busy[at], most, left) {
                self.leave(message);
                self.choose(message, choice);
                self.stays[message] = left.saturating_sub(STAYS);
                let ports = self.choice(message).ports;
                busy.extend(ports.into_iter().filter(|port| self.load(*port) == most + 1));
            }
        }
        true
    }

    /// The move that takes a message off a port at the least cost: by how much other ports then have too many.
    fn best(&mut self, port: u32, most: u32, left: usize) -> Option<(usize, usize)> {
        let mut best: Option<((u32, u32), usize, usize)> = None;
        let mut equal = 0;
        for message in &self.on[port as usize] {
            let message = *message as usize;
            if left >= self.stays[message] {
                continue;
            }
            let before = self.choice(message).ports;
            for (at, choice) in self.choices.of[message].iter().enumerate() {
                if at == self.chosen[message] {
                    continue;
                }
                let new = choice.ports.map(|port| self.load(port));
                let relieved = before.iter().filter(|port| self.load(**port) > most).count() as u32;
                let over = new.iter().filter(|load| **load >= most).count() as u32;
                let cost = (2 + over - relieved, new[0].max(new[1]));
                let order = best.map(|(least, ..)| cost.cmp(&least));
                equal = if order == Some(std::cmp::Ordering::Equal) { equal + 1 } else { 1 };
                let better = order.is_none_or(std::cmp::Ordering::is_lt);
                let as_good = order == Some(std::cmp::Ordering::Equal);
                if better || as_good && self.random.below(equal) == 0 {
                    best = Some((cost, message, at));
                }
            }
        }
        best.map(|(_, message, choice)| (message, choice))
    }
}

/// Gives each edge between two ports one of `most` colours, so that no port has a colour twice; no port has more than `most`
/// edges. By alternating paths (König 1916).
fn colours(edges: &[[u32; 2]], ports: usize, most: usize) -> Vec<u32> {
    // By port and colour: the edge.
    let mut has = vec![vec![NONE; most]; ports];
    let mut colour = vec![NONE; edges.len()];
    let free = |has: &[u32]| has.iter().position(|edge| *edge == NONE).unwrap_or_default();
    for (edge, [from, to]) in edges.iter().enumerate() {
        let (a, b) = (free(&has[*from as usize]), free(&has[*to as usize]));
        // The path from `to` by edges of colours a, b, a.. never comes to `from`, which has no a.
        let mut path = Vec::new();
        let (mut port, mut next) = (*to, a);
        while a != b && has[port as usize][next] != NONE {
            let along = has[port as usize][next];
            path.push(along);
            let ends = edges[along as usize];
            port = if ends[0] == port { ends[1] } else { ends[0] };
            next = if next == a { b } else { a };
        }
        for along in &path {
            for port in edges[*along as usize] {
                has[port as usize][colour[*along as usize] as usize] = NONE;
            }
        }
        for along in path {
            let of = &mut colour[along as usize];
            *of = if *of == a as u32 { b } else { a } as u32;
            for port in edges[along as usize] {
                has[port as usize][*of as usize] = along;
            }
        }
        colour[edge] = a as u32;
        for port in [from, to] {
            has[*port as usize][a] = edge as u32;
        }
    }
    colour
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// No NIC twice in a phase, and each message once.
    fn judge(wiring: &Wiring, pcs: usize, messages: &[(u32, u32)], schedule: &Schedule) {
        let rows = wiring.rows(pcs);
        for phase in &schedule.phases {
            let mut nics = BTreeSet::new();
            for sent in phase {
                for (end, pc) in [sent.from, sent.to].into_iter().enumerate() {
                    assert!(rows[pc as usize].contains(&sent.switch), "{sent:?}");
                    assert!(nics.insert((end, pc, sent.switch)), "{sent:?} in {phase:?}");
                }
            }
        }
        let sent = schedule.phases.iter().flatten().map(|sent| (sent.from, sent.to));
        let (mut sent, mut messages) = (sent.collect::<Vec<_>>(), messages.to_vec());
        sent.sort_unstable();
        messages.sort_unstable();
        assert_eq!(sent, messages);
        assert!(schedule.phases.len() >= schedule.bound);
    }

    fn all_to_all(pcs: u32) -> Vec<(u32, u32)> {
        (0..pcs).flat_map(|a| (0..pcs).filter(move |b| *b != a).map(move |b| (a, b))).collect()
    }

    /// The Fano plane: each two of seven PCs share one switch of three, and each has three NICs.
    #[test]
    fn all_to_all_on_a_plane_takes_two_phases() {
        let wiring =
            Wiring::parse("0: 0 1 2\n1: 0 3 4\n2: 0 5 6\n3: 1 3 5\n4: 1 4 6\n5: 2 3 6\n6: 2 4 5");
        let (wiring, messages) = (wiring.unwrap(), all_to_all(7));
        let schedule = Schedule::of(&wiring, 7, &messages).unwrap();
        judge(&wiring, 7, &messages, &schedule);
        assert_eq!((schedule.phases.len(), schedule.bound), (2, 2));
    }

    #[test]
    fn who_share_no_switch_are_named() {
        let wiring = Wiring::parse("0: 0 1\n1: 1 2").unwrap();
        let apart = Schedule::of(&wiring, 3, &[(0, 1), (2, 0)]);
        assert_eq!(apart, Err(Apart { from: 2, to: 0 }));
        assert_eq!(Schedule::of(&wiring, 3, &[]).unwrap().phases.len(), 0);
    }

    /// PCs with these switches, and those of the picked messages whose PCs share one.
    fn case(
        memberships: &[BTreeSet<u32>],
        picks: &[(usize, usize)],
    ) -> (Wiring, usize, Vec<(u32, u32)>) {
        let pcs = memberships.len();
        let rows: Vec<Vec<u32>> =
            memberships.iter().map(|of| of.iter().copied().collect()).collect();
        let share = |a: usize, b: usize| !memberships[a].is_disjoint(&memberships[b]);
        let picks = picks.iter().map(|(a, b)| (a % pcs, b % pcs));
        let messages = picks.filter(|(a, b)| a != b && share(*a, *b));
        let messages = messages.map(|(a, b)| (a as u32, b as u32)).collect();
        (Wiring::from_rows(5, &rows), pcs, messages)
    }

    proptest! {
        #[test]
        fn any_messages_are_sent_once(
            memberships in proptest::collection::vec(proptest::collection::btree_set(0..5_u32, 1..4), 2..12),
            picks in proptest::collection::vec((0..12_usize, 0..12_usize), 0..60),
        ) {
            let (wiring, pcs, messages) = case(&memberships, &picks);
            let schedule = Schedule::of(&wiring, pcs, &messages).unwrap();
            judge(&wiring, pcs, &messages, &schedule);
        }

        /// Of few messages, all ways to choose switches are tried.
        #[test]
        fn of_few_messages_no_schedule_is_shorter(
            memberships in proptest::collection::vec(proptest::collection::btree_set(0..3_u32, 1..4), 2..5),
            picks in proptest::collection::vec((0..4_usize, 0..4_usize), 1..8),
        ) {
            let (wiring, pcs, messages) = case(&memberships, &picks);
            let choices = Choices::of(&wiring, pcs, &messages).unwrap();
            let ways: usize = choices.of.iter().map(Vec::len).product();
            let busiest = |mut way: usize| {
                let mut load = vec![0; choices.ports];
                for choices in &choices.of {
                    for port in choices[way % choices.len()].ports {
                        load[port as usize] += 1;
                    }
                    way /= choices.len();
                }
                load.into_iter().max().unwrap_or_default()
            };
            let least = (0..ways).map(busiest).min().unwrap_or_default();
            let schedule = Schedule::of(&wiring, pcs, &messages).unwrap();
            prop_assert_eq!(schedule.phases.len(), least);
        }
    }
}
