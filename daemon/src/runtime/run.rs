//! Runs the daemon: one loop takes kernel events, control calls, path events, received frames, signals and timers,
//! and feeds each to the engine.

use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tresse_control::{Alert, waiting};
use tresse_engine::{Changes, Input, SourceEngine};
use tresse_linux::kernel;
use tresse_linux::sys::memory;
use tresse_liveness::PathEvent;

use super::alarm::Alarm;
use super::{Daemon, RunError, announce, flood, notify};
use crate::control::{Limits, Server};
use crate::metrics::Exporter;

/// Largest number of control calls that wait for the main loop.
const REQUESTS: usize = 64;
/// Log message of `--once` on a kernel that cannot push labels.
const NO_DAEMON: &str = "this kernel cannot push labels: paths through transit nodes are there \
    only while the daemon runs";

impl Daemon {
    /// Applies the configured or stored plan and returns.
    ///
    /// # Errors
    /// [`RunError`]; it is also an error if something could not be installed, or must wait.
    pub fn once(mut self) -> Result<(), RunError> {
        let configured = self.planned()?;
        self.step(Input::Start { configured });
        let status = self.engine.status(self.now());
        match self.failure.take().or(status.fault) {
            Some(message) => Err(RunError::Failed(message)),
            None if status.source == SourceEngine::Tun.word() => {
                Err(RunError::Partly(vec![NO_DAEMON.into()]))
            }
            None if status.pending.is_empty() => Ok(()),
            None => Err(RunError::Partly(waiting(&status.pending))),
        }
    }

    /// Runs until SIGTERM or SIGINT. The kernel's state is left in place.
    ///
    /// # Errors
    /// [`RunError`] if the daemon cannot start, or the kernel's events end.
    pub async fn run(mut self) -> Result<(), RunError> {
        let system = |action| move |source| RunError::System { action, source };
        let mut changes =
            kernel::KernelEvents::subscribe().map_err(system("subscribe to the kernel"))?;
        let mut hangup = signal(SignalKind::hangup()).map_err(system("handle SIGHUP"))?;
        let mut terminate = signal(SignalKind::terminate()).map_err(system("handle SIGTERM"))?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(system("handle SIGINT"))?;
        let server = Server::bind(&self.config.socket, Limits::DAEMON)?;
        let (requests, mut asked) = mpsc::channel(REQUESTS);
        let metrics = match &self.config.metrics {
            Some(at) => Some(Exporter::bind(at)?),
            None => None,
        };
        let metrics =
            metrics.map(|exporter| tokio::task::spawn_local(exporter.run(requests.clone())));
        let server = tokio::task::spawn_local(server.run(requests, self.events.clone()));
        let (frames, mut heard) = mpsc::channel(announce::FRAMES);
        self.announcers.deliver_to(frames);
        let (records, mut passed_on) = mpsc::channel(flood::FRAMES);
        self.flood.deliver_to(records);
        let period = self.config.announce_seconds.map(|s| Duration::from_secs(s.into()));
        self.neighbours.listen(period);

        self.detector.start(self.config.bfd, &self.keys);
        let configured = match self.planned() {
            Err(error) if self.lacks_cluster_file(&error) => {
                tracing::warn!(%error, "there is no plan: `tresse up` or `tresse apply` installs one");
                None
            }
            planned => planned?,
        };
        let version = env!("CARGO_PKG_VERSION").to_owned();
        self.publish(Alert::Info, "started".into(), String::new(), format!("tressed {version}"));
        self.step(Input::Start { configured });
        notify::ready();
        let watchdog = notify::watchdog_interval();
        let mut alarm = Alarm::new().map_err(system("set up a timer"))?;
        let mut pet = watchdog.map(|every| Instant::now() + every);
        loop {
            let due = self.engine.deadline().map(|at| self.epoch + Duration::from_millis(at));
            let forgotten = self.planning.deadline();
            let sampled = self.sampling.deadline();
            let wake = [due, pet, forgotten, self.flood.deadline(), sampled, self.tidy_at];
            let wake = wake.into_iter().flatten().min();
            tokio::select! {
                biased;
                _ = terminate.recv() => break,
                _ = interrupt.recv() => break,
                events = changes.next() => {
                    let events = events.map_err(system("read kernel events"))?;
                    let overrun = events.contains(&kernel::KernelEvent::Overrun);
                    if overrun || events.contains(&kernel::KernelEvent::LinkChanged) {
                        self.neighbours.changed();
                        self.sampling.refresh();
                    }
                    self.forwarder.refresh();
                    self.source.refresh();
                    self.step(Input::Changed(Changes { overrun, carriers: changes.take_carriers() }));
                }
                event = self.detector.path_event() => {
                    // What came before a neighbour began anew is no word of it.
                    self.hear_records(&mut passed_on);
                    self.flood.hear_of(&event);
                    let PathEvent { generation, down, held, up, silent, .. } = event;
                    self.step(Input::PathEvent { generation, down, held, up, silent });
                }
                Some(received) = passed_on.recv() => {
                    self.flood.hear(received);
                    self.hear_records(&mut passed_on);
                }
                Some(frame) = heard.recv() => {
                    self.neighbours.hear(&self.engine, &frame);
                    self.step(frame);
                }
                Some(request) = asked.recv() => self.answer(request),
                turn = self.planning.next() => self.take_turn(turn),
                _ = hangup.recv() => {
                    notify::reloading();
                    self.reload(None);
                }
                rang = alarm.until(wake) => {
                    rang.map_err(system("wait for a timer"))?;
                    if due.is_some_and(|at| at <= Instant::now()) {
                        self.step(Input::Tick);
                    }
                    self.hear_records(&mut passed_on);
                    if let Some(mut sent) = self.sampling.take() {
                        sent.traffic.extend(self.source.take_sent());
                        self.step(Input::Sent(Box::new(sent)));
                    }
                    self.planning.forget();
                    if self.tidy_at.take_if(|at| *at <= Instant::now()).is_some() {
                        memory::release();
                    }
                }
            }
            if let (Some(every), Some(at)) = (watchdog, pet)
                && at <= Instant::now()
            {
                notify::watchdog();
                pet = Some(Instant::now() + every);
            }
        }
        notify::stopping();
        self.detector.stop();
        server.abort();
        let _ = server.await;
        metrics.iter().for_each(|metrics| metrics.abort());
        tracing::info!("stopped; the kernel keeps what was installed");
        Ok(())
    }

    /// Hears the records that wait, sends those that are due, and tells the engine what is new.
    fn hear_records(&mut self, passed_on: &mut mpsc::Receiver<flood::Received>) {
        while let Ok(received) = passed_on.try_recv() {
            self.flood.hear(received);
        }
        self.flood.send();
        let reports = self.flood.news();
        if !reports.is_empty() {
            self.step(Input::Reports(reports));
        }
    }
}
