//! The simulated frames that are in flight: on a channel, in a buffer or in a queue.

/// Stands for "no frame" and "no channel".
pub(super) const NONE: u32 = u32::MAX;

/// A frame in flight.
#[derive(Debug, Clone)]
pub(super) struct Frame {
    /// The next frame in its buffer or queue, or the next free slot.
    pub next: u32,
    /// Flits.
    pub flits: u32,
    /// Tick at which its message was generated.
    pub born: u64,
    /// Tick at which its head arrives, or arrived, at its present place; in a transit node's queue,
    /// tick from which it waits there.
    pub arrives: u64,
    /// The channel by which it came.
    pub via: u32,
    /// Index of its next channel in the list of its slot; equal to `hops` at the destination.
    pub hop: u16,
    pub hops: u16,
    /// Whether it is the last frame of its message.
    pub last: bool,
    #[cfg_attr(not(test), expect(dead_code, reason = "tests compare it"))]
    pub src: u32,
    #[cfg_attr(not(test), expect(dead_code, reason = "tests compare it"))]
    pub dst: u32,
}

/// All frames in slots, each with room for the channels of its path.
#[derive(Debug)]
pub(super) struct Frames {
    slots: Vec<Frame>,
    paths: Vec<u32>,
    stride: usize,
    free: u32,
}

impl Default for Frames {
    fn default() -> Self {
        Self { slots: Vec::new(), paths: Vec::new(), stride: 8, free: NONE }
    }
}

impl Frames {
    pub fn add(&mut self, frame: Frame, path: &[u32]) -> u32 {
        if path.len() > self.stride {
            self.widen(path.len().next_power_of_two());
        }
        let at = match self.free {
            NONE => {
                let at = self.slots.len();
                self.slots.push(frame);
                self.paths.resize(self.paths.len() + self.stride, NONE);
                at
            }
            at => {
                self.free = self.slots[at as usize].next;
                self.slots[at as usize] = frame;
                at as usize
            }
        };
        self.paths[at * self.stride..][..path.len()].copy_from_slice(path);
        at as u32
    }

    /// Returns the largest number of frames so far.
    pub const fn room(&self) -> usize {
        self.slots.len()
    }

    pub fn remove(&mut self, frame: u32) {
        self.slots[frame as usize].next = self.free;
        self.free = frame;
    }

    #[inline]
    pub fn of(&self, frame: u32) -> &Frame {
        &self.slots[frame as usize]
    }

    #[inline]
    pub fn at(&mut self, frame: u32) -> &mut Frame {
        &mut self.slots[frame as usize]
    }

    /// Returns the next channel of a frame.
    #[inline]
    pub fn next_channel(&self, frame: u32) -> u32 {
        self.paths[frame as usize * self.stride + self.slots[frame as usize].hop as usize]
    }

    /// Returns whether a frame has reached its destination.
    #[inline]
    pub fn has_arrived(&self, frame: u32) -> bool {
        let of = self.of(frame);
        of.hop == of.hops
    }

    /// Appends a frame to a list, which is given by its first and last frame.
    #[inline]
    pub fn append(&mut self, list: &mut [u32; 2], frame: u32) {
        self.at(frame).next = NONE;
        match list[1] {
            NONE => list[0] = frame,
            last => self.at(last).next = frame,
        }
        list[1] = frame;
    }

    /// Removes the first frame of a list.
    #[inline]
    pub fn take(&self, list: &mut [u32; 2]) -> u32 {
        let first = list[0];
        list[0] = self.of(first).next;
        if list[0] == NONE {
            list[1] = NONE;
        }
        first
    }

    fn widen(&mut self, stride: usize) {
        let mut paths = vec![NONE; self.slots.len() * stride];
        for (new, old) in paths.chunks_mut(stride).zip(self.paths.chunks(self.stride)) {
            new[..self.stride].copy_from_slice(old);
        }
        (self.paths, self.stride) = (paths, stride);
    }
}
