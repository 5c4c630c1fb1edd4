//! The file `events.jsonl` in the state directory: an event as JSON on each line. Events are appended; after as many
//! again as are kept, the file is written anew with these alone.
//!
//! It is no journal: it is not synced, and a daemon that cannot write it goes on.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use tresse_control::Event;

/// Bytes at the end of the file that are read.
const MOST: u64 = 1 << 20;

#[derive(Debug)]
pub(super) struct EventFile {
    path: PathBuf,
    open: Option<File>,
    /// Lines of the file.
    lines: usize,
    kept: usize,
    /// Did the last attempt fail?
    failed: bool,
}

impl EventFile {
    /// Opens the file in `directory` and reads the last `kept` events. What is damaged, such as the last line after a
    /// power cut, is left out.
    pub fn open(directory: &Path, kept: usize) -> (Self, VecDeque<Event>) {
        let path = directory.join("events.jsonl");
        let text = tail(&path).unwrap_or_default();
        let mut events: VecDeque<Event> =
            text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let more = events.len().saturating_sub(kept);
        events.drain(..more);
        // The first append writes it anew, so that a damaged line has no consequences.
        (Self { path, open: None, lines: 0, kept, failed: false }, events)
    }

    /// Appends the last of `events`, which are all that are kept.
    pub fn append(&mut self, events: &VecDeque<Event>) {
        let written = match &mut self.open {
            Some(file) if self.lines < 2 * self.kept => {
                self.lines += 1;
                write(file, events.back())
            }
            _ => self.anew(events),
        };
        if let Err(error) = &written {
            self.open = None;
            if !self.failed {
                tracing::warn!(path = %self.path.display(), %error, "events are not kept over a restart");
            }
        }
        self.failed = written.is_err();
    }

    fn anew(&mut self, events: &VecDeque<Event>) -> io::Result<()> {
        let fresh = self.path.with_extension("jsonl.new");
        let mut file = OpenOptions::new().create(true).write(true).truncate(true).open(&fresh)?;
        write(&mut file, events)?;
        fs::rename(&fresh, &self.path)?;
        (self.open, self.lines) = (Some(file), events.len());
        Ok(())
    }
}

fn write<'a>(file: &mut File, events: impl IntoIterator<Item = &'a Event>) -> io::Result<()> {
    let mut text = Vec::new();
    for event in events {
        serde_json::to_writer(&mut text, event)?;
        text.push(b'\n');
    }
    // One call, so that no reader sees half a line.
    file.write_all(&text)
}

/// The end of the file, as text.
fn tail(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(MOST)))?;
    let mut bytes = Vec::new();
    file.take(MOST).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use tresse_control::Alert;

    use super::*;

    fn event(seq: u64) -> Event {
        let (kind, object, message) = ("link".into(), "eth0".into(), "no carrier".into());
        Event { seq, time_ms: seq, kind, object, message, alert: Alert::Warning }
    }

    fn append(file: &mut EventFile, events: &mut VecDeque<Event>, seq: u64) {
        events.push_back(event(seq));
        if events.len() > 3 {
            events.pop_front();
        }
        file.append(events);
    }

    #[test]
    fn the_last_events_are_read_again_and_the_file_stays_short() {
        let directory = tempfile::tempdir().unwrap();
        let (mut file, mut events) = EventFile::open(directory.path(), 3);
        assert_eq!(events.len(), 0);
        for seq in 0..50 {
            append(&mut file, &mut events, seq);
            let lines = fs::read_to_string(&file.path).unwrap().lines().count();
            assert!(lines <= 6, "{lines}");
            let (_, read) = EventFile::open(directory.path(), 3);
            assert_eq!(read, events);
        }
    }

    #[test]
    fn a_torn_line_costs_itself_alone() {
        let directory = tempfile::tempdir().unwrap();
        let (mut file, mut events) = EventFile::open(directory.path(), 3);
        append(&mut file, &mut events, 1);
        let mut torn = OpenOptions::new().append(true).open(&file.path).unwrap();
        torn.write_all(b"{\"seq\":2,\"time").unwrap();
        let (mut file, mut events) = EventFile::open(directory.path(), 3);
        append(&mut file, &mut events, 3);
        let (_, read) = EventFile::open(directory.path(), 3);
        assert_eq!(read, [event(1), event(3)]);
    }

    #[test]
    fn a_directory_that_takes_no_file_is_no_fault() {
        let directory = tempfile::tempdir().unwrap();
        let (mut file, mut events) = EventFile::open(&directory.path().join("none"), 3);
        append(&mut file, &mut events, 1);
        assert!(file.failed);
        fs::create_dir(directory.path().join("none")).unwrap();
        append(&mut file, &mut events, 2);
        let (_, read) = EventFile::open(&directory.path().join("none"), 3);
        assert_eq!(read, events);
    }
}
