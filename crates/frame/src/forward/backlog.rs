//! A transit buffer: the frames that one port could not send yet, in order
//! (`in-transit-buffers-updown`, section 3: buffers are allocated on demand and bounded).
//!
//! Frames lie one behind the other in pages of memory, each with its length and the time when it came; a port without
//! waiting frames holds no page. The ports of one thread share a pool of pages: its owner takes the oldest page from the
//! port that holds most when there is none left.

use std::collections::VecDeque;

/// Bytes of a page. A longer frame has one of its own.
const PAGE: usize = 32 * 1024;
const HEADER: usize = 8;

/// The pages that the ports of one thread may hold.
#[derive(Debug)]
pub struct Pool {
    /// Bytes of all pages that are out.
    taken: usize,
    limit: usize,
    /// One free page, so that a port at its limit allocates nothing.
    spare: Option<Vec<u8>>,
}

impl Pool {
    /// Pages of at most `limit` bytes in all.
    pub const fn new(limit: usize) -> Self {
        Self { taken: 0, limit, spare: None }
    }

    /// Lets pages have so many bytes from now on.
    pub const fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// An empty page with room for `needed` bytes; `None` if the pool has none left.
    fn take(&mut self, needed: usize) -> Option<Vec<u8>> {
        let size = needed.max(PAGE);
        if self.taken + size > self.limit {
            return None;
        }
        let spare = self.spare.take().filter(|page| page.capacity() >= size);
        let page = spare.unwrap_or_else(|| Vec::with_capacity(size));
        self.taken += page.capacity();
        Some(page)
    }

    fn give(&mut self, mut page: Vec<u8>) {
        self.taken -= page.capacity();
        page.clear();
        self.spare = Some(page);
    }
}

/// Frames that were taken out, and their bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Taken {
    /// How many.
    pub frames: u64,
    /// Bytes of all of them.
    pub bytes: u64,
}

/// The frames that wait for one port, oldest first.
#[derive(Debug, Default)]
pub struct Backlog {
    pages: VecDeque<Vec<u8>>,
    /// Offset of the oldest frame in the first page.
    at: usize,
}

impl Backlog {
    /// Does nothing wait?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// Bytes of its pages.
    pub fn held(&self) -> usize {
        self.pages.iter().map(Vec::capacity).sum()
    }

    /// Appends a frame that came at `now_ms`. Returns whether there was room.
    pub fn push(&mut self, pool: &mut Pool, now_ms: u32, frame: &[u8]) -> bool {
        let needed = HEADER + frame.len();
        if self.pages.back().is_none_or(|page| page.capacity() - page.len() < needed) {
            let Some(page) = pool.take(needed) else { return false };
            self.pages.push_back(page);
        }
        let Some(page) = self.pages.back_mut() else { return false };
        page.extend_from_slice(&(frame.len() as u32).to_ne_bytes());
        page.extend_from_slice(&now_ms.to_ne_bytes());
        page.extend_from_slice(frame);
        true
    }

    /// Fills `frames` with the oldest frames and returns how many it put there.
    pub fn oldest<'a>(&'a self, frames: &mut [&'a [u8]]) -> usize {
        let mut found = 0;
        let mut at = self.at;
        for page in &self.pages {
            while let (Some((entry, next)), Some(place)) = (read(page, at), frames.get_mut(found)) {
                *place = entry.frame;
                found += 1;
                at = next;
            }
            at = 0;
        }
        found
    }

    /// When the oldest frame came.
    pub fn since(&self) -> Option<u32> {
        Some(read(self.pages.front()?, self.at)?.0.since_ms)
    }

    /// Removes the `count` oldest frames.
    pub fn pop(&mut self, pool: &mut Pool, count: usize) {
        for _ in 0..count {
            self.pop_one(pool);
        }
    }

    /// Removes the frames of the oldest page.
    pub fn drop_page(&mut self, pool: &mut Pool) -> Taken {
        let pages = self.pages.len();
        self.drop_while(pool, |backlog| backlog.pages.len() == pages)
    }

    /// Removes the frames that came before `since_ms`, by a clock that may have begun anew at 0.
    pub fn drop_before(&mut self, pool: &mut Pool, since_ms: u32) -> Taken {
        let is_older = |since: u32| since.wrapping_sub(since_ms) > u32::MAX / 2;
        self.drop_while(pool, |backlog| backlog.since().is_some_and(is_older))
    }

    fn drop_while(&mut self, pool: &mut Pool, goes: impl Fn(&Self) -> bool) -> Taken {
        let mut taken = Taken::default();
        while goes(self) {
            let Some(bytes) = self.pop_one(pool) else { break };
            taken.frames += 1;
            taken.bytes += bytes as u64;
        }
        taken
    }

    /// Removes the oldest frame; its length.
    fn pop_one(&mut self, pool: &mut Pool) -> Option<usize> {
        let page = self.pages.front()?;
        let (entry, next) = read(page, self.at)?;
        let length = entry.frame.len();
        self.at = next;
        if self.at == page.len() {
            self.at = 0;
            pool.give(self.pages.pop_front()?);
        }
        Some(length)
    }
}

struct Entry<'a> {
    since_ms: u32,
    frame: &'a [u8],
}

/// Returns the frame at `at` and the offset of the next one.
fn read(page: &[u8], at: usize) -> Option<(Entry<'_>, usize)> {
    let (header, rest) = page.get(at..)?.split_first_chunk::<HEADER>()?;
    let [l0, l1, l2, l3, t0, t1, t2, t3] = *header;
    let length = u32::from_ne_bytes([l0, l1, l2, l3]) as usize;
    let since_ms = u32::from_ne_bytes([t0, t1, t2, t3]);
    Some((Entry { since_ms, frame: rest.get(..length)? }, at + HEADER + length))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn frames_come_out_as_they_went_in(
            steps in proptest::collection::vec((0..4u8, 0..5000usize, 0..9usize), 0..200)
        ) {
            let (mut backlog, mut pool) = (Backlog::default(), Pool::new(300_000));
            let mut model = VecDeque::new();
            for (n, (step, length, count)) in steps.into_iter().enumerate() {
                let now = (n as u32).wrapping_sub(100);
                match step {
                    0 | 1 => {
                        let frame = vec![n as u8; if length > 4990 { 70_000 } else { length }];
                        let held = backlog.held();
                        if backlog.push(&mut pool, now, &frame) {
                            model.push_back((now, frame));
                        } else {
                            prop_assert!(held + PAGE.max(frame.len() + HEADER) > 300_000);
                        }
                    }
                    2 => {
                        let mut frames = [&[][..]; 8];
                        let found = backlog.oldest(&mut frames);
                        prop_assert_eq!(found, model.len().min(8));
                        let expected = model.iter().take(8).map(|(_, frame)| &frame[..]);
                        prop_assert!(frames[..found].iter().copied().eq(expected));
                        let count = count.min(found);
                        backlog.pop(&mut pool, count);
                        model.drain(..count);
                    }
                    _ if length % 2 == 0 => {
                        let since = now.wrapping_sub(count as u32);
                        let taken = backlog.drop_before(&mut pool, since);
                        let old = |(at, _): &&(u32, Vec<u8>)| at.wrapping_sub(since) > u32::MAX / 2;
                        let gone: Vec<_> = model.iter().take_while(old).collect();
                        let bytes = gone.iter().map(|(_, frame)| frame.len() as u64).sum();
                        prop_assert_eq!(taken, Taken { frames: gone.len() as u64, bytes });
                        let count = gone.len();
                        model.drain(..count);
                    }
                    _ => {
                        let before = backlog.held();
                        let taken = backlog.drop_page(&mut pool);
                        prop_assert!(model.is_empty() || backlog.held() < before && taken.frames > 0);
                        model.drain(..taken.frames as usize);
                    }
                }
                prop_assert_eq!(backlog.is_empty(), model.is_empty());
                prop_assert_eq!(backlog.since(), model.front().map(|(at, _)| *at));
                prop_assert_eq!(backlog.held(), pool.taken);
                prop_assert!(pool.taken <= 300_000);
            }
        }
    }
}
