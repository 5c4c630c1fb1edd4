//! The members of a ring, and who sends to whom.

use std::io::{BufReader, IsTerminal as _, Read as _};
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use tresse_fabric::plan::Plan;
use tresse_ring::order::Ring;
use tresse_ring::talk::{Ask, Join, Next, Tell, hear, say};

use crate::fail::{Code, Failure};
use crate::fleet::FleetArgs;

/// A member that tells nothing for so long is gone: one that lives tells every five seconds what it has.
const SILENT: Duration = Duration::from_secs(60);
/// How often that is looked at.
const LOOK: Duration = Duration::from_secs(1);

/// What became of a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It has the file.
    Done { octets: u64, hash: String },
    /// It has nothing.
    Failed { words: String },
}

struct Member {
    child: Child,
    asks: Option<ChildStdin>,
    address: IpAddr,
    port: Option<u16>,
    /// How often it was told whom to send to, and who that is.
    told: u32,
    next: Option<usize>,
    outcome: Option<Outcome>,
    /// When it told something last.
    heard: Instant,
    /// The process is there, and nobody has lost it.
    lives: bool,
    bar: ProgressBar,
}

enum Event {
    Told(Tell),
    /// Its process has ended: the last words.
    Gone(String),
}

/// All of them, in the order of the ring; the first one has the file.
pub struct Members {
    members: Vec<Member>,
    events: Receiver<(usize, Event)>,
}

impl Members {
    /// Starts them and waits until they are ready; those that cannot are left out, but for the source.
    pub fn start(
        plan: &Plan,
        ring: &Ring,
        fleet: &FleetArgs,
        source: &Path,
        target: &Path,
        keep: bool,
    ) -> Result<Self, Failure> {
        let token = token()?;
        let bars = MultiProgress::new();
        let (send, events) = channel();
        let mut members = Vec::new();
        for (at, node) in ring.nodes().iter().enumerate() {
            let name = &plan.cluster().node(*node).name;
            let address = plan.addresses().node[node.index()].first().copied();
            let address = address.ok_or_else(|| {
                Failure::new(Code::Fault, format!("{name} has no address of its own"))
            })?;
            let mut command = fleet.command(name, "ring-member")?;
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let mut child = command.spawn().map_err(|e| {
                let program = command.get_program().to_string_lossy().into_owned();
                Failure::new(Code::Fault, format!("{name}: {program}: {e}"))
            })?;
            listen(&mut child, at, send.clone());
            let own = target.to_string_lossy().replace("{node}", name);
            let (file, source) = if at == 0 { (source.into(), true) } else { (own.into(), false) };
            let token = token.clone();
            let mut asks = child.stdin.take();
            if let Some(asks) = &mut asks {
                // One that is gone is told of by its end.
                let _ = say(asks, &Ask::Join(Join { token, address, file, source, keep }));
            }
            let bar = bar(&bars, name);
            let (port, told, next, outcome) = (None, 0, None, None);
            let (heard, lives) = (Instant::now(), true);
            let member =
                Member { child, asks, address, port, told, next, outcome, heard, lives, bar };
            members.push(member);
        }
        let mut members = Self { members, events };
        members.wait_until_ready()?;
        Ok(members)
    }

    fn wait_until_ready(&mut self) -> Result<(), Failure> {
        while self.members.iter().any(|member| member.lives && member.port.is_none()) {
            self.attend("it does not answer");
        }
        match &self.members[0].outcome {
            Some(Outcome::Failed { words }) => Err(Failure::new(Code::Fault, words.clone())),
            _ => Ok(()),
        }
    }

    /// Lets them copy, until each has the file or has failed.
    pub fn finish(&mut self, quiet: bool) -> Vec<Outcome> {
        if quiet || !std::io::stderr().is_terminal() {
            for member in &self.members {
                member.bar.set_draw_target(indicatif::ProgressDrawTarget::hidden());
            }
        }
        for at in 0..self.members.len() {
            self.link(at);
        }
        while self.members.iter().any(|member| member.outcome.is_none()) {
            self.attend("it tells nothing any more");
        }
        for member in &mut self.members {
            if let Some(asks) = &mut member.asks {
                let _ = say(asks, &Ask::Quit);
            }
            member.asks = None;
            member.bar.finish_and_clear();
        }
        for member in &mut self.members {
            let _ = member.child.wait();
        }
        self.members.iter().filter_map(|member| member.outcome.clone()).collect()
    }

    /// Waits for what they tell, and leaves out who does not; in words, why.
    fn attend(&mut self, silent: &str) {
        if let Ok((at, event)) = self.events.recv_timeout(LOOK) {
            self.happens(at, event);
        }
        let late = |member: &Member| member.lives && member.heard.elapsed() > SILENT;
        if let Some(late) = self.members.iter().position(late) {
            self.fail(late, silent);
        }
    }

    fn happens(&mut self, at: usize, event: Event) {
        let member = &mut self.members[at];
        member.heard = Instant::now();
        match event {
            Event::Told(Tell::Listens { port }) => member.port = Some(port),
            Event::Told(Tell::Has { octets, of }) => {
                member.bar.set_length(of);
                member.bar.set_position(octets);
            }
            Event::Told(Tell::Done { octets, hash }) => {
                member.bar.finish_and_clear();
                member.outcome.get_or_insert(Outcome::Done { octets, hash });
            }
            Event::Told(Tell::Sent { .. }) => {}
            Event::Told(Tell::Lost { number, words }) if number == member.told => {
                if let Some(next) = member.next {
                    match self.members[next].outcome {
                        // It has the file: what it did not say any more does not matter.
                        Some(Outcome::Done { .. }) => {}
                        _ => self.fail(next, &format!("it is lost on its way: {words}")),
                    }
                }
            }
            Event::Told(Tell::Lost { .. }) => {}
            Event::Told(Tell::Failed { words }) => self.fail(at, &words),
            Event::Gone(words) => self.fail(at, &words),
        }
    }

    /// Leaves a member out: the one before it sends to the one behind it.
    fn fail(&mut self, at: usize, words: &str) {
        let member = &mut self.members[at];
        if !member.lives {
            return;
        }
        member.lives = false;
        member.outcome.get_or_insert(Outcome::Failed { words: words.to_owned() });
        // The end of what it hears has it remove what is not whole.
        member.asks = None;
        member.bar.finish_and_clear();
        if at == 0 {
            // Those behind one that has all may get it from there.
            for other in 1..self.members.len() {
                match &self.members[other] {
                    Member { lives: true, outcome: Some(_), .. } => break,
                    _ => self.fail(other, "the source is gone"),
                }
            }
        }
        let before = (0..self.members.len())
            .find(|m| self.members[*m].lives && self.members[*m].next == Some(at));
        if let Some(before) = before {
            self.link(before);
        }
    }

    /// Tells a member whom it sends to: the next one that lives, unless that has the file already.
    fn link(&mut self, at: usize) {
        if !self.members[at].lives {
            return;
        }
        let next = (at + 1..self.members.len()).find(|m| self.members[*m].lives);
        let next = next.filter(|m| self.members[*m].outcome.is_none());
        let address = next.and_then(|m| {
            let next = &self.members[m];
            Some(SocketAddr::from((next.address, next.port?)))
        });
        let member = &mut self.members[at];
        member.told += 1;
        member.next = next;
        let number = member.told;
        if let Some(asks) = &mut member.asks {
            let _ = say(asks, &Ask::Next(address.map(|address| Next { number, address })));
        }
    }
}

/// Passes on what a member tells, and its end.
fn listen(child: &mut Child, at: usize, send: Sender<(usize, Event)>) {
    let (told, mut said) = (child.stdout.take(), child.stderr.take());
    std::thread::spawn(move || {
        let mut words = String::new();
        if let Some(told) = told {
            let mut told = BufReader::new(told);
            loop {
                match hear(&mut told) {
                    Ok(Some(tell)) => {
                        if send.send((at, Event::Told(tell))).is_err() {
                            return;
                        }
                    }
                    Ok(None) => break,
                    Err(error) => {
                        words = error.to_string();
                        break;
                    }
                }
            }
        }
        let mut text = String::new();
        if let Some(said) = &mut said {
            let _ = said.take(64 * 1024).read_to_string(&mut text);
        }
        let last =
            text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("its process has ended");
        if words.is_empty() {
            words = last.trim_start_matches("tresse: ").to_owned();
        }
        // Nobody may be there to hear it.
        let _ = send.send((at, Event::Gone(words)));
    });
}

fn bar(bars: &MultiProgress, name: &str) -> ProgressBar {
    let style = "{prefix:>10} {bar:30} {percent:>3} % {binary_bytes_per_sec:>14} {eta:>4}";
    let style = ProgressStyle::with_template(style).unwrap_or(ProgressStyle::default_bar());
    bars.add(ProgressBar::new(0)).with_style(style).with_prefix(name.to_owned())
}

fn token() -> Result<String, Failure> {
    let mut octets = [0; 16];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut octets)?;
    Ok(octets.iter().map(|octet| format!("{octet:02x}")).collect())
}
