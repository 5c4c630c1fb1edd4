//! Starts, updates and ends the source engine: a thread of the daemon that pushes MPLS labels onto
//! this node's own packets, if the kernel cannot or is not to do it. The kernel routes these packets
//! to a TUN interface, from which the thread reads them; see [`Pusher`].
//!
//! The thread is started when the TUN interface has been created, and its handle is dropped when
//! somebody has deleted that interface. The daemon's decisions (crate `tresse_engine`) determine the
//! labels: whenever these change, the thread gets a new table of labelled paths, [`Pushing`].

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use tresse_base::id::{Label, Vid};
use tresse_control::CounterLine;
use tresse_engine::{Pushing, SourceEngine, Traffic};
use tresse_frame::forward::{LabelPath, PushTable, TableError, TableNic, Ttl};
use tresse_linux::forward::Pusher;
use tresse_linux::kernel::{LabelSupport, Tun};

use super::chain;
use super::forward::Refused;
use crate::config::SourceChoice;

/// Returns what pushes MPLS labels onto this node's own packets: as configured; for `auto`, the
/// kernel if it can, otherwise the daemon through a TUN interface.
pub fn choose(choice: SourceChoice, support: impl Fn() -> LabelSupport) -> SourceEngine {
    let kernel = match choice {
        SourceChoice::Auto => support().encap,
        SourceChoice::Kernel => true,
        SourceChoice::Tun => false,
    };
    if kernel { SourceEngine::Kernel } else { SourceEngine::Tun }
}

/// Handle of the source engine, by which the daemon pushes MPLS labels onto packets from its TUN
/// interface. It is empty if there is no TUN interface.
#[derive(Default)]
pub struct Source {
    pushing: Pushing,
    /// A TUN interface whose engine is not started yet.
    tun: Option<Tun>,
    pusher: Option<Pusher>,
    /// What was sent by labelled paths since [`take_sent`](Self::take_sent) was last called.
    sent: BTreeMap<(IpAddr, PathName), u64>,
    /// Did loading `pushing` fail? Tried again when links change.
    refused: bool,
}

/// NIC, VLAN and labels.
type PathName = (String, Option<Vid>, Vec<Label>);

impl Source {
    /// Pushes exactly this.
    pub fn set(&mut self, pushing: Pushing) {
        self.count();
        self.pushing = pushing;
        self.load();
    }

    /// Takes over TUN interfaces that were just created.
    pub fn hold(&mut self, tuns: Vec<Tun>) {
        if let Some(tun) = tuns.into_iter().next_back() {
            self.pusher = None;
            self.tun = Some(tun);
            self.load();
        }
    }

    /// To be called when links have changed.
    pub fn refresh(&mut self) {
        if self.pusher.as_ref().is_some_and(|pusher| !pusher.runs()) {
            self.pusher = None;
        }
        if self.refused {
            return self.load();
        }
        let errors = self.pusher.as_mut().map(Pusher::refresh);
        for error in errors.into_iter().flatten() {
            tracing::debug!(error = chain(&error), "the source engine cannot use a NIC yet");
        }
    }

    /// What was sent by labelled paths since this was last called.
    pub fn take_sent(&mut self) -> Vec<Traffic> {
        self.count();
        let sent = std::mem::take(&mut self.sent).into_iter();
        sent.map(|((destination, (nic, vid, labels)), bytes)| Traffic {
            destination,
            nic,
            vid: vid.map(|vid| vid.0),
            labels,
            bytes,
        })
        .collect()
    }

    /// Adds up what the engine has counted for the paths of the present table.
    fn count(&mut self) {
        let Some(pusher) = &self.pusher else { return };
        let paths = self.pushing.routes.iter();
        let paths = paths.flat_map(|(to, paths)| paths.iter().map(move |path| (*to, path)));
        for ((to, path), bytes) in paths.zip(pusher.take_pushed()).filter(|(_, bytes)| *bytes > 0) {
            let name = (path.nic.clone(), path.vid, path.labels.clone());
            *self.sent.entry((to, name)).or_default() += bytes;
        }
    }

    /// Counters of the TUN interface, per NIC, and of dropped packets by reason.
    pub fn counters(&self) -> Vec<CounterLine> {
        let Some(pusher) = &self.pusher else { return Vec::new() };
        let counters = pusher.counters();
        let mut lines = Vec::new();
        let mut line = |name: &str, object: &str, value| {
            lines.push(CounterLine { name: name.into(), object: object.into(), value });
        };
        let tun = counters.tun.interface.as_str();
        line("push_packets_total", tun, counters.tun.received.frames);
        line("push_bytes_total", tun, counters.tun.received.bytes);
        for port in &counters.ports {
            let object = port.interface.as_str();
            for (what, count) in [("sent", port.sent), ("spilled", port.spilled)] {
                line(&format!("push_{what}_frames_total"), object, count.frames);
                line(&format!("push_{what}_bytes_total"), object, count.bytes);
            }
            line("push_waiting_bytes", object, port.waiting_bytes);
            line("push_waiting_bytes_most", object, port.waiting_bytes_most);
        }
        for port in std::iter::once(&counters.tun).chain(&counters.ports) {
            for (reason, frames) in &port.dropped {
                let object = format!("{} {}", port.interface, reason.name());
                line("push_dropped_packets_total", &object, *frames);
            }
        }
        lines
    }

    fn load(&mut self) {
        self.refused = false;
        if let Err(error) = self.try_load() {
            let error = chain(&error);
            tracing::error!(error, "packets are not labelled: will try again");
            self.refused = true;
        }
    }

    fn try_load(&mut self) -> Result<(), Refused> {
        if self.tun.is_none() && self.pusher.is_none() {
            return Ok(());
        }
        let interfaces: Vec<String> = self.pushing.nics.keys().cloned().collect();
        let table = Arc::new(table(&self.pushing)?);
        if let Some(pusher) = &mut self.pusher {
            pusher.swap(&interfaces, table)?;
        } else if let Some(tun) = self.tun.take() {
            self.pusher = Some(Pusher::start(tun, &interfaces, table)?);
        }
        Ok(())
    }
}

fn table(pushing: &Pushing) -> Result<PushTable, TableError> {
    let nics: Vec<TableNic> = pushing
        .nics
        .values()
        .map(|(mac, mtu)| TableNic { mac: *mac, mtu_bytes: *mtu, neighbours: Vec::new() })
        .collect();
    let place: BTreeMap<&String, usize> = pushing.nics.keys().zip(0..).collect();
    let routes = pushing.routes.iter().map(|(destination, paths)| {
        let path = |path: &tresse_engine::PushPath| {
            Some(LabelPath {
                nic: *place.get(&path.nic)?,
                vid: path.vid,
                mac: path.mac,
                labels: path.labels.clone(),
                weight: path.weight,
            })
        };
        (*destination, paths.iter().filter_map(path).collect())
    });
    let networks = pushing.networks.iter().map(|(network, to)| (*network, *to));
    Ok(PushTable::new(&nics, routes, Ttl::default())?.with_networks(networks))
}
