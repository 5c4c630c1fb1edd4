//! `tresse top`: shows the load of this node's NICs, what differs from the plan and what has happened, and refreshes
//! all of it continuously.

mod screen;
mod text;

use std::io::{IsTerminal as _, Write};
use std::time::Duration;

use clap::Args;
use serde::Serialize;
use tresse_control::{Client, FORMAT, Status};

use self::screen::Screen;
use crate::connection::NodeArgs;
use crate::fail::{Code, Failure};
use crate::output;
use tresse_doctor::load::{Load, Meter};

/// Arguments of `tresse top`, which shows the load of this node's NICs, refreshed.
#[derive(Debug, Args)]
pub struct Top {
    #[command(flatten)]
    node: NodeArgs,
    /// Seconds between two updates.
    #[arg(long, value_name = "SECONDS", default_value_t = 1,
          value_parser = clap::value_parser!(u16).range(1..=60))]
    every: u16,
    /// End after N updates. Default: never.
    #[arg(long, value_name = "N")]
    count: Option<u32>,
}

#[derive(Debug, Serialize)]
struct Answer<'a> {
    format: u32,
    nics: &'a [Load],
    status: &'a Status,
}

impl Top {
    /// Shows updates until interrupted, or as many as `--count` says.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        let mut client = self.node.connect()?;
        let mut meter = Meter::new(&mut client)?;
        if !json && std::io::stdout().is_terminal() {
            return self.on_terminal(&mut client, &mut meter);
        }
        let mut left = self.count;
        while left != Some(0) {
            std::thread::sleep(Duration::from_secs(self.every.into()));
            let (loads, status) = (meter.loads(&mut client)?, client.status()?);
            let mut out = output::stdout();
            if json {
                let answer = Answer { format: FORMAT, nics: &loads, status: &status };
                output::json_line(&mut out, &answer)?;
            } else {
                writeln!(out, "{}", text::screen(&loads, &status))?;
            }
            out.flush()?;
            left = left.map(|left| left - 1);
        }
        Ok(Code::Fine)
    }

    /// Fills the terminal, until a key ends it.
    fn on_terminal(&self, client: &mut Client, meter: &mut Meter) -> Result<Code, Failure> {
        let mut screen = Screen::new()?;
        let (mut left, mut pause) = (self.count, Duration::ZERO);
        while left != Some(0) && !screen.is_ended(pause)? {
            pause = Duration::from_secs(self.every.into());
            let (loads, status) = (meter.loads(client)?, client.status()?);
            // Daemons of releases before keep none.
            let events = client.events(Some(Screen::EVENTS)).map(|list| list.events);
            screen.draw(&loads, &status, &events.unwrap_or_default())?;
            left = left.map(|left| left - 1);
        }
        Ok(Code::Fine)
    }
}
