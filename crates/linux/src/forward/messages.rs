//! What is sent in one call: frames, and runs of TCP segments of one flow that go as one frame each.

use std::io::IoSlice;

use smallvec::SmallVec;
use tresse_frame::forward::{MOST_HEADERS, Merged, OFFLOAD_HEADER, Offload};

use crate::sys::packet;

/// Offload header and headers of a frame.
type Head = [u8; OFFLOAD_HEADER + MOST_HEADERS];

/// Finds runs of segments, and keeps the headers of the frames that they become.
#[derive(Debug)]
pub(super) struct Messages {
    /// Frames of each message, and what they become if they are several.
    runs: SmallVec<[(usize, Option<Merged>); packet::MOST]>,
    heads: Vec<Head>,
}

/// The parts of frames, and how many each has, as [`packet::send_parts`] takes them.
pub(super) type Parts<'f> =
    (SmallVec<[IoSlice<'f>; 2 * packet::MOST]>, SmallVec<[usize; packet::MOST]>);

impl Messages {
    pub fn new() -> Self {
        Self { runs: SmallVec::new(), heads: Vec::new() }
    }

    /// Divides frames, each with its offload header, into messages; with `merges` runs of segments become one.
    pub fn divide(&mut self, frames: &[&[u8]], merges: bool) {
        self.runs.clear();
        let mut at = 0;
        let mut heads = 0;
        while at < frames.len() {
            let segments = frames[at..].iter().map_while(|frame| segment(frame));
            let merged = (merges && frames.len() > at + 1).then(|| Merged::of(segments)).flatten();
            if let Some(merged) = merged {
                if heads == self.heads.len() {
                    self.heads.push([0; OFFLOAD_HEADER + MOST_HEADERS]);
                }
                let (header, rest) = self.heads[heads].split_at_mut(OFFLOAD_HEADER);
                header.copy_from_slice(&Offload::of_merged(&merged));
                merged.write_headers(&frames[at][OFFLOAD_HEADER..], rest);
                heads += 1;
            }
            let count = merged.map_or(1, |merged| merged.segments);
            self.runs.push((count, merged));
            at += count;
        }
    }

    /// How many frames the first `messages` have.
    pub fn frames(&self, messages: usize) -> usize {
        self.runs[..messages].iter().map(|(count, _)| count).sum()
    }

    /// The messages of the same frames.
    #[inline]
    pub fn parts<'f>(&'f self, frames: &[&'f [u8]]) -> Parts<'f> {
        let (mut parts, mut counts) = Parts::default();
        let (mut left, mut heads) = (frames, self.heads.iter());
        for (count, merged) in &self.runs {
            let (own, rest) = left.split_at(*count);
            left = rest;
            let Some((merged, head)) = merged.zip(heads_next(merged.is_some(), &mut heads)) else {
                parts.push(IoSlice::new(own[0]));
                counts.push(1);
                continue;
            };
            parts.push(IoSlice::new(&head[..OFFLOAD_HEADER + merged.headers]));
            let payload =
                |frame: &&'f [u8]| IoSlice::new(&frame[OFFLOAD_HEADER + merged.headers..]);
            parts.extend(own.iter().map(payload));
            counts.push(1 + own.len());
        }
        (parts, counts)
    }

    /// Is the first message a frame that has to be cut?
    pub fn begins_long(&self, frames: &[&[u8]]) -> bool {
        let long = |frame: &&[u8]| frame.get(1).is_some_and(|segments| *segments != 0);
        self.runs.first().is_some_and(|(_, merged)| merged.is_some())
            || frames.first().is_some_and(long)
    }
}

fn heads_next<'h>(wanted: bool, heads: &mut impl Iterator<Item = &'h Head>) -> Option<&'h Head> {
    if wanted { heads.next() } else { None }
}

/// A frame behind its offload header, unless that says that it has to be cut, and whether its checksum is known to be right
/// or left to be done.
fn segment(frame: &[u8]) -> Option<(&[u8], bool)> {
    let (header, frame) = frame.split_first_chunk::<OFFLOAD_HEADER>()?;
    let whole = header[1] == 0;
    whole.then(|| (frame, Offload::knows_checksum(*header)))
}
