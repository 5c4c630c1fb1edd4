//! Computes the checksum of each received part of a copy as its bytes arrive, and gives the part
//! its final name if the checksum equals that of the source.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::described::Described;
use super::partial::SavedProgress;
use super::place::{OpenPart, source};
use super::receive::Writer;
use super::state::{MemberState, Shared};
use crate::content::{Content, Stripe};
use crate::frame::Hash;
use crate::named;
use crate::talk::MemberReport;

/// Most bytes of one read.
const PIECE: u64 = 1 << 20;
/// Interval between two notes of the progress on the disk.
const NOTE: Duration = Duration::from_millis(250);
/// The longest time that a run that ends goes on reading what it has received, so that it can note
/// all of it.
const CATCH_UP: Duration = Duration::from_secs(1);

enum Work {
    Read(usize, Arc<Described>, u64),
    /// The bytes that an earlier run left have been read: compare their checksum.
    Verify(usize, Hash),
    Judge(usize, Arc<Described>, Option<Hash>),
    /// All parts are done, or the run has ended or failed.
    Off,
}

/// Progress of the checksum of one part.
struct Reader {
    hasher: blake3::Hasher,
    at: u64,
    done: bool,
    open: Option<(PathBuf, File)>,
    copy: Writer,
    /// Time of the last note of the progress.
    noted: Instant,
}

/// Computes and compares the checksums of all parts of the copy, and gives each correct part its
/// final name. Returns when all parts are finished or the run ends.
pub fn check_all(shared: &Shared, report: &dyn Fn(MemberReport)) -> io::Result<()> {
    let reader = |place: &OpenPart| Reader {
        hasher: blake3::Hasher::new(),
        at: 0,
        done: matches!(place, OpenPart::Away),
        open: None,
        copy: Writer::default(),
        noted: Instant::now(),
    };
    let mut readers: Vec<Reader> = shared.places.iter().map(reader).collect();
    loop {
        match shared.wait(|state| next(shared, state, &readers)) {
            Work::Off => {
                let deadline = Instant::now() + CATCH_UP;
                for (part, reader) in readers.iter_mut().enumerate().filter(|(_, it)| !it.done) {
                    reader.catch_up(shared, part, deadline);
                    reader.note(shared, part);
                }
                return Ok(());
            }
            Work::Read(part, described, to) => {
                let before = readers[part].at;
                readers[part].read(&shared.places[part], &described, to)?;
                shared.read.fetch_add(readers[part].at - before, Ordering::Relaxed);
                if readers[part].noted.elapsed() > NOTE {
                    readers[part].note(shared, part);
                }
            }
            Work::Verify(part, was) => verify(shared, part, &readers[part], was)?,
            Work::Judge(part, described, right) => {
                let reader = &mut readers[part];
                let hash = *reader.hasher.finalize().as_bytes();
                judge(shared, part, &described, hash, right)?;
                reader.done = true;
                let hash = blake3::Hash::from(hash).to_hex().to_string();
                report(MemberReport::Done { part: part as u32, bytes: reader.at, hash });
            }
        }
    }
}

fn next(shared: &Shared, state: &MemberState, readers: &[Reader]) -> Option<Work> {
    if state.ended || state.failed || readers.iter().all(|reader| reader.done) {
        return Some(Work::Off);
    }
    let mut read = None;
    for (part, known) in state.parts.iter().enumerate() {
        let (reader, place) = (&readers[part], &shared.places[part]);
        let Some(described) = known.described.as_ref().filter(|_| !reader.done) else { continue };
        // A node's own content defines the checksum; received content must match that of the
        // source.
        let own = matches!(place, OpenPart::Source { .. } | OpenPart::Target { input: true, .. });
        if let Some(left) = known.left.as_ref().filter(|left| left.bytes == reader.at) {
            return Some(Work::Verify(part, left.hash));
        }
        if known.total == Some(reader.at) && (own || known.hash.is_some()) {
            let right = known.hash.filter(|_| !own);
            return Some(Work::Judge(part, described.clone(), right));
        }
        if read.is_none() && known.frontier() > reader.at {
            let to = known.left.as_ref().map_or(u64::MAX, |left| left.bytes);
            read = Some(Work::Read(part, described.clone(), known.frontier().min(to)));
        }
    }
    read
}

impl Reader {
    /// Reads and hashes the next piece, at most up to position `to`.
    fn read(&mut self, place: &OpenPart, described: &Described, to: u64) -> io::Result<()> {
        let bytes = (to - self.at).min(PIECE);
        let mut piece = vec![0; bytes as usize];
        let mut rest = &mut piece[..];
        for span in described.content.spans(Stripe::WHOLE, self.at, bytes) {
            let file = match &self.open {
                Some((path, file)) if path == span.path => file,
                _ => {
                    let file = File::open(span.path).map_err(|e| named(span.path, &e))?;
                    &self.open.insert((span.path.to_owned(), file)).1
                }
            };
            let (now, behind) = rest.split_at_mut(span.bytes as usize);
            file.read_exact_at(now, span.offset).map_err(|e| {
                let words = format!("{}: it has become shorter ({e})", span.path.display());
                io::Error::new(e.kind(), words)
            })?;
            rest = behind;
        }
        self.hasher.update(&piece);
        if let OpenPart::Source { copy: Some(partial), .. } = place {
            if self.at == 0 {
                partial.make_directories(&described.manifest)?;
            }
            let content = Content::new(&partial.content(), &described.manifest, 0);
            let written = self.copy.write(&content, Stripe::WHOLE, self.at, &piece);
            written.map_err(|e| partial.named(&e))?;
        }
        self.at += bytes;
        Ok(())
    }

    /// Reads and hashes up to the last byte received without a gap, until `deadline`. An error ends
    /// it: then less is noted.
    fn catch_up(&mut self, shared: &Shared, part: usize, deadline: Instant) {
        while Instant::now() < deadline {
            let (described, to) = {
                let state = shared.state();
                let known = &state.parts[part];
                let open = known.left.is_none() && !state.failed;
                (known.described.clone().filter(|_| open), known.frontier())
            };
            let Some(described) = described.filter(|_| to > self.at) else { return };
            if self.read(&shared.places[part], &described, to).is_err() {
                return;
            }
        }
    }

    /// Notes the progress on the disk, so that a later run can continue. Without a note the next
    /// run starts from the beginning.
    fn note(&mut self, shared: &Shared, part: usize) {
        self.noted = Instant::now();
        let OpenPart::Target { partial, input: false } = &shared.places[part] else { return };
        let described = {
            let state = shared.state();
            let known = &state.parts[part];
            let open = known.left.is_none() && !state.failed && known.total.is_some();
            known.described.clone().filter(|_| open)
        };
        if let Some(described) = described.filter(|_| self.at > 0) {
            let hash = *self.hasher.finalize().as_bytes();
            drop(partial.note(&SavedProgress { manifest: described.hash, bytes: self.at, hash }));
        }
    }
}

/// Accepts the bytes that an earlier run left if their checksum is still `was`; else fails.
fn verify(shared: &Shared, part: usize, reader: &Reader, was: Hash) -> io::Result<()> {
    let OpenPart::Target { partial, .. } = &shared.places[part] else { return Ok(()) };
    if *reader.hasher.finalize().as_bytes() != was {
        let words =
            "what was left of it by another run is not as it was, and is removed: copy it again";
        return Err(partial.named(&io::Error::new(io::ErrorKind::InvalidData, words)));
    }
    shared.change(|state| state.parts[part].left = None);
    Ok(())
}

/// Gives a part its final name if its checksum is right; else fails.
fn judge(
    shared: &Shared,
    part: usize,
    described: &Arc<Described>,
    hash: Hash,
    right: Option<Hash>,
) -> io::Result<()> {
    let place = &shared.places[part];
    if let OpenPart::Source { path, piece, .. } = place
        && source(path, *piece)?.hash != described.hash
    {
        let words = format!("{}: changed while it was copied", path.display());
        return Err(io::Error::new(io::ErrorKind::InvalidData, words));
    }
    let partial = match place {
        OpenPart::Target { partial, .. } | OpenPart::Source { copy: Some(partial), .. } => {
            Some(partial)
        }
        OpenPart::Source { .. } | OpenPart::Away => None,
    };
    if let (Some(partial), Some(right)) = (partial, right)
        && right != hash
    {
        let words = "the checksum differs from the source's: the source was changed during the \
                     copy, or data was damaged";
        return Err(partial.named(&io::Error::new(io::ErrorKind::InvalidData, words)));
    }
    if right.is_none() {
        // Other members can learn the checksum before the data is on the disk.
        shared.change(|state| state.parts[part].hash = Some(hash));
    }
    if let Some(partial) = partial {
        if matches!(place, OpenPart::Source { .. }) && described.manifest.bytes() == Some(0) {
            partial.make_directories(&described.manifest)?;
        }
        partial.complete(&described.manifest, shared.keep).map_err(|e| partial.named(&e))?;
    }
    let Some(partial) = partial else {
        shared.state().parts[part].done = true;
        return Ok(());
    };
    // The lock is held meanwhile: nothing waits for it.
    let mut state = shared.state();
    let root = partial.rename(&described.manifest, shared.keep)?;
    let known = &mut state.parts[part];
    if matches!(place, OpenPart::Target { .. }) {
        let moved = Described::new(described.manifest.clone(), &root, 0);
        known.described = Some(Arc::new(moved));
    }
    known.done = true;
    drop(state);
    partial.settle();
    Ok(())
}
