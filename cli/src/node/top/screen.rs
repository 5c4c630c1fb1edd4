//! The screen of `tresse top` on a terminal: NICs with the course of their load, what is not as planned, and the last
//! events.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::time::{Duration, Instant};

use ratatui::crossterm::event::{self, Event as Input, KeyCode, KeyModifiers};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style, Stylize as _};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph, Row, Table};
use ratatui::{DefaultTerminal, Frame};
use tresse_control::{Alert, Event, Status};

use super::text;
use crate::node::monitor;
use crate::output::plain;
use tresse_doctor::load::{Load, bits};

/// Updates that the course of a load shows.
const COURSE: usize = 24;
/// From none to full.
const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Lines of what is not as planned.
const WRONG: u16 = 8;

/// The terminal, and what was drawn before.
pub struct Screen {
    terminal: DefaultTerminal,
    courses: Courses,
}

/// By NIC, what it received and sent at the last updates.
type Courses = BTreeMap<String, VecDeque<[u64; 2]>>;

impl Screen {
    /// So many events are shown at most.
    pub const EVENTS: u32 = 50;

    /// Takes the terminal, until this is dropped.
    pub fn new() -> io::Result<Self> {
        Ok(Self { terminal: ratatui::try_init()?, courses: Courses::new() })
    }

    /// Waits, and says whether a key that ends it was pressed: q, Escape or Ctrl-C.
    pub fn is_ended(&self, pause: Duration) -> io::Result<bool> {
        let until = Instant::now() + pause;
        while event::poll(until.saturating_duration_since(Instant::now()))? {
            if let Input::Key(key) = event::read()? {
                let interrupt = key.modifiers.contains(KeyModifiers::CONTROL);
                match key.code {
                    KeyCode::Char('q') | KeyCode::Esc => return Ok(true),
                    KeyCode::Char('c') if interrupt => return Ok(true),
                    _ => {}
                }
            }
        }
        Ok(false)
    }

    /// Draws all of it anew.
    pub fn draw(&mut self, loads: &[Load], status: &Status, events: &[Event]) -> io::Result<()> {
        note(&mut self.courses, loads);
        let courses = &self.courses;
        self.terminal.draw(|frame| draw(frame, courses, loads, status, events))?;
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

/// Adds the loads of an update to the courses; those of NICs that are gone are forgotten.
fn note(courses: &mut Courses, loads: &[Load]) {
    courses.retain(|nic, _| loads.iter().any(|load| load.nic == *nic));
    for load in loads {
        let course = courses.entry(load.nic.clone()).or_default();
        course.push_back([load.rx, load.tx]);
        while course.len() > COURSE {
            course.pop_front();
        }
    }
}

fn draw(
    frame: &mut Frame<'_>,
    courses: &Courses,
    loads: &[Load],
    status: &Status,
    events: &[Event],
) {
    let wrong = text::wrong(status);
    let nics = u16::try_from(loads.len()).unwrap_or(u16::MAX).saturating_add(2);
    let not_planned = u16::try_from(wrong.len()).unwrap_or(u16::MAX).clamp(1, WRONG) + 1;
    let [head, table, planned, log, foot] = Layout::vertical([
        Constraint::Length(2),
        Constraint::Max(nics),
        Constraint::Length(not_planned),
        Constraint::Min(1),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    let fine = status.in_sync && status.fault.is_none() && wrong.is_empty();
    let color = if fine { Color::Green } else { Color::Yellow };
    frame.render_widget(Paragraph::new(text::head(status)).fg(color).bold(), head);
    frame.render_widget(of_nics(courses, loads), table);
    let lines: Vec<Line<'_>> = match wrong.is_empty() {
        true => vec!["all is as planned".into()],
        false => wrong.into_iter().map(|line| Line::from(line).yellow()).collect(),
    };
    frame.render_widget(Paragraph::new(lines).block(titled("PLAN")), planned);
    of_events(frame, events, log);
    frame.render_widget(Paragraph::new("q: quit").dim(), foot);
}

fn titled(title: &str) -> Block<'_> {
    Block::new().title(Span::from(title).bold())
}

fn of_nics<'a>(courses: &Courses, loads: &'a [Load]) -> Table<'a> {
    let most = courses.values().flatten().flatten().copied().max().unwrap_or(0);
    let row = |load: &'a Load| {
        let course = |direction: usize| -> String {
            let of = courses.get(&load.nic).into_iter().flatten();
            of.map(|both| bar(both[direction], most)).collect()
        };
        let lost = if load.lost > 0 { Style::new().red() } else { Style::new() };
        let state = if load.state() == "up" { Style::new() } else { Style::new().yellow() };
        Row::new([
            Line::from(plain(&load.nic)),
            Line::from(load.state()).style(state),
            Line::from(bits(load.rx)).right_aligned(),
            Line::from(course(0)).green(),
            Line::from(bits(load.tx)).right_aligned(),
            Line::from(course(1)).cyan(),
            Line::from(load.lost.to_string()).right_aligned().style(lost),
        ])
    };
    let course = u16::try_from(COURSE).unwrap_or(u16::MAX);
    let widths = [15, 10, 8, course, 8, course, 8].map(Constraint::Length);
    let head = Row::new(["NIC", "STATE", "RECEIVES", "", "SENDS", "", "LOST"]).bold();
    Table::new(loads.iter().map(row), widths).header(head)
}

/// A bar for a rate, of which the largest is `most`; any rate but none is seen.
fn bar(rate: u64, most: u64) -> char {
    let highest = BARS.len() as u64 - 1;
    let full = (u128::from(rate) * u128::from(highest)).div_ceil(u128::from(most.max(1)));
    BARS[usize::try_from(full).unwrap_or(0).min(BARS.len() - 1)]
}

/// The last events that there is room for, the newest at the end.
fn of_events(frame: &mut Frame<'_>, events: &[Event], area: Rect) {
    let room = usize::from(area.height.saturating_sub(1));
    let shown = events.len().saturating_sub(room);
    let line = |event: &Event| {
        let line = Line::from(plain(&monitor::line(event)).into_owned());
        match event.alert {
            Alert::Info => line,
            Alert::Warning => line.yellow(),
            Alert::Critical => line.red(),
        }
    };
    let lines: Vec<Line<'_>> = events[shown..].iter().map(line).collect();
    frame.render_widget(Paragraph::new(lines).block(titled("EVENTS")), area);
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::*;

    fn load(nic: &str, rx: u64) -> Load {
        Load {
            nic: nic.into(),
            up: true,
            carrier: true,
            rx,
            tx: 0,
            rx_frames: 0,
            tx_frames: 0,
            lost: 0,
        }
    }

    fn drawn(height: u16, courses: &Courses, loads: &[Load], status: &Status) -> String {
        let event = Event {
            seq: 1,
            time_ms: 0,
            kind: "link".into(),
            object: "eth0".into(),
            message: "no \u{1b}[31mcarrier".into(),
            alert: Alert::Warning,
        };
        let mut terminal = Terminal::new(TestBackend::new(120, height)).unwrap();
        terminal.draw(|frame| draw(frame, courses, loads, status, &[event])).unwrap();
        let cells = terminal.backend().buffer().content.chunks(120);
        let line =
            |cells: &[ratatui::buffer::Cell]| cells.iter().map(|cell| cell.symbol()).collect();
        cells.map(line).collect::<Vec<String>>().join("\n")
    }

    #[test]
    fn loads_have_a_course_and_events_are_below() {
        let mut courses = Courses::new();
        for rx in [0, 500_000_000, 1_000_000_000] {
            note(&mut courses, &[load("eth0", rx), load("eth1", 1)]);
        }
        let loads = [load("eth0", 1_000_000_000), load("eth1", 1)];
        let status = Status { node: Some("n0".into()), in_sync: true, ..Status::default() };
        let text = drawn(12, &courses, &loads, &status);
        for words in
            ["n0, in sync", "1.0G", " ▄█", "▁▁▁", "all is as planned", "link eth0: no \\u{1b}"]
        {
            assert!(text.contains(words), "{words}: {text}");
        }
        let broken = Status { broken: vec!["n1 rank 0 by eth0".into()], ..status };
        assert!(drawn(12, &courses, &loads, &broken).contains("1 broken paths: n1 rank 0"));
        // Too small a terminal is no error.
        assert_eq!(drawn(2, &courses, &loads, &broken).lines().count(), 2);
    }

    #[test]
    fn courses_are_bounded_and_end_with_their_nic() {
        let mut courses = Courses::new();
        (0..100).for_each(|n| note(&mut courses, &[load("eth0", n)]));
        assert_eq!(courses["eth0"].len(), COURSE);
        note(&mut courses, &[load("eth1", 1)]);
        assert_eq!(courses.keys().collect::<Vec<_>>(), ["eth1"]);
        assert_eq!([bar(0, 10), bar(1, 1000), bar(10, 10), bar(0, 0)], [' ', '▁', '█', ' ']);
    }
}
