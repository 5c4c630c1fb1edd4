//! Decides whether one path may be used, from its BFD session and its ICMP echoes.
//!
//! A session alone cannot distinguish a dead daemon from a dead path: the peer's kernel forwards
//! without its daemon. So while the session is silent the path is tested with ICMP echo requests,
//! which that kernel answers, and a path over which they are answered stays in use. The reply may
//! come by another path: it proves that our direction works, and that is the direction in which we
//! send. A control packet of the session proves the same where its sender says that it hears us,
//! whichever path it came by.
//!
//! A path that was broken is used again after it has been sound for a while (the hold), which
//! doubles each time that the path soon breaks again.

use std::time::Duration;

/// How long a path must be sound before it is used again, after it broke for the first time.
const HOLD: Duration = Duration::from_secs(2);
/// The longest hold.
const HOLD_MOST: Duration = Duration::from_secs(60);
/// After so many holds without a failure, the next failure counts as the first.
const FORGIVEN: u32 = 10;
/// Interval of the echo requests on a broken path that is not held down, and of the packets of a session that is not up.
const SLOW: Duration = Duration::from_secs(1);
/// How long it counts that the other end said that it hears us: three packets of a session that is
/// not up, and their jitter.
const PROOF: Duration = Duration::from_millis(3500);

/// How long echoes alone are believed after one was answered. An end that no longer hears us may say for three seconds that
/// it does, and what it said last counts for [`PROOF`].
const ECHOED: Duration = Duration::from_secs(10);

/// How long what comes back with the carrier has for saying anything, where nothing was heard before.
const SILENT: Duration = Duration::from_secs(10);

/// How long, in detection times, a peer that has fallen silent on all paths at once may stay so before
/// they are broken.
const UNKNOWN: u32 = 2;

/// The decision on one path.
#[derive(Debug, Clone)]
pub(super) struct Verdict {
    interval: Duration,
    multiplier: u32,
    broken: bool,
    /// Something was heard of it, or should be: only then does its silence mean anything.
    known: bool,
    /// Nothing was ever heard of it, and its interface was lost. Once that is back, and this time has come, it is
    /// used again: the other end may be one that says nothing.
    silent: Option<Duration>,
    up: bool,
    /// The last echo sent and the last answered, since the session was last up.
    asked: Option<Duration>,
    answered: Option<Duration>,
    /// When an echo was answered last, whatever has become of the path since.
    echoed: Option<Duration>,
    /// When the other end said last that it hears us on this path, since the session was last up.
    proven: Option<Duration>,
    /// A path that is probed is broken if nothing is shown of it by then.
    due: Option<Duration>,
    /// Since when all speaks for the path, while it is broken.
    sound: Option<Duration>,
    hold: Duration,
    /// When it was last taken into use after it was broken.
    readmitted: Option<Duration>,
}

impl Verdict {
    /// Of a path that nothing is known of, and which is used.
    pub fn new(interval: Duration, multiplier: u8) -> Self {
        Self {
            interval,
            multiplier: multiplier.into(),
            broken: false,
            known: false,
            silent: None,
            up: false,
            asked: None,
            answered: None,
            echoed: None,
            proven: None,
            due: None,
            sound: None,
            hold: HOLD,
            readmitted: None,
        }
    }

    /// Of a path that was broken when a daemon ended, or another plan had it.
    pub fn broken(interval: Duration, multiplier: u8) -> Self {
        Self { broken: true, known: true, ..Self::new(interval, multiplier) }
    }

    /// Is its session up at both ends?
    pub const fn is_up(&self) -> bool {
        self.up
    }

    /// Not to be used.
    pub fn is_broken(&self) -> bool {
        self.broken
    }

    /// Is it shown to lead there?
    pub fn is_sound(&self, now: Duration) -> bool {
        let shown = || self.due.is_none() && self.lapses().is_some_and(|at| now < at);
        !self.broken && (self.up || shown())
    }

    /// Was anything ever heard of it?
    pub const fn is_known(&self) -> bool {
        self.known
    }

    /// Is it shown to lead there again, but not trusted yet as it was broken?
    pub fn is_held(&self) -> bool {
        self.broken && self.sound.is_some()
    }

    /// It may cross what another path's session has found broken: it is shown to be sound soon, or is
    /// broken too.
    pub fn probe(&mut self, now: Duration) {
        if !self.known {
            (self.known, self.due) = (true, Some(now + self.patience()));
        }
    }

    /// The session is up at both ends.
    pub fn up(&mut self, now: Duration) {
        (self.up, self.known, self.silent) = (true, true, None);
        (self.asked, self.answered, self.proven, self.due) = (None, None, None, None);
        self.sound = self.sound.filter(|_| self.broken).or(Some(now));
    }

    /// The session has ended without a fault of the path: held down, or begun anew by the other end.
    pub fn ended(&mut self) {
        self.up = false;
        self.sound = None;
    }

    /// The same, where the path itself may be at fault: it answers from now on, or is broken.
    pub fn doubted(&mut self, now: Duration) {
        self.ended();
        self.answered = Some(now);
    }

    /// The interface that it begins with is gone or without carrier. What comes back with the carrier is not
    /// trusted at once: switches have it long before they forward, and the cable may lead elsewhere.
    pub fn lost(&mut self, now: Duration) {
        self.ended();
        if !self.known || self.silent.is_some() {
            self.silent = Some(Duration::MAX);
        }
        self.known = true;
        self.fail(now);
    }

    /// The interface is there again: it is asked at once.
    pub fn returned(&mut self, now: Duration) {
        self.asked = None;
        self.silent = self.silent.map(|_| now + SILENT);
    }

    /// The other end says that it hears us on this path; it may have said so by another one. An echo is asked for at
    /// once: where echoes are answered they count alone, as they show more quickly that the path breaks.
    pub fn proven(&mut self, now: Duration) {
        if self.up {
            return;
        }
        self.asked = self.asked.filter(|at| now < *at + self.interval);
        (self.known, self.silent) = (true, None);
        if self.echoed.is_some_and(|at| now < at + ECHOED) {
            return;
        }
        (self.proven, self.due) = (Some(now), None);
        if self.broken {
            self.sound = self.sound.or(Some(now));
        }
    }

    /// Nothing is judged before `until`: this host was kept waiting, and what did not come may be its own
    /// fault.
    pub fn postpone(&mut self, until: Duration) {
        let begin = until.saturating_sub(self.patience());
        self.answered = self.answered.map(|at| at.max(begin));
        self.due = self.due.map(|at| at.max(until));
    }

    /// Nothing was heard of the other end, on this path or any other: it may be slow rather than dead, and
    /// there is nothing better to use. It shows something soon, or the path is broken.
    pub fn unknown(&mut self, now: Duration) {
        self.ended();
        (self.answered, self.proven) = (None, None);
        self.due = Some(now + UNKNOWN * self.patience());
    }

    /// The other end says that it hears nothing of us, or nothing was heard of it; `reported`: it said so.
    pub fn failed(&mut self, reported: bool, now: Duration) {
        self.up = false;
        self.sound = None;
        let recent = |at: Duration| now < at + self.interval * 2;
        if reported || !self.answered.is_some_and(recent) {
            self.fail(now);
        }
    }

    /// An echo was answered.
    pub fn answer(&mut self, now: Duration) {
        if self.asked.is_none() || self.up && self.broken {
            return;
        }
        let gap = self.answered.is_none_or(|at| now > at + 3 * self.pace());
        let proven = self.is_proven(now);
        (self.answered, self.proven, self.due, self.silent) = (Some(now), None, None, None);
        self.echoed = self.answered.filter(|_| !self.up).or(self.echoed);
        if self.broken && (gap && !proven || self.sound.is_none()) {
            self.sound = Some(now);
        }
    }

    /// Is an echo due? `heard`: when the session last heard something, `detection`: how long it may not.
    pub fn asks(&mut self, heard: Duration, detection: Option<Duration>, now: Duration) -> bool {
        let due = self.ask_at(heard, detection).is_some_and(|at| at <= now);
        if due {
            self.asked = Some(now);
        }
        due
    }

    /// What time brings: has the judgement changed?
    pub fn tick(&mut self, now: Duration) -> bool {
        let before = (self.broken, self.is_held());
        if self.silent.is_some_and(|at| at <= now) {
            (self.broken, self.known, self.silent, self.sound) = (false, false, None, None);
        }
        let lapsed = !self.up && self.lapses().is_some_and(|at| at <= now);
        if self.broken && self.sound.is_some_and(|at| at + self.hold <= now) {
            let recent = |at: Duration| now < at + 2 * self.pace();
            if self.up || self.answered.is_some_and(recent) || self.is_proven(now) {
                self.broken = false;
                self.readmitted = Some(now);
                // Echoes come faster from now on, and the next is to be waited for.
                self.answered = self.answered.map(|_| now);
            } else {
                self.sound = None;
            }
        } else if lapsed && self.broken {
            self.sound = None;
        } else if lapsed {
            self.fail(now);
        }
        before != (self.broken, self.is_held())
    }

    /// When [`Self::asks`] or [`Self::tick`] has something to do.
    pub fn deadline(&self, heard: Duration, detection: Option<Duration>) -> Option<Duration> {
        let change_at = match (self.broken, self.up) {
            (true, up) => self.sound.map(|at| {
                let lapses = self.lapses().filter(|_| !up);
                (at + self.hold).min(lapses.unwrap_or(Duration::MAX))
            }),
            (false, true) => None,
            (false, false) => self.lapses(),
        };
        let silent = self.silent.filter(|at| *at < Duration::MAX);
        self.ask_at(heard, detection).into_iter().chain(change_at).chain(silent).min()
    }

    /// While a session is up an echo waits until a packet is late; then there are three before the
    /// detection time has passed.
    fn ask_at(&self, heard: Duration, detection: Option<Duration>) -> Option<Duration> {
        if !self.known {
            return None;
        }
        let paced = self.asked.map(|at| at + self.pace());
        if !self.up {
            return Some(paced.unwrap_or_default());
        }
        let late = heard + detection?.saturating_sub(self.interval * 3 / 2);
        Some(paced.map_or(late, |at| at.max(late)))
    }

    /// Until when it counts what was shown of a path whose session is not up, or is to be shown.
    fn lapses(&self) -> Option<Duration> {
        let patience = if self.broken { 3 * self.pace() } else { self.patience() };
        let answered = self.answered.map(|at| at + patience);
        answered.max(self.proven.map(|at| at + PROOF)).or(self.due)
    }

    fn is_proven(&self, now: Duration) -> bool {
        self.proven.is_some_and(|at| now < at + PROOF)
    }

    fn pace(&self) -> Duration {
        match (self.broken, self.up) {
            // One that is held down may be all there is: that it breaks again is to be noticed as soon.
            (true, _) if self.sound.is_some() => self.interval,
            (true, _) => self.interval.max(SLOW),
            (false, true) => self.interval / 2,
            (false, false) => self.interval,
        }
    }

    fn patience(&self) -> Duration {
        self.interval * self.multiplier.max(2)
    }

    fn fail(&mut self, now: Duration) {
        (self.sound, self.answered, self.proven, self.due) = (None, None, None, None);
        if self.broken {
            return;
        }
        self.broken = true;
        let soon = |at: Duration| now < at + self.hold * FORGIVEN;
        self.hold = match self.readmitted {
            Some(at) if soon(at) => (self.hold * 2).min(HOLD_MOST),
            _ => HOLD,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_millis(100);
    const DETECTION: Option<Duration> = Some(Duration::from_millis(300));

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn up() -> Verdict {
        let mut verdict = Verdict::new(INTERVAL, 3);
        verdict.up(ms(0));
        verdict
    }

    #[test]
    fn silence_of_what_never_spoke_means_nothing() {
        let mut verdict = Verdict::new(INTERVAL, 3);
        assert!(!verdict.asks(ms(0), None, ms(10_000)));
        assert!(!verdict.tick(ms(10_000)) && !verdict.is_broken() && !verdict.is_sound(ms(10_000)));
        assert_eq!(verdict.deadline(ms(0), None), None);
    }

    #[test]
    fn a_path_that_answers_nothing_is_broken_when_the_detection_time_has_passed() {
        let mut verdict = up();
        assert!(!verdict.asks(ms(1000), DETECTION, ms(1149)), "nothing is late yet");
        for at in [1150, 1200, 1250] {
            assert!(verdict.asks(ms(1000), DETECTION, ms(at)), "{at}");
            assert!(!verdict.asks(ms(1000), DETECTION, ms(at)), "{at}");
        }
        verdict.failed(false, ms(1300));
        assert!(verdict.is_broken());
    }

    #[test]
    fn a_daemon_that_ended_leaves_its_paths_in_use_until_they_answer_no_more() {
        let mut verdict = up();
        assert!(verdict.asks(ms(1000), DETECTION, ms(1150)));
        verdict.answer(ms(1151));
        verdict.failed(false, ms(1300));
        assert!(!verdict.is_broken() && verdict.is_sound(ms(1300)));
        for at in [1350, 1450] {
            assert!(verdict.asks(ms(1000), DETECTION, ms(at)), "{at}");
            verdict.answer(ms(at + 1));
            assert!(!verdict.tick(ms(at + 1)));
        }
        assert!(!verdict.tick(ms(1750)));
        assert_eq!(verdict.deadline(ms(1000), DETECTION), Some(ms(1550)), "the next echo");
        assert!(verdict.tick(ms(1751)) && verdict.is_broken());
    }

    #[test]
    fn what_the_other_end_says_needs_no_proof() {
        let mut verdict = up();
        assert!(verdict.asks(ms(1000), DETECTION, ms(1150)));
        verdict.answer(ms(1151));
        verdict.failed(true, ms(1160));
        assert!(verdict.is_broken());
    }

    #[test]
    fn a_path_comes_back_after_a_hold_that_doubles() {
        let mut verdict = up();
        let mut now = ms(0);
        for hold in [2, 4, 8, 16, 32, 60, 60].map(Duration::from_secs) {
            verdict.failed(true, now);
            verdict.up(now);
            assert!(!verdict.tick(now + hold - ms(1)), "{hold:?}");
            assert!(verdict.is_broken());
            now += hold;
            assert_eq!(verdict.deadline(now, None), Some(now));
            assert!(verdict.tick(now) && verdict.is_sound(now));
            now += ms(1);
        }
        now += HOLD_MOST * FORGIVEN;
        verdict.failed(true, now);
        verdict.up(now);
        assert!(verdict.tick(now + HOLD), "forgiven");
    }

    /// Answers take a while, and what is due is looked at on time, as the thread does it.
    #[test]
    fn a_path_without_a_session_comes_back_by_its_echoes() {
        for (interval, rtt) in [(300, 1), (100, 5), (1000, 20), (10, 0)] {
            let mut verdict = Verdict::new(ms(interval), 3);
            verdict.up(ms(0));
            verdict.failed(true, ms(0));
            let (mut now, mut answer, mut last) = (ms(0), None, ms(0));
            while now < ms(10_000) {
                if answer.is_some_and(|at| at <= now) {
                    verdict.answer(now);
                    answer = None;
                }
                verdict.tick(now);
                if verdict.is_broken() {
                    last = now;
                }
                if verdict.asks(ms(0), None, now) {
                    answer = Some(now + ms(rtt));
                }
                now += ms(1);
            }
            assert!(last < ms(2100), "{interval} ms: broken until {last:?}");
        }
    }

    #[test]
    fn the_word_of_the_other_end_counts_like_an_answer_and_lapses() {
        let mut verdict = up();
        verdict.failed(false, ms(1000));
        assert!(verdict.is_broken() && !verdict.is_held());
        for at in [1600, 2500, 3400] {
            verdict.proven(ms(at));
            assert!(verdict.is_held() && !verdict.tick(ms(at)));
        }
        assert_eq!(verdict.deadline(ms(0), None), Some(ms(0)), "an echo is due");
        assert!(verdict.tick(ms(3600)) && verdict.is_sound(ms(3600)));
        verdict.proven(ms(4300));
        assert!(!verdict.tick(ms(7799)) && verdict.tick(ms(7800)) && verdict.is_broken());
        verdict.proven(ms(8000));
        assert!(verdict.is_held() && !verdict.tick(ms(11_499)));
        assert!(verdict.tick(ms(11_500)) && !verdict.is_held(), "nothing more was heard");
    }

    #[test]
    fn a_path_that_is_probed_answers_or_is_broken() {
        for answers in [true, false] {
            let mut verdict = Verdict::new(INTERVAL, 3);
            verdict.probe(ms(1000));
            assert!(!verdict.is_sound(ms(1000)) && verdict.asks(ms(0), None, ms(1000)));
            if answers {
                verdict.answer(ms(1100));
                assert!(verdict.is_sound(ms(1100)));
            }
            verdict.tick(ms(1300));
            assert_eq!((verdict.is_broken(), verdict.is_sound(ms(1300))), (!answers, answers));
        }
    }

    #[test]
    fn a_report_that_nothing_is_heard_outweighs_what_was_said_before() {
        let mut verdict = up();
        verdict.failed(false, ms(1000));
        verdict.proven(ms(1500));
        verdict.failed(true, ms(1600));
        assert!(!verdict.is_held() && !verdict.tick(ms(3600)) && verdict.is_broken());
    }

    #[test]
    fn one_that_answers_no_more_while_it_is_on_trial_is_not_taken_back() {
        let mut verdict = up();
        verdict.failed(true, ms(0));
        assert!(verdict.asks(ms(0), None, ms(0)));
        verdict.answer(ms(1));
        verdict.tick(ms(2001));
        assert!(verdict.is_broken() && !verdict.is_held(), "two answers are missing");
        assert_eq!(verdict.deadline(ms(0), None), Some(ms(1000)), "it is asked on");
    }

    #[test]
    fn what_comes_back_with_the_carrier_is_on_trial() {
        let mut verdict = up();
        verdict.lost(ms(0));
        assert!(verdict.is_broken());
        verdict.up(ms(500));
        assert!(!verdict.tick(ms(2499)) && verdict.tick(ms(2500)));
        let mut new = Verdict::new(INTERVAL, 3);
        new.lost(ms(0));
        assert!(new.is_broken(), "the peer may be another one now");
        assert!(!new.tick(ms(60_000)) && new.is_broken(), "the interface is not back");
        new.returned(ms(60_000));
        assert!(
            !new.tick(ms(69_999)) && new.tick(ms(70_000)) && !new.is_broken(),
            "it says nothing"
        );
        new.lost(ms(80_000));
        new.returned(ms(80_000));
        new.up(ms(81_000));
        assert!(!new.tick(ms(82_999)) && new.tick(ms(83_000)), "it is known now, and was on trial");
        new.lost(ms(90_000));
        new.returned(ms(90_000));
        assert!(!new.tick(ms(200_000)) && new.is_broken());
    }

    #[test]
    fn a_path_in_doubt_answers_or_is_broken() {
        let mut verdict = up();
        verdict.doubted(ms(1000));
        assert!(!verdict.is_broken() && verdict.asks(ms(0), None, ms(1000)));
        assert!(!verdict.tick(ms(1299)) && verdict.tick(ms(1300)) && verdict.is_broken());
    }

    #[test]
    fn a_path_that_fails_again_on_trial_starts_anew() {
        let mut verdict = up();
        verdict.failed(true, ms(0));
        verdict.up(ms(0));
        assert!(verdict.tick(ms(2000)));
        verdict.failed(true, ms(3000));
        assert!(verdict.asks(ms(0), None, ms(4000)));
        verdict.answer(ms(4000));
        verdict.failed(true, ms(5000));
        for at in [6000, 7000, 8000, 9000] {
            assert!(verdict.asks(ms(0), None, ms(at)));
            verdict.answer(ms(at));
            assert!(!verdict.tick(ms(at + 299)));
            assert!(verdict.is_held() && verdict.tick(ms(at + 300)) && !verdict.is_held(), "{at}");
        }
        // While it is held down it is asked as often as one in use.
        for at in (10_000..14_000).step_by(100) {
            assert!(verdict.asks(ms(0), None, ms(at)));
            verdict.answer(ms(at));
            assert!(!verdict.tick(ms(at + 99)));
        }
        assert!(verdict.is_held() && verdict.tick(ms(14_000)));
        assert!(!verdict.is_held() && !verdict.is_broken());
    }
}
