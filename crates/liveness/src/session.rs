//! The state machine and timers of one BFD session, RFC 5880 sections 6.2 to 6.8. The caller passes
//! received packets and the time, and sends the packets that [`Session::poll`] returns.

use std::num::NonZeroU32;
use std::time::Duration;

use thiserror::Error;

use crate::packet::{Diagnostic, Packet, SessionState};

/// The intervals of a BFD session: how often it sends, and after how many missing packets it is
/// down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// The interval asked for in both directions; whole microseconds, 1 us to 4,294 s.
    pub interval: Duration,
    /// Intervals without a packet that are a failure, 1 to 255.
    pub multiplier: u8,
}

/// A change of a BFD session's state, from one state to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// Where it was.
    pub from: SessionState,
    /// Where it is.
    pub to: SessionState,
    /// Why, where it went down.
    pub diagnostic: Diagnostic,
}

/// A BFD control packet to send, and whether it must go over other paths too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// What it says.
    pub packet: Packet,
    /// It tells the end of the session, or that the other end is heard while it may not hear us: to be sent
    /// over the other paths too, as the one that it belongs to may be broken.
    pub everywhere: bool,
}

/// Why a BFD session ignores a received packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Discarded {
    /// For another session.
    #[error("your discriminator is {yours}, and this session's is {mine}")]
    Discriminator {
        /// What the packet says.
        yours: u32,
        /// Ours.
        mine: u32,
    },
    /// Without our discriminator, while the session is up: whoever can send from the other end's address says that.
    #[error("your discriminator is 0, and the session is up")]
    Unproven,
    /// The session is held down.
    #[error("the session is administratively down")]
    AdminDown,
}

/// The local end of one BFD session in the active role: it sends without waiting for the other end.
#[derive(Clone, Debug)]
pub struct Session {
    state: SessionState,
    diagnostic: Diagnostic,
    mine: NonZeroU32,
    timing: Timing,
    /// What we send and expect by now: a slower interval holds for sending only once the other end has
    /// answered the poll, a faster one for expecting (section 6.8.3).
    sending: Duration,
    expecting: Duration,
    remote: Remote,
    /// A poll sequence is under way: until a packet with `final`.
    polling: bool,
    /// When the next packet is due, and whether the other end wants any.
    next: Duration,
    /// End of the detection time: silence until then is a failure. `None` before the first packet.
    detection_deadline: Option<Duration>,
    /// Packets that do not wait for their time.
    at_once: u8,
    /// They tell the end of a session that was up.
    ending: bool,
    answer: bool,
    /// A session that ended does not begin anew before this time.
    restart_at: Duration,
    /// How long it stays down when it ends next, and since when it is up.
    restart_delay: Duration,
    up_since: Duration,
    /// The other end's discriminator goes with the last packet at once, which it still finds its session by.
    forget: bool,
    changes: Vec<Change>,
    jitter_seed: u64,
}

/// What the other end said last.
#[derive(Clone, Copy, Debug)]
struct Remote {
    discriminator: u32,
    state: SessionState,
    demand: bool,
    multiplier: u8,
    desired_transmit: Duration,
    required_receive: Duration,
}

impl Remote {
    /// As section 6.8.1 begins.
    const UNHEARD: Self = Self {
        discriminator: 0,
        state: SessionState::Down,
        demand: false,
        multiplier: 0,
        desired_transmit: Duration::ZERO,
        required_receive: Duration::from_micros(1),
    };
}

impl Session {
    /// A session that is down, and sends its first packet within a second after `now`. `jitter_seed` seeds the
    /// jitter.
    #[must_use]
    pub fn new(mine: NonZeroU32, timing: Timing, jitter_seed: u64, now: Duration) -> Self {
        let mut session = Self {
            state: SessionState::Down,
            diagnostic: Diagnostic::NONE,
            mine,
            timing,
            sending: timing.interval.max(SLOW),
            expecting: timing.interval,
            remote: Remote::UNHEARD,
            polling: false,
            next: now,
            detection_deadline: None,
            at_once: 0,
            ending: false,
            answer: false,
            restart_at: Duration::ZERO,
            restart_delay: RESTART_DELAY,
            up_since: Duration::ZERO,
            forget: false,
            changes: Vec::new(),
            jitter_seed,
        };
        session.next = now + SLOW.mul_f64(session.fraction());
        session
    }

    /// Where it is.
    #[must_use]
    pub fn state(&self) -> SessionState {
        self.state
    }

    /// Why it changed last.
    #[must_use]
    pub fn diagnostic(&self) -> Diagnostic {
        self.diagnostic
    }

    /// Its own discriminator, by which its packets are found.
    #[must_use]
    pub fn discriminator(&self) -> NonZeroU32 {
        self.mine
    }

    /// The other end's discriminator, 0 while none was heard. A peer that was started anew has another one.
    #[must_use]
    pub const fn peer_discriminator(&self) -> u32 {
        self.remote.discriminator
    }

    /// How long nothing may be heard, section 6.8.4; none before the first packet.
    #[must_use]
    pub fn detection_time(&self) -> Option<Duration> {
        let interval = self.expecting.max(self.remote.desired_transmit);
        (self.remote.multiplier != 0).then(|| interval * u32::from(self.remote.multiplier))
    }

    /// The interval of its packets before jitter; none while the other end wants none.
    #[must_use]
    pub fn transmit_interval(&self) -> Option<Duration> {
        let silent = self.is_remote_on_demand() && !self.polling;
        let wanted = !self.remote.required_receive.is_zero() && !silent;
        wanted.then(|| self.sending.max(self.remote.required_receive))
    }

    /// When [`Self::poll`] has something to do next, zero where it has now; none: not before another call.
    #[must_use]
    pub fn deadline(&self) -> Option<Duration> {
        if self.answer || self.at_once > 0 {
            return Some(Duration::ZERO);
        }
        let next = self.transmit_interval().map(|_| self.next);
        next.into_iter().chain(self.detection_deadline).min()
    }

    /// The changes since the last call, in order.
    pub fn take_changes(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.changes)
    }

    /// Another interval or multiplier, announced by a poll sequence where the session is up.
    pub fn retime(&mut self, timing: Timing, now: Duration) {
        if timing == self.timing {
            return;
        }
        self.timing = timing;
        self.polling = self.state == SessionState::Up;
        self.at_once = self.at_once.max(1);
        self.settle(false, now);
    }

    /// Held down by its operator, or let go. The other end is told.
    pub fn hold(&mut self, down: bool, now: Duration) {
        match (down, self.state) {
            (true, SessionState::AdminDown) => {}
            (true, _) => self.enter(SessionState::AdminDown, Diagnostic::ADMIN_DOWN, now),
            (false, SessionState::AdminDown) => {
                self.remote = Remote::UNHEARD;
                self.detection_deadline = None;
                self.enter(SessionState::Down, Diagnostic::NONE, now);
            }
            (false, _) => {}
        }
    }

    /// The path is known to be broken by other means (carrier): as if the detection time had passed.
    pub fn expire(&mut self, now: Duration) {
        self.detection_deadline = None;
        if matches!(self.state, SessionState::Init | SessionState::Up) {
            self.enter(SessionState::Down, Diagnostic::TIME_EXPIRED, now);
        }
        self.remote.demand = false;
        self.forget = self.at_once > 0;
        if !self.forget {
            self.remote.discriminator = 0;
        }
    }

    /// Nothing is judged before `until`: silence until then is no failure.
    pub fn postpone(&mut self, until: Duration) {
        self.detection_deadline = self.detection_deadline.map(|at| at.max(until));
    }

    /// A packet for this session, as section 6.8.6 says, with one exception: while the session is up, a packet without our
    /// discriminator is ignored, because anybody who can send from the other end's address can send one. An end that
    /// was started anew sends such packets too; it is heard once the detection time has passed.
    ///
    /// # Errors
    /// The packet is for another session, or ignored as said, or the session is held down; nothing has changed.
    pub fn receive(&mut self, packet: &Packet, now: Duration) -> Result<(), Discarded> {
        let mine = self.mine.get();
        if packet.yours != 0 && packet.yours != mine {
            return Err(Discarded::Discriminator { yours: packet.yours, mine });
        }
        if self.state == SessionState::AdminDown {
            return Err(Discarded::AdminDown);
        }
        if packet.yours == 0 && self.state == SessionState::Up {
            return Err(Discarded::Unproven);
        }
        let interval_before = self.transmit_interval();
        self.forget = false;
        self.remote = Remote {
            discriminator: packet.mine,
            state: packet.state,
            demand: packet.demand,
            multiplier: packet.multiplier,
            desired_transmit: Duration::from_micros(packet.desired_transmit_us.into()),
            required_receive: Duration::from_micros(packet.required_receive_us.into()),
        };
        if packet.r#final && self.polling {
            self.polling = false;
            self.settle(true, now);
        }
        self.step(now);
        if packet.poll {
            self.answer = true;
        }
        // An interval that the other end has shortened holds for the next packet already.
        if let Some(interval) = self.transmit_interval()
            && interval_before.is_none_or(|before| interval < before)
        {
            self.next = self.next.min(now + self.jittered(interval));
        }
        self.detection_deadline = self.detection_time().map(|time| now + time);
        Ok(())
    }

    /// What the time brings: the next packet to send by `now`. To be called until there is none.
    pub fn poll(&mut self, now: Duration) -> Option<Outgoing> {
        if self.detection_deadline.is_some_and(|at| at <= now) {
            self.expire(now);
        }
        if self.answer {
            self.answer = false;
            return Some(Outgoing { packet: self.packet(true), everywhere: false });
        }
        let interval = self.transmit_interval();
        let at_once = self.at_once > 0;
        if !at_once && (interval.is_none() || now < self.next) {
            return None;
        }
        self.at_once = self.at_once.saturating_sub(1);
        self.next = now + self.jittered(interval.unwrap_or(SLOW));
        let everywhere = at_once && self.ending || self.state == SessionState::Init;
        let packet = self.packet(false);
        if self.at_once == 0 {
            self.ending = false;
            if std::mem::take(&mut self.forget) {
                self.remote.discriminator = 0;
            }
        }
        Some(Outgoing { packet, everywhere })
    }

    /// What the other end's state does to ours: the diagram of section 6.2.
    fn step(&mut self, now: Duration) {
        use SessionState::{AdminDown, Down, Init, Up};
        let next = match (self.state, self.remote.state) {
            (Init | Up, AdminDown) | (Up, Down) => Down,
            (Down, _) if now < self.restart_at => return,
            (Down, Down) => Init,
            (Down | Init, Init) | (Init, Up) => Up,
            _ => return,
        };
        let why = if next == Down { Diagnostic::NEIGHBOR_DOWN } else { Diagnostic::NONE };
        self.enter(next, why, now);
    }

    /// Takes another state, and says so: three times where a session was up and ends, as a packet may be
    /// lost on the way, else once.
    fn enter(&mut self, to: SessionState, why: Diagnostic, now: Duration) {
        let from = self.state;
        self.changes.push(Change { from, to, diagnostic: why });
        self.state = to;
        self.diagnostic = why;
        let ends = from == SessionState::Up;
        if ends {
            // One that goes up and down again and again would say so more often than it says anything else.
            let lasting = self.up_since + LASTING * self.detection_time().unwrap_or_default();
            self.restart_delay = match lasting <= now {
                true => RESTART_DELAY,
                false => (self.restart_delay * 2).min(RESTART_DELAY_MOST),
            };
            self.restart_at = now + self.restart_delay;
        } else if to == SessionState::Up {
            self.up_since = now;
        }
        self.ending = ends;
        self.at_once = if ends { END_PACKETS } else { 1 };
        // From 1 s to the interval asked for, by a poll sequence (section 6.8.3).
        self.polling = to == SessionState::Up && self.timing.interval < SLOW;
        self.settle(to != SessionState::Up, now);
    }

    /// Which intervals hold. Where `agreed`, those asked for; else sending does not become slower nor
    /// expecting faster than they are.
    fn settle(&mut self, agreed: bool, now: Duration) {
        let up = self.state == SessionState::Up;
        let sending = if up { self.timing.interval } else { self.timing.interval.max(SLOW) };
        let wait = up && self.polling && !agreed;
        self.sending = if wait { self.sending.min(sending) } else { sending };
        let expecting = self.timing.interval;
        self.expecting = if wait { self.expecting.max(expecting) } else { expecting };
        if let Some(interval) = self.transmit_interval() {
            self.next = self.next.min(now + self.jittered(interval));
        }
    }

    fn is_remote_on_demand(&self) -> bool {
        self.remote.demand
            && self.state == SessionState::Up
            && self.remote.state == SessionState::Up
    }

    fn packet(&self, r#final: bool) -> Packet {
        let micros = |time: Duration| u32::try_from(time.as_micros()).unwrap_or(u32::MAX);
        let desired = match self.state {
            SessionState::Up => self.timing.interval,
            _ => self.timing.interval.max(SLOW),
        };
        Packet {
            diagnostic: self.diagnostic,
            state: self.state,
            poll: self.polling && !r#final,
            r#final,
            independent: false,
            demand: false,
            multiplier: self.timing.multiplier,
            mine: self.mine.get(),
            yours: self.remote.discriminator,
            desired_transmit_us: micros(desired),
            required_receive_us: micros(self.timing.interval),
            required_echo_us: 0,
        }
    }

    /// An interval less its jitter, section 6.8.7: 75 to 100 %, and to 90 % where one lost packet is a
    /// failure.
    fn jittered(&mut self, interval: Duration) -> Duration {
        let most = if self.timing.multiplier == 1 { 0.15 } else { 0.25 };
        interval.mul_f64(0.75 + most * self.fraction())
    }

    /// Returns the next random number from 0 to 1 (splitmix64).
    fn fraction(&mut self) -> f64 {
        self.jitter_seed = self.jitter_seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed =
            (self.jitter_seed ^ (self.jitter_seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// The least interval of a session that is not up: section 6.8.3.
const SLOW: Duration = Duration::from_secs(1);

/// How long a session that was up stays down. Of the packets that say its end some are still on their way
/// when it could be up again: two ends that began anew at once would end each other for ever, as fast as they
/// can send.
const RESTART_DELAY: Duration = Duration::from_millis(500);

/// The longest time that a session which goes up and down again and again stays down.
const RESTART_DELAY_MOST: Duration = Duration::from_secs(8);

/// A session that was up for so many detection times was no passing one.
const LASTING: u32 = 10;

/// How often the end of a session is said at once.
const END_PACKETS: u8 = 3;

#[cfg(test)]
mod tests;
