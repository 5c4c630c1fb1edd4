//! A transit buffer: the frames that one port could not send yet, in order
//! (`in-transit-buffers-updown`, section 3: buffers are allocated on demand and bounded).
//!
//! Frames lie one behind the other in chunks of memory; a port without waiting frames holds no
//! chunk. One free chunk is kept, so that a port at its limit allocates nothing.

use std::collections::VecDeque;

const CHUNK: usize = 32 * 1024;
const LENGTH: usize = 4;

/// The frames that wait for one port, oldest first.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    chunks: VecDeque<Vec<u8>>,
    spare: Option<Vec<u8>>,
    /// Offset of the oldest frame in the first chunk.
    at: usize,
}

impl Backlog {
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// Appends a frame.
    pub fn push(&mut self, frame: &[u8]) {
        let needed = LENGTH + frame.len();
        if self.chunks.back().is_none_or(|c| c.capacity() - c.len() < needed) {
            let spare = self.spare.take().filter(|c| c.capacity() >= needed);
            self.chunks.push_back(spare.unwrap_or_else(|| Vec::with_capacity(needed.max(CHUNK))));
        }
        let Some(chunk) = self.chunks.back_mut() else { return };
        chunk.extend_from_slice(&(frame.len() as u32).to_ne_bytes());
        chunk.extend_from_slice(frame);
    }

    /// Fills `frames` with the oldest frames and returns how many it put there.
    pub fn oldest<'a>(&'a self, frames: &mut [&'a [u8]]) -> usize {
        let mut found = 0;
        let mut at = self.at;
        for chunk in &self.chunks {
            while let (Some((frame, next)), Some(place)) = (read(chunk, at), frames.get_mut(found))
            {
                *place = frame;
                found += 1;
                at = next;
            }
            at = 0;
        }
        found
    }

    /// Removes the `count` oldest frames.
    pub fn pop(&mut self, count: usize) {
        for _ in 0..count {
            let Some(chunk) = self.chunks.front_mut() else { return };
            if let Some((_, next)) = read(chunk, self.at) {
                self.at = next;
            }
            if self.at == chunk.len() {
                chunk.clear();
                self.at = 0;
                self.spare = self.chunks.pop_front();
            }
        }
    }
}

/// Returns the frame at `at` and the offset of the next one.
fn read(chunk: &[u8], at: usize) -> Option<(&[u8], usize)> {
    let (length, rest) = chunk.get(at..)?.split_first_chunk::<LENGTH>()?;
    let length = u32::from_ne_bytes(*length) as usize;
    Some((rest.get(..length)?, at + LENGTH + length))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn frames_come_out_as_they_went_in(
            steps in proptest::collection::vec((any::<bool>(), 0..5000usize, 0..9usize), 0..200)
        ) {
            let mut backlog = Backlog::default();
            let mut model = VecDeque::new();
            for (n, (push, length, count)) in steps.into_iter().enumerate() {
                if push {
                    let frame = vec![n as u8; if length > 4990 { 70_000 } else { length }];
                    backlog.push(&frame);
                    model.push_back(frame);
                } else {
                    let mut frames = [&[][..]; 8];
                    let found = backlog.oldest(&mut frames);
                    prop_assert_eq!(found, model.len().min(8));
                    prop_assert!(frames[..found].iter().eq(model.iter().take(8)));
                    let count = count.min(found);
                    backlog.pop(count);
                    model.drain(..count);
                }
                prop_assert_eq!(backlog.is_empty(), model.is_empty());
            }
        }
    }
}
