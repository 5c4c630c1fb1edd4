//! The guest's server: runs a thread for every port with a client, and switches the machine off
//! after idle time.

use std::convert::Infallible;
use std::fs;
use std::io;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::machine::power_off;
use super::port::{GuestPort, SessionEnd};
use super::{exec, files};
use crate::vm::wire::{GuestReply, GuestRequest};

/// Serves clients on all virtio-serial ports until the machine is switched off. Returns only if the
/// ports cannot be opened, with the reason.
pub fn serve() -> io::Error {
    match run() {
        Err(error) => error,
    }
}

fn run() -> io::Result<Infallible> {
    let idle_limit = idle_limit();
    let mut idle = GuestPort::all()?;
    let ports = idle.len();
    let (back, returned) = mpsc::channel();
    let mut last_use = Instant::now();
    eprintln!("guest: serving {ports} ports");
    loop {
        idle.extend(returned.try_iter());
        for port in idle.extract_if(.., |port| port.has_client()) {
            let back = back.clone();
            std::thread::spawn(move || {
                // The receiver lives as long as the server.
                let _ = back.send(session(port));
            });
        }
        if idle.len() < ports {
            last_use = Instant::now();
        } else if idle_limit.is_some_and(|limit| last_use.elapsed() > limit) {
            eprintln!("guest: idle, switching off");
            power_off();
        }
        // The kernel reports a new client only by a signal, so the port is polled; less often while
        // unused, because each poll wakes the whole emulator.
        let quiet = last_use.elapsed() > Duration::from_secs(10);
        std::thread::sleep(if quiet { 6 * LOOK } else { LOOK });
    }
}

/// Serves one client after another until none is left; gives the port back.
fn session(mut port: GuestPort) -> GuestPort {
    let end = loop {
        match port.welcome().and_then(|()| requests(&mut port)) {
            Err(SessionEnd::Frame(_)) => {}
            Err(end) => break end,
            Ok(never) => match never {},
        }
    };
    if !matches!(end, SessionEnd::Gone) {
        eprintln!("guest: session: {end}");
    }
    port.reset();
    port
}

fn requests(port: &mut GuestPort) -> Result<Infallible, SessionEnd> {
    loop {
        let (request, _) = port.receive()?;
        match request {
            GuestRequest::Exec { argv, env, cwd, stdin } => {
                exec::exec(port, &exec::Program { argv, env, cwd, stdin })?;
            }
            GuestRequest::Put { path, mode, size_bytes } => {
                let outcome = files::put(port, &path, mode, size_bytes)?;
                answer(port, outcome)?;
            }
            GuestRequest::Get { path } => {
                let outcome = files::get(port, &path)?;
                answer(port, outcome)?;
            }
            GuestRequest::Stat { path } => {
                let outcome = fs::metadata(&path).map(drop);
                answer(port, outcome.map_err(|e| format!("{path}: {e}")))?;
            }
            GuestRequest::Ping => port.send(&GuestReply::Done, &[])?,
            GuestRequest::Poweroff => {
                port.send(&GuestReply::Done, &[])?;
                power_off();
            }
            // The request was for a program or file that has ended.
            GuestRequest::Stdin | GuestRequest::Signal { .. } | GuestRequest::Data => {}
        }
    }
}

fn answer(port: &mut GuestPort, outcome: Result<(), String>) -> Result<(), SessionEnd> {
    match outcome {
        Ok(()) => port.send(&GuestReply::Done, &[]),
        Err(message) => port.send(&GuestReply::Failed { message }, &[]),
    }
}

/// From the kernel command line; none when it is absent or zero.
fn idle_limit() -> Option<Duration> {
    let line = fs::read_to_string("/proc/cmdline").unwrap_or_default();
    let seconds = line.split_whitespace().find_map(|word| word.strip_prefix(IDLE_PARAMETER))?;
    seconds.parse().ok().filter(|s| *s > 0).map(Duration::from_secs)
}

/// Name, with `=`, of the kernel parameter that holds the idle limit: the guest switches off after
/// so many seconds without a client. 0: never.
pub const IDLE_PARAMETER: &str = "tresse.idle=";
const LOOK: Duration = Duration::from_millis(15);
