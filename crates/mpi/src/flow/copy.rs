//! Flows whose bytes all go into buffers of the program and are sent on out of them.

use super::Flow;
use crate::area::Area;

/// A flow that receives areas one after the other, and sends areas one after the other: its own ones, and those that it
/// has received.
#[derive(Debug, Default)]
pub struct CopyFlow {
    receive: Vec<Area>,
    send: Vec<Sent>,
    /// The area that is being received, how much of it is there, and how much was received in all.
    into: usize,
    filled: usize,
    received: u64,
    /// The area that is being sent, and how much of it has gone.
    from: usize,
    gone: usize,
}

/// An area to be sent.
#[derive(Debug, Clone, Copy)]
struct Sent {
    area: Area,
    /// Received bytes before its first one; `None` if it was there from the start.
    after: Option<u64>,
}

impl CopyFlow {
    /// Sends these areas, and then the first `forward` of those that are received, each as it comes.
    #[must_use]
    pub fn new(own: Vec<Area>, receive: Vec<Area>, forward: usize) -> Self {
        let mut send: Vec<Sent> = own.into_iter().map(|area| Sent { area, after: None }).collect();
        let mut before = 0;
        for area in &receive[..forward] {
            send.push(Sent { area: *area, after: Some(before) });
            before += area.len() as u64;
        }
        let mut flow = Self { receive, send, ..Self::default() };
        flow.skip();
        flow
    }

    /// Goes past areas that are done.
    fn skip(&mut self) {
        while self.receive.get(self.into).is_some_and(|area| area.len() == self.filled) {
            (self.into, self.filled) = (self.into + 1, 0);
        }
        while self.send.get(self.from).is_some_and(|sent| sent.area.len() == self.gone) {
            (self.from, self.gone) = (self.from + 1, 0);
        }
    }
}

impl Flow for CopyFlow {
    fn to_receive(&self) -> u64 {
        self.receive.iter().map(|area| area.len() as u64).sum()
    }

    fn to_send(&self) -> u64 {
        self.send.iter().map(|sent| sent.area.len() as u64).sum()
    }

    fn space(&mut self) -> &mut [u8] {
        match self.receive.get_mut(self.into) {
            Some(area) => &mut area.bytes_mut()[self.filled..],
            None => &mut [],
        }
    }

    fn received(&mut self, bytes: usize) {
        self.filled += bytes;
        self.received += bytes as u64;
        self.skip();
    }

    fn ready(&self) -> &[u8] {
        let Some(sent) = self.send.get(self.from) else { return &[] };
        let there = match sent.after {
            None => sent.area.len(),
            Some(before) => {
                self.received.saturating_sub(before).min(sent.area.len() as u64) as usize
            }
        };
        &sent.area.bytes()[self.gone..there.max(self.gone)]
    }

    fn sent(&mut self, bytes: usize) {
        self.gone += bytes;
        self.skip();
    }
}
