use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;

const TIMING: Timing = Timing { interval: Duration::from_millis(10), multiplier: 3 };

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn session(mine: u32) -> Session {
    Session::new(NonZeroU32::new(mine).unwrap(), TIMING, mine.into(), Duration::ZERO)
}

fn packet(state: SessionState, yours: u32) -> Packet {
    Packet {
        diagnostic: Diagnostic::NONE,
        state,
        poll: false,
        r#final: false,
        independent: false,
        demand: false,
        multiplier: 3,
        mine: 77,
        yours,
        desired_transmit_us: 10_000,
        required_receive_us: 10_000,
        required_echo_us: 0,
    }
}

/// A session brought to a state by what it hears.
fn at(state: SessionState) -> Session {
    let mut session = session(5);
    let heard: &[SessionState] = match state {
        SessionState::AdminDown => {
            session.hold(true, ms(0));
            &[]
        }
        SessionState::Down => &[],
        SessionState::Init => &[SessionState::Down],
        SessionState::Up => &[SessionState::Down, SessionState::Init],
    };
    for state in heard {
        session.receive(&packet(*state, 5), ms(0)).unwrap();
    }
    while session.poll(ms(0)).is_some() {}
    session.take_changes();
    assert_eq!(session.state(), state);
    session
}

/// The whole diagram of section 6.2 with 6.8.6: every state, everything that may be heard.
#[test]
fn every_state_hears_every_state() {
    use SessionState::{AdminDown, Down, Init, Up};
    let table =
        [(Down, [Down, Init, Up, Down]), (Init, [Down, Init, Up, Up]), (Up, [Down, Down, Up, Up])];
    for (state, results) in table {
        for (heard, result) in SessionState::ALL.into_iter().zip(results) {
            let mut session = at(state);
            session.receive(&packet(heard, 5), ms(1)).unwrap();
            assert_eq!(session.state(), result, "{state} hears {heard}");
            let fell = result == Down && state != Down;
            let why = if fell { Diagnostic::NEIGHBOR_DOWN } else { Diagnostic::NONE };
            assert_eq!(session.diagnostic(), why, "{state} hears {heard}");
            let changes = session.take_changes();
            assert_eq!(changes.len(), usize::from(result != state));
        }
    }
    for heard in SessionState::ALL {
        let mut session = at(AdminDown);
        assert_eq!(session.receive(&packet(heard, 5), ms(1)), Err(Discarded::AdminDown));
        assert_eq!(session.state(), AdminDown);
    }
}

#[test]
fn a_packet_for_another_session_changes_nothing() {
    let mut session = at(SessionState::Up);
    let error = session.receive(&packet(SessionState::Down, 6), ms(1)).unwrap_err();
    assert_eq!(error, Discarded::Discriminator { yours: 6, mine: 5 });
    assert_eq!(session.state(), SessionState::Up);
}

/// Who can send from the other end's address need not know our number.
#[test]
fn a_packet_without_our_number_changes_nothing_while_the_session_is_up() {
    for said in SessionState::ALL {
        let mut session = at(SessionState::Up);
        let before = session.clone();
        let forged = Packet { mine: 99, diagnostic: Diagnostic::TIME_EXPIRED, ..packet(said, 0) };
        assert_eq!(session.receive(&forged, ms(20)), Err(Discarded::Unproven));
        assert_eq!(session.peer_discriminator(), before.peer_discriminator());
        assert_eq!((session.state(), session.deadline()), (before.state(), before.deadline()));
        // An end that was started anew says nothing else, and is heard after the detection time.
        while session.poll(ms(30)).is_some() {}
        assert_eq!(session.state(), SessionState::Down);
        let _ = session.receive(&packet(SessionState::Down, 0), ms(60));
        assert_eq!(session.peer_discriminator(), 77);
    }
}

#[test]
fn silence_is_told_three_times_everywhere_with_their_discriminator() {
    let mut session = at(SessionState::Up);
    assert_eq!(session.detection_time(), Some(ms(30)));
    while session.poll(ms(29)).is_some() {}
    assert_eq!(session.state(), SessionState::Up);
    let sent: Vec<_> = std::iter::from_fn(|| session.poll(ms(30))).collect();
    assert_eq!(sent.len(), 3);
    for sent in sent {
        assert!(sent.everywhere);
        assert_eq!((sent.packet.state, sent.packet.yours), (SessionState::Down, 77));
        assert_eq!(sent.packet.diagnostic, Diagnostic::TIME_EXPIRED);
        assert_eq!(sent.packet.desired_transmit_us, 1_000_000, "slow while not up");
    }
    let next = session.deadline().unwrap();
    assert!((ms(30 + 750)..=ms(30 + 1000)).contains(&next), "{next:?}");
    let sent = session.poll(next).unwrap();
    assert_eq!((sent.everywhere, sent.packet.yours), (false, 0), "section 6.8.1");
}

#[test]
fn a_poll_is_answered_at_once_and_alone_has_final() {
    let mut session = at(SessionState::Up);
    session.receive(&Packet { poll: true, ..packet(SessionState::Up, 5) }, ms(1)).unwrap();
    assert_eq!(session.deadline(), Some(Duration::ZERO));
    let sent = session.poll(ms(1)).unwrap().packet;
    assert!(sent.r#final && !sent.poll);
    assert!(session.poll(ms(1)).is_none());
}

#[test]
fn a_change_of_interval_waits_for_the_answer_where_the_other_end_would_be_surprised() {
    let up = || {
        let mut session = at(SessionState::Up);
        session.receive(&Packet { r#final: true, ..packet(SessionState::Up, 5) }, ms(1)).unwrap();
        session
    };
    let mut slower = up();
    slower.retime(Timing { interval: ms(50), multiplier: 3 }, ms(2));
    assert_eq!(slower.transmit_interval(), Some(ms(10)), "they still expect 10 ms");
    assert_eq!(slower.detection_time(), Some(ms(150)));
    let sent = slower.poll(ms(2)).unwrap().packet;
    assert!(sent.poll && sent.desired_transmit_us == 50_000);
    slower.receive(&Packet { r#final: true, ..packet(SessionState::Up, 5) }, ms(3)).unwrap();
    assert_eq!(slower.transmit_interval(), Some(ms(50)));

    let mut faster = up();
    faster.retime(Timing { interval: ms(5), multiplier: 3 }, ms(2));
    let quick = Packet {
        required_receive_us: 5_000,
        desired_transmit_us: 5_000,
        ..packet(SessionState::Up, 5)
    };
    faster.receive(&quick, ms(3)).unwrap();
    assert_eq!(faster.transmit_interval(), Some(ms(5)));
    assert_eq!(faster.detection_time(), Some(ms(30)), "they still send every 10 ms");
    faster.receive(&Packet { r#final: true, ..quick }, ms(4)).unwrap();
    assert_eq!(faster.detection_time(), Some(ms(15)));
}

#[test]
fn nothing_is_sent_to_who_wants_nothing() {
    let mut session = at(SessionState::Up);
    session.receive(&Packet { r#final: true, ..packet(SessionState::Up, 5) }, ms(1)).unwrap();
    while session.poll(ms(1)).is_some() {}
    let demand = Packet { demand: true, ..packet(SessionState::Up, 5) };
    session.receive(&demand, ms(2)).unwrap();
    assert_eq!(session.transmit_interval(), None, "section 6.8.7, demand");
    session
        .receive(&Packet { required_receive_us: 0, ..packet(SessionState::Up, 5) }, ms(3))
        .unwrap();
    assert_eq!(session.transmit_interval(), None, "section 6.8.7, no interval");
    assert!(session.poll(ms(20)).is_none());
    assert_eq!(session.state(), SessionState::Up);
}

#[test]
fn a_session_held_down_says_so_and_comes_back() {
    let mut pair = Pair::new();
    pair.run(ms(5_000), |_| [true, true]);
    assert_eq!(pair.states(), [SessionState::Up, SessionState::Up]);
    pair.ends[0].hold(true, pair.now);
    pair.run(ms(100), |_| [true, true]);
    assert_eq!(pair.states(), [SessionState::AdminDown, SessionState::Down]);
    assert_eq!(pair.ends[1].diagnostic(), Diagnostic::NEIGHBOR_DOWN);
    pair.ends[0].hold(false, pair.now);
    pair.run(ms(5_000), |_| [true, true]);
    assert_eq!(pair.states(), [SessionState::Up, SessionState::Up]);
}

/// Two ends and the two directions between them, by virtual time.
struct Pair {
    ends: [Session; 2],
    /// To each end: when, what.
    way: [VecDeque<(Duration, Packet)>; 2],
    now: Duration,
    sent: [Vec<Duration>; 2],
}

const DELAY: Duration = Duration::from_micros(200);
/// Of the other path, by which the end of a session goes too.
const DELAY_OTHER: Duration = Duration::from_micros(700);

impl Pair {
    fn new() -> Self {
        Self {
            ends: [session(1), session(2)],
            way: Default::default(),
            now: Duration::ZERO,
            sent: Default::default(),
        }
    }

    fn states(&self) -> [SessionState; 2] {
        [self.ends[0].state(), self.ends[1].state()]
    }

    fn send(&mut self, end: usize, passes: &impl Fn(Duration) -> [bool; 2]) {
        while let Some(out) = self.ends[end].poll(self.now) {
            self.sent[end].push(self.now);
            if passes(self.now)[1 - end] {
                let way = &mut self.way[1 - end];
                way.push_back((self.now + DELAY, out.packet));
                if out.everywhere {
                    way.push_back((self.now + DELAY_OTHER, out.packet));
                }
                way.make_contiguous().sort_by_key(|(at, _)| *at);
            }
        }
    }

    /// For so long; `passes` says at each moment which direction lets packets through, to end 0 and to 1.
    fn run(&mut self, time: Duration, passes: impl Fn(Duration) -> [bool; 2]) {
        let until = self.now + time;
        loop {
            for end in 0..2 {
                while let Some((at, packet)) = self.way[end].front().copied() {
                    if at > self.now {
                        break;
                    }
                    self.way[end].pop_front();
                    let read = Packet::parse(&packet.emit()).unwrap();
                    let _ = self.ends[end].receive(&read, self.now);
                    self.send(end, &passes);
                }
                self.send(end, &passes);
            }
            let arrivals = self.way.iter().filter_map(|way| way.front().map(|(at, _)| *at));
            let timers = self.ends.iter().filter_map(Session::deadline);
            let next = arrivals.chain(timers).min().unwrap_or(until).max(self.now);
            if next > until {
                self.now = until;
                return;
            }
            self.now = next;
        }
    }
}

#[test]
fn two_ends_come_up_and_find_a_dead_path_in_time() {
    let mut pair = Pair::new();
    pair.run(ms(3_000), |_| [true, true]);
    assert_eq!(pair.states(), [SessionState::Up, SessionState::Up]);
    pair.run(ms(1_000), |_| [true, true]);
    let per_second = pair.sent[0].iter().filter(|at| **at > ms(3_000)).count();
    assert!(
        (100..=134).contains(&per_second),
        "{per_second} packets in a second of 10 ms intervals"
    );
    let dead = pair.now;
    pair.run(TIMING.interval * 3, |_| [false, false]);
    pair.run(DELAY, |_| [false, false]);
    assert_eq!(
        pair.states(),
        [SessionState::Down, SessionState::Down],
        "{:?} after {dead:?}",
        pair.now
    );
    pair.run(ms(5_000), |_| [true, true]);
    assert_eq!(pair.states(), [SessionState::Up, SessionState::Up], "and comes back");
}

/// What says the end of a session comes late by the other path, when its ends may have begun anew.
#[test]
fn the_end_of_a_session_makes_no_storm() {
    let mut pair = Pair::new();
    pair.run(ms(3_000), |_| [true, true]);
    let before: usize = pair.sent.iter().map(Vec::len).sum();
    pair.ends[0].expire(pair.now);
    pair.ends[1].expire(pair.now);
    pair.run(ms(1_600), |_| [true, true]);
    let sent = pair.sent.iter().map(Vec::len).sum::<usize>() - before;
    assert!(sent <= 2 * 214 + 16, "{sent} packets in 1.6 s");
    assert_eq!(pair.states(), [SessionState::Up, SessionState::Up]);
}

/// Who hears nothing tells the other, and both leave the path within one detection time and the way.
#[test]
fn a_one_way_fault_takes_both_ends_down() {
    let mut pair = Pair::new();
    pair.run(ms(3_000), |_| [true, true]);
    pair.run(TIMING.interval * 3 + DELAY * 2, |_| [false, true]);
    let fell = |diagnostic| Change { from: SessionState::Up, to: SessionState::Down, diagnostic };
    assert!(pair.ends[0].take_changes().contains(&fell(Diagnostic::TIME_EXPIRED)));
    // The next packet from an end that is down begins a new session: Init, and never Up.
    assert!(pair.ends[1].take_changes().contains(&fell(Diagnostic::NEIGHBOR_DOWN)));
    pair.run(ms(10_000), |_| [false, true]);
    let changes = pair.ends.each_mut().map(Session::take_changes);
    assert!(changes.iter().flatten().all(|change| change.to != SessionState::Up), "{changes:?}");
}

proptest! {
    /// Whatever is lost: both ends are up again three seconds after the loss ends, nobody is up who has
    /// heard nothing for the detection time, and packets are three quarters of an interval apart but for
    /// those at once.
    #[test]
    fn losses_of_any_pattern_are_outlived(pattern in proptest::collection::vec(any::<[bool; 2]>(), 1..60)) {
        let mut pair = Pair::new();
        for passes in &pattern {
            pair.run(ms(20), |_| *passes);
            for end in 0..2 {
                let session = &pair.ends[end];
                if session.state() == SessionState::Up {
                    prop_assert!(session.detection_deadline.is_some_and(|at| at >= pair.now));
                }
            }
        }
        pair.run(ms(4_000), |_| [true, true]);
        prop_assert_eq!(pair.states(), [SessionState::Up, SessionState::Up]);
        let quiet = pair.now;
        pair.run(ms(500), |_| [true, true]);
        for sent in &pair.sent {
            let regular: Vec<_> = sent.iter().filter(|at| **at > quiet).collect();
            for pair in regular.windows(2) {
                prop_assert!(*pair[1] - *pair[0] >= Duration::from_micros(7_500));
            }
        }
    }

    /// Packets of any content in any order: no panic, and no state that the diagram does not allow.
    #[test]
    fn anything_may_be_heard(heard in proptest::collection::vec((any::<[u8; 24]>(), 0u64..400), 1..80)) {
        let mut session = session(5);
        let mut now = Duration::ZERO;
        for (bytes, pause) in heard {
            now += ms(pause);
            let mut bytes = bytes;
            bytes[0] = 0x20 | bytes[0] & 0x1f;
            bytes[3] = 24;
            bytes[1] &= !5;
            if bytes[8] & 1 == 0 {
                bytes[8..12].copy_from_slice(&5u32.to_be_bytes());
            }
            if let Ok(packet) = Packet::parse(&bytes) {
                let _ = session.receive(&packet, now);
            }
            let mut sent = 0;
            while session.poll(now).is_some() {
                sent += 1;
                prop_assert!(sent <= 6, "a burst without end");
            }
            for change in session.take_changes() {
                prop_assert_ne!(change.from, change.to);
            }
        }
    }
}
