//! Notifications to systemd (sd_notify). Without systemd they do nothing.

use std::time::Duration;

use sd_notify::NotifyState;
use tresse_control::Status;

/// Tells systemd that the start or the reload of the daemon is complete.
pub fn ready() {
    send(&[NotifyState::Ready]);
}

/// Tells systemd that a reload of the daemon begins, together with the monotonic time, which
/// `Type=notify-reload` requires.
pub fn reloading() {
    match NotifyState::monotonic_usec_now() {
        Ok(time) => send(&[NotifyState::Reloading, time]),
        Err(error) => tracing::debug!(%error, "no monotonic time"),
    }
}

/// Tells systemd that the daemon stops.
pub fn stopping() {
    send(&[NotifyState::Stopping]);
}

/// Tells systemd's watchdog that the daemon's main loop is alive.
pub fn watchdog() {
    send(&[NotifyState::Watchdog]);
}

/// Does systemd listen?
pub fn is_heard() -> bool {
    std::env::var_os("NOTIFY_SOCKET").is_some()
}

/// Sends systemd a summary of `status` (node, plan, problems), which `systemctl status` shows.
pub fn status(status: &Status) {
    let text = match (&status.node, &status.generation) {
        (Some(node), Some(generation)) => format!(
            "{node}, generation {generation}, {}{}{}",
            if status.in_sync { "in sync" } else { "not in sync" },
            count(status.pending.len(), "pending"),
            count(status.fused.len(), "fused"),
        ),
        _ if status.withdrawn => "withdrawn".to_owned(),
        _ => "no plan".to_owned(),
    };
    send(&[NotifyState::Status(&text)]);
}

/// Returns half of systemd's watchdog interval, as the time between two calls of [`watchdog`];
/// `None` if the watchdog is off.
pub fn watchdog_interval() -> Option<Duration> {
    sd_notify::watchdog_enabled().map(|interval| interval / 2)
}

fn count(number: usize, word: &str) -> String {
    if number == 0 { String::new() } else { format!(", {number} {word}") }
}

fn send(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::debug!(%error, "the service manager does not listen");
    }
}
