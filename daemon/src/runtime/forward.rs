//! The packet engine as the main loop runs it: started, changed and stopped as the engine's effects say.

use std::collections::BTreeMap;
use std::sync::Arc;

use tresse_control::CounterLine;
use tresse_engine::{Forwarding, LabelEngine};
use tresse_frame::forward::{Nic, Table, TableError, Ttl};
use tresse_linux::forward::{Config, Count, Engine, ForwardError};
use tresse_linux::kernel::{LabelSupport, NoKernelEngine};

use super::chain;
use crate::config::EngineChoice;

/// The engine that forwards for others: as configured, else the kernel where it can do so from planned
/// neighbours alone (K11).
///
/// # Errors
/// With `strict`, a kernel engine that could not be kept to them.
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

/// The packet engine, where there is something for it to do.
#[derive(Default)]
pub struct Forwarder {
    running: Option<Running>,
    /// What could not be started; tried again when the kernel's links change.
    refused: Option<Forwarding>,
}

struct Running {
    engine: Engine,
    interfaces: Vec<String>,
}

/// Why the packet engine, or the source's, does not do what it was told.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refused {
    #[error(transparent)]
    Table(#[from] TableError),
    #[error(transparent)]
    Engine(#[from] ForwardError),
}

impl Forwarder {
    /// Forwards exactly this; without labels the engine ends.
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

    /// Links have changed: takes those that are back.
    pub fn refresh(&mut self) {
        if let Some(forwarding) = self.refused.take() {
            return self.set(forwarding);
        }
        let errors = self.running.as_mut().map(|running| running.engine.refresh());
        for error in errors.into_iter().flatten() {
            tracing::debug!(error = chain(&error), "a port of the packet engine waits");
        }
    }

    /// What it counts: per port, per label, and dropped frames by reason.
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
                line(&format!("forward_{what}_bytes_total"), object, count.octets);
            }
            line("forward_waiting_bytes", object, port.waiting_octets);
            line("forward_waiting_bytes_most", object, port.waiting_octets_most);
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
            line("forward_label_bytes_total", &object, label.popped.octets);
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
                let engine = Engine::start(&Config::new(interfaces.clone()), table)?;
                self.running = Some(Running { engine, interfaces });
            }
        }
        Ok(())
    }
}

fn table(forwarding: &Forwarding) -> Result<Table, TableError> {
    let nics = forwarding.nics.values().map(|nic| Nic {
        mac: nic.mac,
        mtu_bytes: nic.mtu,
        neighbours: nic.neighbours.iter().copied().collect(),
    });
    let place: BTreeMap<&String, usize> = forwarding.nics.keys().zip(0..).collect();
    let labels = forwarding.labels.iter();
    let labels = labels.filter_map(|(label, exit)| Some((*label, exit.by(*place.get(&exit.nic)?))));
    Table::new(&nics.collect::<Vec<_>>(), labels, Ttl::default())
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
