//! The main loop's handle of the `packet` engine, by which the daemon forwards MPLS frames of other
//! nodes: starts, changes and stops it as the decision engine's effects say.

use std::collections::BTreeMap;
use std::sync::Arc;

use tresse_control::CounterLine;
use tresse_engine::{Forwarding, LabelEngine};
use tresse_frame::forward::{ForwardingTable, TableError, TableNic, Ttl};
use tresse_linux::forward::{Config, Count, ForwardError, ForwardingEngine, TransitBuffer};
use tresse_linux::kernel::{LabelSupport, NoKernelEngine};

use super::chain;
use crate::config::EngineChoice;

/// Returns the engine that forwards MPLS frames of other nodes: as configured; for `auto`, the
/// kernel if it can accept labelled frames from planned neighbours only (K11), otherwise the daemon
/// (`packet`).
///
/// # Errors
/// If `choice` is `kernel` and `strict` is set, but the kernel cannot forward labels or cannot
/// restrict their senders.
pub fn choose(
    choice: EngineChoice,
    strict: bool,
    support: impl Fn() -> LabelSupport,
) -> Result<LabelEngine, NoKernelEngine> {
    match choice {
        EngineChoice::Auto if support().kernel_engine(true).is_err() => Ok(LabelEngine::Packet),
        EngineChoice::Kernel if strict => {
            support().kernel_engine(true).map(|()| LabelEngine::Kernel)
        }
        EngineChoice::Auto | EngineChoice::Kernel => Ok(LabelEngine::Kernel),
        EngineChoice::Packet => Ok(LabelEngine::Packet),
    }
}

/// Handle of the `packet` engine, by which the daemon forwards MPLS frames of other nodes. It is
/// empty if there is nothing to forward.
pub struct Forwarder {
    buffer: TransitBuffer,
    running: Option<Running>,
    /// The table that could not be loaded; tried again when links change.
    refused: Option<Forwarding>,
}

struct Running {
    engine: ForwardingEngine,
    interfaces: Vec<String>,
}

/// Why the forwarding or source engine did not load its table.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refused {
    #[error(transparent)]
    Table(#[from] TableError),
    #[error(transparent)]
    Engine(#[from] ForwardError),
}

impl Forwarder {
    /// Forwards nothing yet. `buffer`: what may wait for NICs that are busy.
    pub const fn new(buffer: TransitBuffer) -> Self {
        Self { buffer, running: None, refused: None }
    }

    /// Forwards exactly this. A table without labels stops the engine.
    pub fn set(&mut self, forwarding: Forwarding) {
        self.refused = None;
        if forwarding.labels.is_empty() {
            self.running = None;
        } else if let Err(error) = self.load(&forwarding) {
            let error = chain(&error);
            tracing::error!(error, "labelled frames are not forwarded: will try again");
            self.refused = Some(forwarding);
        }
    }

    /// To be called when links have changed: opens NICs that are back.
    pub fn refresh(&mut self) {
        if let Some(forwarding) = self.refused.take() {
            return self.set(forwarding);
        }
        let errors = self.running.as_mut().map(|running| running.engine.refresh());
        for error in errors.into_iter().flatten() {
            tracing::debug!(error = chain(&error), "the packet engine cannot use a NIC yet");
        }
    }

    /// Counters per port, per label, and of dropped frames by reason.
    pub fn counters(&self) -> Vec<CounterLine> {
        let Some(running) = &self.running else { return Vec::new() };
        let counters = running.engine.counters();
        let mut lines = Vec::new();
        let mut line = |name: &str, object: &str, value| {
            lines.push(CounterLine { name: name.into(), object: object.into(), value });
        };
        for port in counters.ports {
            let object = port.interface.as_str();
            let frames: [(&str, Count); 3] =
                [("received", port.received), ("sent", port.sent), ("spilled", port.spilled)];
            for (what, count) in frames {
                line(&format!("forward_{what}_frames_total"), object, count.frames);
                line(&format!("forward_{what}_bytes_total"), object, count.bytes);
            }
            line("forward_waiting_bytes", object, port.waiting_bytes);
            line("forward_waiting_bytes_most", object, port.waiting_bytes_most);
            for (reason, frames) in port.dropped {
                line(
                    "forward_dropped_frames_total",
                    &format!("{object} {}", reason.name()),
                    frames,
                );
            }
        }
        for label in counters.labels {
            let object = label.label.0.to_string();
            line("forward_label_frames_total", &object, label.popped.frames);
            line("forward_label_bytes_total", &object, label.popped.bytes);
        }
        lines
    }

    fn load(&mut self, forwarding: &Forwarding) -> Result<(), Refused> {
        let interfaces: Vec<String> = forwarding.nics.keys().cloned().collect();
        let table = Arc::new(table(forwarding)?);
        match &self.running {
            Some(running) if running.interfaces == interfaces => running.engine.swap(table)?,
            _ => {
                self.running = None;
                let config = Config { buffer: self.buffer, ..Config::new(interfaces.clone()) };
                let engine = ForwardingEngine::start(&config, table)?;
                self.running = Some(Running { engine, interfaces });
            }
        }
        Ok(())
    }
}

fn table(forwarding: &Forwarding) -> Result<ForwardingTable, TableError> {
    let nics = forwarding.nics.values().map(|nic| TableNic {
        mac: nic.mac,
        mtu_bytes: nic.mtu,
        neighbours: nic.neighbours.iter().copied().collect(),
    });
    let place: BTreeMap<&String, usize> = forwarding.nics.keys().zip(0..).collect();
    let labels = forwarding.labels.iter();
    let labels = labels.filter_map(|(label, exit)| Some((*label, exit.by(*place.get(&exit.nic)?))));
    ForwardingTable::new(&nics.collect::<Vec<_>>(), labels, Ttl::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k11_strict_has_no_kernel_engine_without_its_filter() {
        use EngineChoice::{Auto, Kernel, Packet};
        let filterless = Err(NoKernelEngine::Filter);
        for (choice, strict, filter, expected) in [
            (Auto, true, true, Ok(LabelEngine::Kernel)),
            (Auto, true, false, Ok(LabelEngine::Packet)),
            (Auto, false, false, Ok(LabelEngine::Packet)),
            (Kernel, true, true, Ok(LabelEngine::Kernel)),
            (Kernel, true, false, filterless),
            (Kernel, false, false, Ok(LabelEngine::Kernel)),
            (Packet, true, false, Ok(LabelEngine::Packet)),
        ] {
            let support = || LabelSupport { routes: true, filter, encap: true };
            assert_eq!(choose(choice, strict, support), expected, "{choice:?} {strict} {filter}");
        }
    }
}
