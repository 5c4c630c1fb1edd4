//! Remembers the devices heard on each NIC of this host: senders of LLDP frames, with or without a
//! plan, and senders of announcements. It draws no conclusions: `tresse cables` compares them with
//! the plan.
//!
//! When a NIC loses its carrier, its list is cleared, because another cable may be plugged in.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tresse_base::id::Vid;
use tresse_base::units::Mac;
use tresse_control::{CounterLine, ForeignLine, HeardLine, LldpLine, NeighbourList, NicLine};
use tresse_engine::{Engine, Input};
use tresse_frame::lldp::{Chassis, Lldp, Port};
use tresse_linux::kernel::{self, BroadcastSocket, HostNic, LldpSocket};

use super::announce::Announcers;
use super::broadcasts::{Broadcasts, READ_A_SECOND};
use super::chain;

/// LLDP senders remembered per NIC. One is on the cable; more are heard if a switch floods LLDP, or
/// after introductions.
const MOST_LLDP: usize = 1024;
/// Announcement senders remembered per NIC.
const MOST_HEARD: usize = 4096;
/// Lifetime of an introduction in seconds.
const INTRODUCED_S: u16 = 30;
/// Least time between two looks at the host's NICs.
const PAUSE: Duration = Duration::from_millis(200);
/// A sender is forgotten after a silence of so many tenths of its announcement period.
const HOLD_TENTHS: u32 = 25;

/// The devices from which each NIC of this host has received LLDP frames or announcements, and the
/// sockets that receive LLDP.
#[derive(Default)]
pub struct Neighbours {
    heard: Rc<RefCell<Received>>,
    changed: Rc<Notify>,
    watcher: Option<JoinHandle<()>>,
    /// The announcement period, if configured.
    period: Option<Duration>,
}

#[derive(Default)]
struct Received {
    nics: BTreeMap<String, Nic>,
    received: u64,
    malformed: u64,
    dropped: u64,
}

/// One NIC.
struct Nic {
    state: HostNic,
    /// Time since which it has had carrier.
    since: Instant,
    /// LLDP socket and its task; the task ends with the NIC.
    listener: Option<(Rc<LldpSocket>, JoinHandle<()>)>,
    lldp: BTreeMap<(Vec<u8>, Vec<u8>, bool), LldpNeighbour>,
    announcers: BTreeMap<Mac, Announcer>,
    broadcasts: Broadcasts,
    /// Hears them; the task ends with the NIC.
    counts: Option<JoinHandle<()>>,
}

struct LldpNeighbour {
    source: Mac,
    lldp: Lldp,
    at: Instant,
}

struct Announcer {
    node: u32,
    vid: Option<Vid>,
    foreign: bool,
    at: Instant,
    until: Instant,
}

impl Drop for Nic {
    fn drop(&mut self) {
        self.listener.iter().for_each(|(_, task)| task.abort());
        self.counts.iter().for_each(JoinHandle::abort);
    }
}

impl Drop for Neighbours {
    fn drop(&mut self) {
        self.watcher.iter().for_each(JoinHandle::abort);
    }
}

impl Neighbours {
    /// Starts to listen, in a `LocalSet`; `period` is the configured announcement period.
    pub fn listen(&mut self, period: Option<Duration>) {
        self.period = period;
        let (heard, changed) = (self.heard.clone(), self.changed.clone());
        self.watcher = Some(tokio::task::spawn_local(async move {
            loop {
                look(&heard);
                tokio::time::sleep(PAUSE).await;
                changed.notified().await;
            }
        }));
    }

    /// To be called when the host's links have changed.
    pub fn changed(&self) {
        self.changed.notify_one();
    }

    /// Remembers the sender of an announcement.
    pub fn hear(&self, engine: &Engine, frame: &Input) {
        let Input::Frame { interface, source, announcement } = frame else { return };
        let Some(current) = engine.current() else { return };
        let Some(planned) = current.interfaces.get(interface) else { return };
        if announcement.vid != planned.vid {
            return;
        }
        let mut heard = self.heard.borrow_mut();
        let Some(nic) = heard.nics.get_mut(&planned.parent) else { return };
        if nic.state.mac == Some(*source) {
            return;
        }
        let now = Instant::now();
        if nic.announcers.len() >= MOST_HEARD && !nic.announcers.contains_key(source) {
            nic.announcers.retain(|_, announcer| announcer.until > now);
            if nic.announcers.len() >= MOST_HEARD {
                heard.dropped += 1;
                return;
            }
        }
        let third = Duration::from_secs(planned.fdb_age_seconds.into()) / 3;
        let announcer = Announcer {
            node: announcement.node.0,
            vid: announcement.vid,
            foreign: announcement.fabric != current.fabric || announcement.node.0 >= current.nodes,
            at: now,
            until: now + self.period.unwrap_or(third) * HOLD_TENTHS / 10,
        };
        nic.announcers.insert(*source, announcer);
    }

    /// The NICs of the plan at which another fabric is heard, with the one of its NICs that was heard last.
    pub fn foreign(&self, engine: &Engine) -> Vec<ForeignLine> {
        let now = Instant::now();
        let heard = self.heard.borrow();
        let line = |nic: &Nic| {
            let foreign = nic.announcers.iter().filter(|(_, a)| a.foreign && a.until > now);
            let (mac, last) = foreign.max_by_key(|(_, a)| a.at)?;
            let (nic, mac) = (nic.state.name.clone(), mac.to_string());
            Some(ForeignLine { nic, mac, age_ms: ms(now - last.at) })
        };
        // Without a plan it is unknown which fabric is another.
        heard.nics.values().filter(|_| engine.current().is_some()).filter_map(line).collect()
    }

    /// The reply to ListNeighbours, as of now.
    pub fn list(&self, engine: &Engine, announcers: &Announcers) -> NeighbourList {
        look(&self.heard);
        let now = Instant::now();
        let index = engine.current().map(|current| current.index.clone()).unwrap_or_default();
        // Without a plan it is unknown to which fabric these announcements belonged.
        let holds = |a: &Announcer| a.until > now && engine.current().is_some();
        let mut heard = self.heard.borrow_mut();
        let name = |mac: &Mac, a: &Announcer| index.nic(*mac).filter(|_| !a.foreign);
        let line = |nic: &mut Nic| {
            let announced = |(mac, a): (&Mac, &Announcer)| HeardLine {
                node: name(mac, a).map(|(node, _)| node.into()),
                nic: name(mac, a).map(|(_, nic)| nic.into()),
                index: a.node,
                mac: mac.to_string(),
                vid: a.vid.map(|vid| vid.0),
                foreign: a.foreign,
                age_ms: ms(now - a.at),
            };
            let listening = announcers.since(&nic.state.name).filter(|_| nic.state.carrier);
            NicLine {
                name: nic.state.name.clone(),
                mac: nic.state.mac.map(|mac| mac.to_string()),
                up: nic.state.up,
                carrier: nic.state.carrier,
                management: None,
                listening_ms: listening.map(|since| ms(now - since.max(nic.since))),
                lldp: nic
                    .lldp
                    .values()
                    .filter(|neighbour| neighbour.holds(now))
                    .map(|t| t.line(now))
                    .collect(),
                heard: nic.announcers.iter().filter(|(_, a)| holds(a)).map(announced).collect(),
                broadcasts: nic.broadcasts.received(),
                broadcasts_a_minute: nic.broadcasts.a_minute(now),
                broadcasters: nic.broadcasts.lines(&index, now),
            }
        };
        let mut nics: Vec<&mut Nic> = heard.nics.values_mut().collect();
        nics.sort_by_key(|nic| nic.state.ifindex);
        NeighbourList {
            node: engine.current().map(|current| current.node.clone()),
            nics: nics.into_iter().map(line).collect(),
        }
    }

    /// Sends an LLDP frame that identifies the NIC from every NIC with carrier: to the other end of
    /// the cable, and to all stations that an untagged frame reaches. Returns the number of NICs.
    pub fn introduce(&self) -> u32 {
        look(&self.heard);
        let host = nix::unistd::gethostname().unwrap_or_default().into_encoded_bytes();
        let mut sent_by = 0;
        for nic in self.heard.borrow().nics.values().filter(|nic| nic.state.carrier) {
            let (Some(mac), Some((socket, _))) = (nic.state.mac, &nic.listener) else { continue };
            let lldp = |flooded| Lldp {
                chassis: Chassis { subtype: Chassis::LOCAL, id: host.clone() },
                port: Port { subtype: Port::MAC, id: mac.0.into() },
                ttl_seconds: INTRODUCED_S,
                description: Some(nic.state.name.clone().into_bytes()),
                system: Some(host.clone()),
                station: true,
                flooded,
            };
            let sent = [false, true].map(|flooded| socket.send(mac, &lldp(flooded)));
            match sent.into_iter().collect::<Result<(), _>>() {
                Ok(()) => sent_by += 1,
                Err(error) => tracing::debug!(nic = nic.state.name, %error, "not introduced"),
            }
        }
        sent_by
    }

    /// Counters of received and dropped frames.
    pub fn counters(&self) -> Vec<CounterLine> {
        let heard = self.heard.borrow();
        let line = |name: &str, object: &str, value| CounterLine {
            name: name.into(),
            object: object.into(),
            value,
        };
        let all = [
            ("lldp_received_total", heard.received),
            ("lldp_malformed_total", heard.malformed),
            ("neighbours_dropped_total", heard.dropped),
        ]
        .map(|(name, value)| line(name, "", value));
        let broadcasts = heard
            .nics
            .iter()
            .map(|(name, nic)| line("broadcasts_received_total", name, nic.broadcasts.received()));
        all.into_iter().chain(broadcasts).collect()
    }
}

impl LldpNeighbour {
    fn holds(&self, now: Instant) -> bool {
        self.at + Duration::from_secs(self.lldp.ttl_seconds.into()) > now
    }

    fn line(&self, now: Instant) -> LldpLine {
        LldpLine {
            system: self.lldp.system_text(),
            chassis: self.lldp.chassis.to_string(),
            port: self.lldp.port.to_string(),
            port_mac: self.lldp.port.mac().map(|mac| mac.to_string()),
            description: self.lldp.description_text(),
            source: self.source.to_string(),
            ttl_seconds: self.lldp.ttl_seconds,
            station: self.lldp.station,
            flooded: self.lldp.flooded,
            age_ms: ms(now - self.at),
        }
    }
}

impl Received {
    fn receive_lldp(&mut self, interface: &str, source: Mac, lldp: Lldp) {
        self.received += 1;
        let Some(nic) = self.nics.get_mut(interface) else { return };
        let now = Instant::now();
        let (Chassis { id: chassis, .. }, Port { id: port, .. }) = (&lldp.chassis, &lldp.port);
        let key = (chassis.clone(), port.clone(), lldp.flooded);
        nic.lldp.retain(|_, neighbour| neighbour.holds(now));
        if lldp.ttl_seconds == 0 {
            nic.lldp.remove(&key);
        } else if nic.lldp.len() < MOST_LLDP || nic.lldp.contains_key(&key) {
            nic.lldp.insert(key, LldpNeighbour { source, lldp, at: now });
        } else {
            self.dropped += 1;
        }
    }
}

/// Looks at the host's NICs: listens on new ones, clears the lists of those without carrier.
fn look(heard: &Rc<RefCell<Received>>) {
    let found = match kernel::nics() {
        Ok(found) => found,
        Err(error) => return tracing::debug!(%error, "the host's NICs are not known"),
    };
    let now = Instant::now();
    let nics = &mut heard.borrow_mut().nics;
    nics.retain(|name, nic| {
        found.iter().any(|f| f.name == *name && f.ifindex == nic.state.ifindex)
    });
    for state in found {
        let nic = nics.entry(state.name.clone()).or_insert_with(|| Nic {
            listener: listener(&state.name, Rc::downgrade(heard)),
            counts: counter(&state.name, Rc::downgrade(heard)),
            broadcasts: Broadcasts::new(now),
            state: state.clone(),
            since: now,
            lldp: BTreeMap::new(),
            announcers: BTreeMap::new(),
        });
        if nic.state.losses != state.losses || nic.state.carrier != state.carrier {
            nic.since = now;
            nic.lldp.clear();
            nic.announcers.clear();
        }
        nic.state = state;
    }
}

fn listener(
    interface: &str,
    heard: Weak<RefCell<Received>>,
) -> Option<(Rc<LldpSocket>, JoinHandle<()>)> {
    let socket = match LldpSocket::open(interface) {
        Ok(socket) => Rc::new(socket),
        Err(error) => {
            tracing::debug!(interface, error = chain(&error), "cannot receive LLDP frames");
            return None;
        }
    };
    let interface = interface.to_owned();
    let hears = socket.clone();
    let task = tokio::task::spawn_local(async move {
        loop {
            let frame = hears.recv().await;
            let Some(heard) = heard.upgrade() else { return };
            match frame {
                Ok(Ok((source, lldp))) => heard.borrow_mut().receive_lldp(&interface, source, lldp),
                Ok(Err(_)) => heard.borrow_mut().malformed += 1,
                // ENETDOWN comes once when the interface goes down.
                Err(error) => {
                    tracing::debug!(interface, %error, "LLDP socket");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    });
    Some((socket, task))
}

/// Counts what an interface receives for all stations. A storm of them costs no more than a few.
fn counter(interface: &str, heard: Weak<RefCell<Received>>) -> Option<JoinHandle<()>> {
    let socket = match BroadcastSocket::open(interface) {
        Ok(socket) => socket,
        Err(error) => {
            tracing::debug!(interface, error = chain(&error), "cannot count broadcasts");
            return None;
        }
    };
    let interface = interface.to_owned();
    Some(tokio::task::spawn_local(async move {
        let mut read = 0;
        let mut second = Instant::now();
        loop {
            let frame = socket.recv().await;
            let counted = socket.take_counted().unwrap_or_default();
            let Some(heard) = heard.upgrade() else { return };
            match frame {
                Ok(broadcast) => {
                    let (nics, now) = (&mut heard.borrow_mut().nics, Instant::now());
                    let nic = nics.get_mut(&interface);
                    nic.into_iter().for_each(|nic| nic.broadcasts.hear(counted, broadcast, now));
                }
                Err(error) => {
                    tracing::debug!(interface, %error, "broadcast socket");
                    tokio::time::sleep(PAUSE).await;
                }
            }
            read += 1;
            if second.elapsed() >= Duration::from_secs(1) {
                (second, read) = (Instant::now(), 0);
            } else if read >= READ_A_SECOND {
                tokio::time::sleep_until(second + Duration::from_secs(1)).await;
            }
        }
    }))
}

fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
