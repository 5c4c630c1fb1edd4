//! The state that the threads of a member share.

use std::collections::BTreeMap;
use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use super::described::Described;
use super::known::Known;
use super::partial::{Partial, SavedProgress};
use super::place::{OpenPart, place, source};
use crate::content::{Manifest, Stripe};
use crate::frame::{HASH, Hash, Hello};
use crate::proof::Token;
use crate::talk::Join;
use crate::wrong;

/// The part of a member's state that changes during a run, protected by one lock: what it has of
/// each part of the copy, the newest requests, and whether the run has failed or ended.
#[derive(Debug, Default)]
pub struct MemberState {
    pub parts: Vec<Known>,
    /// By receiving member: sequence number of the newest request to send to it.
    pub stages: BTreeMap<u32, u32>,
    pub failed: bool,
    pub ended: bool,
    connections: Vec<TcpStream>,
}

#[derive(Debug)]
pub struct Shared {
    pub token: Token,
    pub keep: bool,
    pub stripes: u32,
    pub places: Vec<OpenPart>,
    /// Bytes that were read to compute checksums.
    pub read: AtomicU64,
    state: Mutex<MemberState>,
    /// Serialises the taking of manifests, which may remove many files.
    describing: Mutex<()>,
    changed: Condvar,
    /// Wakes threads that wait only for the end of the run.
    over: Condvar,
}

impl Shared {
    /// Opens all parts: reads the manifests of sources and creates unfinished copies of targets.
    /// Also returns the bytes of all sources, if known.
    pub fn new(join: Join, token: Token) -> io::Result<(Self, Option<u64>)> {
        if join.stripes == 0 || join.parts.is_empty() {
            return Err(wrong("nothing is to be done"));
        }
        let (mut places, mut parts, mut bytes) = (Vec::new(), Vec::new(), Some(0_u64));
        for part in join.parts {
            let mut known = Known { has: vec![0; join.stripes as usize], ..Known::default() };
            let placed = place(part, &mut known, &mut bytes);
            places.push(placed.inspect_err(|_| places.iter().for_each(OpenPart::undo))?);
            parts.push(known);
        }
        let shared = Self {
            token,
            keep: join.keep,
            stripes: join.stripes,
            places,
            read: AtomicU64::new(0),
            state: Mutex::new(MemberState { parts, ..MemberState::default() }),
            describing: Mutex::new(()),
            changed: Condvar::new(),
            over: Condvar::new(),
        };
        for known in &mut shared.state().parts {
            if let Some(left) = &known.left {
                known.has = shared.all(left.bytes);
            }
        }
        Ok((shared, bytes))
    }

    /// Marks the sources as ready to be sent.
    pub fn start(&self) -> io::Result<()> {
        for (part, place) in self.places.iter().enumerate() {
            match place {
                OpenPart::Source { path, piece, .. } => {
                    let described = source(path, *piece)?;
                    let total = described.manifest.bytes().unwrap_or(0);
                    self.change(|state| {
                        let known = &mut state.parts[part];
                        known.has = self.all(total);
                        known.total = Some(total);
                        known.described = Some(Arc::new(described));
                    });
                }
                OpenPart::Target { input: true, .. } => {
                    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
                    let now = (now.as_secs() as i64, now.subsec_nanos());
                    self.describe(part, Manifest::of_input(now))?;
                }
                OpenPart::Target { .. } | OpenPart::Away => {}
            }
        }
        Ok(())
    }

    /// Takes the manifest of a part that is to be received.
    pub fn describe(&self, part: usize, manifest: Manifest) -> io::Result<()> {
        let OpenPart::Target { partial, .. } = &self.places[part] else {
            return Err(wrong("a manifest of what is not to be had"));
        };
        let described = Described::new(manifest, &partial.content(), 0);
        let _alone = self.describing.lock().expect("nobody panics with it");
        let (before, left) = {
            let known = &self.state().parts[part];
            (known.described.as_ref().map(|it| it.hash), known.left.clone())
        };
        if let Some(before) = before {
            let same = before == described.hash;
            return if same { Ok(()) } else { Err(wrong("another manifest than before")) };
        }
        partial.can_become(&described.manifest)?;
        let total = described.manifest.bytes();
        let fits = |left: &SavedProgress| {
            left.manifest == described.hash && total.is_some_and(|total| left.bytes <= total)
        };
        let left = left.filter(fits);
        if left.is_none() {
            partial.clear()?;
        }
        partial.make_directories(&described.manifest)?;
        self.change(|state| {
            let known = &mut state.parts[part];
            if left.is_none() {
                known.has.fill(0);
            }
            known.left = left;
            known.total = total;
            known.described = Some(Arc::new(described));
        });
        Ok(())
    }

    /// Returns the bytes of each stripe of a content of `total` bytes.
    pub fn all(&self, total: u64) -> Vec<u64> {
        let of = self.stripes;
        (0..of).map(|number| Stripe { number, of }.bytes(total)).collect()
    }

    /// Returns the part and the stripe of a stream.
    pub fn stream(&self, stream: u32) -> (usize, Stripe) {
        let of = self.stripes;
        ((stream / of) as usize, Stripe { number: stream % of, of })
    }

    pub fn streams(&self) -> usize {
        self.places.len() * self.stripes as usize
    }

    pub fn hello(&self) -> Hello {
        let state = self.state();
        let of = |known: &Known| match (&known.described, &known.left) {
            (Some(described), _) => described.hash,
            (None, Some(left)) => left.manifest,
            (None, None) => Hash::default(),
        };
        Hello {
            manifests: state.parts.iter().map(of).collect(),
            has: state.parts.iter().flat_map(|known| known.has.clone()).collect(),
        }
    }

    pub fn state(&self) -> MutexGuard<'_, MemberState> {
        self.state.lock().expect("nobody panics with it")
    }

    /// Changes the state and wakes all waiting threads.
    pub fn change<T>(&self, with: impl FnOnce(&mut MemberState) -> T) -> T {
        let given = with(&mut self.state());
        self.changed.notify_all();
        given
    }

    /// Waits until `until` returns a value, and returns that.
    pub fn wait<T>(&self, mut until: impl FnMut(&MemberState) -> Option<T>) -> T {
        let mut state = self.state();
        loop {
            if let Some(value) = until(&state) {
                return value;
            }
            state = self.changed.wait(state).expect("nobody panics with it");
        }
    }

    /// Waits for the end of the run, at most for `most`. Returns whether it has ended.
    pub fn wait_to_end(&self, most: Duration) -> bool {
        let waited = self.over.wait_timeout_while(self.state(), most, |state| !state.ended);
        waited.expect("nobody panics with it").0.ended
    }

    /// Returns whether bytes of an earlier run are still being verified.
    pub fn verifies(&self) -> bool {
        let open = |known: &Known| known.described.is_some() && known.left.is_some();
        self.state().parts.iter().any(open)
    }

    /// Returns the received parts of which all bytes and the checksum are present.
    pub fn complete(&self) -> Vec<u32> {
        let state = self.state();
        let complete = |(place, known): &(&OpenPart, &Known)| {
            let reported = known.hash.is_some() && known.left.is_none();
            let all = Some(known.has.iter().sum()) == known.total;
            matches!(place, OpenPart::Target { .. }) && reported && all
        };
        let parts = self.places.iter().zip(&state.parts).enumerate();
        parts.filter(|(_, of)| complete(of)).map(|(part, _)| part as u32).collect()
    }

    /// Returns the bytes present of each stream to be received (0 for all others), and the total to
    /// be received.
    pub fn has(&self) -> (Vec<u64>, u64) {
        let state = self.state();
        let (mut streams, mut of) = (Vec::new(), 0);
        for (place, known) in self.places.iter().zip(&state.parts) {
            if let OpenPart::Target { .. } = place {
                streams.extend(&known.has);
                of = known.total.unwrap_or_else(|| known.has.iter().sum()).saturating_add(of);
            } else {
                streams.extend(known.has.iter().map(|_| 0));
            }
        }
        (streams, of)
    }

    /// Registers a connection, so that the end of the run closes it. Returns false if the run has
    /// ended.
    pub fn connected(&self, connection: TcpStream) -> bool {
        let mut state = self.state();
        if !state.ended && !state.failed {
            state.connections.push(connection);
        }
        !state.ended && !state.failed
    }

    /// Fails the run: closes all connections and removes unfinished copies.
    pub fn fail(&self) {
        self.change(|state| {
            state.failed = true;
            state.connections.drain(..).for_each(|it| drop(it.shutdown(Shutdown::Both)));
        });
        self.unfinished(Partial::remove);
    }

    /// Ends the run: closes all connections and keeps unfinished copies for a later run.
    pub fn end(&self) {
        self.change(|state| {
            state.ended = true;
            state.connections.drain(..).for_each(|it| drop(it.shutdown(Shutdown::Both)));
        });
        self.over.notify_all();
    }

    /// Removes unfinished copies that a later run cannot use.
    pub fn tidy(&self) {
        // A thread may have written files while they were being removed.
        let failed = self.state().failed;
        self.unfinished(if failed { Partial::remove } else { Partial::remove_if_empty });
    }

    fn unfinished(&self, what: impl Fn(&Partial)) {
        let state = self.state();
        let places = self.places.iter().zip(&state.parts);
        for (place, _) in places.filter(|(_, known)| !known.done) {
            match place {
                OpenPart::Target { partial, input: false } => what(partial),
                // No later run can continue these.
                OpenPart::Target { partial, .. } | OpenPart::Source { copy: Some(partial), .. } => {
                    partial.remove();
                }
                OpenPart::Source { .. } | OpenPart::Away => {}
            }
        }
    }
}

const _: () = assert!(HASH == blake3::OUT_LEN);
