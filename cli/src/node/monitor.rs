//! `tresse monitor`: prints the events of this node's daemon as they happen, until interrupted.

use std::io::Write;

use clap::Args;
use tresse_control::{Alert, Event};

use crate::connection::NodeArgs;
use crate::fail::{Code, Failure};
use crate::output;

/// Arguments of `tresse monitor`, which prints the daemon's events as they happen.
#[derive(Debug, Args)]
pub struct Monitor {
    #[command(flatten)]
    node: NodeArgs,
}

impl Monitor {
    /// Prints every event at once; ends when the daemon ends.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        let mut out = output::stdout();
        for event in self.node.connect()?.monitor()? {
            write(&mut out, &event?, json)?;
            out.flush()?;
        }
        Ok(Code::Fine)
    }
}

/// Writes one event on a line.
pub fn write(out: &mut impl Write, event: &Event, json: bool) -> std::io::Result<()> {
    if json {
        return output::json_line(out, event);
    }
    writeln!(out, "{}", output::plain(&line(event)))
}

/// One event as text: `2024-10-04 12:34:56.789Z WARNING link eth0: no carrier`, the time in UTC.
pub fn line(event: &Event) -> String {
    let alert = match event.alert {
        Alert::Info => "",
        Alert::Warning => "WARNING ",
        Alert::Critical => "CRITICAL ",
    };
    let object = if event.object.is_empty() { String::new() } else { format!(" {}", event.object) };
    let (time, kind, message) = (output::time(event.time_ms), &event.kind, &event.message);
    format!("{time} {alert}{kind}{object}: {message}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_the_time_of_day() {
        let mut event = Event {
            seq: 1,
            time_ms: 86_400_000 * 20_000 + 45_296_789,
            kind: "link".into(),
            object: "eth0".into(),
            message: "no carrier".into(),
            alert: Alert::Warning,
        };
        assert_eq!(line(&event), "2024-10-04 12:34:56.789Z WARNING link eth0: no carrier");
        event.object.clear();
        event.alert = Alert::Info;
        assert_eq!(line(&event), "2024-10-04 12:34:56.789Z link: no carrier");
    }
}
